//! Text frames of the live feed, as the session of a connection handles them.

use std::sync::Arc;
use std::time::Duration;

use muster::ws::protocol::{
    Authenticated, Effect, Endpoint, Fault, FaultKind, Peer, ProtocolOptions, Refusal, Session, Subject,
};
use muster_core::Millis;
use muster_core::principal::UserRole;
use muster_feed::{Position, Subscribed};
use muster_identity::Person;
use serde_json::Value;

use crate::campaign::fuzz;

const START: u64 = 1_763_690_000_000;

/// Each line is a frame. A reply is a JSON object no longer than its request allows; after a close there is none; the
/// number of open requests is bounded.
#[test]
fn feed_frames() {
    let words = [
        "{\"id\":1,",
        "\"connect\":{",
        "\"subs\":{",
        "\"subscribe\":{\"ch\":\"incidents\"}",
        "\"unsubscribe\":{\"ch\":",
        "\"refresh\":{\"token\":\"x\"}",
        "\"history\":{\"ch\":\"incidents\",\"limit\":",
        "\"presence\":{\"ch\":",
        "\"command\":{\"name\":\"",
        "\"args\":",
        "\"idem\":\"",
        "\"since\":{\"epoch\":\"a\",\"offset\":",
        "\"filter\":{\"bbox\":[",
        "\"types\":[",
        "\"min_severity\":\"Severe\"",
        "\"snapshot\":true",
        "{}",
        "\n",
        "}",
        "]",
        "null",
        "4294967296",
        "\\u0000",
        "\"",
    ];
    fuzz("feed_frames", &words, |input| {
        let text = String::from_utf8_lossy(input);
        let options = Arc::new(ProtocolOptions::default());
        let known = text.len().is_multiple_of(2).then(client);
        let mut session = Session::new(
            Arc::clone(&options),
            (Peer::Socket, Endpoint::Feed),
            "con_1".to_owned(),
            known,
            Duration::from_secs(7),
            Millis(START),
        );
        let (mut now, mut kinds) = (START, String::new());
        let mut open = session.on_open(Millis(now)).len();
        for line in text.split('\n').take(2_000) {
            now += 10;
            let closed = session.is_closed();
            let mut effects = session.on_text(line, Millis(now));
            assert!(!closed || effects.is_empty(), "a closed session answers");
            open += requests(&effects);
            assert!(open <= options.max_waiting + options.max_subscriptions + 2, "{open} open requests");
            if line.len() % 3 == 0 {
                let (answered, count) = answer(&mut session, &effects, Millis(now));
                open -= count;
                open += requests(&answered);
                effects.extend(answered);
            }
            for effect in &effects {
                kinds.push(check(effect, line));
            }
        }
        kinds.truncate(12);
        kinds
    });
}

fn client() -> Authenticated {
    let person = Person {
        user_id: "usr_1".into(),
        email: "a@example.org".into(),
        role: UserRole::Viewer,
        session_id: "ses_1".into(),
        permissions: UserRole::Viewer.permissions(),
    };
    Authenticated { subject: Subject::Person(Arc::new(person)), exp: Millis(START + 3_600_000) }
}

fn requests(effects: &[Effect]) -> usize {
    let waits = |effect: &&Effect| {
        matches!(
            effect,
            Effect::Subscribe { .. }
                | Effect::Authenticate { .. }
                | Effect::History { .. }
                | Effect::Presence { .. }
                | Effect::Command { .. }
        )
    };
    effects.iter().filter(waits).count()
}

/// Answers the requests: a subscription is confirmed, all else fails.
fn answer(session: &mut Session, effects: &[Effect], now: Millis) -> (Vec<Effect>, usize) {
    let (mut out, mut count) = (Vec::new(), 0);
    for effect in effects {
        count += 1;
        out.extend(match effect {
            Effect::Subscribe { tag, channel, .. } => {
                let position = Position { epoch: "k3v9".into(), offset: 840 };
                let channel = Arc::clone(channel);
                let subscribed = Subscribed {
                    channel,
                    position,
                    recovered: Ok(()),
                    resumed: false,
                    missed: Vec::new(),
                    state: None,
                    latest: false,
                    only: None,
                };
                session.on_subscribed(*tag, Ok(Box::new(subscribed)), now)
            }
            Effect::Authenticate { tag, token, .. } if token.len() % 2 == 0 => {
                session.on_authenticated(*tag, Ok(client()), now)
            }
            Effect::Authenticate { tag, .. } => session.on_authenticated(*tag, Err(Refusal::Invalid), now),
            Effect::History { tag, .. } | Effect::Presence { tag, .. } | Effect::Command { tag, .. } => {
                session.on_answer(*tag, Err(Fault::new(FaultKind::Unavailable, "not now")), now)
            }
            _ => {
                count -= 1;
                Vec::new()
            }
        });
    }
    (out, count)
}

fn check(effect: &Effect, line: &str) -> char {
    match effect {
        Effect::Send(text) => {
            assert!(serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()), "{text}");
            assert!(text.len() <= 20_000 + 8 * line.len(), "{} bytes for {}", text.len(), line.len());
            if text.contains("error") { 'e' } else { 's' }
        }
        Effect::Close(_) => 'x',
        Effect::Subscribe { .. } => 'u',
        Effect::Listen { .. } => 'l',
        Effect::Leave { .. } => 'v',
        Effect::Authenticate { .. } => 'a',
        Effect::History { .. } => 'h',
        Effect::Presence { .. } => 'p',
        Effect::Command { .. } => 'c',
        Effect::Missed(_) | Effect::Ping | Effect::Positions(_) => 'o',
    }
}
