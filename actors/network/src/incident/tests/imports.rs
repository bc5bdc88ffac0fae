//! Imported CAP messages.

use super::*;
use crate::alert::{AlertInfo, AlertRecord, AlertState, Category, MsgType, Origin, Reference, Scope, Status};
use muster_core::Kind;

pub(super) fn message(n: u64, msg_type: MsgType, references: &[u64]) -> AlertRecord {
    let named = |n: u64| Reference {
        sender: "met@example.org".to_owned(),
        identifier: format!("MET-{n}"),
        sent: Millis(START.0 + n * 1_000),
    };
    let Reference { sender, identifier, sent } = named(n);
    AlertRecord {
        id: format!("alr_imported{n}"),
        incident_id: None,
        origin: Origin::Imported,
        state: AlertState::Stored,
        identifier,
        sender,
        sent,
        msg_type,
        status: Status::Actual,
        scope: Scope::Public,
        restriction: None,
        addresses: Vec::new(),
        references: references.iter().copied().map(named).collect(),
        note: None,
        incidents: Vec::new(),
        info: Some(AlertInfo {
            language: "en-US".to_owned(),
            event: "Flood Warning".to_owned(),
            category: vec![Category::Met],
            response_types: Vec::new(),
            urgency: Urgency::Immediate,
            severity: if n == 1 { Severity::Severe } else { Severity::Moderate },
            certainty: Certainty::Observed,
            audience: None,
            effective: None,
            onset: None,
            expires: Some(START.plus(7 * DAY)),
            sender_name: None,
            headline: Some("Flood at the Rhine".to_owned()),
            description: None,
            instruction: None,
            web: None,
            contact: None,
            area_desc: Some("Mainz".to_owned()),
            geometry: None,
            bbox: None,
            geocodes: Vec::new(),
        }),
        made_by: "usr_operator".to_owned(),
        made_at: START,
        decided_by: None,
        reason: None,
        waits_until: None,
        waits_for: None,
        approval_id: None,
        version: 1,
    }
}

pub(super) fn import(fixture: &mut RegistryFixture, message: AlertRecord) -> Result<ImportOutcome, Error> {
    let (plan, _, outcome) =
        fixture.decide(&operator(), |registry, context| registry.import(message, "<alert/>".to_owned(), context))?;
    fixture.apply(&plan);
    Ok(outcome)
}

fn single_incident(fixture: &RegistryFixture) -> Arc<Incident> {
    let all: Vec<_> = fixture.registry.all().cloned().collect();
    assert_eq!(all.len(), 1);
    Arc::clone(&all[0])
}

#[test]
fn an_alert_opens_a_triaged_incident_once_and_an_update_and_a_cancel_follow() {
    let mut fixture = RegistryFixture::new();
    assert_eq!(import(&mut fixture, message(1, MsgType::Alert, &[])), Ok(ImportOutcome::Applied));
    assert_eq!(import(&mut fixture, message(1, MsgType::Alert, &[])), Ok(ImportOutcome::AlreadyImported));
    let incident = single_incident(&fixture);
    assert_eq!(
        (incident.state, incident.kind, incident.severity),
        (State::Triaged, IncidentKind::Flood, Some(Severity::Severe))
    );
    assert_eq!(import(&mut fixture, message(2, MsgType::Update, &[1])), Ok(ImportOutcome::Applied));
    assert_eq!(single_incident(&fixture).severity, Some(Severity::Moderate));
    assert_eq!(import(&mut fixture, message(3, MsgType::Cancel, &[1, 2])), Ok(ImportOutcome::Applied));
    let incident = single_incident(&fixture);
    assert_eq!((incident.state, incident.version), (State::Canceled, 3));
    assert_eq!(fixture.published_on(events::PUBLIC), ["incident.created", "incident.updated", "incident.canceled"]);
    assert_eq!(fixture.published_on(events::ALERTS), [""; 0], "others' alerts are not published from here");
}

#[test]
fn a49_a_message_that_is_not_actual_is_only_stored() {
    for status in [Status::Test, Status::Exercise, Status::Draft, Status::System] {
        let mut fixture = RegistryFixture::new();
        let test = AlertRecord { status, ..message(1, MsgType::Alert, &[]) };
        assert_eq!(import(&mut fixture, test), Ok(ImportOutcome::Stored));
        assert_eq!(fixture.registry.all().count(), 0, "{status:?}");
        assert!(fixture.published.is_empty(), "{status:?}");
    }
    // An exercise's Cancel does not change an actual incident.
    let mut fixture = RegistryFixture::new();
    import(&mut fixture, message(1, MsgType::Alert, &[])).unwrap();
    let drill = AlertRecord { status: Status::Exercise, ..message(2, MsgType::Cancel, &[1]) };
    assert_eq!(import(&mut fixture, drill), Ok(ImportOutcome::Stored));
    assert_eq!(single_incident(&fixture).state, State::Triaged);
}

#[test]
fn a_message_with_an_unknown_reference_is_parked_and_applied_when_the_reference_arrives() {
    let mut fixture = RegistryFixture::new();
    assert_eq!(import(&mut fixture, message(3, MsgType::Cancel, &[1, 2])), Ok(ImportOutcome::Parked));
    assert_eq!(import(&mut fixture, message(2, MsgType::Update, &[1])), Ok(ImportOutcome::Parked));
    assert_eq!(fixture.registry.all().count(), 0);
    assert_eq!(import(&mut fixture, message(1, MsgType::Alert, &[])), Ok(ImportOutcome::Applied));
    let incident = single_incident(&fixture);
    assert_eq!((incident.state, incident.severity), (State::Canceled, Some(Severity::Moderate)));
    assert_eq!(fixture.registry.alerts.parked(), 0);
}

#[test]
fn a_message_that_is_parked_too_long_lapses_and_may_be_imported_again() {
    let mut fixture = RegistryFixture::new();
    import(&mut fixture, message(2, MsgType::Update, &[1])).unwrap();
    fixture.advance(7 * DAY);
    assert_eq!(fixture.registry.alerts.parked(), 0);
    assert_eq!(import(&mut fixture, message(2, MsgType::Update, &[1])), Ok(ImportOutcome::Parked));
}

#[test]
fn another_senders_message_is_not_canceled_and_a_cancel_without_references_is_rejected() {
    let mut fixture = RegistryFixture::new();
    import(&mut fixture, message(1, MsgType::Alert, &[])).unwrap();
    let foreign = AlertRecord { sender: "else@example.org".to_owned(), ..message(2, MsgType::Cancel, &[1]) };
    assert_eq!(import(&mut fixture, foreign).unwrap_err().code, Some("cap_foreign_reference"));
    assert_eq!(import(&mut fixture, message(4, MsgType::Cancel, &[])).unwrap_err().kind, Kind::Invalid);
    assert_eq!(single_incident(&fixture).state, State::Triaged);
}

#[test]
fn a_closed_incident_is_not_changed_by_a_late_update() {
    let mut fixture = RegistryFixture::new();
    import(&mut fixture, message(1, MsgType::Alert, &[])).unwrap();
    let id = single_incident(&fixture).id.clone();
    fixture.transition(&operator(), &id, complete_transition(Action::FalseAlarm, "", START)).unwrap();
    let before = single_incident(&fixture);
    import(&mut fixture, message(2, MsgType::Update, &[1])).unwrap();
    let after = single_incident(&fixture);
    assert_eq!((after.state, after.severity, &after.cap), (State::FalseAlarm, before.severity, &before.cap));
    assert_eq!(after.timeline_seq, before.timeline_seq + 1);
}

#[test]
fn an_alert_that_names_an_open_incident_is_a_further_report_of_it() {
    let mut fixture = RegistryFixture::new();
    let known = NewReport { dedup_key: Some("flood-rhine-1".to_owned()), ..flood(Severity::Moderate) };
    let id = fixture.report(&operator(), known);
    let named = AlertRecord { incidents: vec!["flood-rhine-1".to_owned()], ..message(1, MsgType::Alert, &[]) };
    assert_eq!(import(&mut fixture, named), Ok(ImportOutcome::Applied));
    let incident = single_incident(&fixture);
    assert_eq!((&incident.id, incident.reports, incident.state), (&id, 2, State::Reported));
    // Its Cancel finds the incident by the reference.
    assert_eq!(import(&mut fixture, message(2, MsgType::Cancel, &[1])), Ok(ImportOutcome::Applied));
    assert_eq!(single_incident(&fixture).state, State::Canceled);
    // An unknown name opens a new incident.
    let strange = AlertRecord { incidents: vec!["elsewhere-7".to_owned()], ..message(3, MsgType::Alert, &[]) };
    import(&mut fixture, strange).unwrap();
    assert_eq!(fixture.registry.all().count(), 2);
}
