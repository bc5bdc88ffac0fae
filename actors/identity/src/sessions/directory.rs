//! What requests and sockets see of the live sessions: published by their owner, read without a hop.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::record::SessionRecord;
use super::refresh::Lifetimes;
use crate::Person;
use muster_core::Millis;

/// A session that lives. Shared by everyone who looks at it, so that its end and each change of what its person may do
/// reach an open socket at once.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub sid: Arc<str>,
    pub user_id: Arc<str>,
    /// The thumbprint that its tokens are bound to.
    pub jkt: Option<Arc<str>>,
    /// When it ends whatever is done.
    pub ends: Millis,
    pub revoked: CancellationToken,
    pub grant: watch::Sender<Arc<Person>>,
    /// Milliseconds of the last request that it let in.
    used: AtomicU64,
    /// When it ends where its refresh token is not used; the record says the last word.
    idles_out: AtomicU64,
}

impl LiveSession {
    pub fn new(person: Arc<Person>, session: &SessionRecord, lifetimes: &Lifetimes) -> Self {
        Self {
            sid: Arc::clone(&person.session_id),
            user_id: Arc::clone(&person.user_id),
            jkt: session.jkt.as_deref().map(Arc::from),
            ends: session.ends(lifetimes),
            revoked: CancellationToken::new(),
            grant: watch::Sender::new(person),
            used: AtomicU64::new(session.last_used.0),
            idles_out: AtomicU64::new(session.idles_out(lifetimes).0),
        }
    }

    pub fn idles_out(&self) -> Millis {
        Millis(self.idles_out.load(Ordering::Relaxed))
    }

    pub fn rotated(&self, session: &SessionRecord, lifetimes: &Lifetimes) {
        self.idles_out.fetch_max(session.idles_out(lifetimes).0, Ordering::Relaxed);
    }

    pub fn person(&self) -> Arc<Person> {
        Arc::clone(&self.grant.borrow())
    }

    pub fn used(&self) -> Millis {
        Millis(self.used.load(Ordering::Relaxed))
    }

    pub fn use_at(&self, now: Millis) {
        self.used.fetch_max(now.0, Ordering::Relaxed);
    }
}

/// What a socket holds of its session.
#[derive(Debug, Clone)]
pub struct SessionWatch {
    /// Cancelled when the session ends: logout, revocation, a disabled person, a stolen refresh token.
    pub revoked: CancellationToken,
    /// The person with its present permissions.
    pub grant: watch::Receiver<Arc<Person>>,
    /// When the session ends whatever is done; an access token ends sooner.
    pub exp: Millis,
}

/// Every live session. What is not in it is over, or never was.
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

    /// Takes a session out and tells all who watch it.
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

    /// A person's sessions, the eldest first.
    pub fn of(&self, user_id: &str) -> Vec<Arc<LiveSession>> {
        let sids = self.by_user.get(user_id).into_iter().flatten();
        sids.filter_map(|sid| self.live.get(sid).cloned()).collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<LiveSession>> {
        self.live.values()
    }
}
