//! The actor of one session: it takes the refresh tokens one after the other.
//!
//! What it judges by is the record in the store, and what it changes is written only where that record is still the
//! same: so whoever else ends the session, and whatever dies meanwhile, there is one line of successors. It has no state
//! of its own and need not wait at its start for what an earlier incarnation was writing.

use std::collections::VecDeque;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use muster_store::{Expect, Op, Record, StoreHandle};
use tokio::sync::oneshot;

use super::record::SessionRecord;
use super::refresh::{Judged, Lifetimes, Presented, judge};
use crate::registry::{EndSession, Registry};
use muster_core::journal::{Committed, Journal, Journalled};
use muster_core::supervise::Handle;
use muster_core::{Clock, Error, Kind};

/// Attempts to write a rotation that others came before.
const ATTEMPTS: usize = 4;
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
    journal: Journal<Rotation>,
    /// Tokens that wait for the one that is being taken.
    waiting: VecDeque<Pending>,
    /// A token is being taken: its rotation, or the end of the session, is not durable yet.
    busy: bool,
}

/// A refresh token whose answer is awaited.
struct Pending {
    sent: Presented,
    reply: oneshot::Sender<Result<SessionRecord, Error>>,
    attempts: usize,
}

impl Pending {
    fn answer(self, answer: Result<SessionRecord, Error>) {
        // Whoever asked may wait no more.
        let _ = self.reply.send(answer);
    }
}

/// The next generation of a session, and the token that is exchanged for it.
pub(crate) struct Rotation {
    next: Box<SessionRecord>,
    pending: Pending,
}

impl SessionActor {
    pub fn new(options: SessionActorOptions) -> Self {
        Self { options, journal: Journal::default(), waiting: VecDeque::new(), busy: false }
    }

    /// Takes the tokens that wait, until one of them has to wait for the store.
    fn take_next(&mut self, context: &mut Context<Self>) {
        while !self.busy
            && let Some(pending) = self.waiting.pop_front()
        {
            self.take(pending, context);
        }
    }

    fn take(&mut self, pending: Pending, context: &mut Context<Self>) {
        let store = &self.options.store;
        let found = store.get(SessionRecord::TREE, self.options.sid.as_bytes()).map_err(Error::from);
        let found = found.and_then(|rec| rec.ok_or_else(refused));
        let read = found.and_then(|rec| Ok((SessionRecord::decode(&rec)?, rec)));
        let (session, found) = match read {
            Ok(read) => read,
            Err(error) => return pending.answer(Err(error)),
        };
        match judge(&session, &pending.sent, &self.options.lifetimes, self.options.clock.now()) {
            Judged::Refused => pending.answer(Err(refused())),
            Judged::Again => pending.answer(Ok(session)),
            Judged::Reused => self.end(&session, pending, context),
            Judged::Rotated(next) => {
                let write = self.admit().and_then(|()| Ok(next.encode()?));
                let rec = match write {
                    Ok(rec) => rec,
                    Err(error) => return pending.answer(Err(error)),
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

    /// A used token came again: the session ends, and is over for everyone before this token is answered or the next one
    /// is taken.
    fn end(&mut self, session: &SessionRecord, pending: Pending, context: &mut Context<Self>) {
        tracing::warn!(session = %session.id, user = %session.user, "a used refresh token came again: the session ends");
        self.busy = true;
        let registry = self.options.registry.clone();
        let end = EndSession::reused(session.id.clone(), pending.sent.generation);
        // Beside the actor, which is retired with its session.
        let ended = actix_rt::spawn(async move {
            let ended = registry.ask_within(PATIENCE, end).await.map_err(Error::from).and_then(|ended| ended);
            pending.answer(ended.and_then(|_| Err(refused())));
        });
        context.spawn(ended.into_actor(self).map(|_, actor, context| {
            actor.busy = false;
            actor.take_next(context);
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
            pending.answer(Ok(*next));
        }
        self.busy = false;
        self.take_next(context);
    }

    fn on_conflict(&mut self, Rotation { pending, .. }: Rotation, context: &mut Context<Self>) {
        self.busy = false;
        if pending.attempts + 1 < ATTEMPTS {
            self.waiting.push_front(Pending { attempts: pending.attempts + 1, ..pending });
        } else {
            let error = Error::new(Kind::Unavailable, "the session is being changed: try again");
            pending.answer(Err(error.retry_in(Duration::from_secs(1))));
        }
        self.take_next(context);
    }

    fn on_failed(&mut self, rotations: Vec<Rotation>, error: &Error) {
        let failed = rotations.into_iter().map(|rotation| rotation.pending).chain(self.waiting.drain(..));
        failed.for_each(|pending| pending.answer(Err(error.clone())));
    }
}

/// Takes a refresh token. Answers the session whose present generation is to be given to the caller; `None` where the
/// actor ended before it had taken the token.
#[derive(Debug, Message)]
#[rtype(result = "Option<Result<SessionRecord, Error>>")]
pub(crate) struct Refresh(pub Presented);

/// The one refusal of refresh tokens, whatever is wrong with them.
pub(crate) fn refused() -> Error {
    Error::new(Kind::Unauthenticated, "the refresh token is not good, or no longer: log in again")
        .coded("invalid_refresh_token")
}

impl Handler<Refresh> for SessionActor {
    type Result = ResponseFuture<Option<Result<SessionRecord, Error>>>;

    fn handle(&mut self, Refresh(sent): Refresh, context: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.waiting.push_back(Pending { sent, reply, attempts: 0 });
        self.take_next(context);
        Box::pin(async move { answer.await.ok() })
    }
}
