//! The actor: durable before it is told, back after a death, and moved by time.

use actix_rt::Arbiter;
use muster_store::{MemStore, Order, Scan, Store, StoreError, StoreHandle, Tree};

use super::*;
use crate::alert::AlertState;
use crate::{geofence::Audience as Seen, geofence::Observation, geofence::Watcher};
use muster_core::event::RecordingPublisher;
use muster_core::idempotency::Idempotency;
use muster_core::page::PageAsk;
use muster_core::principal::Viewer;
use muster_core::supervise::Tree as Actors;
use muster_core::{Clock, Kind, test_world};
use muster_feed::{Denied, SnapshotReply, SnapshotRequest, SnapshotSource, StateItem};

pub(super) struct House {
    pub(super) store: Arc<MemStore>,
    pub(super) told: Arc<RecordingPublisher>,
    pub(super) incidents: Incidents,
}

/// Keeps what it is told of places.
#[derive(Debug, Default)]
struct Map(std::sync::Mutex<Vec<Observation>>);

impl Watcher for Map {
    fn observe(&self, observation: Observation) {
        self.0.lock().unwrap().push(observation);
    }

    fn observe_all(&self, observations: Vec<Observation>) {
        self.0.lock().unwrap().extend(observations);
    }
}

impl Map {
    fn take(&self) -> Vec<Observation> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

pub(super) async fn house(tree: &Actors, store: &Arc<MemStore>) -> House {
    watched(tree, store, &Arc::default()).await
}

async fn watched(tree: &Actors, store: &Arc<MemStore>, map: &Arc<Map>) -> House {
    with(tree, store, map, Settings::default()).await
}

async fn with(tree: &Actors, store: &Arc<MemStore>, map: &Arc<Map>, settings: Settings) -> House {
    let told = Arc::new(RecordingPublisher::default());
    let options = Options {
        store: Arc::clone(store) as StoreHandle,
        clock: Clock::tokio(START),
        publisher: Arc::clone(&told) as _,
        watcher: Some(Arc::clone(map) as _),
        settings,
    };
    let incidents = Incidents::start(&tree.group("disaster"), Arbiter::current(), options);
    incidents.up().await;
    House { store: Arc::clone(store), told, incidents }
}

impl House {
    pub(super) async fn report(&self) -> Arc<Incident> {
        self.incidents.report(operator(), None, flood(Severity::Minor)).await.unwrap().incident.unwrap()
    }

    pub(super) async fn act(&self, incident: &Incident, action: Action) -> Result<Arc<Incident>, Error> {
        let mv =
            Move { more: More { commander: Some("usr_commander".to_owned()), ..More::default() }, ..Move::new(action) };
        let at = IfMatch::Version(incident.version);
        Ok(self.incidents.act(commander(), incident.id.clone(), at, mv).await?.incident.unwrap())
    }

    pub(super) async fn get(&self, id: &str) -> Arc<Incident> {
        self.incidents.get(operator(), id.to_owned()).await.unwrap()
    }

    pub(super) fn told(&self) -> Vec<String> {
        self.told.take().into_iter().map(|event| event.name).collect()
    }
}

#[test]
fn an_acknowledgement_without_activation_runs_out_after_30_minutes() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let kept = house.report().await;
        let kept = house.act(&kept, Action::Acknowledge).await.unwrap();
        house.act(&kept, Action::Activate).await.unwrap();
        let left = house.report().await;
        house.act(&left, Action::Acknowledge).await.unwrap();
        house.told();
        test_world::after(30 * MINUTE - Duration::from_secs(2)).await;
        assert_eq!(house.get(&left.id).await.state, State::Acknowledged);
        test_world::after(Duration::from_secs(4)).await;
        let left = house.get(&left.id).await;
        assert_eq!((left.state, left.version, left.ack.as_ref()), (State::Triaged, 3, None));
        assert_eq!(house.get(&kept.id).await.state, State::Active);
        assert_eq!(house.told(), ["incident.unacknowledged"]);
    });
}

#[test]
fn an_alert_expires_and_a_proposal_lapses_by_themselves() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let incident = house.report().await;
        let incident = house.act(&incident, Action::Triage).await.unwrap();
        let draft = Draft { expires: Some(START.plus(HOUR)), ..Draft::default() };
        let sent = house.incidents.publish(commander(), None, incident.id.clone(), draft).await.unwrap();
        let sent = sent.alert.unwrap();
        test_world::after(HOUR + Duration::from_secs(2)).await;
        let sent = house.incidents.alert(viewer(), sent.id.clone()).await.unwrap();
        assert_eq!(sent.state, AlertState::Expired);
        assert!(house.told().ends_with(&["alert.expired".to_owned()]));
    });
}

#[test]
fn what_was_answered_is_there_after_a_death_and_nothing_else_is() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let kept = house.report().await;
        let kept = house.act(&kept, Action::Triage).await.unwrap();
        let sent = house.incidents.publish(commander(), None, kept.id.clone(), Draft::default()).await.unwrap();
        let (kept, alert) = (sent.incident.unwrap(), sent.alert.unwrap());
        house.told();

        house.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let refused = house.act(&kept, Action::Cancel).await;
        assert_eq!(refused.unwrap_err().kind, Kind::Invalid, "without a reason");
        let refused = house.act(&kept, Action::Acknowledge).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        assert_eq!(house.get(&kept.id).await, kept, "what was not stored is not seen");
        assert_eq!(house.told(), [""; 0], "nor told");
        house.store.fail_commits(None);

        assert!(tree.inject_panic("disaster/incidents"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        house.incidents.up().await;
        assert_eq!(house.get(&kept.id).await, kept);
        assert_eq!(house.incidents.alert(viewer(), alert.id.clone()).await.unwrap(), alert);
        let next = house.report().await;
        assert_eq!(next.number, "2026-000002", "numbers go on");
        house.act(&kept, Action::Acknowledge).await.unwrap();
    });
}

#[test]
fn a_kill_while_a_change_is_written_leaves_all_of_it_or_none() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let house_before = house(&tree, &store).await;
        let incident = house_before.report().await;
        store.hold_commits();
        let (incidents, id) = (house_before.incidents.clone(), incident.id.clone());
        let asked = actix_rt::spawn(async move {
            incidents.act(commander(), id, IfMatch::Version(1), Move::new(Action::Triage)).await
        });
        store.held(1).await;
        // What another process finds: before the write is durable, and after.
        for (version, state, entries) in [(1, State::Reported, vec![1]), (2, State::Triaged, vec![1, 2])] {
            let found = house(&tree, &store).await;
            let after = found.get(&incident.id).await;
            let page = found.incidents.timeline(operator(), incident.id.clone(), PageAsk::default()).await.unwrap();
            let seqs: Vec<u64> = page.items.iter().map(|entry| entry.seq).collect();
            assert_eq!((after.version, after.state, seqs), (version, state, entries));
            store.release();
        }
        assert_eq!(asked.await.unwrap().unwrap().incident.unwrap().version, 2);
    });
}

#[test]
fn events_are_in_the_outbox_of_the_batch_that_they_tell_of() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let incident = house.report().await;
        house.act(&incident, Action::Triage).await.unwrap();
        let told: Vec<String> = house.told.take().into_iter().map(|event| event.id).collect();
        let scan = Scan { limit: 100, order: Order::Ascending, ..Scan::default() };
        let stored = house.store.scan(Tree::Outbox, &scan).unwrap().items;
        let mut stored: Vec<String> = stored.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect();
        stored.sort_by_key(|id| told.iter().position(|told| told == id));
        assert_eq!(stored, told);
    });
}

#[test]
fn the_same_key_gives_the_same_answer_and_makes_nothing_twice() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let named = Idempotency { principal: "usr_operator".into(), key: "k".into(), digest: [1; 32] };
        let ask = || house.incidents.report(operator(), Some(named.clone()), flood(Severity::Minor));
        let (first, again) = (ask().await.unwrap(), ask().await.unwrap());
        assert!(again.replayed && !first.replayed);
        assert_eq!(again.incident, first.incident);
        let all = house.incidents.list(operator(), Filter::default(), PageAsk::default()).await.unwrap();
        assert_eq!(all.items.len(), 1);
    });
}

#[test]
fn a_timeline_is_paged_in_order() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let incident = house.report().await;
        for n in 0..4 {
            let text = format!("note {n}");
            house.incidents.note(operator(), None, incident.id.clone(), text, serde_json::Value::Null).await.unwrap();
        }
        let page = |after| house.incidents.timeline(operator(), incident.id.clone(), PageAsk { limit: 3, after });
        let first = page(None).await.unwrap();
        let rest = page(first.next.clone()).await.unwrap();
        let seqs: Vec<u64> = first.items.iter().chain(&rest.items).map(|entry| entry.seq).collect();
        assert_eq!((seqs, rest.next), (vec![1, 2, 3, 4, 5], None));
    });
}

/// Asks for a channel's state as somebody of a role.
pub(super) async fn state(
    incidents: &Incidents,
    channel: &str,
    id: &str,
    role: UserRole,
) -> Result<Vec<StateItem>, Denied> {
    let (send, answer) = tokio::sync::oneshot::channel();
    let viewer = Viewer { id: id.into(), permissions: role.permissions() };
    let reply = SnapshotReply::new(move |state| drop(send.send(state)));
    incidents.request(SnapshotRequest { channel: channel.to_owned(), viewer, reply });
    answer.await.unwrap()
}

#[test]
fn a_channel_begins_with_what_goes_on_and_only_for_those_who_may_see_it() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let open = house.report().await;
        let over = house.report().await;
        let canceled = Move { reason: Some("a drill".to_owned()), ..Move::new(Action::Cancel) };
        house.incidents.act(operator(), over.id.clone(), IfMatch::Any, canceled).await.unwrap();
        let hidden = Report {
            said: Edit { visibility: Some(Visibility::Restricted), ..flood(Severity::Minor).said },
            ..Report::default()
        };
        let hidden = house.incidents.report(operator(), None, hidden).await.unwrap().incident.unwrap();
        let ids = |items: Vec<StateItem>| items.into_iter().map(|item| item.id).collect::<Vec<_>>();
        let ask = |channel: String, role| {
            let incidents = house.incidents.clone();
            async move { state(&incidents, &channel, "usr_other", role).await.map(ids) }
        };
        assert_eq!(ask("incidents".into(), UserRole::Viewer).await, Ok(vec![open.id.clone()]));
        assert_eq!(ask("incidents.restricted".into(), UserRole::Operator).await, Ok(vec![hidden.id.clone()]));
        assert_eq!(ask("incidents.restricted".into(), UserRole::Viewer).await, Err(Denied::NotFound));
        assert_eq!(ask(events::own(&hidden.id), UserRole::Viewer).await, Err(Denied::NotFound));
        assert_eq!(ask(events::own(&over.id), UserRole::Viewer).await, Ok(vec![over.id.clone()]));
        assert_eq!(ask("alerts".into(), UserRole::Viewer).await, Ok(vec![]));
        tree.stop().await;
        assert_eq!(ask("incidents".into(), UserRole::Viewer).await, Err(Denied::Unavailable));
    });
}

#[test]
fn geofences_are_told_where_an_open_incident_is_and_that_it_is_over() {
    test_world::run(|tree| async move {
        let (store, map) = (Arc::default(), Arc::default());
        let house = watched(&tree, &store, &map).await;
        let square = [(6.0, 50.0), (8.0, 50.0), (8.0, 52.0), (6.0, 52.0), (6.0, 50.0)];
        let square = Geometry::Polygon(vec![square.map(|(lon, lat)| Point::new(lon, lat)).to_vec()]);
        let said = Edit { geometry: Some(Some(square)), ..flood(Severity::Minor).said };
        let asked = Report { said, ..Report::default() };
        let open = house.incidents.report(operator(), None, asked).await.unwrap().incident.unwrap();
        let seen = map.take();
        assert_eq!((seen.len(), &*seen[0].subject.id), (1, open.id.as_str()));
        assert_eq!((seen[0].point, seen[0].audience), (Some(Point::new(7.0, 51.0)), Seen::All));
        let edit = |edit| house.incidents.edit(operator(), open.id.clone(), IfMatch::Any, edit, None);
        edit(Edit { title: Some("Flood".to_owned()), ..Edit::default() }).await.unwrap();
        assert_eq!(map.take(), [], "nothing of it moved");
        for (visibility, audience) in [(Visibility::Restricted, Seen::Restricted), (Visibility::Private, Seen::Own)] {
            edit(Edit { visibility: Some(visibility), ..Edit::default() }).await.unwrap();
            assert_eq!(map.take().pop().map(|seen| seen.audience), Some(audience));
        }
        let over = house.report().await;
        let canceled = Move { reason: Some("a drill".to_owned()), ..Move::new(Action::Cancel) };
        house.incidents.act(operator(), over.id.clone(), IfMatch::Any, canceled).await.unwrap();
        assert_eq!(map.take().pop().map(|seen| seen.point), Some(None));

        watched(&tree, &store, &map).await;
        let again: Vec<_> = map.take().into_iter().map(|seen| (seen.subject.id.to_string(), seen.point)).collect();
        assert_eq!(again, [(open.id.clone(), Some(Point::new(7.0, 51.0))), (over.id.clone(), None)], "once at a start");
    });
}

#[test]
fn whoever_loses_sight_of_an_incident_stops_following_it() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let incident = house.report().await;
        let looks = |role: UserRole, id: &str| Viewer { id: id.into(), permissions: role.permissions() };
        let (viewer, operator_too) = (looks(UserRole::Viewer, "usr_v"), looks(UserRole::Operator, "usr_o"));
        let edit = |edit| house.incidents.edit(operator(), incident.id.clone(), IfMatch::Any, edit, None);
        edit(Edit { title: Some("Flood".to_owned()), ..Edit::default() }).await.unwrap();
        assert!(house.told.take_restrictions().is_empty(), "all who could see it still can");
        edit(Edit { visibility: Some(Visibility::Restricted), ..Edit::default() }).await.unwrap();
        let reviews = house.told.take_restrictions();
        assert_eq!((reviews.len(), &*reviews[0].channel), (1, events::own(&incident.id).as_str()));
        assert_eq!((reviews[0].allows(&viewer), reviews[0].allows(&operator_too)), (false, true));
        let addresses = Some(vec!["usr_v".to_owned()]);
        edit(Edit { visibility: Some(Visibility::Private), addresses, ..Edit::default() }).await.unwrap();
        let reviews = house.told.take_restrictions();
        assert_eq!((reviews[0].allows(&viewer), reviews[0].allows(&operator_too)), (true, false), "only who is named");
    });
}

#[test]
fn a_devices_report_attaches_to_what_is_public_and_says_nothing_of_what_is_not() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let report = |by: By, visibility| {
            let said = Edit { visibility, ..flood(Severity::Minor).said };
            let via = Some(Via::Operator);
            let asked = Report { said, via, dedup_key: Some("gauge-7".to_owned()), ..Report::default() };
            house.incidents.report(by, None, asked)
        };
        let device = |id: &str| By::Device(id.into());
        let first = report(device("dev_1"), None).await.unwrap().incident.unwrap();
        assert_eq!((first.reported_via, first.reported_by.as_str()), (Via::Device, "dev_1"), "whatever it says");
        let other = report(device("dev_2"), None).await.unwrap();
        assert!(other.attached && other.incident.unwrap().id == first.id);
        let hide = Edit { visibility: Some(Visibility::Restricted), ..Edit::default() };
        house.incidents.edit(operator(), first.id.clone(), IfMatch::Any, hide, None).await.unwrap();
        assert!(report(device("dev_1"), None).await.unwrap().attached, "its own");
        let anew = report(device("dev_2"), None).await.unwrap();
        assert!(!anew.attached && anew.incident.unwrap().id != first.id);
    });
}

#[test]
fn what_has_long_been_over_is_read_from_the_store_and_nothing_else_changes() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let start = || async {
            let settings = Settings { keep_over: MINUTE, ..Settings::default() };
            with(&tree, &store, &Arc::default(), settings).await
        };
        let house = start().await;
        let mut ids = Vec::new();
        for n in 0..5 {
            let incident = house.report().await;
            if n % 2 == 0 {
                let canceled = Move { reason: Some("a drill".to_owned()), ..Move::new(Action::Cancel) };
                house.incidents.act(operator(), incident.id.clone(), IfMatch::Any, canceled).await.unwrap();
            }
            ids.push(incident.id.clone());
        }
        ids.reverse();
        test_world::after(2 * MINUTE).await;
        for found in [&house, &start().await] {
            let list = |states: Vec<State>, limit, after| {
                let filter = Filter { states, ..Filter::default() };
                let asked = found.incidents.list(operator(), filter, PageAsk { limit, after });
                async move {
                    let page = asked.await.unwrap();
                    (page.items.iter().map(|item| item.id.clone()).collect::<Vec<_>>(), page.next)
                }
            };
            let over = [ids[0].clone(), ids[2].clone(), ids[4].clone()];
            assert_eq!(list(vec![], 10, None).await, (ids.clone(), None));
            assert_eq!(list(vec![State::Canceled], 10, None).await, (over.to_vec(), None));
            let (first, next) = list(vec![State::Canceled], 2, None).await;
            assert_eq!((first, next.as_deref()), (over[..2].to_vec(), Some(over[1].as_str())));
            assert_eq!(list(vec![State::Canceled], 2, next).await, (over[2..].to_vec(), None));
            assert_eq!(list(vec![State::Reported], 10, None).await.0, [ids[1].clone(), ids[3].clone()]);
            assert_eq!(found.get(&over[0]).await.state, State::Canceled);
            assert!(state(&found.incidents, &events::own(&over[1]), "usr_x", UserRole::Viewer).await.is_ok());
        }
        let noted = house.incidents.note(operator(), None, ids[0].clone(), "bill".to_owned(), serde_json::Value::Null);
        assert_eq!(noted.await.unwrap().incident.unwrap().timeline_seq, 3, "it is annotated still");
        assert_eq!(house.report().await.number, "2026-000006", "numbers go on");
    });
}
