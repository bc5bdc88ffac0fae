//! What is made of a refresh token. Pure: time is an argument.
//!
//! Each token is good once. Whoever shows a used one was robbed, or robs: the session ends, for both. The one exception
//! is a client that never got its answer: for a few seconds, and while the successor is unused, it gets the same again.

use std::time::Duration;

use subtle::ConstantTimeEq;

use super::record::{SessionRecord, hash};
use crate::Millis;

/// How long tokens and sessions are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    pub access: Duration,
    /// Of a session whose refresh token is not used.
    pub idle: Duration,
    /// Of any session.
    pub absolute: Duration,
    /// How long the successor of a used refresh token is given again.
    pub grace: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 3600);
        Self { access: Duration::from_secs(900), idle: day * 7, absolute: day * 30, grace: Duration::from_secs(10) }
    }
}

/// What a refresh token says, its signature checked, and the key that was proven to be held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::identity) struct Presented {
    pub sid: String,
    pub fam: String,
    pub generation: u64,
    pub jti: String,
    /// The thumbprint of the key that signed the request's proof, where there was one.
    pub jkt: Option<String>,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::identity) enum Judged {
    /// The session moves on to this; to be stored before it is answered.
    Rotated(Box<SessionRecord>),
    /// The successor is given again; nothing changes.
    Again,
    /// The session is over, or was never this token's. Nothing changes.
    Refused,
    /// A used token: the session is to end.
    Reused,
}

/// Judges a token by the session that it names.
pub(in crate::identity) fn judge(
    session: &SessionRecord,
    sent: &Presented,
    lifetimes: &Lifetimes,
    now: Millis,
) -> Judged {
    let family = &session.refresh;
    // Whoever lacks the key of a bound session may not even end it.
    let keyless = session.jkt.is_some() && session.jkt != sent.jkt;
    if !session.is_live(lifetimes, now) || keyless || family.fam != sent.fam {
        return Judged::Refused;
    }
    let sent_hash = hash(&sent.jti);
    let is = |kept: &[u8; 32]| bool::from(sent_hash.ct_eq(kept));
    if sent.generation == family.generation && is(&family.last) {
        let next = SessionRecord { last_used: now, refresh: family.rotated(now), ..session.clone() };
        return Judged::Rotated(Box::new(next));
    }
    let before = sent.generation.checked_add(1) == Some(family.generation) && family.previous.as_ref().is_some_and(is);
    if before && now.since(family.rotated_at) < lifetimes.grace {
        return Judged::Again;
    }
    Judged::Reused
}
