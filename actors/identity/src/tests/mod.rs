//! The actors of identity, on paused time.

mod faults;
mod logins;
mod refreshes;
mod service_accounts;
mod sessions;
mod users;

use muster_core::principal::UserRole;
use std::sync::Arc;
use std::time::Duration;

use muster_store::{MemStore, Record, Scan, Store, StoreHandle, Tree as StoreTree};
use tempfile::TempDir;

use super::*;
use muster_core::audit::{AuditEntry, AuditRecord};
use muster_core::event::RecordingPublisher;
use muster_core::precondition::IfMatch;
use muster_core::supervise::Tree;
use muster_core::test_world::START;
use muster_core::{Clock, Error};

pub(super) const PASSWORD: &str = "correct horse battery staple";

/// The actors of identity over an in-memory store, which can be restarted.
pub(super) struct TestIdentity {
    pub identity: Identity,
    pub store: Arc<MemStore>,
    pub published: Arc<RecordingPublisher>,
    pub keys: TempDir,
    tree: Tree,
}

impl TestIdentity {
    /// Starts the actors and creates the first administrator. The clock follows the paused time.
    pub async fn new(tree: &Tree) -> Self {
        let fixture = Self::on(tree, Arc::new(MemStore::default()), tempfile::tempdir().unwrap(), "identity").await;
        fixture.identity.create_first(Some(PASSWORD.to_owned())).await.unwrap();
        fixture
    }

    async fn on(tree: &Tree, store: Arc<MemStore>, keys: TempDir, name: &str) -> Self {
        let clock = Clock::tokio(muster_core::Millis(START.0));
        let published = Arc::new(RecordingPublisher::default());
        let options = IdentityOptions {
            clock,
            publisher: Some(Arc::clone(&published) as _),
            keys: keys.path().join("signing"),
            policy: RotationPolicy::default(),
            issuer: "muster".to_owned(),
            lifetimes: Lifetimes::default(),
            rates: LoginRates { per_address: 1000, of_all: 1000 },
            hasher: Hasher { m_kib: 8, t: 1, p: 1 },
            cores: 2,
            bound_bearer: BoundBearer::WithProof,
        };
        let (arbiter, handle): (_, StoreHandle) = (actix_rt::Arbiter::current(), store.clone());
        let identity = Identity::start(&tree.group(name), arbiter, &handle, options).unwrap();
        identity.up().await;
        Self { identity, store, published, keys, tree: tree.clone() }
    }

    /// Starts new actors on the same store and keys, as after a restart of the program.
    pub async fn restart(self) -> Self {
        Self::on(&self.tree, self.store, self.keys, "identity-restarted").await
    }

    pub async fn login(&self, email: &str) -> Result<IssuedTokens, Error> {
        self.login_with(email, PASSWORD).await
    }

    pub async fn login_with(&self, email: &str, password: &str) -> Result<IssuedTokens, Error> {
        self.login_from(email, password, Origin::default()).await
    }

    pub async fn login_from(&self, email: &str, password: &str, origin: Origin) -> Result<IssuedTokens, Error> {
        match self.identity.begin_login(email, origin).await? {
            LoginAdmission::Admitted(pending) => self.identity.finish_login(*pending, password.to_owned()).await,
            LoginAdmission::Refused(excess) => Err(excess.into()),
        }
    }

    /// Logs the first administrator in.
    pub async fn admin(&self) -> Arc<Person> {
        let done = self.login(FIRST_EMAIL).await.unwrap();
        self.admit(&done.token).unwrap().person
    }

    pub fn admit(&self, token: &str) -> Result<Admitted, Error> {
        let credential =
            Credential { scheme: Scheme::Bearer, token, proof: None, method: "GET", url: "http://localhost/" };
        self.identity.admit(&credential)
    }

    /// Creates a user with the password [`PASSWORD`].
    pub async fn create(&self, email: &str, role: UserRole) -> Arc<UserRecord> {
        let new = NewUser { email: email.to_owned(), name: String::new(), role, grants: Vec::new() };
        self.identity.create_user(By::System, new, PASSWORD.to_owned(), None).await.unwrap().user
    }

    /// Returns the entries of the audit log, in order.
    pub fn audit(&self) -> Vec<AuditEntry> {
        let page = self.store.scan(StoreTree::AuditLog, &Scan { limit: 1000, ..Scan::default() }).unwrap();
        page.items.iter().map(|(_, rec)| AuditRecord::decode(rec).unwrap().entry().unwrap()).collect()
    }

    /// Returns the actions of the audit log, in order.
    pub fn actions(&self) -> Vec<String> {
        self.audit().into_iter().map(|entry| entry.action).collect()
    }

    /// Returns the names of the events published since the last call.
    pub fn events(&self) -> Vec<String> {
        self.published.take().into_iter().map(|event| event.name).collect()
    }

    /// Makes an actor panic, by its path in the tree.
    pub fn kill(&self, path: &str) {
        assert!(self.tree.inject_panic(path), "{path} was running: {:?}", self.tree.snapshot());
    }

    /// Returns the paths of all actors.
    pub fn actors(&self) -> Vec<String> {
        self.tree.snapshot().into_iter().map(|actor| actor.path).collect()
    }
}

/// Lets virtual time pass.
pub(super) async fn wait(seconds: u64) {
    muster_core::test_world::after(Duration::from_secs(seconds)).await;
}
