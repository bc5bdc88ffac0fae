//! The actor of one session: it takes the refresh tokens one after the other.
//!
//! What it judges by is the record in the store, and what it changes is written only where that record is still the
//! same: so whoever else ends the session, and whatever dies meanwhile, there is one line of successors.

use std::time::Duration;

use actix::{Actor, ActorFutureExt, AtomicResponse, Context, Handler, Message, WrapFuture};
use muster_store::{Batch, Expect, Record, StoreError, StoreHandle};

use super::record::SessionRecord;
use super::refresh::{Judged, Lifetimes, Presented, judge};
use crate::registry::{EndSession, Registry};
use muster_core::supervise::Handle;
use muster_core::{Clock, Error, Kind};

/// Tries of a write that others came before.
const TRIES: usize = 4;
/// For the registry to end a session.
const PATIENCE: Duration = Duration::from_secs(4);

#[derive(Clone)]
pub(crate) struct SessionActorOptions {
    pub sid: String,
    pub store: StoreHandle,
    pub clock: Clock,
    pub lifetimes: Lifetimes,
    pub registry: Handle<Registry>,
}

/// Owns the succession of one session's refresh tokens.
pub(crate) struct SessionActor {
    options: SessionActorOptions,
}

impl SessionActor {
    pub fn new(options: SessionActorOptions) -> Self {
        Self { options }
    }
}

impl Actor for SessionActor {
    type Context = Context<Self>;
}

/// Takes a refresh token. Answers the session whose present generation is to be given to the caller.
#[derive(Debug, Message)]
#[rtype(result = "Result<SessionRecord, Error>")]
pub(crate) struct Refresh(pub Presented);

/// The one refusal of refresh tokens, whatever is wrong with them.
pub(crate) fn refused() -> Error {
    Error::new(Kind::Unauthenticated, "the refresh token is not good, or no longer: log in again")
        .coded("invalid_refresh_token")
}

impl Handler<Refresh> for SessionActor {
    type Result = AtomicResponse<Self, Result<SessionRecord, Error>>;

    fn handle(&mut self, Refresh(sent): Refresh, _: &mut Context<Self>) -> Self::Result {
        let taken = take(self.options.clone(), sent);
        AtomicResponse::new(Box::pin(taken.into_actor(self).map(|taken, _, _| taken)))
    }
}

async fn take(options: SessionActorOptions, sent: Presented) -> Result<SessionRecord, Error> {
    for _ in 0..TRIES {
        let found = options.store.get(SessionRecord::TREE, options.sid.as_bytes())?;
        let found = found.ok_or_else(refused)?;
        let session = SessionRecord::decode(&found)?;
        match judge(&session, &sent, &options.lifetimes, options.clock.now()) {
            Judged::Refused => return Err(refused()),
            Judged::Again => return Ok(session),
            Judged::Reused => {
                tracing::warn!(session = %session.id, user = %session.user, "a used refresh token came again: the session ends");
                let end = EndSession::reused(session.id, sent.generation);
                options.registry.ask_within(PATIENCE, end).await??;
                return Err(refused());
            }
            Judged::Rotated(next) => {
                let batch = Batch::put(SessionRecord::TREE, options.sid.as_bytes(), next.encode()?);
                match options
                    .store
                    .commit(batch.when(SessionRecord::TREE, options.sid.as_bytes(), Expect::Is(found)))
                    .await
                {
                    Ok(()) => return Ok(*next),
                    Err(StoreError::Conflict) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Err(Error::new(Kind::Unavailable, "the session is being changed: try again").retry_in(Duration::from_secs(1)))
}
