//! The session machine by its own clock: what it does when, and what no order of events makes it do.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use muster_core::Millis;
use muster_core::principal::{Permission, Permissions, UserRole};
use muster_feed::{Position, Refused, Subscribed};
use muster_identity::Person;
use muster_identity::keys::{KeyRecord, Role};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Authenticated, Effect, Peer, Refusal, Session};
use crate::ws::Close;
use crate::ws::protocol::{Endpoint, ProtocolOptions, Subject};

const START: u64 = 1_763_690_000_000;

fn at(seconds: u64) -> Millis {
    Millis(START + seconds * 1000)
}

fn person(user: &str, session: &str, permissions: Permissions) -> Arc<Person> {
    Arc::new(Person {
        user_id: user.into(),
        email: "a@example.org".into(),
        role: UserRole::Viewer,
        session_id: session.into(),
        permissions,
    })
}

fn authenticated(user: &str, session: &str, exp: Millis) -> Authenticated {
    Authenticated { subject: Subject::Person(person(user, session, UserRole::Viewer.permissions())), exp }
}

fn session(known: Option<Authenticated>) -> Session {
    let options = Arc::new(ProtocolOptions::default());
    Session::new(options, (Peer::Socket, Endpoint::Feed), "con_1".to_owned(), known, Duration::from_secs(7), at(0))
}

/// One whose token ends an hour after the start.
fn live() -> Session {
    session(Some(authenticated("usr_1", "ses_1", at(3600))))
}

fn texts(effects: &[Effect]) -> Vec<Value> {
    let text = |effect: &Effect| match effect {
        Effect::Send(text) => Some(serde_json::from_str(text).unwrap()),
        _ => None,
    };
    effects.iter().filter_map(text).collect()
}

fn closed(effects: &[Effect]) -> Option<Close> {
    effects.iter().find_map(|effect| if let Effect::Close(close) = effect { Some(*close) } else { None })
}

fn tag(effects: &[Effect]) -> u64 {
    let tag = |effect: &Effect| match effect {
        Effect::Subscribe { tag, .. } | Effect::Authenticate { tag, .. } | Effect::History { tag, .. } => Some(*tag),
        _ => None,
    };
    effects.iter().find_map(tag).unwrap()
}

fn confirmed(channel: &str) -> Result<Box<Subscribed>, Refused> {
    Ok(Box::new(Subscribed {
        channel: channel.into(),
        position: Position { epoch: "k3v9".into(), offset: 840 },
        recovered: Ok(()),
        resumed: false,
        missed: Vec::new(),
        state: None,
        latest: false,
        only: None,
    }))
}

/// The sent texts, each with its second.
type SentFrames = Vec<(u64, Value)>;

/// Runs to that second and answers every heartbeat; returns the sent texts and the time of the close.
fn run(session: &mut Session, to: u64) -> (SentFrames, Option<(u64, Close)>) {
    let mut sent = Vec::new();
    for second in 1..=to {
        let effects = session.on_tick(at(second));
        sent.extend(texts(&effects).into_iter().map(|text| (second, text)));
        if let Some(close) = closed(&effects) {
            return (sent, Some((second, close)));
        }
        session.on_text("{}", at(second));
    }
    (sent, None)
}

#[test]
fn a_session_without_connect_closes_after_ten_seconds() {
    let mut silent = session(None);
    assert_eq!(silent.next(), Some(at(7)), "its first heartbeat, by its jitter");
    assert_eq!(run(&mut silent, 60).1, Some((10, Close::ConnectTimeout)));
    let mut checking = session(None);
    checking.on_text(r#"{"id":1,"connect":{"token":"t"}}"#, at(1));
    assert_eq!(run(&mut checking, 60).1, Some((10, Close::ConnectTimeout)), "a check that never ends does not help");
}

#[test]
fn a31_a_token_that_is_not_refreshed_causes_a_warning_60_s_before_and_a_close_25_s_after_its_expiry() {
    let mut session = session(Some(authenticated("usr_1", "ses_1", at(100))));
    let (sent, end) = run(&mut session, 1000);
    assert_eq!(sent, [(40, json!({ "sys": "auth.expiring", "ttl": 60 }))]);
    assert_eq!(end, Some((125, Close::TokenExpired)));
}

#[test]
fn a_refreshed_session_continues() {
    let mut session = session(Some(authenticated("usr_1", "ses_1", at(100))));
    let requested = session.on_text(r#"{"id":4,"refresh":{"token":"t"}}"#, at(50));
    let effects = session.on_authenticated(tag(&requested), Ok(authenticated("usr_1", "ses_1", at(900))), at(50));
    assert_eq!(texts(&effects)[0]["ok"]["exp"], (START / 1000) + 900);
    assert_eq!(run(&mut session, 2000).1, Some((925, Close::TokenExpired)));
}

#[test]
fn a33_a_refresh_of_another_person_or_session_closes() {
    for (user, sid) in [("usr_2", "ses_1"), ("usr_1", "ses_2")] {
        let mut session = live();
        let requested = session.on_text(r#"{"id":4,"refresh":{"token":"t"}}"#, at(1));
        let effects = session.on_authenticated(tag(&requested), Ok(authenticated(user, sid, at(900))), at(1));
        assert_eq!(closed(&effects), Some(Close::InvalidToken));
    }
    let mut session = live();
    let requested = session.on_text(r#"{"id":4,"refresh":{"token":"t"}}"#, at(1));
    assert_eq!(
        closed(&session.on_authenticated(tag(&requested), Err(Refusal::Invalid), at(1))),
        Some(Close::InvalidToken)
    );
}

#[test]
fn a_device_is_refreshed_by_its_own_token_only_and_ends_without_one() {
    let device = |id: &str, exp| Authenticated { subject: Subject::Device(id.into()), exp };
    let refreshed = |session: &mut Session, client| {
        let requested = session.on_text(r#"{"id":4,"refresh":{"token":"t"}}"#, at(100));
        session.on_authenticated(tag(&requested), Ok(client), at(100))
    };
    for other in [device("dev_2", at(400)), authenticated("dev_1", "ses_1", at(400))] {
        let mut session = session(Some(device("dev_1", at(300))));
        assert_eq!(closed(&refreshed(&mut session, other)), Some(Close::InvalidToken));
    }
    let mut session = session(Some(device("dev_1", at(300))));
    assert_eq!(texts(&refreshed(&mut session, device("dev_1", at(400))))[0]["ok"]["exp"], (START / 1000 + 400));
    let (sent, end) = run(&mut session, 1000);
    let warned: Vec<_> = sent.iter().filter(|(_, text)| text["sys"] == "auth.expiring").map(|(at, _)| *at).collect();
    assert_eq!((warned, end), (vec![340], Some((425, Close::TokenExpired))));
}

#[test]
fn heartbeats_are_sent_after_the_jitter_then_every_25_s_and_require_an_answer_within_10_s() {
    let mut session = live();
    let pings: Vec<u64> = (1..=100)
        .filter(|second| {
            let pinged = session.on_tick(at(*second)).iter().any(|effect| matches!(effect, Effect::Ping));
            session.on_frame(at(*second));
            pinged
        })
        .collect();
    assert_eq!(pings, [7, 32, 57, 82]);
    let mut silent = live();
    let end = (1..=100).find_map(|second| closed(&silent.on_tick(at(second))).map(|close| (second, close)));
    assert_eq!(end, Some((17, Close::NoPong)));
}

#[test]
fn the_reply_to_connect_follows_all_its_subscriptions_and_precedes_missed_events() {
    let mut session = session(None);
    let requested = session.on_text(r#"{"id":1,"connect":{"token":"t","subs":{"a":{},"b":{},"c *":{}}}}"#, at(1));
    let effects = session.on_authenticated(tag(&requested), Ok(authenticated("usr_1", "ses_1", at(900))), at(1));
    let tags: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Subscribe { tag, channel, .. } => Some((*tag, channel.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(tags.iter().map(|(_, channel)| channel.as_str()).collect::<Vec<_>>(), ["a", "b", "user:usr_1"]);
    assert!(session.holds() && texts(&effects).is_empty());
    assert!(texts(&session.on_subscribed(tags[0].0, confirmed("a"), at(1))).is_empty());
    let effects = session.on_subscribed(tags[1].0, Err(Refused::NoChannel), at(1));
    let reply = &texts(&effects)[0]["ok"];
    assert_eq!(reply["subs"]["a"], json!({ "epoch": "k3v9", "offset": 840, "pubs": 0, "recovered": false }));
    assert_eq!(reply["subs"]["b"]["error"]["code"], 2404);
    assert_eq!(reply["subs"]["c *"]["error"]["code"], 2400);
    assert_eq!((&reply["conn"], &reply["user"], &reply["ping"]), (&json!("con_1"), &json!("usr_1"), &json!(25)));
    assert!(!session.holds());
}

#[test]
fn unreadable_frames_close_and_invalid_requests_get_an_error() {
    for bad in ["{", "[]", "7", "null", r#"{"id":0,"presence":{"ch":"a"}}"#, r#"{"id":"x"}"#, r#"{"id":-1}"#] {
        assert_eq!(closed(&live().on_text(bad, at(1))), Some(Close::ProtocolError), "{bad}");
    }
    for wrong in [
        r#"{"id":1}"#,
        r#"{"id":1,"subscribe":{}}"#,
        r#"{"id":1,"subscribe":{"ch":7}}"#,
        r#"{"id":1,"subscribe":{"ch":"a"},"presence":{"ch":"a"}}"#,
        r#"{"id":1,"history":{"ch":"a","limit":501}}"#,
        r#"{"id":1,"refresh":{}}"#,
        r#"{"id":1,"command":{"name":""}}"#,
    ] {
        let sent = texts(&live().on_text(wrong, at(1)));
        assert_eq!((sent.len(), &sent[0]["error"]["code"]), (1, &json!(2400)), "{wrong}");
    }
    assert!(live().on_text(r#"{"later":{"version":2}}"#, at(1)).is_empty(), "frames of later versions pass");
    assert_eq!(closed(&session(None).on_text(r#"{"id":1,"presence":{"ch":"a"}}"#, at(1))), Some(Close::ProtocolError));
    assert_eq!(closed(&session(None).on_text(r#"{"id":1,"connect":{}}"#, at(1))), Some(Close::InvalidToken));
}

#[test]
fn reduced_permissions_end_the_subscriptions_that_they_covered() {
    let mut session = live();
    for channel in ["a", "b"] {
        let requested = session.on_text(&json!({ "subscribe": { "ch": channel } }).to_string(), at(1));
        session.on_subscribed(tag(&requested), confirmed(channel), at(1));
    }
    let less = person("usr_1", "ses_1", Permissions::of(&[Permission::RealtimeSubscribe]));
    let effects = session.on_grant(less, |channel, _, _| channel != "a");
    assert_eq!(
        texts(&effects),
        [json!({ "ch": "a", "unsubscribed": { "code": 2403, "reason": "permission_revoked" } })]
    );
    let none = person("usr_1", "ses_1", Permissions::default());
    assert_eq!(closed(&session.on_grant(none, |_, _, _| true)), Some(Close::Forbidden));
}

#[test]
fn a_request_without_an_answer_gets_an_error() {
    let mut session = live();
    session.on_text(r#"{"id":5,"history":{"ch":"a"}}"#, at(0));
    let (sent, _) = run(&mut session, 30);
    assert_eq!((sent.len(), sent[0].0, &sent[0].1["error"]["code"]), (1, 15, &json!(2503)));
}

#[test]
fn commands_beyond_the_burst_close_the_session() {
    let mut session = live();
    let ends: Vec<_> = (0..41).map(|_| closed(&session.on_text(r#"{"command":{"name":"x"}}"#, at(1)))).collect();
    assert!(ends[..40].iter().all(Option::is_none));
    assert_eq!(ends[40], Some(Close::RateLimited));
}

#[derive(Debug, Clone)]
enum Step {
    Text(String),
    Subscribed(usize, bool),
    Answer(usize, bool),
    Reset,
    Pass(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let channel = prop::sample::select(vec!["a", "b", "user:usr_1", "bad *"]);
    let id = prop::option::of(1_u32..500);
    let request = (id, channel, 0_usize..6).prop_map(|(id, channel, kind)| {
        let mut frame = match kind {
            0 | 1 => json!({ "subscribe": { "ch": channel } }),
            2 => json!({ "unsubscribe": { "ch": channel } }),
            3 => json!({ "history": { "ch": channel } }),
            4 => json!({ "presence": { "ch": channel } }),
            _ => json!({ "connect": { "subs": { channel: {} } } }),
        };
        if let Some(id) = id {
            frame["id"] = json!(id);
        }
        Step::Text(frame.to_string())
    });
    prop_oneof![
        4 => request,
        4 => (0_usize..4, any::<bool>()).prop_map(|(which, yes)| Step::Subscribed(which, yes)),
        2 => (0_usize..4, any::<bool>()).prop_map(|(which, yes)| Step::Answer(which, yes)),
        1 => Just(Step::Reset),
        2 => (0_u64..9).prop_map(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever happens in whatever order: each request gets one reply at most and, once everything is answered or too
    /// late, exactly one; nothing follows a close; what is listened to is what the hub was not requested to end.
    #[test]
    fn every_request_gets_one_reply(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut session = live();
        let (mut now, mut requested, mut waiting) = (0, Vec::new(), Vec::new());
        let (mut replies, mut listens): (Vec<u64>, HashSet<String>) = (Vec::new(), HashSet::new());
        let mut over = false;
        let mut take = |effects: Vec<Effect>, waiting: &mut Vec<(u64, Option<String>)>| {
            for effect in effects {
                assert!(!over, "{effect:?} follows a close");
                match effect {
                    Effect::Send(text) => replies.extend(serde_json::from_str::<Value>(&text).unwrap()["id"].as_u64()),
                    Effect::Subscribe { tag, channel, .. } => waiting.push((tag, Some(channel.to_string()))),
                    Effect::History { tag, .. } | Effect::Presence { tag, .. } => waiting.push((tag, None)),
                    Effect::Listen { channel, .. } => { listens.insert(channel.to_string()); }
                    Effect::Leave { channel } => { listens.remove(&*channel); }
                    Effect::Close(_) => over = true,
                    _ => {}
                }
            }
        };
        take(session.on_open(at(0)), &mut waiting);
        for step in steps {
            match step {
                Step::Text(text) => {
                    let known = !session.is_closed();
                    let id = serde_json::from_str::<Value>(&text).unwrap()["id"].as_u64();
                    take(session.on_text(&text, at(now)), &mut waiting);
                    requested.extend(id.filter(|_| known));
                }
                Step::Subscribed(which, yes) => {
                    let found = waiting.iter().enumerate().filter(|(_, (_, channel))| channel.is_some()).nth(which);
                    if let Some((index, _)) = found {
                        let (tag, channel) = waiting.remove(index);
                        let answer = if yes { confirmed(&channel.unwrap()) } else { Err(Refused::NoChannel) };
                        take(session.on_subscribed(tag, answer, at(now)), &mut waiting);
                    }
                }
                Step::Answer(which, yes) => {
                    let found = waiting.iter().enumerate().filter(|(_, (_, channel))| channel.is_none()).nth(which);
                    if let Some((index, _)) = found {
                        let (tag, _) = waiting.remove(index);
                        let fault = super::Fault::new(super::FaultKind::Internal, "x");
                        let body = serde_json::value::to_raw_value(&json!({})).unwrap();
                        take(session.on_answer(tag, if yes { Ok(body) } else { Err(fault) }, at(now)), &mut waiting);
                    }
                }
                Step::Reset => take(session.on_reset(|_| None, at(now)), &mut waiting),
                Step::Pass(seconds) => {
                    now += seconds;
                    take(session.on_frame(at(now)), &mut waiting);
                    take(session.on_tick(at(now)), &mut waiting);
                }
            }
        }
        let ended = session.is_closed();
        // Everything is too late after this.
        take(session.on_tick(at(now + 16)), &mut waiting);
        let heard: HashSet<String> = session.channels().map(ToString::to_string).collect();
        if !session.is_closed() {
            prop_assert_eq!(&heard, &listens);
        }
        let (mut requested, mut replied) = (requested, replies);
        requested.sort_unstable();
        replied.sort_unstable();
        if ended || session.is_closed() {
            replied.iter().for_each(|id| assert!(requested.contains(id)));
            prop_assert!(replied.len() <= requested.len());
        } else {
            prop_assert_eq!(requested, replied);
        }
    }
}

fn key(id: &str, roles: Vec<Role>) -> Authenticated {
    let mut key = KeyRecord::without_secret(id, "monitor");
    key.roles = roles;
    Authenticated { subject: Subject::of_key(Arc::new(key)), exp: at(86_400) }
}

fn monitor(known: Option<Authenticated>) -> Session {
    let options = Arc::new(ProtocolOptions::default());
    Session::new(options, (Peer::Socket, Endpoint::Agents), "con_1".to_owned(), known, Duration::from_secs(7), at(0))
}

fn subscriptions(effects: &[Effect]) -> Vec<(String, bool)> {
    let of = |effect: &Effect| match effect {
        Effect::Subscribe { channel, snapshot, .. } => Some((channel.to_string(), *snapshot)),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn a_monitor_is_subscribed_to_agents_with_a_snapshot_and_notified() {
    let mut session = monitor(Some(key("key_1", Vec::new())));
    let effects = session.on_open(at(0));
    assert_eq!(subscriptions(&effects), [("agents".to_owned(), true)], "a key has no channel of its own");
    let sent = texts(&session.on_subscribed(tag(&effects), confirmed("agents"), at(0)));
    assert_eq!(
        sent,
        [json!({ "ch": "agents", "subscribed": { "epoch": "k3v9", "offset": 840, "pubs": 0, "recovered": false } })]
    );
    // The client may subscribe to the channel itself, from a position.
    let text = r#"{"id":1,"connect":{"subs":{"agents":{"since":{"epoch":"k3v9","offset":840}}}}}"#;
    let effects = session.on_text(text, at(1));
    assert_eq!(subscriptions(&effects), [("agents".to_owned(), false)]);
}

#[test]
fn a_monitor_that_authenticates_in_its_first_frame_gets_the_snapshot_in_the_reply() {
    let mut session = monitor(None);
    session.on_open(at(0));
    let effects = session.on_text(r#"{"id":1,"connect":{"token":"mst_x"}}"#, at(0));
    let effects = session.on_authenticated(tag(&effects), Ok(key("key_1", Vec::new())), at(0));
    assert_eq!(subscriptions(&effects), [("agents".to_owned(), true)]);
    let sent = texts(&session.on_subscribed(tag(&effects), confirmed("agents"), at(0)));
    assert_eq!(sent[0]["ok"]["subs"]["agents"]["offset"], 840, "{sent:?}");
}

#[test]
fn a_client_without_permission_to_watch_agents_is_rejected_by_the_monitor() {
    let mut viewer = monitor(Some(authenticated("usr_1", "ses_1", at(3600))));
    assert_eq!(closed(&viewer.on_open(at(0))), Some(Close::Forbidden));
    let device = Authenticated { subject: Subject::Device("dev_1".into()), exp: at(300) };
    assert_eq!(closed(&monitor(Some(device)).on_open(at(0))), Some(Close::Forbidden));
    let permissions = Permissions::of(&[Permission::RealtimeSubscribe, Permission::AgentsControl]);
    let person = Authenticated { subject: Subject::Person(person("usr_1", "ses_1", permissions)), exp: at(3600) };
    assert_eq!(closed(&monitor(Some(person)).on_open(at(0))), None);
}

#[test]
fn a_client_limited_to_its_own_events_gets_positions_and_loses_unrestricted_subscriptions() {
    let mut session = monitor(Some(key("key_1", Vec::new())));
    let opened = session.on_open(at(0));
    let limited = confirmed("agents").map(|it| Box::new(Subscribed { only: Some("key_1".into()), ..*it }));
    let effects = session.on_subscribed(tag(&opened), limited, at(0));
    let filter = effects.iter().find_map(|effect| match effect {
        Effect::Listen { filter, .. } => filter.clone(),
        _ => None,
    });
    assert_eq!(filter.unwrap().owner.as_deref(), Some("key_1"));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Positions(_))), "{effects:?}");
    // A user who received everything, and from now on only their own events.
    let permissions = Permissions::of(&[Permission::RealtimeSubscribe, Permission::AgentsControl]);
    let reader = person("usr_1", "ses_1", permissions.and(Permissions::of(&[Permission::AgentsRead])));
    let mut session = monitor(Some(Authenticated { subject: Subject::Person(reader), exp: at(3600) }));
    let opened = session.on_open(at(0));
    let requested = opened.iter().find_map(|effect| match effect {
        Effect::Subscribe { tag, channel, .. } if &**channel == "agents" => Some(*tag),
        _ => None,
    });
    session.on_subscribed(requested.unwrap(), confirmed("agents"), at(0));
    let lost = session.on_grant(person("usr_1", "ses_1", permissions), |_, owner, _| owner.is_some());
    assert!(texts(&lost).iter().any(|text| text["ch"] == "agents" && text["unsubscribed"]["code"] == 2403), "{lost:?}");
}

#[test]
fn the_permissions_of_a_key_follow_from_its_access() {
    let may = |roles: Vec<Role>| {
        let permissions = key("key_1", roles).subject.viewer().permissions;
        [Permission::AgentsRead, Permission::AgentsControl].map(|permission| permissions.has(permission))
    };
    assert_eq!(may(Vec::new()), [false, false]);
    assert_eq!(may(vec![Role::Auditor]), [true, false]);
    assert_eq!(may(vec![Role::Operations]), [true, true]);
}
