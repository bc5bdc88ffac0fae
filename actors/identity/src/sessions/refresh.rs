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
    /// Lifetime of an access token.
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
pub(crate) struct RefreshToken {
    pub sid: String,
    pub fam: String,
    pub generation: u64,
    pub jti: String,
    /// Thumbprint of the key that signed the request's proof, if there was one.
    pub jkt: Option<String>,
}

/// The decision on a refresh token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RefreshDecision {
    /// The session advances to this generation, which must be stored before the response.
    Rotated(Box<SessionRecord>),
    /// The same successor is returned again; nothing changes.
    Repeated,
    /// The session has ended or never had this token. Nothing changes.
    Rejected,
    /// The token was used before: the session must end.
    Reused,
}

/// Decides on a token by the session that it names.
pub(crate) fn decide(
    session: &SessionRecord,
    sent: &RefreshToken,
    lifetimes: &Lifetimes,
    now: Millis,
) -> RefreshDecision {
    let family = &session.refresh;
    // Without its key, a bound session cannot even be ended.
    let unproven = session.jkt.is_some() && session.jkt != sent.jkt;
    if !session.is_live(lifetimes, now) || unproven || family.fam != sent.fam {
        return RefreshDecision::Rejected;
    }
    let sent_hash = hash(&sent.jti);
    let matches = |stored: &[u8; 32]| bool::from(sent_hash.ct_eq(stored));
    if sent.generation == family.generation && matches(&family.last) {
        let next = SessionRecord { last_used: now, refresh: family.rotated(now), ..session.clone() };
        return RefreshDecision::Rotated(Box::new(next));
    }
    let is_previous =
        sent.generation.checked_add(1) == Some(family.generation) && family.previous.as_ref().is_some_and(matches);
    if is_previous && now.since(family.rotated_at) < lifetimes.grace {
        return RefreshDecision::Repeated;
    }
    RefreshDecision::Reused
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
            account_expires_at: None,
        }
    }

    /// Builds the present token of a session.
    fn token(session: &SessionRecord) -> RefreshToken {
        let family = &session.refresh;
        RefreshToken {
            sid: session.id.clone(),
            fam: family.fam.clone(),
            generation: family.generation,
            jti: family.jti(),
            jkt: session.jkt.clone(),
        }
    }

    fn decided(session: &SessionRecord, sent: &RefreshToken, now: Millis) -> RefreshDecision {
        decide(session, sent, &Lifetimes::default(), now)
    }

    fn rotated(session: &SessionRecord, now: Millis) -> SessionRecord {
        match decided(session, &token(session), now) {
            RefreshDecision::Rotated(next) => *next,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_token_is_repeated_for_one_generation_and_ten_seconds() {
        let first = session(None);
        let (one, second) = (token(&first), rotated(&first, NOW));
        let end = NOW.plus(Duration::from_secs(10));
        assert_eq!(decided(&second, &one, Millis(end.0 - 1)), RefreshDecision::Repeated);
        assert_eq!(decided(&second, &one, end), RefreshDecision::Reused);
        let third = rotated(&second, NOW);
        assert_eq!(decided(&third, &one, NOW), RefreshDecision::Reused, "its successor was used");
        assert_eq!(decided(&third, &token(&second), NOW), RefreshDecision::Repeated);
    }

    #[test]
    fn a_bound_session_needs_its_key_and_is_not_ended_without_it() {
        let bound = session(Some("key"));
        for jkt in [None, Some("another".to_owned())] {
            assert_eq!(decided(&bound, &RefreshToken { jkt, ..token(&bound) }, NOW), RefreshDecision::Rejected);
        }
        assert!(matches!(decided(&bound, &token(&bound), NOW), RefreshDecision::Rotated(_)));
    }

    #[test]
    fn a_token_of_an_ended_session_is_rejected_and_not_treated_as_reuse() {
        let ended = SessionRecord { revoked_at: Some(NOW), ..session(None) };
        assert_eq!(decided(&ended, &token(&ended), NOW), RefreshDecision::Rejected);
        let idle = session(None);
        assert_eq!(decided(&idle, &token(&idle), NOW.plus(Lifetimes::default().idle)), RefreshDecision::Rejected);
        let foreign = RefreshToken { fam: "2".into(), ..token(&idle) };
        assert_eq!(decided(&idle, &foreign, NOW), RefreshDecision::Rejected);
    }

    #[test]
    fn a_token_with_a_future_generation_or_another_jti_ends_the_session() {
        let first = session(None);
        let forged = RefreshToken { generation: 5, ..token(&first) };
        assert_eq!(decided(&first, &forged, NOW), RefreshDecision::Reused);
        let guessed = RefreshToken { jti: "guessed".into(), ..token(&first) };
        assert_eq!(decided(&first, &guessed, NOW), RefreshDecision::Reused);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// For any order and times in which tokens of all generations are used: a generation is issued with one
        /// `jti` only, generations increase by one, and nothing is issued after reuse was detected.
        #[test]
        fn there_is_one_sequence_of_successors(steps in prop::collection::vec((0_usize..6, 0_u64..15_000), 1..60)) {
            let mut present = session(None);
            let mut issued = vec![token(&present)];
            let mut now = NOW;
            for (back, gap) in steps {
                now = Millis(now.0 + gap);
                let sent = issued[issued.len().saturating_sub(1 + back)].clone();
                match decided(&present, &sent, now) {
                    RefreshDecision::Rotated(next) => {
                        prop_assert_eq!(sent.generation, present.refresh.generation);
                        prop_assert_eq!(next.refresh.generation, present.refresh.generation + 1);
                        present = *next;
                        issued.push(token(&present));
                    }
                    RefreshDecision::Repeated => {
                        prop_assert_eq!(sent.generation + 1, present.refresh.generation);
                        prop_assert!(now.since(present.refresh.rotated_at) < Duration::from_secs(10));
                    }
                    RefreshDecision::Reused => {
                        prop_assert!(sent.generation < present.refresh.generation);
                        present.revoked_at = Some(now);
                        for token in &issued {
                            prop_assert_eq!(decided(&present, token, now), RefreshDecision::Rejected);
                        }
                        break;
                    }
                    RefreshDecision::Rejected => prop_assert!(!present.is_live(&Lifetimes::default(), now)),
                }
            }
            let jtis: std::collections::BTreeSet<_> = issued.iter().map(|token| &token.jti).collect();
            prop_assert_eq!(jtis.len(), issued.len(), "each generation has its own `jti`");
        }
    }
}
