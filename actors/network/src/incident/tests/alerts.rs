//! Alerts: who publishes them, what follows from the incident, and what they refer to.

use super::*;
use crate::alert::{AlertRecord, AlertState, MsgType, Reference, ResponseType, Scope};
use muster_core::Kind;

fn active(site: &mut Site, severity: Severity) -> String {
    let id = site.report(&commander(), flood(severity));
    for action in [Action::Triage, Action::Activate] {
        let more = More { commander: Some("usr_commander".to_owned()), ..More::default() };
        site.act(&commander(), &id, Move { more, ..Move::new(action) }).unwrap();
    }
    id
}

fn state(site: &Site, alert: &str) -> AlertState {
    site.network.alerts.get(alert).unwrap().state
}

fn chain(site: &Site, id: &str) -> Vec<Arc<AlertRecord>> {
    let mut all: Vec<_> = site.network.alerts.of_incident(id).cloned().collect();
    all.reverse();
    all
}

#[test]
fn a_moderate_alert_is_published_at_once_and_a_severe_public_one_by_two() {
    for (severity, at_once) in [
        (Severity::Unknown, true),
        (Severity::Minor, true),
        (Severity::Moderate, true),
        (Severity::Severe, false),
        (Severity::Extreme, false),
    ] {
        let mut site = Site::new();
        let id = active(&mut site, severity);
        let alert = site.publish(&commander(), &id, Draft::default()).unwrap();
        assert_eq!(state(&site, &alert) == AlertState::Published, at_once, "{severity:?}");
        assert_eq!(site.on(events::ALERTS).len(), usize::from(at_once), "{severity:?}");
        if !at_once {
            let own = site.confirm(&commander(), &alert).unwrap_err();
            assert_eq!((own.kind, own.code), (Kind::Forbidden, Some("second_person_required")));
            assert_eq!(site.confirm(&operator(), &alert).unwrap_err().kind, Kind::Forbidden);
            site.confirm(&second(), &alert).unwrap();
            assert_eq!(site.on(events::ALERTS), ["alert.published"]);
            assert_eq!(site.confirm(&second(), &alert).unwrap_err().kind, Kind::Conflict, "once");
        }
    }
}

#[test]
fn a_severe_alert_to_few_needs_no_second_person() {
    let mut site = Site::new();
    let id = active(&mut site, Severity::Extreme);
    let few = Draft { scope: Some(Scope::Restricted), restriction: Some("hospitals".to_owned()), ..Draft::default() };
    let alert = site.publish(&commander(), &id, few).unwrap();
    assert_eq!(state(&site, &alert), AlertState::Published);
    assert_eq!(site.on(events::ALERTS), [""; 0]);
    assert!(site.on(events::RESTRICTED).contains(&"alert.published"));
}

#[test]
fn a_proposal_is_rejected_or_lapses_and_then_another_may_be_made() {
    let mut site = Site::new();
    let id = active(&mut site, Severity::Severe);
    let first = site.publish(&commander(), &id, Draft::default()).unwrap();
    assert_eq!(site.publish(&second(), &id, Draft::default()).unwrap_err().code, Some("alert_pending"));
    let plan = site.ask(&second(), |network, asked| network.reject(&first, "wrong town".to_owned(), asked)).unwrap();
    site.take(&plan);
    assert_eq!(state(&site, &first), AlertState::Rejected);
    let lapsing = site.publish(&commander(), &id, Draft::default()).unwrap();
    site.pass(30 * MINUTE);
    assert_eq!(state(&site, &lapsing), AlertState::Lapsed);
    assert_eq!(site.confirm(&second(), &lapsing).unwrap_err().kind, Kind::Conflict);
    assert_eq!(site.on(events::ALERTS), [""; 0], "nothing of it was public");
}

#[test]
fn each_message_of_a_chain_refers_to_all_before_it() {
    let mut site = Site::new();
    let id = active(&mut site, Severity::Moderate);
    site.publish(&commander(), &id, Draft::default()).unwrap();
    site.pass(MINUTE);
    let wider = Edit { area_desc: Some(Some("Mainz, all of it".to_owned())), ..Edit::default() };
    site.edit(&commander(), &id, wider).unwrap();
    site.pass(MINUTE);
    site.edit(&commander(), &id, Edit { title: Some("Flood".to_owned()), ..Edit::default() }).unwrap();
    site.pass(MINUTE);
    site.act(&commander(), &id, Move::new(Action::Resolve)).unwrap();

    let chain = chain(&site, &id);
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
    let cap = &site.get(&id).cap;
    assert_eq!((cap.identifier.as_ref(), cap.references.len()), (Some(&chain[2].identifier), 2));
    assert_eq!(site.on(events::ALERTS), ["alert.published", "alert.updated", "alert.updated"]);
}

#[test]
fn a_false_alarm_a_duplicate_and_a_cancel_cancel_the_alert() {
    for action in [Action::FalseAlarm, Action::MarkDuplicate, Action::Cancel] {
        let mut site = Site::new();
        let other = site.report(&commander(), flood(Severity::Minor));
        let id = active(&mut site, Severity::Minor);
        site.publish(&commander(), &id, Draft::default()).unwrap();
        site.act(&operator(), &id, full(action, &other, START)).unwrap();
        let chain = chain(&site, &id);
        assert_eq!(chain[1].msg_type, MsgType::Cancel);
        assert_eq!(chain[1].references, [chain[0].reference()]);
        assert_eq!(site.on(events::ALERTS), ["alert.published", "alert.canceled"]);
    }
}

#[test]
fn who_may_not_publish_changes_no_warning_alone() {
    let mut site = Site::new();
    let id = active(&mut site, Severity::Minor);
    site.publish(&commander(), &id, Draft::default()).unwrap();
    let words = Edit { instruction: Some(Some("Leave the town.".to_owned())), ..Edit::default() };
    site.edit(&operator(), &id, words).unwrap();
    let proposed = Arc::clone(site.network.alerts.pending(&id).unwrap());
    assert_eq!((proposed.msg_type, site.on(events::ALERTS)), (MsgType::Update, vec!["alert.published"]));
    site.confirm(&commander(), &proposed.id.clone()).unwrap();
    assert_eq!(site.on(events::ALERTS), ["alert.published", "alert.updated"]);
}

#[test]
fn a_change_of_the_incident_withdraws_what_nobody_has_confirmed_yet() {
    let mut site = Site::new();
    let id = active(&mut site, Severity::Extreme);
    let proposed = site.publish(&commander(), &id, Draft::default()).unwrap();
    site.edit(&commander(), &id, Edit { severity: Some(Severity::Severe), ..Edit::default() }).unwrap();
    assert_eq!(state(&site, &proposed), AlertState::Withdrawn);
    assert_eq!(site.confirm(&second(), &proposed).unwrap_err().kind, Kind::Conflict);
}

#[test]
fn an_alert_ends_with_its_time() {
    let mut site = Site::new();
    let id = active(&mut site, Severity::Minor);
    let draft = Draft { expires: Some(site.now.plus(HOUR)), ..Draft::default() };
    let alert = site.publish(&commander(), &id, draft).unwrap();
    site.pass(HOUR - Duration::from_millis(1));
    assert!(site.network.alerts.get(&alert).unwrap().is_active(site.now));
    site.pass(Duration::from_millis(1));
    assert_eq!(state(&site, &alert), AlertState::Expired);
    assert_eq!(site.on(events::ALERTS), ["alert.published", "alert.expired"]);
}

#[test]
fn what_may_not_be_told_is_refused() {
    let mut site = Site::new();
    let reported = site.report(&commander(), flood(Severity::Minor));
    assert_eq!(site.publish(&commander(), &reported, Draft::default()).unwrap_err().kind, Kind::Conflict);
    let id = active(&mut site, Severity::Minor);
    assert_eq!(site.publish(&operator(), &id, Draft::default()).unwrap_err().kind, Kind::Forbidden);
    let unaddressed = Draft { scope: Some(Scope::Private), ..Draft::default() };
    assert_eq!(site.publish(&commander(), &id, unaddressed).unwrap_err().fields[0].loc, ["body", "addresses"]);
    site.edit(&commander(), &id, Edit { visibility: Some(Visibility::Restricted), ..Edit::default() }).unwrap();
    assert_eq!(site.publish(&commander(), &id, Draft::default()).unwrap_err().code, Some("not_public"));
}
