//! Effects of decisions about users and sessions, performed once the decisions are durable.

use std::sync::Arc;

use super::actor::{Registry, person};
use super::messages::OpenedSession;
use crate::sessions::LiveSession;
use crate::users::UserRecord;
use muster_core::event::Event;
use muster_core::journal::Reply;

/// The effect of a decision.
pub(crate) enum RegistryEffect {
    /// Applies a change to the directory and publishes its events.
    Apply(Box<ChangeEffects>),
    /// Responds to a caller.
    Reply(Reply<()>),
}

impl From<Reply<()>> for RegistryEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// The effects of a change of users and sessions, in the order in which they are performed.
#[derive(Debug, Default)]
pub(crate) struct ChangeEffects {
    /// Sessions that have ended: removed from the directory, their watchers notified.
    pub(super) ended: Vec<Arc<str>>,
    /// Events to publish.
    pub(super) events: Vec<Event>,
    /// A session that has begun: its tokens are accepted from now on.
    pub(super) opened: Option<OpenedSession>,
    /// The number of users, if it has changed.
    pub(super) user_count: Option<usize>,
    /// A user whose open sessions get the present permissions.
    pub(super) updated: Option<Arc<UserRecord>>,
    /// A user who was deleted.
    pub(super) removed: Option<String>,
}

impl Registry {
    pub(super) fn apply(&mut self, effects: ChangeEffects) {
        let ChangeEffects { ended, events, opened, user_count, updated, removed } = effects;
        self.remove_sessions(&ended);
        if let Some(publisher) = self.options.publisher.as_ref().filter(|_| !events.is_empty()) {
            publisher.publish(events);
        }
        if let Some(opened) = opened {
            self.add_session(&opened);
        }
        if let Some(count) = user_count {
            self.options.user_count.send_replace(count);
        }
        if let Some(id) = removed {
            self.options.people.send_modify(|accounts| Arc::make_mut(accounts).remove(&id));
        }
        if let Some(user) = updated {
            self.options.people.send_modify(|accounts| Arc::make_mut(accounts).put(Arc::clone(&user)));
            for live in self.options.publish.borrow().of(&user.id) {
                live.grant.send_replace(person(&user, &live.sid));
            }
        }
    }

    fn add_session(&mut self, opened: &OpenedSession) {
        self.throttle.succeeded(&opened.attempt);
        let until = opened.session.ends(&self.options.lifetimes);
        self.known.insert(&opened.user.id, opened.attempt.source, until);
        self.sessions.set_durable(&opened.session.id);
        let live = LiveSession::new(Arc::clone(&opened.person), &opened.session, &self.options.lifetimes);
        self.options.publish.send_modify(|directory| Arc::make_mut(directory).insert(Arc::new(live)));
    }

    /// Removes sessions from the directory and stops their actors.
    pub(super) fn remove_sessions(&mut self, sids: &[Arc<str>]) {
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
