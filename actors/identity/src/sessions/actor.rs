//! The actor of one session: it processes the session's refresh tokens one after the other.
//!
//! It decides by the record in the store, and each change is written only if that record is still the same. Therefore
//! there is one sequence of successors, even if the session is ended or the actor fails concurrently. It has no state of
//! its own, so it need not wait at its start for the writes of an earlier incarnation.

use std::collections::VecDeque;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use muster_store::{Expect, Op, Record, StoreHandle};
use tokio::sync::oneshot;

use super::record::SessionRecord;
use super::refresh::{Lifetimes, RefreshDecision, RefreshToken, decide};
use crate::registry::{EndSession, Registry};
use muster_core::journal::{Committed, Journal, Journalled};
use muster_core::supervise::Handle;
use muster_core::{Clock, Error, Kind};

/// Largest number of attempts to write a rotation while the record is changed concurrently.
const ATTEMPTS: usize = 4;
/// Time for the registry to end a session.
const END_TIMEOUT: Duration = Duration::from_secs(4);

/// Options of a session actor.
#[derive(Clone)]
pub(crate) struct SessionActorOptions {
    pub sid: String,
    pub store: StoreHandle,
    pub clock: Clock,
    pub lifetimes: Lifetimes,
    pub registry: Handle<Registry>,
}

/// Issues the successors of one session's refresh tokens.
pub(crate) struct SessionActor {
    options: SessionActorOptions,
    journal: Journal<Rotation>,
    /// Tokens that wait for the one that is being processed.
    waiting: VecDeque<PendingRefresh>,
    /// Whether a token is being processed: its rotation, or the end of the session, is not durable yet.
    busy: bool,
}

/// A refresh token whose sender waits for the response.
struct PendingRefresh {
    sent: RefreshToken,
    reply: oneshot::Sender<Result<SessionRecord, Error>>,
    /// Attempts to write the rotation so far.
    attempts: usize,
}

impl PendingRefresh {
    fn respond(self, outcome: Result<SessionRecord, Error>) {
        // The caller may no longer wait.
        let _ = self.reply.send(outcome);
    }
}

/// The next generation of a session, and the token that is exchanged for it.
pub(crate) struct Rotation {
    next: Box<SessionRecord>,
    pending: PendingRefresh,
}

impl SessionActor {
    pub fn new(options: SessionActorOptions) -> Self {
        Self { options, journal: Journal::default(), waiting: VecDeque::new(), busy: false }
    }

    /// Processes waiting tokens until one of them has to wait for the store.
    fn process_waiting(&mut self, context: &mut Context<Self>) {
        while !self.busy
            && let Some(pending) = self.waiting.pop_front()
        {
            self.process(pending, context);
        }
    }

    fn process(&mut self, pending: PendingRefresh, context: &mut Context<Self>) {
        let store = &self.options.store;
        let found = store.get(SessionRecord::TREE, self.options.sid.as_bytes()).map_err(Error::from);
        let found = found.and_then(|rec| rec.ok_or_else(rejected));
        let read = found.and_then(|rec| Ok((SessionRecord::decode(&rec)?, rec)));
        let (session, found) = match read {
            Ok(read) => read,
            Err(error) => return pending.respond(Err(error)),
        };
        match decide(&session, &pending.sent, &self.options.lifetimes, self.options.clock.now()) {
            RefreshDecision::Rejected => pending.respond(Err(rejected())),
            RefreshDecision::Repeated => pending.respond(Ok(session)),
            RefreshDecision::Reused => self.end(&session, pending, context),
            RefreshDecision::Rotated(next) => {
                let write = self.admit().and_then(|()| Ok(next.encode()?));
                let rec = match write {
                    Ok(rec) => rec,
                    Err(error) => return pending.respond(Err(error)),
                };
                let key = self.options.sid.as_bytes().to_vec();
                let expect = vec![(SessionRecord::TREE, key.clone(), Expect::Is(found))];
                self.busy = true;
                let op = Op::Put { tree: SessionRecord::TREE, key, rec };
                self.journal.push_if(expect, vec![op], Rotation { next, pending });
                self.flush(context);
            }
        }
    }

    /// Ends the session because a token was used twice. The end is published before the response to this token and before
    /// the next token is processed.
    fn end(&mut self, session: &SessionRecord, pending: PendingRefresh, context: &mut Context<Self>) {
        tracing::warn!(session = %session.id, user = %session.user, "a refresh token was used twice: the session is ended");
        self.busy = true;
        let registry = self.options.registry.clone();
        let end = EndSession::reused(session.id.clone(), pending.sent.generation);
        // In a task of its own, since the registry stops this actor with the session.
        let ended = actix_rt::spawn(async move {
            let ended = registry.ask_within(END_TIMEOUT, end).await.map_err(Error::from).and_then(|ended| ended);
            pending.respond(ended.and_then(|_| Err(rejected())));
        });
        context.spawn(ended.into_actor(self).map(|_, actor, context| {
            actor.busy = false;
            actor.process_waiting(context);
        }));
    }
}

impl Actor for SessionActor {
    type Context = Context<Self>;
}

impl Journalled for SessionActor {
    type Effects = Rotation;

    fn journal(&mut self) -> &mut Journal<Rotation> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Rotation>, context: &mut Context<Self>) {
        for Rotation { next, pending } in committed.effects {
            pending.respond(Ok(*next));
        }
        self.busy = false;
        self.process_waiting(context);
    }

    fn on_conflict(&mut self, Rotation { pending, .. }: Rotation, context: &mut Context<Self>) {
        self.busy = false;
        if pending.attempts + 1 < ATTEMPTS {
            self.waiting.push_front(PendingRefresh { attempts: pending.attempts + 1, ..pending });
        } else {
            let error = Error::new(Kind::Unavailable, "the session is being changed: try again");
            pending.respond(Err(error.retry_in(Duration::from_secs(1))));
        }
        self.process_waiting(context);
    }

    fn on_failed(&mut self, rotations: Vec<Rotation>, error: &Error) {
        let failed = rotations.into_iter().map(|rotation| rotation.pending).chain(self.waiting.drain(..));
        failed.for_each(|pending| pending.respond(Err(error.clone())));
    }
}

/// Processes a refresh token. Returns the session, whose present generation is to be issued to the caller; `None` if the
/// actor ended before it had processed the token.
#[derive(Debug, Message)]
#[rtype(result = "Option<Result<SessionRecord, Error>>")]
pub(crate) struct Refresh(pub RefreshToken);

/// The error for every rejected refresh token, whatever the reason.
pub(crate) fn rejected() -> Error {
    Error::new(Kind::Unauthenticated, "the refresh token is invalid or has expired: log in again")
        .coded("invalid_refresh_token")
}

impl Handler<Refresh> for SessionActor {
    type Result = ResponseFuture<Option<Result<SessionRecord, Error>>>;

    fn handle(&mut self, Refresh(sent): Refresh, context: &mut Context<Self>) -> Self::Result {
        let (reply, response) = oneshot::channel();
        self.waiting.push_back(PendingRefresh { sent, reply, attempts: 0 });
        self.process_waiting(context);
        Box::pin(async move { response.await.ok() })
    }
}
