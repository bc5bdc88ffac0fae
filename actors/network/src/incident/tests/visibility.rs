//! Who sees what, and who is told.

use super::*;
use crate::alert::Status;
use muster_core::Kind;
use muster_core::page::PageAsk;

fn seen(site: &Site, by: &By) -> usize {
    site.network.list(&Filter::default(), &PageAsk::default(), by).items.len()
}

#[test]
fn a53_an_exercise_reaches_neither_the_public_channel_nor_the_alerts() {
    for status in [Status::Exercise, Status::Test, Status::System, Status::Draft] {
        let mut site = Site::new();
        let id = site.report(&commander(), Report { status: Some(status), ..flood(Severity::Extreme) });
        for action in [Action::Triage, Action::Acknowledge, Action::Activate] {
            let mv = full(action, "", site.now);
            site.act(&commander(), &id, mv).unwrap();
        }
        let refused = site.publish(&commander(), &id, Draft::default()).unwrap_err();
        assert_eq!((refused.kind, refused.code), (Kind::Conflict, Some("not_actual")), "{status:?}");
        site.edit(&commander(), &id, Edit { severity: Some(Severity::Severe), ..Edit::default() }).unwrap();
        let mv = full(Action::Cancel, "", site.now);
        site.act(&commander(), &id, mv).unwrap();
        assert_eq!(site.on(events::PUBLIC), [""; 0], "{status:?}");
        assert_eq!(site.on(events::ALERTS), [""; 0], "{status:?}");
        assert_eq!(site.on(events::RESTRICTED).len(), 6, "those who take part are told");
        assert_eq!((seen(&site, &viewer()), seen(&site, &operator())), (0, 1), "{status:?}");
    }
}

#[test]
fn restricted_ones_are_for_those_who_write_and_private_ones_for_those_who_are_named() {
    let mut site = Site::new();
    let with = |visibility, addresses: &[&str]| {
        let addresses = Some(addresses.iter().map(|&id| id.to_owned()).collect());
        let said = Edit { visibility: Some(visibility), addresses, ..flood(Severity::Minor).said };
        Report { said, ..Report::default() }
    };
    site.report(&operator(), with(Visibility::Restricted, &[]));
    let private = site.report(&operator(), with(Visibility::Private, &["usr_viewer"]));
    assert_eq!(seen(&site, &person("other", UserRole::Viewer)), 0);
    assert_eq!(seen(&site, &viewer()), 1, "addressed by the private one");
    assert_eq!(seen(&site, &commander()), 1, "writes, so the restricted one");
    assert_eq!(seen(&site, &operator()), 2, "reported both");
    assert_eq!(site.act(&commander(), &private, Move::new(Action::Triage)).unwrap_err().kind, Kind::NotFound);
    assert_eq!(site.on(events::PUBLIC), [""; 0]);
    assert_eq!(site.on(events::RESTRICTED), ["incident.created"]);
    assert_eq!(site.on(&events::own(&private)), ["incident.created"]);
}

#[test]
fn what_is_made_restricted_is_withdrawn_from_the_public_channel() {
    let mut site = Site::new();
    let id = site.report(&operator(), flood(Severity::Minor));
    site.edit(&operator(), &id, Edit { visibility: Some(Visibility::Restricted), ..Edit::default() }).unwrap();
    site.edit(&operator(), &id, Edit { title: Some("Bomb".to_owned()), ..Edit::default() }).unwrap();
    assert_eq!(site.on(events::PUBLIC), ["incident.created", "incident.withdrawn"]);
    assert_eq!(site.on(events::RESTRICTED), ["incident.created", "incident.updated"]);
}

#[test]
fn a_responder_writes_only_to_what_is_assigned_to_it() {
    let mut site = Site::new();
    let responder = person("responder", UserRole::Responder);
    let id = site.report(&operator(), flood(Severity::Minor));
    let refused = site.act(&responder, &id, Move::new(Action::Triage)).unwrap_err();
    assert_eq!((refused.kind, refused.code), (Kind::Forbidden, Some("not_assigned")));
    let assign = Move {
        more: More { assignees: Some(vec!["usr_responder".to_owned()]), ..More::default() },
        ..Move::new(Action::Assign)
    };
    assert_eq!(site.act(&responder, &id, assign.clone()).unwrap_err().kind, Kind::Forbidden);
    site.act(&operator(), &id, assign.clone()).unwrap();
    site.act(&responder, &id, Move::new(Action::Triage)).unwrap();
    assert_eq!(site.act(&responder, &id, assign).unwrap_err().kind, Kind::Forbidden, "others are assigned by others");
    let hide = Edit { visibility: Some(Visibility::Private), ..Edit::default() };
    assert_eq!(site.edit(&responder, &id, hide).unwrap_err().kind, Kind::Forbidden);
    assert_eq!(site.act(&viewer(), &id, Move::new(Action::Acknowledge)).unwrap_err().kind, Kind::Forbidden);
}
