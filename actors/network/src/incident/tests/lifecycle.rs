//! The transition table of the contract, cell by cell.

use super::*;
use muster_core::Kind;

const TRANSITIONS: [Action; 13] = [
    Action::Triage,
    Action::Acknowledge,
    Action::Activate,
    Action::Contain,
    Action::Escalate,
    Action::DeEscalate,
    Action::Resolve,
    Action::Close,
    Action::Reopen,
    Action::MarkDuplicate,
    Action::FalseAlarm,
    Action::Cancel,
    Action::Silence,
];

/// Contract 1, "Incidents and alerts": the state after an action; `None` if the table has no such row.
fn contract(from: State, action: Action) -> Option<State> {
    let open =
        matches!(from, State::Reported | State::Triaged | State::Acknowledged | State::Active | State::Contained);
    match action {
        Action::Triage => (from == State::Reported).then_some(State::Triaged),
        Action::Acknowledge => matches!(from, State::Reported | State::Triaged).then_some(State::Acknowledged),
        Action::Activate => matches!(from, State::Triaged | State::Acknowledged).then_some(State::Active),
        Action::Contain => (from == State::Active).then_some(State::Contained),
        Action::Escalate | Action::DeEscalate => (from == State::Active).then_some(State::Active),
        Action::Resolve => matches!(from, State::Active | State::Contained).then_some(State::Resolved),
        Action::Close => (from == State::Resolved).then_some(State::Closed),
        Action::Reopen => matches!(from, State::Resolved | State::Closed).then_some(State::Active),
        Action::MarkDuplicate => open.then_some(State::Duplicate),
        Action::FalseAlarm => open.then_some(State::FalseAlarm),
        Action::Cancel => open.then_some(State::Canceled),
        Action::Silence => open.then_some(from),
        _ => panic!("{action:?} is no transition"),
    }
}

/// Returns an incident in a state, reached by the table's own transitions.
fn incident_in_state(fixture: &mut RegistryFixture, to: State) -> String {
    let path: &[Action] = match to {
        State::Reported => &[],
        State::Triaged => &[Action::Triage],
        State::Acknowledged => &[Action::Acknowledge],
        State::Active => &[Action::Triage, Action::Activate],
        State::Contained => &[Action::Triage, Action::Activate, Action::Contain],
        State::Resolved => &[Action::Triage, Action::Activate, Action::Resolve],
        State::Closed => &[Action::Triage, Action::Activate, Action::Resolve, Action::Close],
        State::Duplicate => &[Action::MarkDuplicate],
        State::FalseAlarm => &[Action::FalseAlarm],
        State::Canceled => &[Action::Cancel],
    };
    let other = fixture.report(&commander(), flood(Severity::Minor));
    let id = fixture.report(&commander(), flood(Severity::Minor));
    for action in path {
        let transition = complete_transition(*action, &other, fixture.now);
        fixture.transition(&commander(), &id, transition).unwrap();
    }
    assert_eq!(fixture.get(&id).state, to);
    id
}

#[test]
fn a52_every_pair_of_state_and_action_follows_the_contract_table() {
    for &from in State::ALL {
        for action in TRANSITIONS {
            let mut fixture = RegistryFixture::new();
            let id = incident_in_state(&mut fixture, from);
            let other = fixture.report(&commander(), flood(Severity::Minor));
            let mut transition = complete_transition(action, &other, fixture.now);
            if action == Action::DeEscalate {
                // It stands at 5, the least.
                fixture.now = fixture.now.plus(MINUTE);
                if from == State::Active {
                    let up = complete_transition(Action::Escalate, &other, fixture.now);
                    fixture.transition(&commander(), &id, up).unwrap();
                }
            }
            transition.details.until = Some(fixture.now.plus(HOUR));
            let before = Arc::clone(fixture.get(&id));
            let done = fixture.transition(&commander(), &id, transition);
            let after = fixture.get(&id);
            match contract(from, action) {
                Some(to) => {
                    assert_eq!(done, Ok(()), "{from:?} {action:?}");
                    assert_eq!((after.state, after.version), (to, before.version + 1), "{from:?} {action:?}");
                }
                None => {
                    let error = done.unwrap_err();
                    assert_eq!(error.kind, Kind::Conflict, "{from:?} {action:?}");
                    let details = error.details.unwrap();
                    let listed: Vec<&str> =
                        details["allowed"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
                    let expected: Vec<&str> = TRANSITIONS
                        .iter()
                        .filter(|action| contract(from, **action).is_some())
                        .map(|action| action.name())
                        .collect();
                    let transitions: Vec<&str> = TRANSITIONS.iter().map(|action| action.name()).collect();
                    let mut listed: Vec<&str> = listed.into_iter().filter(|name| transitions.contains(name)).collect();
                    listed.sort_by_key(|name| transitions.iter().position(|known| known == name));
                    assert_eq!(listed, expected, "{from:?} {action:?}");
                    assert_eq!(**after, *before, "{from:?} {action:?}");
                }
            }
        }
    }
}

#[test]
fn a52_a_stale_version_changes_nothing_and_returns_the_current_one() {
    let mut fixture = RegistryFixture::new();
    let id = fixture.report(&operator(), flood(Severity::Minor));
    fixture.transition(&operator(), &id, IncidentTransition::new(Action::Triage)).unwrap();
    let stale = fixture.decide(&operator(), |registry, context| {
        registry.transition(&id, IfMatch::Version(1), context, IncidentTransition::new(Action::Acknowledge))
    });
    let error = stale.unwrap_err();
    assert_eq!((error.kind, error.details.unwrap()["version"].as_u64()), (Kind::PreconditionFailed, Some(2)));
    let edit = fixture.decide(&operator(), |registry, context| {
        registry.edit(&id, IfMatch::Version(3), context, IncidentEdit::default(), None, AlertTexts::default())
    });
    assert_eq!(edit.unwrap_err().kind, Kind::PreconditionFailed);
}

#[test]
fn each_guard_of_the_table_holds() {
    let mut fixture = RegistryFixture::new();
    let by = operator();
    let bare = NewReport {
        fields: IncidentEdit { severity: None, urgency: None, ..flood(Severity::Minor).fields },
        ..NewReport::default()
    };
    let id = fixture.report(&by, bare);
    let error = fixture.transition(&by, &id, IncidentTransition::new(Action::Triage)).unwrap_err();
    let fields: Vec<String> = error.fields.iter().map(|field| field.loc.join(".")).collect();
    assert_eq!((error.kind, fields), (Kind::Invalid, vec!["body.severity".to_owned(), "body.urgency".to_owned()]));
    let details = TransitionDetails {
        severity: Some(Severity::Minor),
        urgency: Some(Urgency::Future),
        ..TransitionDetails::default()
    };
    fixture.transition(&by, &id, IncidentTransition { details, ..IncidentTransition::new(Action::Triage) }).unwrap();

    let unled = fixture.transition(&by, &id, IncidentTransition::new(Action::Activate)).unwrap_err();
    assert_eq!(unled.fields[0].loc, ["body", "commander"]);
    let details = TransitionDetails { commander: Some("usr_commander".to_owned()), ..TransitionDetails::default() };
    fixture.transition(&by, &id, IncidentTransition { details, ..IncidentTransition::new(Action::Activate) }).unwrap();

    let ends = [Action::MarkDuplicate, Action::FalseAlarm, Action::Cancel];
    for action in [Action::Contain, Action::Escalate, Action::DeEscalate].into_iter().chain(ends) {
        let error = fixture.transition(&by, &id, IncidentTransition::new(action)).unwrap_err();
        assert_eq!(error.fields[0].loc, ["body", "note"], "{action:?}");
    }
    let itself = complete_transition(Action::MarkDuplicate, &id, fixture.now);
    assert_eq!(fixture.transition(&by, &id, itself).unwrap_err().fields[0].loc, ["body", "duplicate_of"]);
}

#[test]
fn resolving_needs_every_resource_released_or_a_note() {
    let mut fixture = RegistryFixture::new();
    let id = incident_in_state(&mut fixture, State::Active);
    let new = NewResource { kind: "ambulance".to_owned(), qty: 2, status: None, note: None };
    let plan = fixture
        .decide(&operator(), |registry, context| {
            registry.resources(&id, IfMatch::Any, context, ResourceRequest::Add(new))
        })
        .unwrap();
    fixture.apply(&plan);
    let error = fixture.transition(&operator(), &id, IncidentTransition::new(Action::Resolve)).unwrap_err();
    assert_eq!((error.kind, &error.details.unwrap()["resources"]), (Kind::Conflict, &serde_json::json!([1])));
    let noted = IncidentTransition {
        note: Some("they stay as a reserve".to_owned()),
        ..IncidentTransition::new(Action::Resolve)
    };
    fixture.transition(&operator(), &id, noted).unwrap();
}

#[test]
fn resources_advance_one_step_or_are_released() {
    use ResourceStatus::*;
    // Requested, committed, en route, on scene, in this order; released from anywhere, and for good.
    let on = [(Requested, Committed), (Committed, EnRoute), (EnRoute, OnScene)];
    for from in ResourceStatus::ALL {
        for to in ResourceStatus::ALL {
            let fits = from == to || on.contains(&(from, to)) || (to == Released && from != Released);
            assert_eq!(from.step(to).is_ok(), fits, "{from:?} {to:?}");
        }
    }
}

#[test]
fn a_writer_closes_after_a_day_and_a_closer_at_once() {
    for (by, wait, closes) in
        [(operator(), DAY - MINUTE, false), (operator(), DAY, true), (commander(), Duration::ZERO, true)]
    {
        let mut fixture = RegistryFixture::new();
        let id = incident_in_state(&mut fixture, State::Resolved);
        fixture.advance(wait);
        let done = fixture.transition(&by, &id, IncidentTransition::new(Action::Close));
        assert_eq!(done.is_ok(), closes, "{by:?} {wait:?}");
        if let Err(error) = done {
            let details = error.details.unwrap();
            assert_eq!((error.kind, details["permission"].as_str()), (Kind::Forbidden, Some("incidents:close")));
        }
    }
}

#[test]
fn a_closed_incident_is_reopened_within_30_days() {
    for (wait, reopens) in [(30 * DAY - MINUTE, true), (30 * DAY, false)] {
        let mut fixture = RegistryFixture::new();
        let id = incident_in_state(&mut fixture, State::Closed);
        fixture.advance(wait);
        let again =
            IncidentTransition { note: Some("the dike leaks".to_owned()), ..IncidentTransition::new(Action::Reopen) };
        assert_eq!(fixture.transition(&operator(), &id, again).is_ok(), reopens);
    }
}

#[test]
fn an_escalation_changes_the_type_by_one_within_5_and_1() {
    let mut fixture = RegistryFixture::new();
    let id = incident_in_state(&mut fixture, State::Active);
    let step = |fixture: &mut RegistryFixture, action| {
        let noted = IncidentTransition { note: Some("n".to_owned()), ..IncidentTransition::new(action) };
        fixture.transition(&operator(), &id, noted).map(|()| fixture.get(&id).ics_type).map_err(|error| error.kind)
    };
    assert_eq!(step(&mut fixture, Action::DeEscalate), Err(Kind::Conflict));
    for ics_type in [4, 3, 2, 1] {
        assert_eq!(step(&mut fixture, Action::Escalate), Ok(ics_type));
    }
    assert_eq!(step(&mut fixture, Action::Escalate), Err(Kind::Conflict));
    assert_eq!(step(&mut fixture, Action::DeEscalate), Ok(2));
}

#[test]
fn a_report_with_the_key_of_an_open_incident_attaches_to_it() {
    let mut fixture = RegistryFixture::new();
    let keyed = || NewReport { dedup_key: Some("gauge-7".to_owned()), ..flood(Severity::Minor) };
    let id = fixture.report(&operator(), keyed());
    let again = fixture.report(&operator(), keyed());
    let incident = fixture.get(&id);
    assert_eq!((&again, incident.reports, incident.version, incident.timeline_seq), (&id, 2, 2, 2));
    assert_eq!(incident.number, "2026-000001");
    fixture.transition(&operator(), &id, complete_transition(Action::Cancel, "", START)).unwrap();
    let new = fixture.report(&operator(), keyed());
    assert_ne!(new, id, "what is over takes no more reports");
    assert_eq!(fixture.get(&new).number, "2026-000002");
}
