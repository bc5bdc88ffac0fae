//! Messages of the registry.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::Message;

use crate::sessions::{Origin, SessionActor, SessionRecord};
use crate::throttle::{CountedAttempt, LoginSource, Verdict};
use crate::users::{
    AccountKind, NewServiceAccount, NewUser, Phc, SecretHash, ServiceAccountPatch, UserPatch, UserRecord,
};
use crate::{By, Person};
use muster_core::Error;
use muster_core::guard::Permit;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::supervise::Handle;

use super::actor::Registry;
use super::login_log::RecentLogin;

/// Counts a login attempt, as a failure until [`OpenSession`], and returns the user.
#[derive(Debug, Message)]
#[rtype(result = "Result<LoginAttempt, Error>")]
pub(crate) struct AttemptLogin {
    /// Normalized e-mail, or the identifier of a service account; `None` if no account can have the name that was sent.
    pub account: Option<String>,
    pub source: LoginSource,
    /// Client address as the server sees it; `None` where a session gives its password again, which is no login.
    pub ip: Option<IpAddr>,
}

/// Lists the latest login attempts on existing accounts, oldest first.
#[derive(Debug, Message)]
#[rtype(result = "Vec<RecentLogin>")]
pub(crate) struct ListLogins;

/// The decision on a login attempt.
#[derive(Debug)]
pub(crate) struct LoginAttempt {
    pub verdict: Verdict,
    /// The account with this name, if there is one.
    pub user: Option<Arc<UserRecord>>,
}

/// Opens a session for a user whose password was correct, or for a service account whose secret is.
#[derive(Debug, Message)]
#[rtype(result = "Result<OpenedSession, Error>")]
pub(crate) struct OpenSession {
    pub attempt: CountedAttempt,
    pub user_id: String,
    pub credential: CheckedCredential,
    pub origin: Origin,
}

/// The credential of a login.
#[derive(Debug)]
pub(crate) enum CheckedCredential {
    /// A password that was correct.
    Password {
        /// Hash that it was compared with. If the user has another one by now, the login is rejected.
        checked: Phc,
        /// Hash that replaces it, if its parameters are outdated.
        rehashed: Option<Phc>,
    },
    /// The hash of a service account's secret, to be compared when the session is opened.
    Secret(SecretHash),
}

/// A new session.
#[derive(Debug, Clone)]
pub(crate) struct OpenedSession {
    pub attempt: CountedAttempt,
    pub session: SessionRecord,
    pub user: Arc<UserRecord>,
    pub person: Arc<Person>,
}

/// Returns the actor of a live session, which is started if it does not run; `None` if the session is not live.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<LocatedSession>, Error>")]
pub(crate) struct LocateSession {
    pub sid: String,
    /// Handle of the registry, for the session actor.
    pub registry: Handle<Registry>,
}

/// The actor of a live session, and the session's user.
#[derive(Debug)]
pub(crate) struct LocatedSession {
    pub session: Handle<SessionActor>,
    pub user: Arc<UserRecord>,
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    Logout,
    /// By another user, or by the same user in another session.
    Revoked,
    PasswordChanged,
    Disabled,
    Deleted,
    /// The secret of its service account was replaced without grace.
    SecretRotated,
    /// A refresh token was used twice.
    RefreshReuse,
    /// The user had the largest number of sessions and opened another one.
    TooMany,
}

impl EndReason {
    /// Returns the name used in records, events and the audit log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Logout => "logout",
            Self::Revoked => "revoked",
            Self::PasswordChanged => "password_changed",
            Self::Disabled => "disabled",
            Self::Deleted => "deleted",
            Self::SecretRotated => "secret_rotated",
            Self::RefreshReuse => "refresh_reuse_detected",
            Self::TooMany => "too_many_sessions",
        }
    }
}

/// Ends a session. Returns whether it was live. The end is durable and published before the response.
#[derive(Debug, Message)]
#[rtype(result = "Result<bool, Error>")]
pub(crate) struct EndSession {
    pub sid: String,
    pub reason: EndReason,
    pub by: By,
    /// Generation of a refresh token that was used twice.
    pub generation: Option<u64>,
}

impl EndSession {
    pub fn new(sid: String, reason: EndReason, by: By) -> Self {
        Self { sid, reason, by, generation: None }
    }

    pub fn reused(sid: String, generation: u64) -> Self {
        Self { sid, reason: EndReason::RefreshReuse, by: By::System, generation: Some(generation) }
    }
}

/// Ends all sessions of a user and invalidates all earlier tokens. Returns the number of live sessions.
#[derive(Debug, Message)]
#[rtype(result = "Result<usize, Error>")]
pub(crate) struct EndSessions {
    pub user_id: String,
    pub by: By,
}

/// Returns a user's live sessions, newest first, with the time of their last use.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<SessionRecord>, Error>")]
pub(crate) struct ListSessions {
    pub user_id: String,
}

/// Creates a user.
#[derive(Debug, Message)]
#[rtype(result = "Result<CreatedUser, Error>")]
pub(crate) struct CreateUser {
    pub new: NewUser,
    pub password: Phc,
    pub by: By,
    pub idempotency: Option<Idempotency>,
    pub permit: Option<Permit>,
}

/// A user that was created.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatedUser {
    /// The stored record.
    pub user: Arc<UserRecord>,
    /// Whether the user was created before, for the same `Idempotency-Key`.
    pub replayed: bool,
}

/// Changes a user.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<UserRecord>, Error>")]
pub(crate) struct PatchUser {
    pub id: String,
    pub patch: UserPatch,
    pub if_match: IfMatch,
    pub by: By,
    pub permit: Option<Permit>,
}

/// Deletes a user or a service account and ends all its sessions.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(crate) struct DeleteUser {
    pub kind: AccountKind,
    pub id: String,
    pub if_match: IfMatch,
    pub by: By,
}

/// Sets a user's password and ends all their sessions.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<UserRecord>, Error>")]
pub(crate) struct SetPassword {
    pub id: String,
    pub password: Phc,
    /// Hash that the present password was compared with, and the attempt by which it was; `None` if an administrator
    /// resets it.
    pub checked: Option<(Phc, CountedAttempt)>,
    pub by: By,
}

/// Returns a user.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<Arc<UserRecord>>, Error>")]
pub(crate) struct GetUser {
    /// Identifier, or normalized e-mail if it contains an `@`.
    pub name: String,
}

/// Returns a page of people or of service accounts, newest first.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<UserRecord>>, Error>")]
pub(crate) struct ListUsers(pub AccountKind, pub PageParams);

/// Creates a service account.
#[derive(Debug, Message)]
#[rtype(result = "Result<IssuedSecret, Error>")]
pub(crate) struct CreateServiceAccount {
    pub new: NewServiceAccount,
    pub by: By,
    pub idempotency: Option<Idempotency>,
}

/// A service account with its new secret, which is returned once.
#[derive(Clone)]
pub struct IssuedSecret {
    /// The stored record.
    pub account: Arc<UserRecord>,
    /// The secret.
    pub secret: String,
    /// Whether it was issued before, for the same `Idempotency-Key`.
    pub replayed: bool,
}

// Without the secret.
impl std::fmt::Debug for IssuedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedSecret").field("account", &self.account.id).finish_non_exhaustive()
    }
}

/// Changes a service account.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<UserRecord>, Error>")]
pub(crate) struct PatchServiceAccount {
    pub id: String,
    pub patch: ServiceAccountPatch,
    pub if_match: IfMatch,
    pub by: By,
}

/// Gives a service account a new secret.
#[derive(Debug, Message)]
#[rtype(result = "Result<IssuedSecret, Error>")]
pub(crate) struct RotateSecret {
    pub id: String,
    /// Time for which the present secret is still accepted. Zero also ends the sessions.
    pub grace: Duration,
    pub by: By,
}
