//! The actor that owns the API keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use muster_store::{Op, PageRequest, Record, StoreHandle};
use tokio::sync::watch;

use super::Directory;
use super::messages::{Create, CreatedKey, Get, KeyPage, List, Revoke, Rotate, Touch};
use super::record::KeyRecord;
use super::state::KeyState;
use super::token::Token;
use muster_core::idempotency::RecentResponses;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Committed, Journal, Journalled, Reply, respond};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Kind, Millis};

/// Shortest time between two writes of a key's `last_used_at`.
pub(super) const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Options of the key actor.
#[derive(Clone)]
pub struct KeyActorOptions {
    /// Store of the key records.
    pub store: StoreHandle,
    /// Clock that expiry is checked against.
    pub clock: Clock,
}

impl std::fmt::Debug for KeyActorOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyActorOptions")
    }
}

/// An effect of a decision about keys, performed once the decision is durable.
pub(super) enum KeyEffect {
    /// Adds a record to the directory: requests are checked against it from now on.
    Publish(Arc<KeyRecord>),
    /// Responds to a caller.
    Reply(Reply<()>),
}

impl From<Reply<()>> for KeyEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// Owns the key records: creates, rotates, revokes and lists them.
pub(super) struct KeyActor {
    options: KeyActorOptions,
    journal: Journal<KeyEffect>,
    /// All keys after every decision so far, durable or not.
    state: KeyState,
    /// All keys after the durable decisions.
    publish: watch::Sender<Arc<Directory>>,
    /// First responses to the creation of keys. They contain secrets, which are never stored.
    responses: RecentResponses<CreatedKey>,
    /// Time of the last write of `last_used_at`, by lookup identifier, for [`TOUCH_INTERVAL`].
    touched: HashMap<String, Millis>,
}

impl std::fmt::Debug for KeyActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyActor").finish_non_exhaustive()
    }
}

/// Reads all keys from the store and publishes the directory.
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
    Ok(KeyActor { options, journal, state, publish, responses: RecentResponses::default(), touched: HashMap::new() })
}

impl Actor for KeyActor {
    type Context = Context<Self>;
}

impl Journalled for KeyActor {
    type Effects = KeyEffect;

    fn journal(&mut self) -> &mut Journal<KeyEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<KeyEffect>, _: &mut Context<Self>) {
        for effect in committed.effects {
            match effect {
                KeyEffect::Publish(record) => {
                    self.publish.send_modify(|directory| Arc::make_mut(directory).insert(record));
                }
                KeyEffect::Reply(reply) => reply.send(),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<KeyEffect>, error: &Error) {
        for effect in effects {
            if let KeyEffect::Reply(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

impl KeyActor {
    fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Stores a record. Later decisions depend on it at once; requests are checked against it once it is durable.
    fn put(&mut self, record: &Arc<KeyRecord>) -> Result<(), Error> {
        let op = Op::Put { tree: KeyRecord::TREE, key: record.id.as_bytes().to_vec(), rec: record.encode()? };
        self.state.put(Arc::clone(record));
        self.journal.push(vec![op], KeyEffect::Publish(Arc::clone(record)));
        Ok(())
    }

    fn create(&mut self, create: Create) -> Result<CreatedKey, Error> {
        let now = self.now();
        if let Some(request) = &create.idempotency
            && let Some(first) = self.responses.replay(request, now)?
        {
            return Ok(CreatedKey { replayed: true, ..first });
        }
        self.admit()?;
        let key = create.token.map_or_else(generate, Ok)?;
        let record = Arc::new(self.state.create(create.new, &create.issuer, &key, new_id(IdKind::Key), now)?);
        self.put(&record)?;
        let created = CreatedKey { record, key, replayed: false };
        if let Some(request) = &create.idempotency {
            self.responses.insert(request, created.clone(), now);
        }
        Ok(created)
    }

    fn revoke(&mut self, Revoke { id, issuer }: &Revoke) -> Result<Arc<KeyRecord>, Error> {
        self.admit()?;
        let record = self.state.revoke(id, issuer, self.now())?;
        self.put(&record)?;
        Ok(record)
    }

    fn rotate(&mut self, Rotate { id, issuer, grace }: Rotate) -> Result<CreatedKey, Error> {
        self.admit()?;
        let new = generate()?;
        let record = self.state.rotate(&id, &issuer, &new.secret, grace, self.now())?;
        // The lookup identifier stays, so that logs and lists continue to identify the key.
        let key = Token { lookup: record.lookup.clone(), ..new };
        let record = Arc::new(record);
        self.put(&record)?;
        Ok(CreatedKey { record, key, replayed: false })
    }
}

fn generate() -> Result<Token, Error> {
    Token::generate().map_err(|error| Error::new(Kind::Internal, error.to_string()))
}

impl Handler<Create> for KeyActor {
    type Result = ResponseFuture<Result<CreatedKey, Error>>;

    fn handle(&mut self, create: Create, context: &mut Context<Self>) -> Self::Result {
        let created = self.create(create);
        respond(self, created, context)
    }
}

impl Handler<Revoke> for KeyActor {
    type Result = ResponseFuture<Result<Arc<KeyRecord>, Error>>;

    fn handle(&mut self, revoke: Revoke, context: &mut Context<Self>) -> Self::Result {
        let revoked = self.revoke(&revoke);
        respond(self, revoked, context)
    }
}

impl Handler<Rotate> for KeyActor {
    type Result = ResponseFuture<Result<CreatedKey, Error>>;

    fn handle(&mut self, rotate: Rotate, context: &mut Context<Self>) -> Self::Result {
        let rotated = self.rotate(rotate);
        respond(self, rotated, context)
    }
}

impl Handler<Get> for KeyActor {
    type Result = ResponseFuture<Result<Option<Arc<KeyRecord>>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let found = self.state.get(&get.id);
        respond(self, Ok(found), context)
    }
}

impl Handler<List> for KeyActor {
    type Result = ResponseFuture<Result<KeyPage, Error>>;

    fn handle(&mut self, list: List, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.list(list.limit, list.after.as_deref());
        respond(self, Ok(page), context)
    }
}

impl Handler<Touch> for KeyActor {
    type Result = ();

    fn handle(&mut self, touch: Touch, context: &mut Context<Self>) {
        let now = self.now();
        self.touched.retain(|_, at| now.since(*at) < TOUCH_INTERVAL);
        // No caller waits for this write: it is skipped while nothing can be stored.
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
