//! The table of the contract, cell by cell.

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

/// Contract 1, "Incidents and alerts": where an action leads from a state; `None` where the table has no such row.
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

/// An incident that was brought into a state by the table's own moves.
fn brought(site: &mut Site, to: State) -> String {
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
    let other = site.report(&commander(), flood(Severity::Minor));
    let id = site.report(&commander(), flood(Severity::Minor));
    for action in path {
        let mv = full(*action, &other, site.now);
        site.act(&commander(), &id, mv).unwrap();
    }
    assert_eq!(site.get(&id).state, to);
    id
}

#[test]
fn a52_every_pair_of_state_and_action_does_what_the_table_says() {
    for &from in State::ALL {
        for action in TRANSITIONS {
            let mut site = Site::new();
            let id = brought(&mut site, from);
            let other = site.report(&commander(), flood(Severity::Minor));
            let mut mv = full(action, &other, site.now);
            if action == Action::DeEscalate {
                // It stands at 5, the least.
                site.now = site.now.plus(MINUTE);
                if from == State::Active {
                    let up = full(Action::Escalate, &other, site.now);
                    site.act(&commander(), &id, up).unwrap();
                }
            }
            mv.more.until = Some(site.now.plus(HOUR));
            let before = Arc::clone(site.get(&id));
            let done = site.act(&commander(), &id, mv);
            let after = site.get(&id);
            match contract(from, action) {
                Some(to) => {
                    assert_eq!(done, Ok(()), "{from:?} {action:?}");
                    assert_eq!((after.state, after.version), (to, before.version + 1), "{from:?} {action:?}");
                }
                None => {
                    let refused = done.unwrap_err();
                    assert_eq!(refused.kind, Kind::Conflict, "{from:?} {action:?}");
                    let details = refused.details.unwrap();
                    let told: Vec<&str> =
                        details["allowed"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
                    let moves: Vec<&str> = TRANSITIONS
                        .iter()
                        .filter(|action| contract(from, **action).is_some())
                        .map(|action| action.name())
                        .collect();
                    let transitions: Vec<&str> = TRANSITIONS.iter().map(|action| action.name()).collect();
                    let mut told: Vec<&str> = told.into_iter().filter(|name| transitions.contains(name)).collect();
                    told.sort_by_key(|name| transitions.iter().position(|known| known == name));
                    assert_eq!(told, moves, "{from:?} {action:?}");
                    assert_eq!(**after, *before, "{from:?} {action:?}");
                }
            }
        }
    }
}

#[test]
fn a52_a_stale_version_changes_nothing_and_tells_the_present_one() {
    let mut site = Site::new();
    let id = site.report(&operator(), flood(Severity::Minor));
    site.act(&operator(), &id, Move::new(Action::Triage)).unwrap();
    let stale = site.ask(&operator(), |network, asked| {
        network.act(&id, IfMatch::Version(1), asked, Move::new(Action::Acknowledge))
    });
    let refused = stale.unwrap_err();
    assert_eq!((refused.kind, refused.details.unwrap()["version"].as_u64()), (Kind::PreconditionFailed, Some(2)));
    let edit =
        site.ask(&operator(), |network, asked| network.edit(&id, IfMatch::Version(3), asked, Edit::default(), None));
    assert_eq!(edit.unwrap_err().kind, Kind::PreconditionFailed);
}

#[test]
fn each_guard_of_the_table_holds() {
    let mut site = Site::new();
    let by = operator();
    let bare =
        Report { said: Edit { severity: None, urgency: None, ..flood(Severity::Minor).said }, ..Report::default() };
    let id = site.report(&by, bare);
    let refused = site.act(&by, &id, Move::new(Action::Triage)).unwrap_err();
    let fields: Vec<String> = refused.fields.iter().map(|field| field.loc.join(".")).collect();
    assert_eq!((refused.kind, fields), (Kind::Invalid, vec!["body.severity".to_owned(), "body.urgency".to_owned()]));
    let more = More { severity: Some(Severity::Minor), urgency: Some(Urgency::Future), ..More::default() };
    site.act(&by, &id, Move { more, ..Move::new(Action::Triage) }).unwrap();

    let unled = site.act(&by, &id, Move::new(Action::Activate)).unwrap_err();
    assert_eq!(unled.fields[0].loc, ["body", "commander"]);
    let more = More { commander: Some("usr_commander".to_owned()), ..More::default() };
    site.act(&by, &id, Move { more, ..Move::new(Action::Activate) }).unwrap();

    for action in [Action::Contain, Action::Escalate, Action::DeEscalate] {
        let refused = site.act(&by, &id, Move::new(action)).unwrap_err();
        assert_eq!(refused.fields[0].loc, ["body", "note"], "{action:?}");
    }
    for action in [Action::MarkDuplicate, Action::FalseAlarm, Action::Cancel] {
        let refused = site.act(&by, &id, Move::new(action)).unwrap_err();
        assert_eq!(refused.fields[0].loc, ["body", "reason"], "{action:?}");
    }
    let itself = full(Action::MarkDuplicate, &id, site.now);
    assert_eq!(site.act(&by, &id, itself).unwrap_err().fields[0].loc, ["body", "duplicate_of"]);
}

#[test]
fn resolving_needs_every_resource_released_or_a_note() {
    let mut site = Site::new();
    let id = brought(&mut site, State::Active);
    let new = NewResource { kind: "ambulance".to_owned(), qty: 2, status: None, note: None };
    let plan = site
        .ask(&operator(), |network, asked| network.resources(&id, IfMatch::Any, asked, ResourceAct::Add(new)))
        .unwrap();
    site.take(&plan);
    let refused = site.act(&operator(), &id, Move::new(Action::Resolve)).unwrap_err();
    assert_eq!((refused.kind, &refused.details.unwrap()["resources"]), (Kind::Conflict, &serde_json::json!([1])));
    let noted = Move { note: Some("they stay as a reserve".to_owned()), ..Move::new(Action::Resolve) };
    site.act(&operator(), &id, noted).unwrap();
}

#[test]
fn resources_move_one_step_on_or_are_released() {
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
fn who_only_writes_closes_after_a_day_and_who_may_close_at_once() {
    for (by, wait, closes) in
        [(operator(), DAY - MINUTE, false), (operator(), DAY, true), (commander(), Duration::ZERO, true)]
    {
        let mut site = Site::new();
        let id = brought(&mut site, State::Resolved);
        site.pass(wait);
        let done = site.act(&by, &id, Move::new(Action::Close));
        assert_eq!(done.is_ok(), closes, "{by:?} {wait:?}");
        if let Err(refused) = done {
            let details = refused.details.unwrap();
            assert_eq!((refused.kind, details["permission"].as_str()), (Kind::Forbidden, Some("incidents:close")));
        }
    }
}

#[test]
fn a_closed_incident_is_reopened_within_30_days() {
    for (wait, reopens) in [(30 * DAY - MINUTE, true), (30 * DAY, false)] {
        let mut site = Site::new();
        let id = brought(&mut site, State::Closed);
        site.pass(wait);
        let again = Move { reason: Some("the dike leaks".to_owned()), ..Move::new(Action::Reopen) };
        assert_eq!(site.act(&operator(), &id, again).is_ok(), reopens);
    }
}

#[test]
fn an_escalation_changes_the_type_by_one_within_5_and_1() {
    let mut site = Site::new();
    let id = brought(&mut site, State::Active);
    let step = |site: &mut Site, action| {
        let noted = Move { note: Some("n".to_owned()), ..Move::new(action) };
        site.act(&operator(), &id, noted).map(|()| site.get(&id).ics_type).map_err(|refused| refused.kind)
    };
    assert_eq!(step(&mut site, Action::DeEscalate), Err(Kind::Conflict));
    for ics_type in [4, 3, 2, 1] {
        assert_eq!(step(&mut site, Action::Escalate), Ok(ics_type));
    }
    assert_eq!(step(&mut site, Action::Escalate), Err(Kind::Conflict));
    assert_eq!(step(&mut site, Action::DeEscalate), Ok(2));
}

#[test]
fn a_report_with_the_key_of_an_open_incident_attaches_to_it() {
    let mut site = Site::new();
    let keyed = || Report { dedup_key: Some("gauge-7".to_owned()), ..flood(Severity::Minor) };
    let id = site.report(&operator(), keyed());
    let again = site.report(&operator(), keyed());
    let incident = site.get(&id);
    assert_eq!((&again, incident.reports, incident.version, incident.timeline_seq), (&id, 2, 2, 2));
    assert_eq!(incident.number, "2026-000001");
    site.act(&operator(), &id, full(Action::Cancel, "", START)).unwrap();
    let new = site.report(&operator(), keyed());
    assert_ne!(new, id, "what is over takes no more reports");
    assert_eq!(site.get(&new).number, "2026-000002");
}
