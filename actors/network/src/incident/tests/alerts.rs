//! Alerts: who may publish them, what follows from the incident, and their references.

use super::*;
use crate::alert::{AlertRecord, AlertState, MsgType, Reference, ResponseType, Scope};
use muster_core::Kind;

fn active(fixture: &mut RegistryFixture, severity: Severity) -> String {
    let id = fixture.report(&commander(), flood(severity));
    for action in [Action::Triage, Action::Activate] {
        let details = TransitionDetails { commander: Some("usr_commander".to_owned()), ..TransitionDetails::default() };
        fixture
            .transition(&commander(), &id, IncidentTransition { details, ..IncidentTransition::new(action) })
            .unwrap();
    }
    id
}

fn state(fixture: &RegistryFixture, alert: &str) -> AlertState {
    fixture.registry.alerts.get(alert).unwrap().state
}

fn chain(fixture: &RegistryFixture, id: &str) -> Vec<Arc<AlertRecord>> {
    let mut all: Vec<_> = fixture.registry.alerts.of_incident(id).cloned().collect();
    all.reverse();
    all
}

#[test]
fn a_moderate_alert_is_published_at_once_and_a_severe_public_one_needs_two_people() {
    for (severity, at_once) in [
        (Severity::Unknown, true),
        (Severity::Minor, true),
        (Severity::Moderate, true),
        (Severity::Severe, false),
        (Severity::Extreme, false),
    ] {
        let mut fixture = RegistryFixture::new();
        let id = active(&mut fixture, severity);
        let alert = fixture.publish(&commander(), &id, Draft::default()).unwrap();
        assert_eq!(state(&fixture, &alert) == AlertState::Published, at_once, "{severity:?}");
        assert_eq!(fixture.published_on(events::ALERTS).len(), usize::from(at_once), "{severity:?}");
        if !at_once {
            let own = fixture.confirm(&commander(), &alert).unwrap_err();
            assert_eq!((own.kind, own.code), (Kind::Forbidden, Some("second_person_required")));
            assert_eq!(fixture.confirm(&operator(), &alert).unwrap_err().kind, Kind::Forbidden);
            fixture.confirm(&second(), &alert).unwrap();
            assert_eq!(fixture.published_on(events::ALERTS), ["alert.published"]);
            assert_eq!(fixture.confirm(&second(), &alert).unwrap_err().kind, Kind::Conflict, "once");
        }
    }
}

#[test]
fn a_severe_restricted_alert_needs_no_second_person() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Extreme);
    let few = Draft { scope: Some(Scope::Restricted), restriction: Some("hospitals".to_owned()), ..Draft::default() };
    let alert = fixture.publish(&commander(), &id, few).unwrap();
    assert_eq!(state(&fixture, &alert), AlertState::Published);
    assert_eq!(fixture.published_on(events::ALERTS), [""; 0]);
    assert!(fixture.published_on(events::RESTRICTED).contains(&"alert.published"));
}

#[test]
fn a_proposal_is_rejected_or_lapses_and_then_another_may_be_made() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Severe);
    let first = fixture.publish(&commander(), &id, Draft::default()).unwrap();
    assert_eq!(fixture.publish(&second(), &id, Draft::default()).unwrap_err().code, Some("alert_pending"));
    let plan =
        fixture.decide(&second(), |registry, context| registry.reject(&first, "wrong town", None, context)).unwrap();
    fixture.apply(&plan);
    assert_eq!(state(&fixture, &first), AlertState::Rejected);
    let lapsing = fixture.publish(&commander(), &id, Draft::default()).unwrap();
    fixture.advance(30 * MINUTE);
    assert_eq!(state(&fixture, &lapsing), AlertState::Lapsed);
    assert_eq!(fixture.confirm(&second(), &lapsing).unwrap_err().kind, Kind::Conflict);
    assert_eq!(fixture.published_on(events::ALERTS), [""; 0], "nothing of it was public");
}

#[test]
fn each_message_of_a_chain_refers_to_all_before_it() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Moderate);
    fixture.publish(&commander(), &id, Draft::default()).unwrap();
    fixture.advance(MINUTE);
    let wider = IncidentEdit { area_desc: Some(Some("Mainz, all of it".to_owned())), ..IncidentEdit::default() };
    fixture.edit(&commander(), &id, wider).unwrap();
    fixture.advance(MINUTE);
    fixture
        .edit(&commander(), &id, IncidentEdit { title: Some("Flood".to_owned()), ..IncidentEdit::default() })
        .unwrap();
    fixture.advance(MINUTE);
    fixture.transition(&commander(), &id, IncidentTransition::new(Action::Resolve)).unwrap();

    let chain = chain(&fixture, &id);
    let kinds: Vec<MsgType> = chain.iter().map(|alert| alert.msg_type).collect();
    assert_eq!(kinds, [MsgType::Alert, MsgType::Update, MsgType::Update], "a title is not material");
    for (n, alert) in chain.iter().enumerate() {
        let before: Vec<Reference> = chain.iter().take(n).map(|alert| alert.reference()).collect();
        assert_eq!(alert.references, before);
        assert_eq!(alert.sent.0 % 1000, 0);
    }
    let last = chain.last().unwrap().info.as_ref().unwrap();
    assert_eq!((last.urgency, last.response_types.as_slice()), (Urgency::Past, &[ResponseType::AllClear][..]));
    assert_eq!(chain[1].info.as_ref().unwrap().area_desc.as_deref(), Some("Mainz, all of it"));
    assert_eq!(chain.iter().filter(|alert| alert.state == AlertState::Published).count(), 1);
    let cap = &fixture.get(&id).cap;
    assert_eq!((cap.identifier.as_ref(), cap.references.len()), (Some(&chain[2].identifier), 2));
    assert_eq!(fixture.published_on(events::ALERTS), ["alert.published", "alert.updated", "alert.updated"]);
}

#[test]
fn a_false_alarm_a_duplicate_and_a_cancel_cancel_the_alert() {
    for action in [Action::FalseAlarm, Action::MarkDuplicate, Action::Cancel] {
        let mut fixture = RegistryFixture::new();
        let other = fixture.report(&commander(), flood(Severity::Minor));
        let id = active(&mut fixture, Severity::Minor);
        fixture.publish(&commander(), &id, Draft::default()).unwrap();
        fixture.transition(&commander(), &id, complete_transition(action, &other, START)).unwrap();
        let chain = chain(&fixture, &id);
        assert_eq!(chain[1].msg_type, MsgType::Cancel);
        assert_eq!(chain[1].references, [chain[0].reference()]);
        assert_eq!(fixture.published_on(events::ALERTS), ["alert.published", "alert.canceled"]);
    }
}

#[test]
fn a_change_by_a_person_who_may_not_publish_is_only_proposed() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Minor);
    fixture.publish(&commander(), &id, Draft::default()).unwrap();
    let words = IncidentEdit { instruction: Some(Some("Leave the town.".to_owned())), ..IncidentEdit::default() };
    fixture.edit(&operator(), &id, words).unwrap();
    let proposed = Arc::clone(fixture.registry.alerts.pending(&id).unwrap());
    assert_eq!((proposed.msg_type, fixture.published_on(events::ALERTS)), (MsgType::Update, vec!["alert.published"]));
    fixture.confirm(&commander(), &proposed.id.clone()).unwrap();
    assert_eq!(fixture.published_on(events::ALERTS), ["alert.published", "alert.updated"]);
}

#[test]
fn a_change_of_the_incident_withdraws_an_unconfirmed_proposal() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Extreme);
    let proposed = fixture.publish(&commander(), &id, Draft::default()).unwrap();
    fixture
        .edit(&commander(), &id, IncidentEdit { severity: Some(Severity::Severe), ..IncidentEdit::default() })
        .unwrap();
    assert_eq!(state(&fixture, &proposed), AlertState::Withdrawn);
    assert_eq!(fixture.confirm(&second(), &proposed).unwrap_err().kind, Kind::Conflict);
}

#[test]
fn an_alert_expires_at_its_time() {
    let mut fixture = RegistryFixture::new();
    let id = active(&mut fixture, Severity::Minor);
    let draft = Draft {
        texts: AlertTexts { expires: Some(fixture.now.plus(HOUR)), ..AlertTexts::default() },
        ..Draft::default()
    };
    let alert = fixture.publish(&commander(), &id, draft).unwrap();
    fixture.advance(HOUR - Duration::from_millis(1));
    assert!(fixture.registry.alerts.get(&alert).unwrap().is_active(fixture.now));
    fixture.advance(Duration::from_millis(1));
    assert_eq!(state(&fixture, &alert), AlertState::Expired);
    assert_eq!(fixture.published_on(events::ALERTS), ["alert.published", "alert.expired"]);
}

#[test]
fn an_alert_that_may_not_be_published_is_rejected() {
    let mut fixture = RegistryFixture::new();
    let reported = fixture.report(&commander(), flood(Severity::Minor));
    assert_eq!(fixture.publish(&commander(), &reported, Draft::default()).unwrap_err().kind, Kind::Conflict);
    let id = active(&mut fixture, Severity::Minor);
    assert_eq!(fixture.publish(&operator(), &id, Draft::default()).unwrap_err().kind, Kind::Forbidden);
    let unaddressed = Draft { scope: Some(Scope::Private), ..Draft::default() };
    assert_eq!(fixture.publish(&commander(), &id, unaddressed).unwrap_err().fields[0].loc, ["body", "addresses"]);
    fixture
        .edit(&commander(), &id, IncidentEdit { visibility: Some(Visibility::Restricted), ..IncidentEdit::default() })
        .unwrap();
    assert_eq!(fixture.publish(&commander(), &id, Draft::default()).unwrap_err().code, Some("not_public"));
}
