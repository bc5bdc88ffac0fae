//! What the registry is asked.

use std::net::IpAddr;
use std::sync::Arc;

use actix::Message;

use crate::sessions::{Origin, SessionActor, SessionRecord};
use crate::throttle::Verdict;
use crate::users::{Given, NewUser, Phc, UserPatch, UserRecord};
use crate::{By, Person};
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageAsk};
use muster_core::precondition::IfMatch;
use muster_core::supervise::Handle;
use muster_core::{Error, Millis};

use super::actor::Registry;

/// Somebody wants to log in. Counts as a failure until [`OpenSession`].
#[derive(Debug, Message)]
#[rtype(result = "Result<Attempted, Error>")]
pub(crate) struct Attempt {
    /// The e-mail, folded.
    pub account: String,
    pub ip: Option<IpAddr>,
}

#[derive(Debug)]
pub(crate) struct Attempted {
    pub verdict: Verdict,
    pub user: Option<Arc<UserRecord>>,
}

/// The password was right.
#[derive(Debug, Message)]
#[rtype(result = "Result<Opened, Error>")]
pub(crate) struct OpenSession {
    pub account: String,
    pub user_id: String,
    /// What the password was compared with: should it be another by now, nobody is let in.
    pub checked: Phc,
    /// In its place, where its parameters are old.
    pub rehashed: Option<Phc>,
    pub origin: Origin,
}

/// Somebody is logged in.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub session: SessionRecord,
    pub user: Arc<UserRecord>,
    pub person: Arc<Person>,
}

/// Where a live session's own actor is found; it is started where none runs.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<Located>, Error>")]
pub(crate) struct Locate {
    pub sid: String,
    pub registry: Handle<Registry>,
}

/// A live session's actor, and whose session it is.
#[derive(Debug)]
pub(crate) struct Located {
    pub session: Handle<SessionActor>,
    pub user: Arc<UserRecord>,
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Logout,
    /// By somebody, or by the person from another session.
    Revoked,
    PasswordChanged,
    Disabled,
    Deleted,
    /// A used refresh token came again.
    RefreshReuse,
    /// More sessions than one person may have.
    TooMany,
}

impl Reason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Logout => "logout",
            Self::Revoked => "revoked",
            Self::PasswordChanged => "password_changed",
            Self::Disabled => "disabled",
            Self::Deleted => "deleted",
            Self::RefreshReuse => "refresh_reuse_detected",
            Self::TooMany => "too_many_sessions",
        }
    }
}

/// Ends a session; durable, and seen by everyone, before it is answered. Answers whether it lived.
#[derive(Debug, Message)]
#[rtype(result = "Result<bool, Error>")]
pub(crate) struct EndSession {
    pub sid: String,
    pub reason: Reason,
    pub by: By,
    /// The generation of the refresh token that came again.
    pub generation: Option<u64>,
}

impl EndSession {
    pub fn new(sid: String, reason: Reason, by: By) -> Self {
        Self { sid, reason, by, generation: None }
    }

    pub fn reused(sid: String, generation: u64) -> Self {
        Self { sid, reason: Reason::RefreshReuse, by: By::System, generation: Some(generation) }
    }
}

/// Ends every session of a person, and every token that was made before now. Answers how many lived.
#[derive(Debug, Message)]
#[rtype(result = "Result<usize, Error>")]
pub(crate) struct EndAll {
    pub user_id: String,
    pub by: By,
}

/// A person's live sessions, newest first, with when they were last used.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<SessionRecord>, Error>")]
pub(crate) struct ListSessions {
    pub user_id: String,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Created, Error>")]
pub(crate) struct CreateUser {
    pub new: NewUser,
    pub password: Phc,
    pub by: By,
    pub idempotency: Option<Idempotency>,
}

/// A person was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    pub user: Arc<UserRecord>,
    pub given: Given,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<UserRecord>, Error>")]
pub(crate) struct PatchUser {
    pub id: String,
    pub patch: UserPatch,
    pub if_match: IfMatch,
    pub by: By,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(crate) struct DeleteUser {
    pub id: String,
    pub if_match: IfMatch,
    pub by: By,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<UserRecord>, Error>")]
pub(crate) struct SetPassword {
    pub id: String,
    pub password: Phc,
    /// What the present password was checked against; `None` of a reset.
    pub checked: Option<Phc>,
    pub by: By,
}

/// By identifier, or by folded e-mail where it holds an `@`.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<Arc<UserRecord>>, Error>")]
pub(crate) struct GetUser {
    pub name: String,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<UserRecord>>, Error>")]
pub(crate) struct ListUsers(pub PageAsk);

/// The registry's own clock struck.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick(pub Millis);
