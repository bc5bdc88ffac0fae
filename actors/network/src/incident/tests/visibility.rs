//! Visibility of incidents and channels of their events.

use super::*;
use crate::alert::Status;
use muster_core::Kind;
use muster_core::page::PageParams;

fn visible_count(fixture: &RegistryFixture, by: &By) -> usize {
    fixture.registry.list(&IncidentFilter::default(), &PageParams::default(), by).items.len()
}

#[test]
fn a53_an_exercise_reaches_neither_the_public_channel_nor_the_alerts() {
    for status in [Status::Exercise, Status::Test, Status::System, Status::Draft] {
        let mut fixture = RegistryFixture::new();
        let id = fixture.report(&commander(), NewReport { status: Some(status), ..flood(Severity::Extreme) });
        for action in [Action::Triage, Action::Acknowledge, Action::Activate] {
            let transition = complete_transition(action, "", fixture.now);
            fixture.transition(&commander(), &id, transition).unwrap();
        }
        let error = fixture.publish(&commander(), &id, Draft::default()).unwrap_err();
        assert_eq!((error.kind, error.code), (Kind::Conflict, Some("not_actual")), "{status:?}");
        fixture
            .edit(&commander(), &id, IncidentEdit { severity: Some(Severity::Severe), ..IncidentEdit::default() })
            .unwrap();
        let transition = complete_transition(Action::Cancel, "", fixture.now);
        fixture.transition(&commander(), &id, transition).unwrap();
        assert_eq!(fixture.published_on(events::PUBLIC), [""; 0], "{status:?}");
        assert_eq!(fixture.published_on(events::ALERTS), [""; 0], "{status:?}");
        assert_eq!(fixture.published_on(events::RESTRICTED).len(), 6, "published to the participants");
        assert_eq!((visible_count(&fixture, &viewer()), visible_count(&fixture, &operator())), (0, 1), "{status:?}");
    }
}

#[test]
fn restricted_incidents_are_visible_to_writers_and_private_ones_to_named_users() {
    let mut fixture = RegistryFixture::new();
    let with = |visibility, addresses: &[&str]| {
        let addresses = Some(addresses.iter().map(|&id| id.to_owned()).collect());
        let fields = IncidentEdit { visibility: Some(visibility), addresses, ..flood(Severity::Minor).fields };
        NewReport { fields, ..NewReport::default() }
    };
    fixture.report(&operator(), with(Visibility::Restricted, &[]));
    let private = fixture.report(&operator(), with(Visibility::Private, &["usr_viewer"]));
    assert_eq!(visible_count(&fixture, &person("other", UserRole::Viewer)), 0);
    assert_eq!(visible_count(&fixture, &viewer()), 1, "addressed by the private one");
    assert_eq!(visible_count(&fixture, &commander()), 1, "writes, so the restricted one");
    assert_eq!(visible_count(&fixture, &operator()), 2, "reported both");
    assert_eq!(
        fixture.transition(&commander(), &private, IncidentTransition::new(Action::Triage)).unwrap_err().kind,
        Kind::NotFound
    );
    assert_eq!(fixture.published_on(events::PUBLIC), [""; 0]);
    assert_eq!(fixture.published_on(events::RESTRICTED), ["incident.created"]);
    assert_eq!(fixture.published_on(&events::own(&private)), ["incident.created"]);
}

#[test]
fn an_incident_that_becomes_restricted_is_withdrawn_from_the_public_channel() {
    let mut fixture = RegistryFixture::new();
    let id = fixture.report(&operator(), flood(Severity::Minor));
    fixture
        .edit(&operator(), &id, IncidentEdit { visibility: Some(Visibility::Restricted), ..IncidentEdit::default() })
        .unwrap();
    fixture.edit(&operator(), &id, IncidentEdit { title: Some("Bomb".to_owned()), ..IncidentEdit::default() }).unwrap();
    assert_eq!(fixture.published_on(events::PUBLIC), ["incident.created", "incident.withdrawn"]);
    assert_eq!(fixture.published_on(events::RESTRICTED), ["incident.created", "incident.updated"]);
}

#[test]
fn a_responder_writes_only_to_assigned_incidents() {
    let mut fixture = RegistryFixture::new();
    let responder = person("responder", UserRole::Responder);
    let id = fixture.report(&operator(), flood(Severity::Minor));
    let error = fixture.transition(&responder, &id, IncidentTransition::new(Action::Triage)).unwrap_err();
    assert_eq!((error.kind, error.code), (Kind::Forbidden, Some("not_assigned")));
    let assign = IncidentTransition {
        details: TransitionDetails {
            assignees: Some(vec!["usr_responder".to_owned()]),
            ..TransitionDetails::default()
        },
        ..IncidentTransition::new(Action::Assign)
    };
    assert_eq!(fixture.transition(&responder, &id, assign.clone()).unwrap_err().kind, Kind::Forbidden);
    fixture.transition(&operator(), &id, assign.clone()).unwrap();
    fixture.transition(&responder, &id, IncidentTransition::new(Action::Triage)).unwrap();
    assert_eq!(
        fixture.transition(&responder, &id, assign).unwrap_err().kind,
        Kind::Forbidden,
        "others are assigned by others"
    );
    let hide = IncidentEdit { visibility: Some(Visibility::Private), ..IncidentEdit::default() };
    assert_eq!(fixture.edit(&responder, &id, hide).unwrap_err().kind, Kind::Forbidden);
    assert_eq!(
        fixture.transition(&viewer(), &id, IncidentTransition::new(Action::Acknowledge)).unwrap_err().kind,
        Kind::Forbidden
    );
}
