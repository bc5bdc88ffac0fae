//! The public interface of identity.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_auth::dpop::BoundBearer;
use muster_auth::password::Hasher;
use muster_auth::{RotationPolicy, SigningKeyChange};
use muster_store::StoreHandle;
use serde_json::Value;
use tokio::sync::watch;

use super::hashing::{Checked, HashingPool};
use super::registry::{
    Attempt, Attempted, EndAll, EndSession, ListSessions, Locate, OpenSession, Reason, Registry, RegistryOptions,
    login_refused,
};
use super::sessions::{Directory, Lifetimes, Origin, Refresh, SessionRecord, SessionWatch, refresh_refused};
use super::signing::{Rotate, Signing, SigningOptions};
use super::throttle::{Rates, Verdict};
use super::tokens::{LoggedIn, Shown, Tokens, invalid, unproven};
use super::users::{UserRecord, fold};
use super::{By, Person, lacks, registry, signing};
use muster_core::event::Publisher;
use muster_core::principal::Permission;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind, Millis};

mod people;

/// E-mail of the first administrator, created with an empty store.
pub const FIRST_EMAIL: &str = "admin@muster.local";
/// Time to find the actor of a session, which may have to be started.
const STARTING: Duration = Duration::from_secs(2);

/// Options of identity.
#[derive(Debug)]
pub struct IdentityOptions {
    pub clock: Clock,
    /// Publishes events of users and sessions; `None` publishes nothing.
    pub publisher: Option<Publisher>,
    /// Folder of the signing keys.
    pub keys: PathBuf,
    pub policy: RotationPolicy,
    /// Issuer (`iss`) of every token.
    pub issuer: String,
    pub lifetimes: Lifetimes,
    pub rates: Rates,
    pub hasher: Hasher,
    /// Number of passwords that are hashed at a time.
    pub cores: usize,
    pub bound_bearer: BoundBearer,
}

/// A login request.
#[derive(Clone)]
pub struct Login {
    pub email: String,
    pub password: String,
    pub origin: Origin,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// A user authenticated by a token.
#[derive(Debug, Clone)]
pub struct Admitted {
    pub person: Arc<Person>,
    /// Expiry time of the token.
    pub exp: Millis,
    /// Whether the token is bound to a key.
    pub bound: bool,
}

/// The service for users, sessions and tokens.
#[derive(Debug, Clone)]
pub struct Identity {
    registry: Handle<Registry>,
    signing: Handle<Signing>,
    directory: watch::Receiver<Arc<Directory>>,
    count: watch::Receiver<usize>,
    tokens: Arc<Tokens>,
    pool: HashingPool,
    clock: Clock,
}

impl Identity {
    /// Starts the actors. No request is authenticated until they run: await [`Identity::up`] before serving.
    ///
    /// # Errors
    /// The parameters of the password hash are invalid.
    pub fn start(
        group: &Group,
        arbiter: ArbiterHandle,
        store: &StoreHandle,
        options: IdentityOptions,
    ) -> Result<Self, Error> {
        let (publish, directory) = watch::channel(Arc::new(Directory::default()));
        let (counting, count) = watch::channel(0);
        let (keys_to, keys) = watch::channel(None);
        let pool = HashingPool::new(options.hasher, options.cores)?;
        let of_signing = SigningOptions {
            folder: options.keys,
            policy: options.policy,
            store: Arc::clone(store),
            clock: options.clock.clone(),
            publish: keys_to,
        };
        let signing =
            group.start(ChildSpec::new("signing-keys", arbiter.clone(), move |_| signing::load(of_signing.clone())));
        let of_registry = RegistryOptions {
            store: Arc::clone(store),
            clock: options.clock.clone(),
            lifetimes: options.lifetimes,
            rates: options.rates,
            publisher: options.publisher,
            group: group.group("sessions"),
            arbiter: arbiter.clone(),
            publish,
            count: counting,
        };
        let registry = group.start(ChildSpec::new("registry", arbiter, move |_| registry::load(of_registry.clone())));
        let tokens = Arc::new(Tokens::new(keys, options.issuer, options.lifetimes, options.bound_bearer));
        Ok(Self { registry, signing, directory, count, tokens, pool, clock: options.clock })
    }

    /// Waits until users, sessions and keys were read from the store.
    pub async fn up(&self) {
        tokio::join!(self.registry.up(), self.signing.up());
    }

    /// Authenticates a user by an access token. Costs a look-up of the token and one of its session; for a token not
    /// seen before also the verification of its signature. No actor is involved: the end of a session is published
    /// before it is acknowledged.
    ///
    /// # Errors
    /// `Unauthenticated` if the token is invalid, its session has ended, or the proof of its key is missing or invalid.
    pub fn admit(&self, shown: &Shown<'_>) -> Result<Admitted, Error> {
        let now = self.clock.now();
        let claims = self.tokens.access(shown.token, now)?;
        let directory = self.directory.borrow();
        let over = || invalid("its session is over: log in again");
        let live = directory.get(&claims.sid).filter(|live| *live.user_id == *claims.sub && now < live.ends);
        let live = live.ok_or_else(over)?;
        if live.jkt.as_deref() != claims.cnf.as_ref().map(|cnf| cnf.jkt.as_str()) {
            return Err(over());
        }
        self.tokens.possession(shown, &claims, now)?;
        live.use_at(now);
        Ok(Admitted { person: live.person(), exp: Millis(claims.exp * 1000), bound: claims.cnf.is_some() })
    }

    /// Returns a watch on a session, which is notified as soon as the session ends or the user's permissions change.
    /// `None` if the session has ended.
    pub fn watch_session(&self, sid: &str) -> Option<SessionWatch> {
        self.directory.borrow().watch(sid, self.clock.now())
    }

    /// Returns the number of live sessions.
    pub fn live(&self) -> usize {
        self.directory.borrow().len()
    }

    /// Returns the number of users.
    pub fn people(&self) -> usize {
        *self.count.borrow()
    }

    /// Returns the number of password hashes computed or compared since the start.
    pub fn hashed(&self) -> u64 {
        self.pool.done()
    }

    /// Returns the key that a request without an access token proves to hold, such as a login with a device key.
    ///
    /// # Errors
    /// `Unauthenticated` if the proof is invalid.
    pub fn holder(&self, shown: &Shown<'_>) -> Result<Option<String>, Error> {
        self.tokens.holder(shown, self.clock.now())
    }

    /// Logs a user in.
    ///
    /// # Errors
    /// `Unauthenticated` (`invalid_credentials`), after the same work, for an unknown, locked or disabled user and for
    /// a wrong password; `RateLimited`; `Invalid` for a password that no user can have; `Unavailable`.
    pub async fn login(&self, login: Login) -> Result<LoggedIn, Error> {
        let account = fold(&login.email);
        possible("password", &login.password)?;
        let user = self.attempt(&account, login.origin.ip).await?;
        let stored = user.as_ref().map(|user| user.password.clone());
        let checked = self.pool.check(login.password, stored).await?;
        let (Some(user), Checked::Right(rehashed)) = (user, checked) else { return Err(login_refused()) };
        let checked = user.password.clone();
        let open = OpenSession { account, user_id: user.id.clone(), checked, rehashed, origin: login.origin };
        let opened = self.registry.ask(open).await??;
        self.tokens.of(&opened.session, opened.user)
    }

    /// Returns the user whose password may be compared; `None` if the account is locked, disabled or missing.
    async fn attempt(&self, account: &str, ip: Option<IpAddr>) -> Result<Option<Arc<UserRecord>>, Error> {
        let Attempted { verdict, user } = self.registry.ask(Attempt { account: account.to_owned(), ip }).await??;
        match verdict {
            Verdict::Try => Ok(user.filter(|user| !user.disabled)),
            Verdict::Locked => Ok(None),
            Verdict::Flood(wait) => {
                let message = format!("too many attempts to log in: try again in {} s", wait.as_secs() + 1);
                Err(Error::new(Kind::RateLimited, message).retry_in(wait))
            }
        }
    }

    /// Returns the key that refresh attempts are counted by: the session of a valid token, or one key for all others.
    pub fn session_named(&self, refresh_token: &str) -> String {
        let sent = self.tokens.refresh(refresh_token, None, self.clock.now());
        sent.map_or_else(|_| "no session".to_owned(), |sent| sent.sid)
    }

    /// Exchanges a refresh token for new tokens. `jkt` is the thumbprint of the key that the request proved to hold.
    ///
    /// # Errors
    /// `Unauthenticated` (`invalid_refresh_token`). Reuse of a token ends its session.
    pub async fn refresh(&self, token: &str, jkt: Option<String>) -> Result<LoggedIn, Error> {
        let sent = self.tokens.refresh(token, jkt, self.clock.now()).map_err(|_| refresh_refused())?;
        let sid = sent.sid.clone();
        let mut down = None;
        // An idle actor may be retired between being found and being called.
        for _ in 0..2 {
            let locate = Locate { sid: sid.clone(), registry: self.registry.clone() };
            let located = self.registry.ask(locate).await??.ok_or_else(refresh_refused)?;
            // Bounded: if the actor does not start, the call fails.
            let _ = tokio::time::timeout(STARTING, located.session.up()).await;
            match located.session.ask(Refresh(sent.clone())).await {
                Ok(Some(answer)) => {
                    let session = answer?;
                    if let Some(live) = self.directory.borrow().get(&sid) {
                        live.rotated(&session, &self.tokens.lifetimes);
                    }
                    return self.tokens.of(&session, located.user);
                }
                Ok(None) => down = Some(restarting()),
                Err(error) => down = Some(error.into()),
            }
        }
        Err(down.unwrap_or_else(refresh_refused))
    }

    /// Ends the session of a token. It must be the user's own session, unless the user may revoke sessions. An invalid
    /// token ends nothing, which is not an error (RFC 7009).
    ///
    /// # Errors
    /// `Forbidden` if the session belongs to another user.
    pub async fn logout(&self, by: &Arc<Person>, token: &str) -> Result<(), Error> {
        let now = self.clock.now();
        let named = match self.tokens.access(token, now) {
            Ok(claims) => Some(claims.sid.clone()),
            Err(_) => self.tokens.refresh(token, None, now).ok().map(|sent| sent.sid),
        };
        match named {
            Some(sid) => self.end(by, sid, Reason::Logout).await.map(drop),
            None => Ok(()),
        }
    }

    /// Ends a session by its identifier.
    ///
    /// # Errors
    /// `NotFound` if it has ended, or belongs to another user and the caller may not revoke sessions.
    pub async fn end_session(&self, by: &Arc<Person>, sid: String) -> Result<(), Error> {
        let gone = || Error::new(Kind::NotFound, "no such session lives");
        match self.end(by, sid, Reason::Revoked).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(gone()),
            Err(error) if error.kind == Kind::Forbidden => Err(gone()),
            Err(error) => Err(error),
        }
    }

    async fn end(&self, by: &Arc<Person>, sid: String, reason: Reason) -> Result<bool, Error> {
        let owner = self.directory.borrow().get(&sid).map(|live| Arc::clone(&live.user_id));
        match owner {
            None => return Ok(false),
            Some(owner) if owner != by.user_id && !by.permissions.has(Permission::SessionsRevoke) => {
                return Err(lacks(Permission::SessionsRevoke));
            }
            Some(_) => {}
        }
        self.registry.ask(EndSession::new(sid, reason, By::Person(Arc::clone(by)))).await?
    }

    /// Ends every session of a user and returns their number.
    pub async fn end_all(&self, by: By, user_id: String) -> Result<usize, Error> {
        self.registry.ask(EndAll { user_id, by }).await?
    }

    /// Returns a user's live sessions, newest first.
    pub async fn sessions(&self, user_id: String) -> Result<Vec<SessionRecord>, Error> {
        self.registry.ask(ListSessions { user_id }).await?
    }

    /// Returns the public keys that verify tokens (RFC 7517).
    pub fn jwks(&self) -> Result<Value, Error> {
        Ok(self.tokens.keys()?.jwks())
    }

    /// Checks that newly signed tokens are accepted and altered ones are not. Returns how long the key has been
    /// signing.
    ///
    /// # Errors
    /// `Internal` if a check fails, `Unavailable` if there are no keys yet.
    pub fn prove_tokens(&self) -> Result<Duration, Error> {
        self.tokens.prove(self.clock.now())
    }

    /// Publishes the next signing key, which signs tokens once every verifier had time to fetch it.
    pub async fn rotate_keys(&self, by: By) -> Result<Vec<SigningKeyChange>, Error> {
        self.signing.ask(Rotate { by }).await?
    }
}

/// The error for an actor of a session that ended before it answered, twice.
fn restarting() -> Error {
    Error::new(Kind::Unavailable, "the session is restarting: try again").retry_in(Duration::from_secs(1))
}

/// Rejects passwords of invalid length before any work is done.
fn possible(field: &str, password: &str) -> Result<(), Error> {
    muster_auth::password::check(password)
        .map_err(|error| Error::field(Kind::Invalid, &["body", field], error.to_string(), Value::Null))
}

/// The error for a missing proof of possession.
pub fn proof_required() -> Error {
    unproven("send a proof of your key in the header DPoP (RFC 9449)")
}
