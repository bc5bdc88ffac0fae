//! The actor that owns the keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use futures::future::ready;
use muster_store::{Op, PageRequest, Record, StoreHandle};
use tokio::sync::watch;

use super::Directory;
use super::messages::{Create, Created, Get, KeyPage, List, Revoke, Rotate, Touch};
use super::record::KeyRecord;
use super::state::KeyState;
use super::token::Token;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Kind, Millis};

/// A key's `last_used_at` is written at most this often.
pub(super) const TOUCH_EVERY: Duration = Duration::from_secs(60);
const REPLAY_FOR: Duration = Duration::from_secs(24 * 3600);
const MAX_REPLAYS: usize = 10_000;

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

/// What is done once a decision about keys is durable.
pub(super) enum Effect {
    /// Requests are checked against this record from now on.
    Publish(Arc<KeyRecord>),
    Created(Reply<Created>),
    Revoked(Reply<Arc<KeyRecord>>),
    Found(Reply<Option<Arc<KeyRecord>>>),
    Listed(Reply<KeyPage>),
}

impl Effect {
    fn fail(self, error: &Error) {
        match self {
            Self::Publish(_) => {}
            Self::Created(reply) => reply.fail(error),
            Self::Revoked(reply) => reply.fail(error),
            Self::Found(reply) => reply.fail(error),
            Self::Listed(reply) => reply.fail(error),
        }
    }
}

/// Owns the key records: makes, revokes and lists them.
pub(super) struct KeyActor {
    options: KeyActorOptions,
    journal: Journal<Vec<Effect>>,
    /// The keys as they are decided.
    state: KeyState,
    /// The keys as they are durable.
    publish: watch::Sender<Arc<Directory>>,
    replays: HashMap<String, Replay>,
    touched: HashMap<String, Millis>,
}

impl std::fmt::Debug for KeyActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyActor").finish_non_exhaustive()
    }
}

/// Reads every key back from the store.
pub(super) async fn load(
    options: KeyActorOptions,
    publish: watch::Sender<Arc<Directory>>,
) -> Result<KeyActor, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let store = Arc::clone(&options.store);
    let read = move || store.records([], PageRequest::of(500)).values().collect();
    let records: Result<Vec<KeyRecord>, _> = tokio::task::spawn_blocking(read).await?;
    let state = KeyState::from_records(records?);
    publish.send_replace(Arc::new(state.directory()));
    Ok(KeyActor { options, journal, state, publish, replays: HashMap::new(), touched: HashMap::new() })
}

impl Actor for KeyActor {
    type Context = Context<Self>;
}

impl Journalled for KeyActor {
    type Effects = Vec<Effect>;

    fn journal(&mut self) -> &mut Journal<Vec<Effect>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Vec<Effect>>, _: &mut Context<Self>) {
        for effect in committed.effects.into_iter().flatten() {
            match effect {
                Effect::Publish(record) => {
                    self.publish.send_modify(|directory| Arc::make_mut(directory).insert(record));
                }
                Effect::Created(reply) => reply.send(),
                Effect::Revoked(reply) => reply.send(),
                Effect::Found(reply) => reply.send(),
                Effect::Listed(reply) => reply.send(),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<Vec<Effect>>, error: &Error) {
        effects.into_iter().flatten().for_each(|effect| effect.fail(error));
    }
}

impl KeyActor {
    fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Takes a record over: from now on decisions rest on it; requests are checked against it once it is durable.
    fn put(&mut self, record: &Arc<KeyRecord>) -> Result<(), Error> {
        let op = Op::Put { tree: KeyRecord::TREE, key: record.id.as_bytes().to_vec(), rec: record.encode()? };
        self.state.put(Arc::clone(record));
        self.journal.push(vec![op], vec![Effect::Publish(Arc::clone(record))]);
        Ok(())
    }

    /// Answers once everything that was decided before is durable.
    fn answer<T: 'static>(
        &mut self,
        value: Result<T, Error>,
        effect: fn(Reply<T>) -> Effect,
        context: &mut Context<Self>,
    ) -> ResponseFuture<Result<T, Error>> {
        // What cannot be stored is refused at once; any other refusal may rest on what is not durable yet.
        if value.as_ref().is_err_and(|refused| refused.kind == Kind::Unavailable) {
            return Box::pin(ready(value));
        }
        let (reply, answer) = Reply::of(value);
        self.journal.push(Vec::new(), vec![effect(reply)]);
        self.flush(context);
        Box::pin(answer)
    }

    fn replay(&self, (key, body): &(String, [u8; 32])) -> Option<Result<Created, Error>> {
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

    fn create(&mut self, create: Create) -> Result<Created, Error> {
        if let Some(first) = create.idempotency.as_ref().and_then(|asked| self.replay(asked)) {
            return first;
        }
        self.admit()?;
        let key = create.token.map_or_else(token, Ok)?;
        let record = self.state.make(create.new, &create.by, &key, new_id(IdKind::Key), self.now())?;
        let record = Arc::new(record);
        self.put(&record)?;
        let created = Created { record, key, replayed: false };
        if let Some((key, body)) = create.idempotency {
            self.remember(key, body, created.clone());
        }
        Ok(created)
    }

    fn revoke(&mut self, id: &str) -> Result<Arc<KeyRecord>, Error> {
        self.admit()?;
        let record = self.state.revoke(id, self.now())?;
        self.put(&record)?;
        Ok(record)
    }

    fn rotate(&mut self, Rotate { id, by, grace }: Rotate) -> Result<Created, Error> {
        self.admit()?;
        let new = token()?;
        let record = self.state.rotate(&id, &by, &new.secret, grace, self.now())?;
        // The part that finds the record stays, so that logs and lists still name the key.
        let key = Token { lookup: record.lookup.clone(), ..new };
        let record = Arc::new(record);
        self.put(&record)?;
        Ok(Created { record, key, replayed: false })
    }
}

fn token() -> Result<Token, Error> {
    Token::generate().map_err(|error| Error::new(Kind::Internal, error.to_string()))
}

impl Handler<Create> for KeyActor {
    type Result = ResponseFuture<Result<Created, Error>>;

    fn handle(&mut self, create: Create, context: &mut Context<Self>) -> Self::Result {
        let created = self.create(create);
        self.answer(created, Effect::Created, context)
    }
}

impl Handler<Revoke> for KeyActor {
    type Result = ResponseFuture<Result<Arc<KeyRecord>, Error>>;

    fn handle(&mut self, revoke: Revoke, context: &mut Context<Self>) -> Self::Result {
        let revoked = self.revoke(&revoke.id);
        self.answer(revoked, Effect::Revoked, context)
    }
}

impl Handler<Rotate> for KeyActor {
    type Result = ResponseFuture<Result<Created, Error>>;

    fn handle(&mut self, rotate: Rotate, context: &mut Context<Self>) -> Self::Result {
        let rotated = self.rotate(rotate);
        self.answer(rotated, Effect::Created, context)
    }
}

impl Handler<Get> for KeyActor {
    type Result = ResponseFuture<Result<Option<Arc<KeyRecord>>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let found = self.state.get(&get.id);
        self.answer(Ok(found), Effect::Found, context)
    }
}

impl Handler<List> for KeyActor {
    type Result = ResponseFuture<Result<KeyPage, Error>>;

    fn handle(&mut self, list: List, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.list(list.limit, list.after.as_deref());
        self.answer(Ok(page), Effect::Listed, context)
    }
}

impl Handler<Touch> for KeyActor {
    type Result = ();

    fn handle(&mut self, touch: Touch, context: &mut Context<Self>) {
        let now = self.now();
        self.touched.retain(|_, at| now.since(*at) < TOUCH_EVERY);
        // Nobody waits for it: while nothing can be stored it is left out.
        if self.admit().is_err() || self.touched.insert(touch.lookup.clone(), now).is_some() {
            return;
        }
        let Some(record) = self.state.by_lookup(&touch.lookup) else { return };
        let record = Arc::new(KeyRecord { last_used_at: Some(touch.at), ..KeyRecord::clone(&record) });
        if let Err(error) = self.put(&record) {
            tracing::warn!(%error, "last use of a key was not written");
        }
        self.flush(context);
    }
}
