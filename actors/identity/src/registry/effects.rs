//! What follows a decision about people and sessions, once it is durable.

use std::sync::Arc;

use super::actor::{Registry, person};
use super::messages::{Attempted, Created, Located, Opened};
use crate::sessions::LiveSession;
use crate::users::UserRecord;
use muster_core::Error;
use muster_core::event::Event;
use muster_core::journal::Reply;
use muster_core::page::Page;

/// What is done once a decision is durable.
pub(crate) enum Effect {
    /// A person was made, changed or removed: how many there are.
    Count(usize),
    /// What a person may do has changed: every open session has it from now on.
    Grant(Arc<UserRecord>),
    /// A session has begun: its tokens are accepted from now on.
    Open {
        account: String,
        opened: Box<Opened>,
    },
    /// Sessions have ended: nobody is let in by them any more, and who watches them is told.
    End(Vec<Arc<str>>),
    Publish(Vec<Event>),
    Answer(Answer),
}

/// An answer that was waiting for its decision.
pub(crate) enum Answer {
    Attempted(Reply<Attempted>),
    Opened(Reply<Opened>),
    Located(Reply<Option<Located>>),
    Ended(Reply<bool>),
    EndedAll(Reply<usize>),
    Created(Reply<Created>),
    User(Reply<Arc<UserRecord>>),
    Deleted(Reply<()>),
    Found(Reply<Option<Arc<UserRecord>>>),
    Listed(Reply<Page<Arc<UserRecord>>>),
}

impl Answer {
    fn send(self) {
        match self {
            Self::Attempted(reply) => reply.send(),
            Self::Opened(reply) => reply.send(),
            Self::Located(reply) => reply.send(),
            Self::Ended(reply) => reply.send(),
            Self::EndedAll(reply) => reply.send(),
            Self::Created(reply) => reply.send(),
            Self::User(reply) => reply.send(),
            Self::Deleted(reply) => reply.send(),
            Self::Found(reply) => reply.send(),
            Self::Listed(reply) => reply.send(),
        }
    }

    pub(super) fn fail(self, error: &Error) {
        match self {
            Self::Attempted(reply) => reply.fail(error),
            Self::Opened(reply) => reply.fail(error),
            Self::Located(reply) => reply.fail(error),
            Self::Ended(reply) => reply.fail(error),
            Self::EndedAll(reply) => reply.fail(error),
            Self::Created(reply) => reply.fail(error),
            Self::User(reply) => reply.fail(error),
            Self::Deleted(reply) => reply.fail(error),
            Self::Found(reply) => reply.fail(error),
            Self::Listed(reply) => reply.fail(error),
        }
    }
}

impl Registry {
    pub(super) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Count(people) => drop(self.options.count.send_replace(people)),
            Effect::Grant(user) => {
                for live in self.options.publish.borrow().of(&user.id) {
                    live.grant.send_replace(person(&user, &live.sid));
                }
            }
            Effect::Open { account, opened } => self.opened(&account, &opened),
            Effect::End(sids) => self.ended(&sids),
            Effect::Publish(events) => {
                if let Some(publisher) = self.options.publisher.as_ref().filter(|_| !events.is_empty()) {
                    publisher.publish(events);
                }
            }
            Effect::Answer(answer) => answer.send(),
        }
    }

    fn opened(&mut self, account: &str, opened: &Opened) {
        self.throttle.succeeded(account);
        self.sessions.opened(&opened.session.id);
        let live = LiveSession::new(Arc::clone(&opened.person), &opened.session, &self.options.lifetimes);
        self.options.publish.send_modify(|directory| Arc::make_mut(directory).insert(Arc::new(live)));
    }

    /// Takes sessions out of the directory and retires their actors.
    pub(super) fn ended(&mut self, sids: &[Arc<str>]) {
        if sids.is_empty() {
            return;
        }
        self.options.publish.send_modify(|directory| {
            let directory = Arc::make_mut(directory);
            sids.iter().for_each(|sid| directory.end(sid));
        });
        for sid in sids {
            if let Some(worker) = self.workers.remove(&**sid) {
                worker.handle.retire();
            }
        }
    }
}
