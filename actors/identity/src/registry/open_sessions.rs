//! The live sessions after every decision so far. The directory, which requests use, contains the durable ones only.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::sessions::SessionRecord;

/// The sessions that are live after every decision so far, durable or not.
#[derive(Debug, Default)]
pub(super) struct OpenSessions {
    /// User of each session.
    owners: HashMap<Arc<str>, Arc<str>>,
    by_user: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Records that are not in the store yet.
    undurable: HashMap<Arc<str>, SessionRecord>,
}

impl OpenSessions {
    /// Adds a session that is in the store.
    pub(super) fn insert(&mut self, sid: Arc<str>, user: Arc<str>) {
        self.by_user.entry(Arc::clone(&user)).or_default().insert(Arc::clone(&sid));
        self.owners.insert(sid, user);
    }

    /// Adds a session that is not in the store yet.
    pub(super) fn open(&mut self, session: SessionRecord) {
        let sid: Arc<str> = Arc::from(session.id.as_str());
        self.insert(Arc::clone(&sid), Arc::from(session.user.as_str()));
        self.undurable.insert(sid, session);
    }

    /// Records that a session is in the store now.
    pub(super) fn set_durable(&mut self, sid: &str) {
        self.undurable.remove(sid);
    }

    /// Returns the record of a session that is not in the store yet.
    pub(super) fn undurable(&self, sid: &str) -> Option<&SessionRecord> {
        self.undurable.get(sid)
    }

    /// Removes a session.
    pub(super) fn end(&mut self, sid: &str) {
        let Some(user) = self.owners.remove(sid) else { return };
        if let Some(sids) = self.by_user.get_mut(&user) {
            sids.remove(sid);
            if sids.is_empty() {
                self.by_user.remove(&user);
            }
        }
    }

    /// Returns the identifiers of a session and its user.
    pub(super) fn get(&self, sid: &str) -> Option<(Arc<str>, Arc<str>)> {
        self.owners.get_key_value(sid).map(|(sid, user)| (Arc::clone(sid), Arc::clone(user)))
    }

    /// Returns a user's sessions, oldest first.
    pub(super) fn of(&self, user: &str) -> Vec<Arc<str>> {
        self.by_user.get(user).into_iter().flatten().cloned().collect()
    }
}
