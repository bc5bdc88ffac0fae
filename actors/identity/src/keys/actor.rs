//! The actor that owns the keys, and the handle that the rest of the house holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, AtomicResponse, Context, Handler, MessageResult, WrapFuture};
use actix_rt::ArbiterHandle;
use muster_store::{Batch, Order, Record, Scan, StoreError, StoreHandle};
use tokio::sync::watch;

use super::messages::{Create, Created, Get, KeyPage, List, MadeBy, NewKey, Revoke, Rotate, Touch};
use super::record::KeyRecord;
use super::state::{KeyState, first_key};
use super::token::{PREFIX, Token};
use super::{Directory, Refusal};
use muster_core::ids::{IdKind, new_id};
use muster_core::supervise::{BuildError, ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind, Millis};

/// A key's `last_used_at` is written at most this often.
const TOUCH_EVERY: Duration = Duration::from_secs(60);
const REPLAY_FOR: Duration = Duration::from_secs(24 * 3600);
const MAX_REPLAYS: usize = 10_000;
/// How long a key that nothing happens to is not looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(24 * 3600);

/// What the actor needs.
#[derive(Clone)]
pub struct KeyActorOptions {
    pub store: StoreHandle,
    pub clock: Clock,
}

impl std::fmt::Debug for KeyActorOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyActorOptions")
    }
}

/// An answer kept for its `Idempotency-Key`. Only in memory: it holds a secret, which is stored nowhere.
struct Replay {
    body: [u8; 32],
    at: Millis,
    created: Created,
}

/// Owns the key records: makes, revokes and lists them.
pub struct KeyActor {
    options: KeyActorOptions,
    state: KeyState,
    publish: watch::Sender<Arc<Directory>>,
    replays: HashMap<String, Replay>,
    touched: HashMap<String, Millis>,
}

impl std::fmt::Debug for KeyActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyActor").finish_non_exhaustive()
    }
}

/// What the rest of the house holds: the directory to check requests by, and the way to the actor.
#[derive(Debug, Clone)]
pub struct Keys {
    handle: Handle<KeyActor>,
    directory: watch::Receiver<Arc<Directory>>,
    clock: Clock,
}

impl Keys {
    /// Starts the actor. The directory is empty until it runs: await [`Keys::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: KeyActorOptions) -> Self {
        let (publish, directory) = watch::channel(Arc::new(Directory::default()));
        let clock = options.clock.clone();
        let handle = group.start(ChildSpec::new("keys", arbiter, move |_| {
            let (options, publish) = (options.clone(), publish.clone());
            async move { load(options, publish).await }
        }));
        Self { handle, directory, clock }
    }

    /// Waits until the records were read and the actor answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// The record of a key as a request carries it. Costs a hash and a look-up, no hop.
    pub fn authenticate(&self, key: &str) -> Result<Arc<KeyRecord>, Refusal> {
        let now = self.clock.now();
        let record = self.directory.borrow().authenticate(key, now)?;
        if record.last_used_at.is_none_or(|at| now.since(at) >= TOUCH_EVERY) {
            // Nothing is lost when it cannot be told now: the next request tells it.
            let _ = self.handle.try_send(Touch { lookup: record.lookup.clone(), at: now });
        }
        Ok(record)
    }

    /// Whether a text is meant as a key: no token of a session or a device begins so.
    pub fn is_key(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Resolves once a key that was let in is not any more: revoked, expired, or with a secret that was replaced and whose
    /// grace is over. The future holds no secret.
    pub fn ended(&self, key: &str) -> impl Future<Output = ()> + Send + 'static {
        let seen = Token::parse(key).ok().map(|token| (token.lookup.clone(), token.secret.hash()));
        let (mut directory, clock) = (self.directory.clone(), self.clock.clone());
        async move {
            let Some((lookup, hash)) = seen else { return };
            loop {
                let now = clock.now();
                let until = directory.borrow_and_update().lives_until(&lookup, &hash, now);
                let Some(until) = until else { return };
                // A timer's bound; looked at again then.
                let left = Duration::from_millis(until.0.saturating_sub(now.0)).min(LOOK_AGAIN);
                tokio::select! {
                    changed = directory.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(left) => {}
                }
            }
        }
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.directory.borrow().len()
    }

    /// Makes a key; durable when this resolves.
    pub async fn create(
        &self,
        new: NewKey,
        by: MadeBy,
        idempotency: Option<(String, [u8; 32])>,
    ) -> Result<Created, Error> {
        self.handle.ask(Create { new, by, token: None, idempotency }).await?
    }

    /// Makes the first key of an empty store, with every scope and role; `given` is used where the operator brings one.
    pub async fn create_first(&self, given: Option<Token>) -> Result<Created, Error> {
        self.handle.ask(Create { new: first_key(), by: MadeBy::Operator, token: given, idempotency: None }).await?
    }

    /// Ends a key; no request is let in with it once this resolves.
    pub async fn revoke(&self, id: String) -> Result<Arc<KeyRecord>, Error> {
        self.handle.ask(Revoke { id }).await?
    }

    /// Gives a key a new secret, durable when this resolves; the old one is taken for `grace` yet.
    pub async fn rotate(&self, id: String, by: MadeBy, grace: Duration) -> Result<Created, Error> {
        self.handle.ask(Rotate { id, by, grace }).await?
    }

    pub async fn get(&self, id: String) -> Result<Option<Arc<KeyRecord>>, Error> {
        Ok(self.handle.ask(Get { id }).await?)
    }

    pub async fn list(&self, limit: usize, after: Option<String>) -> Result<KeyPage, Error> {
        Ok(self.handle.ask(List { limit, after }).await?)
    }
}

/// Reads every key back from the store.
async fn load(options: KeyActorOptions, publish: watch::Sender<Arc<Directory>>) -> Result<KeyActor, BuildError> {
    let store = Arc::clone(&options.store);
    let records = tokio::task::spawn_blocking(move || read_all(&store)).await??;
    let state = KeyState::from_records(records);
    publish.send_replace(Arc::new(state.directory()));
    Ok(KeyActor { options, state, publish, replays: HashMap::new(), touched: HashMap::new() })
}

fn read_all(store: &StoreHandle) -> Result<Vec<KeyRecord>, StoreError> {
    let (mut records, mut from) = (Vec::new(), None);
    loop {
        let scan = Scan { prefix: Vec::new(), from, limit: 500, order: Order::Ascending };
        let page = store.scan(KeyRecord::TREE, &scan)?;
        for (_, rec) in &page.items {
            records.push(KeyRecord::decode(rec)?);
        }
        from = page.next;
        if from.is_none() {
            return Ok(records);
        }
    }
}

impl KeyActor {
    fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Writes a record; resolves when it is durable.
    fn write(&self, record: &KeyRecord) -> Result<impl Future<Output = Result<(), StoreError>> + use<>, StoreError> {
        Ok(self.options.store.commit(Batch::put(KeyRecord::TREE, record.id.as_bytes(), record.encode()?)))
    }

    fn accept(&mut self, record: Arc<KeyRecord>) {
        self.publish.send_modify(|directory| Arc::make_mut(directory).insert(Arc::clone(&record)));
        self.state.put(record);
    }

    fn replay(&self, idempotency: &Option<(String, [u8; 32])>) -> Option<Result<Created, Error>> {
        let (key, body) = idempotency.as_ref()?;
        let replay = self.replays.get(key).filter(|replay| self.now().since(replay.at) < REPLAY_FOR)?;
        Some(if &replay.body == body {
            Ok(Created { replayed: true, ..replay.created.clone() })
        } else {
            Err(Error::new(Kind::IdempotencyConflict, "this Idempotency-Key was used with another body"))
        })
    }

    fn remember(&mut self, key: String, body: [u8; 32], created: Created) {
        let now = self.now();
        self.replays.retain(|_, replay| now.since(replay.at) < REPLAY_FOR);
        if self.replays.len() < MAX_REPLAYS {
            self.replays.insert(key, Replay { body, at: now, created });
        }
    }
}

impl Actor for KeyActor {
    type Context = Context<Self>;
}

impl Handler<Create> for KeyActor {
    type Result = AtomicResponse<Self, Result<Created, Error>>;

    fn handle(&mut self, create: Create, _: &mut Context<Self>) -> Self::Result {
        if let Some(answer) = self.replay(&create.idempotency) {
            return AtomicResponse::new(Box::pin(actix::fut::ready(answer)));
        }
        let made = create
            .token
            .map_or_else(Token::generate, Ok)
            .map_err(|error| Error::new(Kind::Internal, error.to_string()));
        let made = made.and_then(|token| {
            let record = self.state.make(create.new, &create.by, &token, new_id(IdKind::Key), self.now())?;
            let write = self.write(&record)?;
            Ok((token, Arc::new(record), write))
        });
        let (token, record, write) = match made {
            Ok(made) => made,
            Err(error) => return AtomicResponse::new(Box::pin(actix::fut::ready(Err(error)))),
        };
        AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, actor, _| {
            written?;
            actor.accept(Arc::clone(&record));
            let created = Created { record, key: token, replayed: false };
            if let Some((key, body)) = create.idempotency {
                actor.remember(key, body, created.clone());
            }
            Ok(created)
        })))
    }
}

impl Handler<Revoke> for KeyActor {
    type Result = AtomicResponse<Self, Result<Arc<KeyRecord>, Error>>;

    fn handle(&mut self, revoke: Revoke, _: &mut Context<Self>) -> Self::Result {
        let revoked = self.state.revoke(&revoke.id, self.now()).and_then(|record| Ok((self.write(&record)?, record)));
        match revoked {
            Err(error) => AtomicResponse::new(Box::pin(actix::fut::ready(Err(error)))),
            Ok((write, record)) => AtomicResponse::new(Box::pin(write.into_actor(self).map(|written, actor, _| {
                written?;
                actor.accept(Arc::clone(&record));
                Ok(record)
            }))),
        }
    }
}

impl Handler<Rotate> for KeyActor {
    type Result = AtomicResponse<Self, Result<Created, Error>>;

    fn handle(&mut self, rotate: Rotate, _: &mut Context<Self>) -> Self::Result {
        let Rotate { id, by, grace } = rotate;
        let random = Token::generate().map_err(|error| Error::new(Kind::Internal, error.to_string()));
        let rotated = random.and_then(|token| {
            let record = self.state.rotate(&id, &by, &token.secret, grace, self.now())?;
            // The part that finds the record stays, so that logs and lists still tell the key.
            let token = Token { lookup: record.lookup.clone(), ..token };
            let write = self.write(&record)?;
            Ok((token, Arc::new(record), write))
        });
        match rotated {
            Err(error) => AtomicResponse::new(Box::pin(actix::fut::ready(Err(error)))),
            Ok((key, record, write)) => {
                AtomicResponse::new(Box::pin(write.into_actor(self).map(|written, actor, _| {
                    written?;
                    actor.accept(Arc::clone(&record));
                    Ok(Created { record, key, replayed: false })
                })))
            }
        }
    }
}

impl Handler<Get> for KeyActor {
    type Result = MessageResult<Get>;

    fn handle(&mut self, get: Get, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.state.get(&get.id))
    }
}

impl Handler<List> for KeyActor {
    type Result = MessageResult<List>;

    fn handle(&mut self, list: List, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.state.list(list.limit, list.after.as_deref()))
    }
}

impl Handler<Touch> for KeyActor {
    type Result = ();

    fn handle(&mut self, touch: Touch, context: &mut Context<Self>) {
        let now = self.now();
        self.touched.retain(|_, at| now.since(*at) < TOUCH_EVERY);
        if self.touched.insert(touch.lookup.clone(), now).is_some() {
            return;
        }
        let Some(record) = self.state.by_lookup(&touch.lookup) else { return };
        let record = Arc::new(KeyRecord { last_used_at: Some(touch.at), ..KeyRecord::clone(&record) });
        let Ok(write) = self.write(&record) else { return };
        context.wait(write.into_actor(self).map(|written, actor, _| match written {
            Ok(()) => actor.accept(record),
            Err(error) => tracing::warn!(%error, "last use of a key was not written"),
        }));
    }
}
