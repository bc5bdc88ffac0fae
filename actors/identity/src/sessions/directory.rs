//! The read-only view of all live sessions that requests and WebSocket connections use. The registry publishes it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::record::SessionRecord;
use super::refresh::Lifetimes;
use crate::Person;
use muster_core::Millis;

/// A live session. Shared with its watchers, so that its end and each change of the user's permissions reach open
/// connections at once.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub sid: Arc<str>,
    pub user_id: Arc<str>,
    /// Thumbprint of the key that its tokens are bound to.
    pub jkt: Option<Arc<str>>,
    /// Time of the login.
    pub created_at: Millis,
    /// Absolute end of the session.
    pub ends: Millis,
    /// Cancelled when the session ends.
    pub revoked: CancellationToken,
    /// The user with its present permissions.
    pub grant: watch::Sender<Arc<Person>>,
    /// Time of the last authenticated request, in milliseconds.
    used: AtomicU64,
    /// End of the session if its refresh token is not used, in milliseconds. The record may contain a later time.
    idles_out: AtomicU64,
}

impl LiveSession {
    pub fn new(person: Arc<Person>, session: &SessionRecord, lifetimes: &Lifetimes) -> Self {
        Self {
            sid: Arc::clone(&person.session_id),
            user_id: Arc::clone(&person.user_id),
            jkt: session.jkt.as_deref().map(Arc::from),
            created_at: session.created_at,
            ends: session.ends(lifetimes),
            revoked: CancellationToken::new(),
            grant: watch::Sender::new(person),
            used: AtomicU64::new(session.last_used.0),
            idles_out: AtomicU64::new(session.idles_out(lifetimes).0),
        }
    }

    /// Returns when the session ends if its refresh token is not used.
    pub fn idles_out(&self) -> Millis {
        Millis(self.idles_out.load(Ordering::Relaxed))
    }

    /// Records that a refresh token was used.
    pub fn rotated(&self, session: &SessionRecord, lifetimes: &Lifetimes) {
        self.idles_out.fetch_max(session.idles_out(lifetimes).0, Ordering::Relaxed);
    }

    /// Returns the user with its present permissions.
    pub fn person(&self) -> Arc<Person> {
        Arc::clone(&self.grant.borrow())
    }

    /// Returns the time of the last authenticated request.
    pub fn used(&self) -> Millis {
        Millis(self.used.load(Ordering::Relaxed))
    }

    /// Records an authenticated request.
    pub fn use_at(&self, now: Millis) {
        self.used.fetch_max(now.0, Ordering::Relaxed);
    }
}

/// A connection's view of its session.
#[derive(Debug, Clone)]
pub struct SessionWatch {
    /// Cancelled when the session ends: by logout or revocation, because the user was disabled, or because a refresh token
    /// was used twice.
    pub revoked: CancellationToken,
    /// The user with its present permissions.
    pub grant: watch::Receiver<Arc<Person>>,
    /// Absolute end of the session. Access tokens expire sooner.
    pub exp: Millis,
}

/// All live sessions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    live: HashMap<Arc<str>, Arc<LiveSession>>,
    by_user: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl Directory {
    pub fn len(&self) -> usize {
        self.live.len()
    }

    pub fn get(&self, sid: &str) -> Option<&Arc<LiveSession>> {
        self.live.get(sid)
    }

    pub fn watch(&self, sid: &str, now: Millis) -> Option<SessionWatch> {
        let live = self.get(sid).filter(|live| now < live.ends)?;
        Some(SessionWatch { revoked: live.revoked.clone(), grant: live.grant.subscribe(), exp: live.ends })
    }

    pub fn insert(&mut self, live: Arc<LiveSession>) {
        self.by_user.entry(Arc::clone(&live.user_id)).or_default().insert(Arc::clone(&live.sid));
        self.live.insert(Arc::clone(&live.sid), live);
    }

    /// Removes a session and notifies its watchers.
    pub fn end(&mut self, sid: &str) {
        let Some(live) = self.live.remove(sid) else { return };
        if let Some(sids) = self.by_user.get_mut(&live.user_id) {
            sids.remove(sid);
            if sids.is_empty() {
                self.by_user.remove(&live.user_id);
            }
        }
        live.revoked.cancel();
    }

    /// Returns a user's sessions, oldest first.
    pub fn of(&self, user_id: &str) -> Vec<Arc<LiveSession>> {
        let sids = self.by_user.get(user_id).into_iter().flatten();
        sids.filter_map(|sid| self.live.get(sid).cloned()).collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<LiveSession>> {
        self.live.values()
    }
}
