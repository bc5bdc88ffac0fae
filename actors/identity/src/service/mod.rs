//! The service for users, sessions and tokens.

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

use super::hashing::{HashingPool, PasswordCheck, Priority};
use super::registry::{
    AttemptLogin, CheckedCredential, EndReason, EndSession, EndSessions, ListLogins, ListSessions, LocateSession,
    LoginAttempt, OpenSession, RecentLogin, Registry, RegistryOptions, login_rejected,
};
use super::sessions::{Directory, Lifetimes, Origin, Refresh, SessionRecord, SessionWatch, refresh_rejected};
use super::signing::{Rotate, SigningActor, SigningOptions};
use super::throttle::{CountedAttempt, Excess, LoginRates, LoginSource, Verdict};
use super::tokens::{Credential, IssuedTokens, Tokens, invalid, unproven};
use super::users::{MAX_EMAIL, People, UserRecord, check_administers, normalize_email};
use super::{By, Person, missing_permission, registry, signing};
use muster_core::event::Publisher;
use muster_core::guard::StandingReader;
use muster_core::principal::Permission;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind, Millis};

mod service_accounts;
mod users;

/// E-mail of the first administrator, created with an empty store.
pub const FIRST_EMAIL: &str = "admin@muster.local";
/// Time to wait for the start of a session actor.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of [`Identity`].
#[derive(Debug)]
pub struct IdentityOptions {
    /// Clock of all actors.
    pub clock: Clock,
    /// Publishes events of users and sessions; `None` publishes nothing.
    pub publisher: Option<Publisher>,
    /// Folder of the signing keys.
    pub keys: PathBuf,
    /// When signing keys are rotated.
    pub policy: RotationPolicy,
    /// Issuer (`iss`) of every token.
    pub issuer: String,
    /// Lifetimes of tokens and sessions.
    pub lifetimes: Lifetimes,
    /// Rate limits of logins.
    pub rates: LoginRates,
    /// By which guarded commands are decided.
    pub standing: StandingReader,
    /// Parameters of password hashes.
    pub hasher: Hasher,
    /// Number of passwords that are hashed at a time.
    pub cores: usize,
    /// Whether a key-bound token is accepted under the scheme `Bearer`.
    pub bound_bearer: BoundBearer,
}

/// The decision on a login attempt.
#[derive(Debug)]
pub enum LoginAdmission {
    /// The password may be given.
    Admitted(Box<PendingLogin>),
    /// Too many attempts.
    Refused(LoginExcess),
}

/// A limit of logins that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginExcess {
    /// Attempts that the limit admits per minute.
    pub limit: u64,
    /// Time until another attempt may be admitted.
    pub wait: Duration,
}

impl From<Excess> for LoginExcess {
    fn from(Excess { limit, wait }: Excess) -> Self {
        Self { limit, wait }
    }
}

impl From<LoginExcess> for Error {
    fn from(excess: LoginExcess) -> Self {
        let message = format!("too many login attempts: try again in {} s", excess.wait.as_secs() + 1);
        Self::new(Kind::RateLimited, message).retry_in(excess.wait)
    }
}

/// A login attempt that was counted and whose password is not compared yet.
#[derive(Debug)]
pub struct PendingLogin {
    /// `None` if the password is compared with none.
    attempt: Option<CountedAttempt>,
    /// `None` if the account is locked, disabled or missing.
    user: Option<Arc<UserRecord>>,
    origin: Origin,
}

impl PendingLogin {
    /// Returns the thumbprint of the device key if the account has logged in with it before.
    pub fn known_device(&self) -> Option<&str> {
        self.attempt.filter(CountedAttempt::is_of_known_device).and(self.origin.jkt.as_deref())
    }
}

/// Returns whose place in the queue of passwords an attempt takes.
fn priority(attempt: Option<&CountedAttempt>) -> Priority {
    if attempt.is_some_and(CountedAttempt::is_known) { Priority::Known } else { Priority::Other }
}

/// A user authenticated by a token.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// The user with its present permissions.
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
    signing: Handle<SigningActor>,
    directory: watch::Receiver<Arc<Directory>>,
    user_count: watch::Receiver<usize>,
    people: People,
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
        let (publish_count, user_count) = watch::channel(0);
        let (publish_people, people) = watch::channel(Arc::default());
        let (publish_keys, keys) = watch::channel(None);
        let pool = HashingPool::new(options.hasher, options.cores)?;
        let signing_options = SigningOptions {
            folder: options.keys,
            policy: options.policy,
            store: Arc::clone(store),
            clock: options.clock.clone(),
            publish: publish_keys,
        };
        let signing = group
            .start(ChildSpec::new("signing-keys", arbiter.clone(), move |_| signing::load(signing_options.clone())));
        let registry_options = RegistryOptions {
            store: Arc::clone(store),
            clock: options.clock.clone(),
            lifetimes: options.lifetimes,
            rates: options.rates,
            publisher: options.publisher,
            group: group.group("sessions"),
            arbiter: arbiter.clone(),
            publish,
            user_count: publish_count,
            people: publish_people,
            standing: options.standing,
        };
        let registry =
            group.start(ChildSpec::new("registry", arbiter, move |_| registry::load(registry_options.clone())));
        let tokens = Arc::new(Tokens::new(keys, options.issuer, options.lifetimes, options.bound_bearer));
        Ok(Self {
            registry,
            signing,
            directory,
            user_count,
            people: People(people),
            tokens,
            pool,
            clock: options.clock,
        })
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
    pub fn admit(&self, credential: &Credential<'_>) -> Result<Admitted, Error> {
        let now = self.clock.now();
        let claims = self.tokens.access(credential.token, now)?;
        let directory = self.directory.borrow();
        let ended = || invalid("its session has ended: log in again");
        let live = directory.get(&claims.sid).filter(|live| *live.user_id == *claims.sub && now < live.ends);
        let live = live.ok_or_else(ended)?;
        if live.jkt.as_deref() != claims.cnf.as_ref().map(|cnf| cnf.jkt.as_str()) {
            return Err(ended());
        }
        self.tokens.check_possession(credential, &claims, now)?;
        live.use_at(now);
        Ok(Admitted { person: live.person(), exp: Millis(claims.exp * 1000), bound: claims.cnf.is_some() })
    }

    /// Returns a watch on a session, which is notified as soon as the session ends or the user's permissions change.
    /// `None` if the session has ended.
    pub fn watch_session(&self, sid: &str) -> Option<SessionWatch> {
        self.directory.borrow().watch(sid, self.clock.now())
    }

    /// Returns the number of live sessions.
    pub fn live_sessions(&self) -> usize {
        self.directory.borrow().len()
    }

    /// Returns the number of users.
    pub fn user_count(&self) -> usize {
        *self.user_count.borrow()
    }

    /// Returns a reader of all accounts. Involves no actor.
    pub fn people(&self) -> People {
        self.people.clone()
    }

    /// Returns when a live session began and the thumbprint of the key that it is bound to.
    pub fn session_facts(&self, sid: &str) -> Option<(Millis, Option<Arc<str>>)> {
        self.directory.borrow().get(sid).map(|live| (live.created_at, live.jkt.clone()))
    }

    /// Returns the number of password hashes computed or compared since the start.
    pub fn password_hashes(&self) -> u64 {
        self.pool.done()
    }

    /// Returns the key that a request without an access token proves to hold, such as a login with a device key.
    ///
    /// # Errors
    /// `Unauthenticated` if the proof is invalid.
    pub fn proven_key(&self, credential: &Credential<'_>) -> Result<Option<String>, Error> {
        self.tokens.proven_key(credential, self.clock.now())
    }

    /// Counts a login attempt, before its password is looked at. An e-mail that no account can have is counted by its
    /// address only, and nothing of it is stored.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn begin_login(&self, email: &str, origin: Origin) -> Result<LoginAdmission, Error> {
        let source = LoginSource::new(origin.ip, origin.jkt.as_deref());
        let (verdict, user) = self.attempt(email, source, origin.ip).await?;
        let attempt = match verdict {
            Verdict::Allowed(attempt) => Some(attempt),
            Verdict::Locked => None,
            Verdict::TooMany(excess) => return Ok(LoginAdmission::Refused(excess.into())),
        };
        let user = user.filter(|user| attempt.is_some() && !user.disabled);
        Ok(LoginAdmission::Admitted(Box::new(PendingLogin { attempt, user, origin })))
    }

    /// Logs a user in with a password.
    ///
    /// # Errors
    /// `Unauthenticated` (`invalid_credentials`), after the same work, for an unknown, locked or disabled user and for
    /// a wrong password; `Invalid` for a password that no user can have; `Unavailable`.
    pub async fn finish_login(&self, login: PendingLogin, password: String) -> Result<IssuedTokens, Error> {
        check_length("password", &password)?;
        let PendingLogin { attempt, user, origin } = login;
        let stored = user.as_ref().map(|user| user.password.clone());
        let checked = self.pool.check(password, stored, priority(attempt.as_ref())).await?;
        let (Some(attempt), Some(user), PasswordCheck::Correct(rehashed)) = (attempt, user, checked) else {
            return Err(login_rejected());
        };
        let checked = user.password.clone();
        let credential = CheckedCredential::Password { checked, rehashed };
        let open = OpenSession { attempt, user_id: user.id.clone(), credential, origin };
        let opened = self.registry.ask(open).await??;
        self.tokens.of(&opened.session, opened.user)
    }

    /// Counts an attempt to give a password. Returns the verdict, and the user with this e-mail, if there is one.
    async fn attempt(
        &self,
        email: &str,
        source: LoginSource,
        ip: Option<IpAddr>,
    ) -> Result<(Verdict, Option<Arc<UserRecord>>), Error> {
        // Lower case can be longer than the text, but not four times as long.
        let account = (email.len() <= 4 * MAX_EMAIL).then(|| normalize_email(email));
        // The identifier of a service account is no e-mail: whoever guesses passwords of it is counted like for any name.
        let account = account.filter(|account| account.len() <= MAX_EMAIL);
        let (verdict, user) = self.attempt_by(account, source, ip).await?;
        Ok((verdict, user.filter(|user| user.service.is_none())))
    }

    async fn attempt_by(
        &self,
        account: Option<String>,
        source: LoginSource,
        ip: Option<IpAddr>,
    ) -> Result<(Verdict, Option<Arc<UserRecord>>), Error> {
        let LoginAttempt { verdict, user } = self.registry.ask(AttemptLogin { account, source, ip }).await??;
        Ok((verdict, user))
    }

    /// Returns the key that refresh attempts are counted by: the session of a valid token, or one key for all others.
    pub fn refresh_limit_key(&self, refresh_token: &str) -> String {
        let sent = self.tokens.refresh(refresh_token, None, self.clock.now());
        sent.map_or_else(|_| "no session".to_owned(), |sent| sent.sid)
    }

    /// Exchanges a refresh token for new tokens. `jkt` is the thumbprint of the key that the request proved to hold.
    ///
    /// # Errors
    /// `Unauthenticated` (`invalid_refresh_token`), and if the token was used before, its session ends; `Unavailable`.
    pub async fn refresh(&self, token: &str, jkt: Option<String>) -> Result<IssuedTokens, Error> {
        let sent = self.tokens.refresh(token, jkt, self.clock.now()).map_err(|_| refresh_rejected())?;
        let sid = sent.sid.clone();
        let mut error = None;
        // An idle actor may be retired between being found and being called.
        for _ in 0..2 {
            let locate = LocateSession { sid: sid.clone(), registry: self.registry.clone() };
            let located = self.registry.ask(locate).await??.ok_or_else(refresh_rejected)?;
            // Bounded: if the actor does not start, the call fails.
            let _ = tokio::time::timeout(START_TIMEOUT, located.session.up()).await;
            match located.session.ask(Refresh(sent.clone())).await {
                Ok(Some(outcome)) => {
                    let session = outcome?;
                    if let Some(live) = self.directory.borrow().get(&sid) {
                        live.rotated(&session, &self.tokens.lifetimes);
                    }
                    return self.tokens.of(&session, located.user);
                }
                Ok(None) => error = Some(restarting()),
                Err(failed) => error = Some(failed.into()),
            }
        }
        Err(error.unwrap_or_else(refresh_rejected))
    }

    /// Ends the session of a token. It must be the user's own session, unless the user may revoke sessions. An invalid
    /// token ends nothing, which is not an error (RFC 7009).
    ///
    /// # Errors
    /// `Forbidden` if the session belongs to another user, and the caller may not revoke sessions or not change that user.
    pub async fn logout(&self, by: &Arc<Person>, token: &str) -> Result<(), Error> {
        let now = self.clock.now();
        let sid = match self.tokens.access(token, now) {
            Ok(claims) => Some(claims.sid.clone()),
            Err(_) => self.tokens.refresh(token, None, now).ok().map(|sent| sent.sid),
        };
        match sid {
            Some(sid) => self.end(by, sid, EndReason::Logout).await.map(drop),
            None => Ok(()),
        }
    }

    /// Ends a session by its identifier.
    ///
    /// # Errors
    /// `NotFound` if it has ended, or belongs to another user and the caller may not revoke sessions; `Forbidden` if only
    /// a `super_admin` may change that user.
    pub async fn end_session(&self, by: &Arc<Person>, sid: String) -> Result<(), Error> {
        let not_found = || Error::new(Kind::NotFound, "no live session has this id");
        match self.end(by, sid, EndReason::Revoked).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(not_found()),
            Err(_) if !by.permissions.has(Permission::SessionsRevoke) => Err(not_found()),
            Err(error) => Err(error),
        }
    }

    async fn end(&self, by: &Arc<Person>, sid: String, reason: EndReason) -> Result<bool, Error> {
        let owner = self.directory.borrow().get(&sid).map(|live| live.person());
        let Some(owner) = owner else { return Ok(false) };
        if owner.user_id != by.user_id {
            if !by.permissions.has(Permission::SessionsRevoke) {
                return Err(missing_permission(Permission::SessionsRevoke));
            }
            check_administers(by, &owner)?;
        }
        self.registry.ask(EndSession::new(sid, reason, By::Person(Arc::clone(by)))).await?
    }

    /// Ends every session of a user and returns their number. Tokens issued before become invalid.
    ///
    /// # Errors
    /// `NotFound` if there is no such user; `Unavailable`.
    pub async fn end_sessions(&self, by: By, user_id: String) -> Result<usize, Error> {
        self.registry.ask(EndSessions { user_id, by }).await?
    }

    /// Returns a user's live sessions, newest first.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond or the store cannot be read.
    pub async fn sessions(&self, user_id: String) -> Result<Vec<SessionRecord>, Error> {
        self.registry.ask(ListSessions { user_id }).await?
    }

    /// Returns the latest login attempts on existing accounts, oldest first: those of the last hour, at most 10,000.
    ///
    /// # Errors
    /// `Unavailable` if the actor does not respond.
    pub async fn recent_logins(&self) -> Result<Vec<RecentLogin>, Error> {
        self.registry.ask(ListLogins).await.map_err(Error::from)
    }

    /// Returns the public keys that verify tokens (RFC 7517).
    ///
    /// # Errors
    /// `Unavailable` if the keys have not been read yet.
    pub fn jwks(&self) -> Result<Value, Error> {
        Ok(self.tokens.keys()?.jwks())
    }

    /// Checks that newly signed tokens are accepted and altered ones are not. Returns how long the key has been
    /// signing.
    ///
    /// # Errors
    /// `Internal` if a check fails, `Unavailable` if there are no keys yet.
    pub fn check_tokens(&self) -> Result<Duration, Error> {
        self.tokens.self_test(self.clock.now())
    }

    /// Publishes the next signing key, which signs tokens once every verifier had time to fetch it. Returns the changes of
    /// the key set.
    ///
    /// # Errors
    /// `Internal` if the key files cannot be written; `Unavailable` if the audit log cannot be.
    pub async fn rotate_keys(&self, by: By) -> Result<Vec<SigningKeyChange>, Error> {
        self.signing.ask(Rotate { by }).await?
    }
}

/// The error for a session actor that ended before it responded, twice.
fn restarting() -> Error {
    Error::new(Kind::Unavailable, "the session is restarting: try again").retry_in(Duration::from_secs(1))
}

/// Rejects passwords of invalid length before any work is done.
fn check_length(field: &str, password: &str) -> Result<(), Error> {
    muster_auth::password::check(password)
        .map_err(|error| Error::field(Kind::Invalid, &["body", field], error.to_string(), Value::Null))
}

/// The error for a missing proof of possession.
pub fn proof_required() -> Error {
    unproven("send a proof of your key in the header DPoP (RFC 9449)")
}
