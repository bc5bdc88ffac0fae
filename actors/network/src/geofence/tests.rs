//! The actor in its own world: each crossing told once, over restarts, changes of fences and failing writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use muster_geo::{Geometry, Point};
use muster_store::{MemStore, Order, Scan, Store, StoreError};
use proptest::prelude::*;
use serde_json::Value;

use super::record::{Member, Observation};
use super::state::{FenceState, Reason};
use super::*;
use muster_core::event::{Event, RecordingPublisher};
use muster_core::idempotency::Idempotency;
use muster_core::page::PageAsk;
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ActorState, Tree};
use muster_core::{Clock, Kind, Millis, test_world};
use muster_identity::By;

const HOME: Point = Point::new(10.0, 50.0);
const AWAY: Point = Point::new(-60.0, -20.0);

struct House {
    fences: Geofences,
    heard: Arc<RecordingPublisher>,
}

async fn start(tree: &Tree, store: &Arc<MemStore>) -> House {
    let heard = Arc::new(RecordingPublisher::default());
    let publisher = Arc::clone(&heard) as _;
    let options = GeofenceOptions { store: Arc::clone(store) as _, clock: Clock::tokio(test_world::START), publisher };
    let fences = Geofences::start(&tree.group("geofences"), Arbiter::current(), options);
    fences.up().await;
    House { fences, heard }
}

fn circle(name: &str) -> NewFence {
    let geometry = Geometry::Circle { center: HOME, radius_m: 1_000.0 };
    let (name, tags) = (name.to_owned(), Vec::new());
    NewFence { name, kind: None, geometry, applies_to: AppliesTo::Devices, tags, active: true }
}

fn away() -> Geometry {
    Geometry::Circle { center: AWAY, radius_m: 1_000.0 }
}

fn device(id: &str, point: Option<Point>, at: u64) -> Observation {
    Observation::of(SubjectKind::Device, &Arc::from(id), point, Millis(at))
}

impl House {
    /// Asks something, so that what was told before is done; what was told meanwhile, as `name subject reason`.
    async fn told(&self) -> Vec<String> {
        let heard = self.events().await;
        heard
            .iter()
            .map(|event| format!("{} {} {}", event.name, field(event, "subject_id"), field(event, "reason")))
            .collect()
    }

    async fn events(&self) -> Vec<Event> {
        for _ in 0..20 {
            self.fences.list(PageAsk::default()).await.unwrap();
            tokio::task::yield_now().await;
        }
        self.heard.take()
    }

    async fn inside(&self, id: &str) -> Vec<String> {
        let page = self.fences.inside(id.to_owned(), PageAsk::default()).await.unwrap();
        page.items.iter().map(|inside| inside.subject.id.to_string()).collect()
    }
}

fn field(event: &Event, name: &str) -> String {
    let data: Value = serde_json::from_str(event.data.get()).unwrap();
    data[name].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_device_enters_once_and_leaves_once() {
    test_world::run(|tree| async move {
        let house = start(&tree, &Arc::default()).await;
        let fence = house.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        for (at, point) in [(1, AWAY), (2, HOME), (3, HOME), (4, AWAY), (5, AWAY)] {
            house.fences.observe(device("dev_1", Some(point), at));
        }
        assert_eq!(house.told().await, ["geofence.entered dev_1 moved", "geofence.left dev_1 moved"]);
        house.fences.observe(device("dev_1", Some(HOME), 6));
        let entered = house.events().await.remove(0);
        assert_eq!(entered.channels, ["devices", "devices:dev_1"]);
        assert_eq!(
            (field(&entered, "geofence_id"), field(&entered, "geofence_name")),
            (fence.id.clone(), "home".to_owned())
        );
        assert_eq!(entered.traits.bbox, Some([10.0, 50.0, 10.0, 50.0]));
        assert_eq!(house.inside(&fence.id).await, ["dev_1"]);
        house.fences.observe(device("dev_1", Some(AWAY), 5));
        assert_eq!(house.told().await, [""; 0], "what is older than what was seen is not looked at");
        house.fences.observe(device("dev_1", None, 7));
        assert_eq!(house.told().await, ["geofence.left dev_1 gone"]);
        assert_eq!(house.inside(&fence.id).await, [""; 0]);
    });
}

#[test]
fn nobody_enters_again_after_a_panic_or_a_restart() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let house = start(&tree, &store).await;
        let fence = house.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        house.fences.observe(device("dev_1", Some(HOME), 1));
        assert_eq!(house.told().await, ["geofence.entered dev_1 moved"]);
        assert!(tree.inject_panic("geofences/geofences"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        house.fences.observe(device("dev_1", Some(HOME), 2));
        house.fences.observe(device("dev_2", Some(HOME), 2));
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(house.told().await, ["geofence.entered dev_2 moved"], "told while the actor was down");

        let again = Tree::new(Arbiter::current(), Clock::tokio(test_world::START));
        let house = start(&again, &store).await;
        assert_eq!(house.inside(&fence.id).await, ["dev_1", "dev_2"]);
        house.fences.observe(device("dev_1", Some(HOME), 3));
        assert_eq!(house.told().await, [""; 0]);
        house.fences.observe(device("dev_1", Some(AWAY), 4));
        assert_eq!(house.told().await, ["geofence.left dev_1 moved"]);
        again.stop().await;
    });
}

#[test]
fn a_fence_that_is_made_changed_switched_or_deleted_is_entered_and_left() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let house = start(&tree, &store).await;
        house.fences.observe(device("dev_1", Some(HOME), 1).tagged(&["blue".to_owned()]));
        let fence = house.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        assert_eq!(house.told().await, ["geofence.entered dev_1 geofence_changed"]);
        let change = async |change: Change| {
            house.fences.update(fence.id.clone(), change, IfMatch::Any, By::System).await.unwrap();
            house.told().await
        };
        let tags = |tag: &str| Change { tags: Some(vec![tag.to_owned()]), ..Change::default() };
        assert_eq!(change(tags("red")).await, ["geofence.left dev_1 geofence_changed"]);
        assert_eq!(change(tags("blue")).await, ["geofence.entered dev_1 geofence_changed"]);
        let off = Change { active: Some(false), ..Change::default() };
        assert_eq!(change(off).await, ["geofence.left dev_1 geofence_changed"]);
        assert_eq!(change(Change { active: Some(true), ..Change::default() }).await.len(), 1);
        let incidents = Change { applies_to: Some(AppliesTo::Incidents), ..Change::default() };
        assert_eq!(change(incidents).await, ["geofence.left dev_1 geofence_changed"]);
        assert_eq!(change(Change { applies_to: Some(AppliesTo::Both), ..Change::default() }).await.len(), 1);
        house.fences.remove(fence.id.clone(), IfMatch::Version(8), By::System).await.unwrap_err();
        house.fences.remove(fence.id.clone(), IfMatch::Version(7), By::System).await.unwrap();
        assert_eq!(house.told().await, ["geofence.left dev_1 geofence_changed"]);
        let scan = Scan { prefix: Vec::new(), from: None, limit: 10, order: Order::Ascending };
        assert!(store.scan(muster_store::Tree::Geofences, &scan).unwrap().items.is_empty(), "nothing stays behind");
    });
}

#[test]
fn a_restricted_incident_is_told_and_shown_to_its_own_only() {
    test_world::run(|tree| async move {
        let house = start(&tree, &Arc::default()).await;
        let both = NewFence { applies_to: AppliesTo::Both, ..circle("home") };
        let fence = house.fences.create(both, By::System, None).await.unwrap().fence;
        let seen = Observation::of(SubjectKind::Incident, &Arc::from("inc_1"), Some(HOME), Millis(1));
        house.fences.observe(seen.to(Audience::Restricted));
        assert_eq!(house.events().await[0].channels, ["incidents.restricted", "incidents:inc_1"]);
        assert_eq!(house.inside(&fence.id).await, [""; 0]);
    });
}

#[test]
fn nothing_is_told_that_was_not_written_and_it_is_told_once_it_is() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let house = start(&tree, &store).await;
        let home = house.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        house.fences.observe(device("dev_1", Some(HOME), 1));
        assert_eq!(house.told().await, [""; 0]);
        let refused = house.fences.create(circle("b"), By::System, None).await.unwrap_err();
        assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        let change = house.fences.update(home.id.clone(), Change::default(), IfMatch::Any, By::System);
        assert_eq!(change.await.unwrap_err(), refused, "every write gets the same answer");
        let remove = house.fences.remove(home.id.clone(), IfMatch::Any, By::System);
        assert_eq!(remove.await.unwrap_err(), refused);
        assert_eq!(house.fences.get(home.id.clone()).await.unwrap(), home, "reads go on");
        test_world::after(Duration::from_secs(120)).await;
        assert_eq!(tree.snapshot()[0].restarts, 0);
        store.fail_commits(None);
        test_world::after(Duration::from_secs(2)).await;
        assert_eq!(house.told().await, ["geofence.entered dev_1 moved"]);
    });
}

#[test]
fn a_full_store_delays_what_is_told_and_answered() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let house = start(&tree, &store).await;
        house.fences.create(circle("home"), By::System, None).await.unwrap();
        store.fail_commits(Some(StoreError::Busy));
        house.fences.observe(device("dev_1", Some(HOME), 1));
        let reading = house.fences.list(PageAsk::default());
        let mending = async {
            test_world::after(Duration::from_secs(1)).await;
            assert!(house.heard.take().is_empty());
            store.fail_commits(None);
        };
        let (page, ()) = tokio::join!(reading, mending);
        assert_eq!(page.unwrap().items.len(), 1);
        assert_eq!(house.told().await, ["geofence.entered dev_1 moved"]);
    });
}

#[test]
fn what_is_decided_while_a_batch_is_written_shares_the_next_and_is_shown_once_durable() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let house = start(&tree, &store).await;
        let home = house.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        let before = store.stats().commits;
        store.hold_commits();
        let named = || Some(Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [1; 32] });
        let writes = (0..100).map(|n| house.fences.create(circle(&format!("fence {n}")), By::System, None));
        let rename = |version| {
            let change = Change { name: Some("renamed".into()), ..Change::default() };
            house.fences.update(home.id.clone(), change, IfMatch::Version(version), By::System)
        };
        let release = async {
            store.held(2).await;
            test_world::after(Duration::from_millis(1)).await;
            store.release();
        };
        let (written, first, again, renamed, stale, shown, ()) = tokio::join!(
            futures::future::join_all(writes),
            house.fences.create(circle("once"), By::System, named()),
            house.fences.create(circle("once"), By::System, named()),
            rename(1),
            rename(1),
            house.fences.get(home.id.clone()),
            release
        );
        assert!(written.into_iter().all(|made| made.is_ok()));
        let (first, again) = (first.unwrap(), again.unwrap());
        assert_eq!((first.replayed, again.replayed, &first.fence), (false, true, &again.fence));
        assert_eq!((renamed.unwrap().version, stale.unwrap_err().kind), (2, Kind::PreconditionFailed));
        assert_eq!(shown.unwrap().version, 2, "a read rests on what is decided, and waits until that is durable");
        assert!(store.stats().commits - before <= 3, "{} commits", store.stats().commits - before);
    });
}

#[test]
fn a_commit_that_fails_loses_no_place_and_nothing_is_shown_of_it() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let house = start(&tree, &store).await;
        let home = house.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        house.fences.observe(device("dev_2", Some(AWAY), 1));
        house.told().await;
        store.hold_commits();
        house.fences.observe(device("dev_1", Some(HOME), 1));
        store.held(1).await;
        let made = house.fences.create(NewFence { geometry: away(), ..circle("away") }, By::System, None);
        let shown = house.fences.inside(home.id.clone(), PageAsk::default());
        let fail = async {
            store.held(2).await;
            store.fail_commits(Some(StoreError::Io("no disk".into())));
            store.release();
            store.fail_commits(None);
        };
        let (made, shown, ()) = tokio::join!(made, shown, fail);
        assert_eq!((made.unwrap_err().kind, shown.unwrap_err().kind), (Kind::Unavailable, Kind::Unavailable));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(house.told().await, ["geofence.entered dev_1 moved"]);
        assert_eq!(house.fences.list(PageAsk::default()).await.unwrap().items, [home]);
        house.fences.create(NewFence { geometry: away(), ..circle("away") }, By::System, None).await.unwrap();
        assert_eq!(house.told().await, ["geofence.entered dev_2 geofence_changed"], "its place is still known");
    });
}

#[test]
fn one_who_enters_more_fences_than_fit_in_a_decision_enters_each_once() {
    let mut state = FenceState::default();
    for n in 0..2_500 {
        let shaped = state.make(circle("x"), "usr_1", format!("gf_{n}"), Millis(1)).unwrap();
        state.put(shaped);
    }
    let (seen, mut entered, mut rounds) = (device("dev_1", Some(HOME), 1), BTreeSet::new(), 0);
    state.see(&seen);
    while let Some(crossing) = state.judge(&seen, Reason::Moved, Millis(1)) {
        assert!(crossing.events.len() <= 1_000);
        assert!(crossing.events.iter().all(|event| entered.insert(field(event, "geofence_id"))));
        rounds += 1;
        assert_eq!(crossing.partial, rounds < 3);
        state.take(crossing.member);
    }
    assert_eq!((entered.len(), rounds), (2_500, 3));
}

#[test]
fn fences_are_paged_versioned_and_made_once_by_their_key() {
    test_world::run(|tree| async move {
        let house = start(&tree, &Arc::default()).await;
        let named = |digest| Some(Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [digest; 32] });
        let first = house.fences.create(circle("a"), By::System, named(1)).await.unwrap();
        let again = house.fences.create(circle("a"), By::System, named(1)).await.unwrap();
        assert_eq!((first.replayed, again.replayed, &first.fence), (false, true, &again.fence));
        let other = house.fences.create(circle("b"), By::System, named(2)).await.unwrap_err();
        assert_eq!(other.kind, Kind::IdempotencyConflict);
        let second = house.fences.create(circle("b"), By::System, None).await.unwrap().fence;
        let page = house.fences.list(PageAsk { limit: 1, after: None }).await.unwrap();
        assert_eq!(page.next, Some(page.items[0].id.clone()));
        let rest = house.fences.list(PageAsk { limit: 1, after: page.next }).await.unwrap();
        let ids: BTreeSet<&str> = [page.items[0].id.as_str(), rest.items[0].id.as_str()].into();
        assert_eq!((ids, rest.next), ([first.fence.id.as_str(), second.id.as_str()].into(), None));
        let rename = Change { name: Some("c".into()), ..Change::default() };
        let update =
            |version| house.fences.update(second.id.clone(), rename.clone(), IfMatch::Version(version), By::System);
        assert_eq!(update(1).await.unwrap().version, 2);
        assert_eq!(update(1).await.unwrap_err().kind, Kind::PreconditionFailed);
        assert_eq!(house.fences.get("gf_none".into()).await.unwrap_err().kind, Kind::NotFound);
    });
}

#[test]
fn what_is_no_fence_is_refused_by_its_field() {
    let refused = |new: NewFence| {
        let error = FenceState::default().make(new, "usr_1", "gf_1".into(), Millis(1)).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        error.fields[0].loc[1].clone()
    };
    assert_eq!(refused(circle(" ")), "name");
    assert_eq!(refused(NewFence { kind: Some(String::new()), ..circle("a") }), "kind");
    assert_eq!(refused(NewFence { tags: vec!["x".repeat(65)], ..circle("a") }), "tags");
    assert_eq!(refused(NewFence { geometry: Geometry::Point(HOME), ..circle("a") }), "geometry");
    let bow_tie = [[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0], [0.0, 0.0]].map(|[lon, lat]| Point::new(lon, lat));
    assert_eq!(refused(NewFence { geometry: Geometry::Polygon(vec![bow_tie.to_vec()]), ..circle("a") }), "geometry");
}

#[derive(Debug, Clone)]
enum Act {
    Seen(u8, Option<(i32, i32)>),
    Put(u8, (i32, i32), bool),
    Delete(u8),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let cell = || (-4_i32..4, -4_i32..4);
    let act = prop_oneof![
        6 => (0_u8..6, prop::option::weighted(0.9, cell())).prop_map(|(id, at)| Act::Seen(id, at)),
        2 => (0_u8..4, cell(), any::<bool>()).prop_map(|(id, at, active)| Act::Put(id, at, active)),
        1 => (0_u8..4).prop_map(Act::Delete),
    ];
    prop::collection::vec(act, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What was told adds up to who is inside, as a look at each fence and subject finds it.
    #[test]
    fn entered_and_left_add_up_to_who_is_inside(acts in acts()) {
        let mut state = FenceState::default();
        let (mut told, mut stored) = (BTreeMap::<(String, String), bool>::new(), BTreeMap::new());
        let (mut places, mut fences) = (BTreeMap::new(), BTreeMap::new());
        let mut settle = |state: &mut FenceState, seen: Observation, reason| {
            if let Some(crossing) = state.judge(&seen, reason, Millis(1)) {
                for event in &crossing.events {
                    let pair = (field(event, "geofence_id"), field(event, "subject_id"));
                    let enters = event.name == "geofence.entered";
                    assert_eq!(told.insert(pair, enters).unwrap_or(false), !enters, "told twice");
                }
                stored.insert(seen.subject.id.to_string(), crossing.member.clone());
                state.take(crossing.member);
            }
        };
        for (at, act) in (1..).zip(acts) {
            let concerned = match act {
                Act::Seen(id, place) => {
                    let point = place.map(|(x, y)| Point::new(f64::from(x) * 0.5, f64::from(y) * 0.5));
                    places.insert(format!("dev_{id}"), point);
                    let seen = device(&format!("dev_{id}"), point, at);
                    prop_assert!(state.see(&seen));
                    settle(&mut state, seen, Reason::Moved);
                    BTreeSet::new()
                }
                Act::Put(id, (x, y), active) => {
                    let geometry = Geometry::Circle { center: Point::new(f64::from(x) * 0.5, f64::from(y) * 0.5), radius_m: 80_000.0 };
                    let id = format!("gf_{id}");
                    let shape = geometry.shape().unwrap();
                    if active { fences.insert(id.clone(), shape); } else { fences.remove(&id); }
                    let new = NewFence { geometry, active, ..circle("x") };
                    let shaped = state.make(new, "usr_1", id, Millis(1)).unwrap();
                    state.put(shaped)
                }
                Act::Delete(id) => {
                    fences.remove(&format!("gf_{id}"));
                    state.forget(&format!("gf_{id}"))
                }
            };
            for subject in concerned {
                if let Some(seen) = state.seen(&subject).cloned() { settle(&mut state, seen, Reason::FenceChanged); }
            }
        }
        let mut truth = BTreeSet::new();
        for (fence, shape) in &fences {
            for (subject, place) in &places {
                if place.is_some_and(|point| shape.contains(&point)) { truth.insert((fence.clone(), subject.clone())); }
            }
        }
        let told: BTreeSet<_> = told.into_iter().filter(|(_, inside)| *inside).map(|(pair, _)| pair).collect();
        let of = |(subject, member): (&String, &Member)| member.fences.keys().map(|fence| (fence.clone(), subject.clone())).collect::<Vec<_>>();
        let stored: BTreeSet<_> = stored.iter().flat_map(of).collect();
        prop_assert_eq!(&told, &truth);
        prop_assert_eq!(&stored, &truth);
    }
}

#[test]
fn what_features_begin_with_enters_only_what_is_new() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let house = start(&tree, &store).await;
        house.fences.create(circle("home"), By::System, None).await.unwrap();
        house.fences.observe_all(vec![device("dev_1", Some(HOME), 1), device("dev_2", Some(AWAY), 1)]);
        assert_eq!(house.told().await, ["geofence.entered dev_1 moved"]);
        let again = start(&tree, &store).await;
        again.fences.observe_all(vec![
            device("dev_1", Some(HOME), 5),
            device("dev_2", Some(HOME), 5),
            device("dev_3", Some(AWAY), 5),
        ]);
        assert_eq!(again.told().await, ["geofence.entered dev_2 moved"]);
        again.fences.observe_all(vec![device("dev_1", None, 6)]);
        assert_eq!(again.told().await, ["geofence.left dev_1 gone"]);
    });
}

#[test]
fn however_many_features_begin_with_none_is_lost_and_what_is_newer_counts() {
    let inbox = super::inbox::Inbox::default();
    inbox.push(device("dev_1", Some(AWAY), 2));
    inbox.push_all((0..100_000).map(|n| device(&format!("dev_{n}"), Some(HOME), 1)).collect());
    let came: Vec<_> = std::iter::from_fn(|| inbox.pop()).collect();
    assert_eq!((came.len(), came.last().unwrap().point), (100_001, Some(AWAY)));
}

#[test]
fn where_a_private_incident_is_only_its_own_channel_tells() {
    let all = Observation::of(SubjectKind::Incident, &Arc::from("inc_1"), Some(HOME), Millis(1));
    let channels = |audience| all.clone().to(audience).channels();
    assert_eq!(channels(Audience::Own), ["incidents:inc_1"]);
    assert_eq!(channels(Audience::Restricted), ["incidents.restricted", "incidents:inc_1"]);
}
