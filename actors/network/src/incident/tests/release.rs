//! Release of messages: what waits, who confirms it, what becomes of it.

use super::*;
use crate::alert::{AlertRecord, AlertState, MsgType, Occasion, ResponseType, WaitsFor, end};
use muster_core::Kind;

pub(super) fn third() -> By {
    person("third", UserRole::IncidentCommander)
}

/// An active incident with the responder assigned.
pub(super) fn active(fixture: &mut RegistryFixture, severity: Severity) -> String {
    let id = fixture.report(&commander(), flood(severity));
    let other = fixture.report(&commander(), flood(Severity::Minor));
    for action in [Action::Assign, Action::Triage, Action::Activate] {
        let mut transition = complete_transition(action, &other, fixture.now);
        transition.details.severity = None;
        fixture.transition(&commander(), &id, transition).unwrap();
    }
    id
}

/// An active incident whose severe alert two people published.
fn published(fixture: &mut RegistryFixture) -> (String, String) {
    let id = active(fixture, Severity::Severe);
    let alert = fixture.publish(&commander(), &id, Draft::default()).unwrap();
    fixture.confirm(&second(), &alert).unwrap();
    (id, alert)
}

fn alert(fixture: &RegistryFixture, id: &str) -> Arc<AlertRecord> {
    Arc::clone(fixture.registry.alerts.get(id).unwrap())
}

pub(super) fn pending(fixture: &RegistryFixture, incident: &str) -> Option<Arc<AlertRecord>> {
    fixture.registry.alerts.pending(incident).cloned()
}

const ENDS: [(Action, State, MsgType); 4] = [
    (Action::Resolve, State::Resolved, MsgType::Update),
    (Action::FalseAlarm, State::FalseAlarm, MsgType::Cancel),
    (Action::Cancel, State::Canceled, MsgType::Cancel),
    (Action::MarkDuplicate, State::Duplicate, MsgType::Cancel),
];

#[test]
fn an_end_by_who_may_not_publish_or_of_a_severe_alert_waits_while_the_alert_stands() {
    for by in [responder(), operator(), commander()] {
        for (action, to, kind) in ENDS {
            let mut fixture = RegistryFixture::new();
            let (id, danger) = published(&mut fixture);
            let other = fixture.report(&commander(), flood(Severity::Minor));
            let before = fixture.published_on(events::ALERTS).len();
            fixture.transition(&by, &id, complete_transition(action, &other, START)).unwrap();
            assert_eq!(fixture.get(&id).state, to, "the incident moves");
            assert_eq!(alert(&fixture, &danger).state, AlertState::Published, "the alert stands");
            assert_eq!(fixture.published_on(events::ALERTS).len(), before, "{by:?} {action:?}");
            let waits = pending(&fixture, &id).unwrap();
            assert_eq!((waits.msg_type, waits.waits_for), (kind, Some(WaitsFor::SecondPerson)));
            assert_eq!(fixture.published_on(events::RESTRICTED).last(), Some(&"alert.pending"));
            // It waits as long as the alert is in force, not the half hour of other proposals.
            fixture.advance(2 * HOUR);
            assert_eq!(alert(&fixture, &waits.id).state, AlertState::PendingSecond);
            if by == commander() {
                let own = fixture.confirm(&by, &waits.id).unwrap_err();
                assert_eq!((own.kind, own.code), (Kind::Forbidden, Some("second_person_required")));
            }
            fixture.confirm(&second(), &waits.id).unwrap();
            assert_eq!(alert(&fixture, &danger).state, AlertState::Superseded);
            assert!(fixture.registry.alerts.live(&id).is_none());
        }
    }
}

#[test]
fn a_minor_alert_is_ended_by_one_person_who_may_publish_and_by_nobody_else() {
    for (by, at_once) in [(commander(), true), (operator(), false), (responder(), false)] {
        let mut fixture = RegistryFixture::new();
        let id = active(&mut fixture, Severity::Minor);
        let danger = fixture.publish(&commander(), &id, Draft::default()).unwrap();
        fixture.transition(&by, &id, complete_transition(Action::FalseAlarm, "", START)).unwrap();
        assert_eq!(alert(&fixture, &danger).state == AlertState::Superseded, at_once, "{by:?}");
        assert_eq!(pending(&fixture, &id).is_none(), at_once, "{by:?}");
        if let Some(waits) = pending(&fixture, &id) {
            assert_eq!(waits.waits_for, Some(WaitsFor::Permission));
            assert_eq!(fixture.confirm(&operator(), &waits.id).unwrap_err().kind, Kind::Forbidden);
            fixture.confirm(&commander(), &waits.id).unwrap();
        }
    }
}

#[test]
fn a_lower_severity_does_not_escape_the_second_person() {
    let mut fixture = RegistryFixture::new();
    let (id, danger) = published(&mut fixture);
    let lower = IncidentEdit { severity: Some(Severity::Minor), ..IncidentEdit::default() };
    fixture.edit(&commander(), &id, lower).unwrap();
    assert_eq!(alert(&fixture, &danger).state, AlertState::Published);
    let update = pending(&fixture, &id).unwrap();
    fixture.confirm(&third(), &update.id).unwrap();
    fixture.transition(&commander(), &id, IncidentTransition::new(Action::Resolve)).unwrap();
    assert_eq!(alert(&fixture, &update.id).state, AlertState::Published, "the first of the chain was severe");
    assert_eq!(pending(&fixture, &id).unwrap().waits_for, Some(WaitsFor::SecondPerson));
}

#[test]
fn a_rejected_end_leaves_the_alert_and_may_be_proposed_again_on_the_alert() {
    let mut fixture = RegistryFixture::new();
    let (id, danger) = published(&mut fixture);
    fixture.transition(&responder(), &id, complete_transition(Action::FalseAlarm, "", START)).unwrap();
    let waits = pending(&fixture, &id).unwrap();
    assert_eq!(fixture.reject(&operator(), &waits.id).unwrap_err().kind, Kind::Forbidden);
    fixture.reject(&second(), &waits.id).unwrap();
    assert_eq!((alert(&fixture, &waits.id).state, pending(&fixture, &id)), (AlertState::Rejected, None));
    assert_eq!(alert(&fixture, &danger).state, AlertState::Published);
    let refused = fixture.confirm(&third(), &waits.id).unwrap_err();
    assert_eq!((refused.kind, refused.details.unwrap()["allowed"].clone()), (Kind::Conflict, serde_json::json!([])));

    assert_eq!(fixture.end_alert(&operator(), &danger, AlertAction::Cancel).unwrap_err().kind, Kind::Forbidden);
    let again = fixture.end_alert(&commander(), &danger, AlertAction::Cancel).unwrap();
    assert_eq!(alert(&fixture, &danger).state, AlertState::Published, "it takes two people here too");
    let twice = fixture.end_alert(&second(), &danger, AlertAction::AllClear).unwrap_err();
    assert_eq!(twice.code, Some("alert_pending"));
    fixture.confirm(&second(), &again).unwrap();
    assert_eq!(alert(&fixture, &danger).state, AlertState::Superseded);
}

#[test]
fn a_reopening_withdraws_the_all_clear_that_waits() {
    let mut fixture = RegistryFixture::new();
    let (id, danger) = published(&mut fixture);
    fixture.transition(&operator(), &id, IncidentTransition::new(Action::Resolve)).unwrap();
    let waits = pending(&fixture, &id).unwrap();
    // Neither its closure nor an edit of what is over touches the end that waits.
    let words = IncidentEdit { instruction: Some(Some("Stay away.".to_owned())), ..IncidentEdit::default() };
    fixture.edit(&commander(), &id, words).unwrap();
    fixture.transition(&commander(), &id, IncidentTransition::new(Action::Close)).unwrap();
    assert_eq!(pending(&fixture, &id).as_ref(), Some(&waits));
    fixture.transition(&operator(), &id, complete_transition(Action::Reopen, "", START)).unwrap();
    assert_eq!(alert(&fixture, &waits.id).state, AlertState::Withdrawn);
    assert_eq!(alert(&fixture, &danger).state, AlertState::Published);
    assert_eq!(fixture.confirm(&second(), &waits.id).unwrap_err().kind, Kind::Conflict);
    // The decision after it is one of its own.
    fixture.transition(&operator(), &id, complete_transition(Action::Cancel, "", START)).unwrap();
    assert_eq!(pending(&fixture, &id).unwrap().msg_type, MsgType::Cancel);
}

#[test]
fn a_newer_decision_supersedes_the_one_that_waits() {
    let mut fixture = RegistryFixture::new();
    let (id, danger) = published(&mut fixture);
    let words = IncidentEdit { instruction: Some(Some("Leave.".to_owned())), ..IncidentEdit::default() };
    fixture.edit(&operator(), &id, words).unwrap();
    let update = pending(&fixture, &id).unwrap();
    fixture.transition(&operator(), &id, complete_transition(Action::FalseAlarm, "", START)).unwrap();
    assert_eq!(alert(&fixture, &update.id).state, AlertState::Withdrawn);
    assert_eq!(pending(&fixture, &id).unwrap().msg_type, MsgType::Cancel);
    assert_eq!(alert(&fixture, &danger).state, AlertState::Published);
}

#[test]
fn an_end_is_withdrawn_when_the_alert_expires() {
    let mut fixture = RegistryFixture::new();
    let (id, danger) = published(&mut fixture);
    fixture.transition(&operator(), &id, IncidentTransition::new(Action::Resolve)).unwrap();
    let waits = pending(&fixture, &id).unwrap();
    fixture.advance(DAY);
    assert_eq!(alert(&fixture, &danger).state, AlertState::Expired);
    let withdrawn = alert(&fixture, &waits.id);
    assert_eq!(withdrawn.state, AlertState::Withdrawn);
    assert_eq!(withdrawn.reason.as_deref(), Some("the alert that it would have ended has expired"));
    assert!(fixture.published_on(events::RESTRICTED).contains(&"alert.withdrawn"));
}

#[test]
fn who_changes_the_text_of_a_proposal_is_its_author() {
    let mut fixture = RegistryFixture::new();
    let (id, _) = published(&mut fixture);
    fixture.transition(&operator(), &id, IncidentTransition::new(Action::Resolve)).unwrap();
    let waits = pending(&fixture, &id).unwrap();
    assert_eq!(fixture.edit_alert(&operator(), &waits.id, "Over").unwrap_err().kind, Kind::Forbidden);
    fixture.edit_alert(&commander(), &waits.id, "All clear for the old town").unwrap();
    let own = fixture.confirm(&commander(), &waits.id).unwrap_err();
    assert_eq!(own.code, Some("second_person_required"));
    // Who read the text before cannot confirm the one after.
    let stale = fixture.decide(&second(), |registry, context| {
        registry.confirm(&waits.id, IfMatch::Version(waits.version), None, context).map(drop)
    });
    assert_eq!(stale.unwrap_err().kind, Kind::PreconditionFailed);
    fixture.confirm(&second(), &waits.id).unwrap();
    let sent = alert(&fixture, &waits.id);
    assert_eq!(sent.info.as_ref().unwrap().headline.as_deref(), Some("All clear for the old town"));
    assert_eq!((sent.made_by.as_str(), sent.decided_by.as_deref()), ("usr_commander", Some("usr_second")));
}

#[test]
fn an_imported_cancel_ends_the_alert_published_here_by_the_same_rules() {
    let mut fixture = RegistryFixture::new();
    let imported = super::imports::message(1, MsgType::Alert, &[]);
    super::imports::import(&mut fixture, imported).unwrap();
    let id = fixture.registry.all().next().unwrap().id.clone();
    fixture.edit(&commander(), &id, flood(Severity::Severe).fields).unwrap();
    let danger = fixture.publish(&commander(), &id, Draft::default()).unwrap();
    fixture.confirm(&second(), &danger).unwrap();
    super::imports::import(&mut fixture, super::imports::message(2, MsgType::Cancel, &[1])).unwrap();
    assert_eq!(fixture.get(&id).state, State::Canceled);
    assert_eq!(alert(&fixture, &danger).state, AlertState::Published);
    assert_eq!(pending(&fixture, &id).unwrap().made_by, "usr_operator");
}

#[test]
fn an_end_has_texts_of_its_own_which_the_verb_may_replace() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Minor);
    let texts = AlertTexts {
        headline: Some("Leave the lower town".to_owned()),
        instruction: Some(Some("Go to the school.".to_owned())),
        language: Some("de-DE".to_owned()),
        ..AlertTexts::default()
    };
    fixture.publish(&commander(), &id, Draft { texts, ..Draft::default() }).unwrap();
    let own = AlertTexts { contact: Some(Some("115".to_owned())), ..AlertTexts::default() };
    let resolve = IncidentTransition { alert: own, ..IncidentTransition::new(Action::Resolve) };
    fixture.transition(&commander(), &id, resolve).unwrap();
    let all: Vec<_> = fixture.registry.alerts.of_incident(&id).cloned().collect();
    let info = all[0].info.as_ref().unwrap();
    assert_eq!(info.headline.as_deref(), Some("Entwarnung: Hochwasser, Mainz, the old town"));
    assert_eq!(info.instruction.as_deref(), Some("Ihre Anweisungen gelten nicht mehr."));
    assert_eq!((info.language.as_str(), info.contact.as_deref()), ("de-DE", Some("115")));
    assert_eq!((info.urgency, info.response_types.as_slice()), (Urgency::Past, &[ResponseType::AllClear][..]));

    let unused = AlertTexts { headline: Some("Over".to_owned()), ..AlertTexts::default() };
    let cancel = IncidentTransition { alert: unused, ..complete_transition(Action::Cancel, "", START) };
    let other = active(&mut fixture, Severity::Minor);
    let refused = fixture.transition(&commander(), &other, cancel).unwrap_err();
    assert_eq!(refused.fields[0].loc, ["body", "alert"], "no alert is published that it could be for");
}

#[test]
fn a_point_has_the_radius_of_its_kind_or_the_one_that_is_sent() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Minor);
    let point = Geometry::Point(Point::new(8.27, 50.0));
    fixture.edit(&commander(), &id, IncidentEdit { geometry: Some(Some(point)), ..IncidentEdit::default() }).unwrap();
    let radius = |alert: &AlertRecord| match &alert.info.as_ref().unwrap().geometry {
        Some(Geometry::Circle { radius_m, .. }) => *radius_m,
        other => panic!("{other:?}"),
    };
    let shown = fixture.decide(&commander(), |registry, context| registry.newest(&id, context)).unwrap();
    assert!((radius(&shown) - 5_000.0).abs() < f64::EPSILON, "shown before it is published");
    for wrong in [0.0, -1.0, 0.5, 1_000_001.0, f64::NAN] {
        let draft = Draft { radius_m: Some(wrong), ..Draft::default() };
        assert_eq!(fixture.publish(&commander(), &id, draft).unwrap_err().fields[0].loc, ["body", "radius_m"]);
    }
    let own = Draft { radius_m: Some(750.0), ..Draft::default() };
    let sent = fixture.publish(&commander(), &id, own).unwrap();
    assert!((radius(&alert(&fixture, &sent)) - 750.0).abs() < f64::EPSILON);
    // An Update of something else keeps it.
    let words = IncidentEdit { instruction: Some(Some("Leave.".to_owned())), ..IncidentEdit::default() };
    fixture.edit(&commander(), &id, words).unwrap();
    let live = Arc::clone(fixture.registry.alerts.live(&id).unwrap());
    assert!(live.id != sent && (radius(&live) - 750.0).abs() < f64::EPSILON);
    let circle = active(&mut fixture, Severity::Minor);
    let draft = Draft { radius_m: Some(750.0), ..Draft::default() };
    let refused = fixture.publish(&commander(), &circle, draft).unwrap_err();
    assert_eq!(refused.fields[0].loc, ["body", "radius_m"], "a circle has a radius");
}

#[test]
fn a_record_of_a_server_before_is_read() {
    let mut fixture = RegistryFixture::new();
    let (id, _) = published(&mut fixture);
    fixture.transition(&operator(), &id, IncidentTransition::new(Action::Resolve)).unwrap();
    let mut old = serde_json::json!(*pending(&fixture, &id).unwrap());
    old.as_object_mut().unwrap().remove("waits_for").unwrap();
    let read: AlertRecord = serde_json::from_value(old).unwrap();
    assert_eq!((read.state, read.waits_for), (AlertState::PendingSecond, None));
}

#[test]
fn the_feed_lists_a_cancel_and_its_time_never_goes_back() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Minor);
    fixture.publish(&commander(), &id, Draft::default()).unwrap();
    fixture.advance(MINUTE);
    fixture.transition(&commander(), &id, complete_transition(Action::Cancel, "", START)).unwrap();
    let kinds = |fixture: &RegistryFixture| -> Vec<MsgType> {
        fixture.registry.alerts.feed(fixture.now).map(|alert| alert.msg_type).collect()
    };
    assert_eq!(kinds(&fixture), [MsgType::Cancel]);
    let sent = fixture.registry.alerts.feed_updated();
    assert!(sent.0 > 0);
    fixture.advance(2 * DAY);
    assert!(kinds(&fixture).is_empty());
    let emptied = fixture.registry.alerts.feed_updated();
    assert!(emptied > sent, "an entry left the feed");
    let records = fixture.registry.alerts.before(None).map(|alert| AlertRecord::clone(alert)).collect();
    let restarted = IncidentRegistry::new(IncidentSettings::default(), Vec::new(), records);
    assert_eq!(restarted.alerts.feed_updated(), emptied);
}

#[test]
fn the_words_of_an_end_name_the_alert_by_its_place_and_time() {
    let mut fixture = RegistryFixture::new();
    let (_, danger) = published(&mut fixture);
    let danger = alert(&fixture, &danger);
    let info = danger.info.as_ref().unwrap();
    let text = end(Occasion::AllClear, "en", IncidentKind::Flood, info, danger.sent);
    assert!(text.description.contains("Mainz, the old town"), "{}", text.description);
}
