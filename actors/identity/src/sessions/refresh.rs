//! Decides on refresh tokens. Pure: time is an argument.
//!
//! Each token is valid once. A second use means that the token was stolen, from or by its sender, so the session ends
//! for both. The exception is a client that lost its response: for a few seconds, while the successor is unused, it
//! gets the same successor again.

use std::time::Duration;

use subtle::ConstantTimeEq;

use super::record::{SessionRecord, hash};
use muster_core::Millis;

/// Lifetimes of tokens and sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    pub access: Duration,
    /// Lifetime of a session whose refresh token is not used.
    pub idle: Duration,
    /// Lifetime of any session.
    pub absolute: Duration,
    /// Time for which a used refresh token returns the same successor again.
    pub grace: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 3600);
        Self { access: Duration::from_secs(900), idle: day * 7, absolute: day * 30, grace: Duration::from_secs(10) }
    }
}

/// The content of a refresh token with a verified signature, and the proven key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Presented {
    pub sid: String,
    pub fam: String,
    pub generation: u64,
    pub jti: String,
    /// Thumbprint of the key that signed the request's proof, if there was one.
    pub jkt: Option<String>,
}

/// The decision on a refresh token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judged {
    /// The session advances to this generation, which must be stored before the response.
    Rotated(Box<SessionRecord>),
    /// The same successor is returned again; nothing changes.
    Again,
    /// The session has ended or never had this token. Nothing changes.
    Refused,
    /// The token was used before: the session must end.
    Reused,
}

/// Decides on a token by the session that it names.
pub(crate) fn judge(session: &SessionRecord, sent: &Presented, lifetimes: &Lifetimes, now: Millis) -> Judged {
    let family = &session.refresh;
    // Without the key of a bound session a client cannot even end it.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::record::Family;
    use super::*;

    const NOW: Millis = Millis(1_767_225_600_000);

    fn session(jkt: Option<&str>) -> SessionRecord {
        SessionRecord {
            id: "ses_1".into(),
            user: "usr_1".into(),
            created_at: NOW,
            last_used: NOW,
            ip: None,
            user_agent: None,
            claimed: None,
            jkt: jkt.map(str::to_owned),
            refresh: Family::new("1".into(), [7; 32], NOW),
            revoked_at: None,
            revoke_reason: None,
        }
    }

    /// Builds the present token of a session.
    fn token(session: &SessionRecord) -> Presented {
        let family = &session.refresh;
        Presented {
            sid: session.id.clone(),
            fam: family.fam.clone(),
            generation: family.generation,
            jti: family.jti(),
            jkt: session.jkt.clone(),
        }
    }

    fn judged(session: &SessionRecord, sent: &Presented, now: Millis) -> Judged {
        judge(session, sent, &Lifetimes::default(), now)
    }

    fn rotated(session: &SessionRecord, now: Millis) -> SessionRecord {
        match judged(session, &token(session), now) {
            Judged::Rotated(next) => *next,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_grace_is_of_one_generation_and_ten_seconds() {
        let first = session(None);
        let (one, second) = (token(&first), rotated(&first, NOW));
        let end = NOW.plus(Duration::from_secs(10));
        assert_eq!(judged(&second, &one, Millis(end.0 - 1)), Judged::Again);
        assert_eq!(judged(&second, &one, end), Judged::Reused);
        let third = rotated(&second, NOW);
        assert_eq!(judged(&third, &one, NOW), Judged::Reused, "its successor was used");
        assert_eq!(judged(&third, &token(&second), NOW), Judged::Again);
    }

    #[test]
    fn a_bound_session_wants_its_key_and_is_not_ended_by_others() {
        let bound = session(Some("key"));
        for jkt in [None, Some("another".to_owned())] {
            assert_eq!(judged(&bound, &Presented { jkt, ..token(&bound) }, NOW), Judged::Refused);
        }
        assert!(matches!(judged(&bound, &token(&bound), NOW), Judged::Rotated(_)));
    }

    #[test]
    fn what_is_over_is_refused_and_not_called_theft() {
        let ended = SessionRecord { revoked_at: Some(NOW), ..session(None) };
        assert_eq!(judged(&ended, &token(&ended), NOW), Judged::Refused);
        let idle = session(None);
        assert_eq!(judged(&idle, &token(&idle), NOW.plus(Lifetimes::default().idle)), Judged::Refused);
        let strange = Presented { fam: "2".into(), ..token(&idle) };
        assert_eq!(judged(&idle, &strange, NOW), Judged::Refused);
    }

    #[test]
    fn a_token_of_the_future_is_no_honest_one() {
        let first = session(None);
        let forged = Presented { generation: 5, ..token(&first) };
        assert_eq!(judged(&first, &forged, NOW), Judged::Reused);
        let guessed = Presented { jti: "guessed".into(), ..token(&first) };
        assert_eq!(judged(&first, &guessed, NOW), Judged::Reused);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// In whatever order and at whatever times tokens of all generations are used: a generation is issued with one
        /// `jti` only, generations increase by one, and nothing is issued after reuse was detected.
        #[test]
        fn there_is_one_line_of_successors(steps in prop::collection::vec((0_usize..6, 0_u64..15_000), 1..60)) {
            let mut present = session(None);
            let mut given = vec![token(&present)];
            let mut now = NOW;
            for (back, gap) in steps {
                now = Millis(now.0 + gap);
                let sent = given[given.len().saturating_sub(1 + back)].clone();
                match judged(&present, &sent, now) {
                    Judged::Rotated(next) => {
                        prop_assert_eq!(sent.generation, present.refresh.generation);
                        prop_assert_eq!(next.refresh.generation, present.refresh.generation + 1);
                        present = *next;
                        given.push(token(&present));
                    }
                    Judged::Again => {
                        prop_assert_eq!(sent.generation + 1, present.refresh.generation);
                        prop_assert!(now.since(present.refresh.rotated_at) < Duration::from_secs(10));
                    }
                    Judged::Reused => {
                        prop_assert!(sent.generation < present.refresh.generation);
                        present.revoked_at = Some(now);
                        for token in &given {
                            prop_assert_eq!(judged(&present, token, now), Judged::Refused);
                        }
                        break;
                    }
                    Judged::Refused => prop_assert!(!present.is_live(&Lifetimes::default(), now)),
                }
            }
            let names: std::collections::BTreeSet<_> = given.iter().map(|token| &token.jti).collect();
            prop_assert_eq!(names.len(), given.len(), "each generation has a name of its own");
        }
    }
}
