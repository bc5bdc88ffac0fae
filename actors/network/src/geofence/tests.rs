//! Tests of the geofence actor: each crossing is published once, across restarts, changes of fences and failing writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use muster_geo::{Geometry, Point};
use muster_store::{MemStore, Order, Scan, Store, StoreError};
use proptest::prelude::*;
use serde_json::Value;

use super::record::{Member, Observation};
use super::state::{CrossingReason, FenceState};
use super::*;
use muster_core::event::{Event, RecordingPublisher};
use muster_core::idempotency::Idempotency;
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ActorState, Tree};
use muster_core::{Clock, Kind, Millis, test_world};
use muster_identity::By;

const HOME: Point = Point::new(10.0, 50.0);
const AWAY: Point = Point::new(-60.0, -20.0);

struct GeofenceFixture {
    fences: Geofences,
    publisher: Arc<RecordingPublisher>,
}

async fn start(tree: &Tree, store: &Arc<MemStore>) -> GeofenceFixture {
    let recorder = Arc::new(RecordingPublisher::default());
    let publisher = Arc::clone(&recorder) as _;
    let options = GeofenceOptions { store: Arc::clone(store) as _, clock: Clock::tokio(test_world::START), publisher };
    let fences = Geofences::start(&tree.group("geofences"), Arbiter::current(), options);
    fences.up().await;
    GeofenceFixture { fences, publisher: recorder }
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

impl GeofenceFixture {
    /// Sends requests until the reported observations are processed; returns the events published meanwhile as `name
    /// subject reason`.
    async fn published(&self) -> Vec<String> {
        let publisher = self.events().await;
        publisher
            .iter()
            .map(|event| format!("{} {} {}", event.name, field(event, "subject_id"), field(event, "reason")))
            .collect()
    }

    async fn events(&self) -> Vec<Event> {
        for _ in 0..20 {
            self.fences.list(PageParams::default()).await.unwrap();
            tokio::task::yield_now().await;
        }
        self.publisher.take()
    }

    async fn inside(&self, id: &str) -> Vec<String> {
        let page = self.fences.inside(id.to_owned(), PageParams::default()).await.unwrap();
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
        let fixture = start(&tree, &Arc::default()).await;
        let fence = fixture.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        for (at, point) in [(1, AWAY), (2, HOME), (3, HOME), (4, AWAY), (5, AWAY)] {
            fixture.fences.observe(device("dev_1", Some(point), at));
        }
        assert_eq!(fixture.published().await, ["geofence.entered dev_1 moved", "geofence.left dev_1 moved"]);
        fixture.fences.observe(device("dev_1", Some(HOME), 6));
        let entered = fixture.events().await.remove(0);
        assert_eq!(entered.channels, ["devices", "devices:dev_1"]);
        assert_eq!(
            (field(&entered, "geofence_id"), field(&entered, "geofence_name")),
            (fence.id.clone(), "home".to_owned())
        );
        assert_eq!(entered.traits.bbox, Some([10.0, 50.0, 10.0, 50.0]));
        assert_eq!(fixture.inside(&fence.id).await, ["dev_1"]);
        fixture.fences.observe(device("dev_1", Some(AWAY), 5));
        assert_eq!(fixture.published().await, [""; 0], "what is older than what was seen is not looked at");
        fixture.fences.observe(device("dev_1", None, 7));
        assert_eq!(fixture.published().await, ["geofence.left dev_1 gone"]);
        assert_eq!(fixture.inside(&fence.id).await, [""; 0]);
    });
}

#[test]
fn no_subject_enters_again_after_a_panic_or_a_restart() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let fixture = start(&tree, &store).await;
        let fence = fixture.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        fixture.fences.observe(device("dev_1", Some(HOME), 1));
        assert_eq!(fixture.published().await, ["geofence.entered dev_1 moved"]);
        assert!(tree.inject_panic("geofences/geofences"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        fixture.fences.observe(device("dev_1", Some(HOME), 2));
        fixture.fences.observe(device("dev_2", Some(HOME), 2));
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(fixture.published().await, ["geofence.entered dev_2 moved"], "observed while the actor was down");

        let again = Tree::new(Arbiter::current(), Clock::tokio(test_world::START));
        let fixture = start(&again, &store).await;
        assert_eq!(fixture.inside(&fence.id).await, ["dev_1", "dev_2"]);
        fixture.fences.observe(device("dev_1", Some(HOME), 3));
        assert_eq!(fixture.published().await, [""; 0]);
        fixture.fences.observe(device("dev_1", Some(AWAY), 4));
        assert_eq!(fixture.published().await, ["geofence.left dev_1 moved"]);
        again.stop().await;
    });
}

#[test]
fn creating_changing_activating_and_deleting_a_fence_makes_subjects_enter_and_leave() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let fixture = start(&tree, &store).await;
        fixture.fences.observe(device("dev_1", Some(HOME), 1).tagged(&["blue".to_owned()]));
        let fence = fixture.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        assert_eq!(fixture.published().await, ["geofence.entered dev_1 geofence_changed"]);
        let change = async |change: FencePatch| {
            fixture.fences.update(fence.id.clone(), change, IfMatch::Any, By::System).await.unwrap();
            fixture.published().await
        };
        let tags = |tag: &str| FencePatch { tags: Some(vec![tag.to_owned()]), ..FencePatch::default() };
        assert_eq!(change(tags("red")).await, ["geofence.left dev_1 geofence_changed"]);
        assert_eq!(change(tags("blue")).await, ["geofence.entered dev_1 geofence_changed"]);
        let off = FencePatch { active: Some(false), ..FencePatch::default() };
        assert_eq!(change(off).await, ["geofence.left dev_1 geofence_changed"]);
        assert_eq!(change(FencePatch { active: Some(true), ..FencePatch::default() }).await.len(), 1);
        let incidents = FencePatch { applies_to: Some(AppliesTo::Incidents), ..FencePatch::default() };
        assert_eq!(change(incidents).await, ["geofence.left dev_1 geofence_changed"]);
        assert_eq!(change(FencePatch { applies_to: Some(AppliesTo::Both), ..FencePatch::default() }).await.len(), 1);
        fixture.fences.remove(fence.id.clone(), IfMatch::Version(8), By::System).await.unwrap_err();
        fixture.fences.remove(fence.id.clone(), IfMatch::Version(7), By::System).await.unwrap();
        assert_eq!(fixture.published().await, ["geofence.left dev_1 geofence_changed"]);
        let scan = Scan { prefix: Vec::new(), from: None, limit: 10, order: Order::Ascending };
        assert!(store.scan(muster_store::Tree::Geofences, &scan).unwrap().items.is_empty(), "nothing stays behind");
    });
}

#[test]
fn a_restricted_incident_is_published_on_restricted_channels_and_not_listed() {
    test_world::run(|tree| async move {
        let fixture = start(&tree, &Arc::default()).await;
        let both = NewFence { applies_to: AppliesTo::Both, ..circle("home") };
        let fence = fixture.fences.create(both, By::System, None).await.unwrap().fence;
        let seen = Observation::of(SubjectKind::Incident, &Arc::from("inc_1"), Some(HOME), Millis(1));
        fixture.fences.observe(seen.to(Audience::Restricted));
        assert_eq!(fixture.events().await[0].channels, ["incidents.restricted", "incidents:inc_1"]);
        assert_eq!(fixture.inside(&fence.id).await, [""; 0]);
    });
}

#[test]
fn an_event_is_published_only_once_it_is_stored() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let fixture = start(&tree, &store).await;
        let home = fixture.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        fixture.fences.observe(device("dev_1", Some(HOME), 1));
        assert_eq!(fixture.published().await, [""; 0]);
        let error = fixture.fences.create(circle("b"), By::System, None).await.unwrap_err();
        assert_eq!((error.kind, error.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        let change = fixture.fences.update(home.id.clone(), FencePatch::default(), IfMatch::Any, By::System);
        assert_eq!(change.await.unwrap_err(), error, "every write gets the same answer");
        let remove = fixture.fences.remove(home.id.clone(), IfMatch::Any, By::System);
        assert_eq!(remove.await.unwrap_err(), error);
        assert_eq!(fixture.fences.get(home.id.clone()).await.unwrap(), home, "reads go on");
        test_world::after(Duration::from_secs(120)).await;
        assert_eq!(tree.snapshot()[0].restarts, 0);
        store.fail_commits(None);
        test_world::after(Duration::from_secs(2)).await;
        assert_eq!(fixture.published().await, ["geofence.entered dev_1 moved"]);
    });
}

#[test]
fn a_full_store_delays_events_and_responses() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let fixture = start(&tree, &store).await;
        fixture.fences.create(circle("home"), By::System, None).await.unwrap();
        store.fail_commits(Some(StoreError::Busy));
        fixture.fences.observe(device("dev_1", Some(HOME), 1));
        let reading = fixture.fences.list(PageParams::default());
        let mending = async {
            test_world::after(Duration::from_secs(1)).await;
            assert!(fixture.publisher.take().is_empty());
            store.fail_commits(None);
        };
        let (page, ()) = tokio::join!(reading, mending);
        assert_eq!(page.unwrap().items.len(), 1);
        assert_eq!(fixture.published().await, ["geofence.entered dev_1 moved"]);
    });
}

#[test]
fn decisions_during_a_write_share_the_next_batch_and_are_readable_once_durable() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let fixture = start(&tree, &store).await;
        let home = fixture.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        let before = store.stats().commits;
        store.hold_commits();
        let named = || Some(Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [1; 32] });
        let writes = (0..100).map(|n| fixture.fences.create(circle(&format!("fence {n}")), By::System, None));
        let rename = |version| {
            let change = FencePatch { name: Some("renamed".into()), ..FencePatch::default() };
            fixture.fences.update(home.id.clone(), change, IfMatch::Version(version), By::System)
        };
        let release = async {
            store.held(2).await;
            test_world::after(Duration::from_millis(1)).await;
            store.release();
        };
        let (written, first, again, renamed, stale, visible, ()) = tokio::join!(
            futures::future::join_all(writes),
            fixture.fences.create(circle("once"), By::System, named()),
            fixture.fences.create(circle("once"), By::System, named()),
            rename(1),
            rename(1),
            fixture.fences.get(home.id.clone()),
            release
        );
        assert!(written.into_iter().all(|made| made.is_ok()));
        let (first, again) = (first.unwrap(), again.unwrap());
        assert_eq!((first.replayed, again.replayed, &first.fence), (false, true, &again.fence));
        assert_eq!((renamed.unwrap().version, stale.unwrap_err().kind), (2, Kind::PreconditionFailed));
        assert_eq!(visible.unwrap().version, 2, "a read rests on what is decided, and waits until that is durable");
        assert!(store.stats().commits - before <= 3, "{} commits", store.stats().commits - before);
    });
}

#[test]
fn a_failed_commit_loses_no_location_and_is_not_disclosed() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let fixture = start(&tree, &store).await;
        let home = fixture.fences.create(circle("home"), By::System, None).await.unwrap().fence;
        fixture.fences.observe(device("dev_2", Some(AWAY), 1));
        fixture.published().await;
        store.hold_commits();
        fixture.fences.observe(device("dev_1", Some(HOME), 1));
        store.held(1).await;
        let made = fixture.fences.create(NewFence { geometry: away(), ..circle("away") }, By::System, None);
        let visible = fixture.fences.inside(home.id.clone(), PageParams::default());
        let fail = async {
            store.held(2).await;
            store.fail_commits(Some(StoreError::Io("no disk".into())));
            store.release();
            store.fail_commits(None);
        };
        let (made, visible, ()) = tokio::join!(made, visible, fail);
        assert_eq!((made.unwrap_err().kind, visible.unwrap_err().kind), (Kind::Unavailable, Kind::Unavailable));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(fixture.published().await, ["geofence.entered dev_1 moved"]);
        assert_eq!(fixture.fences.list(PageParams::default()).await.unwrap().items, [home]);
        fixture.fences.create(NewFence { geometry: away(), ..circle("away") }, By::System, None).await.unwrap();
        assert_eq!(fixture.published().await, ["geofence.entered dev_2 geofence_changed"], "its place is still known");
    });
}

#[test]
fn a_subject_that_enters_more_fences_than_fit_in_a_decision_enters_each_once() {
    let mut state = FenceState::default();
    for n in 0..2_500 {
        let shaped = state.make(circle("x"), "usr_1", format!("gf_{n}"), Millis(1)).unwrap();
        state.put(shaped);
    }
    let (seen, mut entered, mut rounds) = (device("dev_1", Some(HOME), 1), BTreeSet::new(), 0);
    state.record(&seen);
    while let Some(crossing) = state.evaluate(&seen, CrossingReason::Moved, Millis(1)) {
        assert!(crossing.events.len() <= 1_000);
        assert!(crossing.events.iter().all(|event| entered.insert(field(event, "geofence_id"))));
        rounds += 1;
        assert_eq!(crossing.partial, rounds < 3);
        state.apply(crossing.member);
    }
    assert_eq!((entered.len(), rounds), (2_500, 3));
}

#[test]
fn fences_are_paged_versioned_and_created_once_by_their_idempotency_key() {
    test_world::run(|tree| async move {
        let fixture = start(&tree, &Arc::default()).await;
        let named = |digest| Some(Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [digest; 32] });
        let first = fixture.fences.create(circle("a"), By::System, named(1)).await.unwrap();
        let again = fixture.fences.create(circle("a"), By::System, named(1)).await.unwrap();
        assert_eq!((first.replayed, again.replayed, &first.fence), (false, true, &again.fence));
        let other = fixture.fences.create(circle("b"), By::System, named(2)).await.unwrap_err();
        assert_eq!(other.kind, Kind::IdempotencyConflict);
        let second = fixture.fences.create(circle("b"), By::System, None).await.unwrap().fence;
        let page = fixture.fences.list(PageParams { limit: 1, after: None }).await.unwrap();
        assert_eq!(page.next, Some(page.items[0].id.clone()));
        let rest = fixture.fences.list(PageParams { limit: 1, after: page.next }).await.unwrap();
        let ids: BTreeSet<&str> = [page.items[0].id.as_str(), rest.items[0].id.as_str()].into();
        assert_eq!((ids, rest.next), ([first.fence.id.as_str(), second.id.as_str()].into(), None));
        let rename = FencePatch { name: Some("c".into()), ..FencePatch::default() };
        let update =
            |version| fixture.fences.update(second.id.clone(), rename.clone(), IfMatch::Version(version), By::System);
        assert_eq!(update(1).await.unwrap().version, 2);
        assert_eq!(update(1).await.unwrap_err().kind, Kind::PreconditionFailed);
        assert_eq!(fixture.fences.get("gf_none".into()).await.unwrap_err().kind, Kind::NotFound);
    });
}

#[test]
fn an_invalid_fence_is_rejected_with_its_field() {
    let error = |new: NewFence| {
        let error = FenceState::default().make(new, "usr_1", "gf_1".into(), Millis(1)).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        error.fields[0].loc[1].clone()
    };
    assert_eq!(error(circle(" ")), "name");
    assert_eq!(error(NewFence { kind: Some(String::new()), ..circle("a") }), "kind");
    assert_eq!(error(NewFence { tags: vec!["x".repeat(65)], ..circle("a") }), "tags");
    assert_eq!(error(NewFence { geometry: Geometry::Point(HOME), ..circle("a") }), "geometry");
    let bow_tie = [[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0], [0.0, 0.0]].map(|[lon, lat]| Point::new(lon, lat));
    assert_eq!(error(NewFence { geometry: Geometry::Polygon(vec![bow_tie.to_vec()]), ..circle("a") }), "geometry");
}

#[derive(Debug, Clone)]
enum Step {
    Seen(u8, Option<(i32, i32)>),
    Put(u8, (i32, i32), bool),
    Delete(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let cell = || (-4_i32..4, -4_i32..4);
    let step = prop_oneof![
        6 => (0_u8..6, prop::option::weighted(0.9, cell())).prop_map(|(id, at)| Step::Seen(id, at)),
        2 => (0_u8..4, cell(), any::<bool>()).prop_map(|(id, at, active)| Step::Put(id, at, active)),
        1 => (0_u8..4).prop_map(Step::Delete),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The published events add up to the memberships that a check of each fence and subject finds.
    #[test]
    fn entered_and_left_add_up_to_the_memberships(steps in steps()) {
        let mut state = FenceState::default();
        let (mut published, mut stored) = (BTreeMap::<(String, String), bool>::new(), BTreeMap::new());
        let (mut places, mut fences) = (BTreeMap::new(), BTreeMap::new());
        let mut settle = |state: &mut FenceState, seen: Observation, reason| {
            if let Some(crossing) = state.evaluate(&seen, reason, Millis(1)) {
                for event in &crossing.events {
                    let pair = (field(event, "geofence_id"), field(event, "subject_id"));
                    let enters = event.name == "geofence.entered";
                    assert_eq!(published.insert(pair, enters).unwrap_or(false), !enters, "published twice");
                }
                stored.insert(seen.subject.id.to_string(), crossing.member.clone());
                state.apply(crossing.member);
            }
        };
        for (at, step) in (1..).zip(steps) {
            let affected = match step {
                Step::Seen(id, place) => {
                    let point = place.map(|(x, y)| Point::new(f64::from(x) * 0.5, f64::from(y) * 0.5));
                    places.insert(format!("dev_{id}"), point);
                    let seen = device(&format!("dev_{id}"), point, at);
                    prop_assert!(state.record(&seen));
                    settle(&mut state, seen, CrossingReason::Moved);
                    BTreeSet::new()
                }
                Step::Put(id, (x, y), active) => {
                    let geometry = Geometry::Circle { center: Point::new(f64::from(x) * 0.5, f64::from(y) * 0.5), radius_m: 80_000.0 };
                    let id = format!("gf_{id}");
                    let shape = geometry.shape().unwrap();
                    if active { fences.insert(id.clone(), shape); } else { fences.remove(&id); }
                    let new = NewFence { geometry, active, ..circle("x") };
                    let shaped = state.make(new, "usr_1", id, Millis(1)).unwrap();
                    state.put(shaped)
                }
                Step::Delete(id) => {
                    fences.remove(&format!("gf_{id}"));
                    state.remove_fence(&format!("gf_{id}"))
                }
            };
            for subject in affected {
                if let Some(seen) = state.seen(&subject).cloned() { settle(&mut state, seen, CrossingReason::FenceChanged); }
            }
        }
        let mut truth = BTreeSet::new();
        for (fence, shape) in &fences {
            for (subject, place) in &places {
                if place.is_some_and(|point| shape.contains(&point)) { truth.insert((fence.clone(), subject.clone())); }
            }
        }
        let published: BTreeSet<_> = published.into_iter().filter(|(_, inside)| *inside).map(|(pair, _)| pair).collect();
        let of = |(subject, member): (&String, &Member)| member.fences.keys().map(|fence| (fence.clone(), subject.clone())).collect::<Vec<_>>();
        let stored: BTreeSet<_> = stored.iter().flat_map(of).collect();
        prop_assert_eq!(&published, &truth);
        prop_assert_eq!(&stored, &truth);
    }
}

#[test]
fn locations_at_start_enter_only_new_subjects() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let fixture = start(&tree, &store).await;
        fixture.fences.create(circle("home"), By::System, None).await.unwrap();
        fixture.fences.observe_all(vec![device("dev_1", Some(HOME), 1), device("dev_2", Some(AWAY), 1)]);
        assert_eq!(fixture.published().await, ["geofence.entered dev_1 moved"]);
        let again = start(&tree, &store).await;
        again.fences.observe_all(vec![
            device("dev_1", Some(HOME), 5),
            device("dev_2", Some(HOME), 5),
            device("dev_3", Some(AWAY), 5),
        ]);
        assert_eq!(again.published().await, ["geofence.entered dev_2 moved"]);
        again.fences.observe_all(vec![device("dev_1", None, 6)]);
        assert_eq!(again.published().await, ["geofence.left dev_1 gone"]);
    });
}

#[test]
fn no_location_at_start_is_lost_and_a_newer_observation_wins() {
    let inbox = super::inbox::Inbox::default();
    inbox.push(device("dev_1", Some(AWAY), 2));
    inbox.push_all((0..100_000).map(|n| device(&format!("dev_{n}"), Some(HOME), 1)).collect());
    let came: Vec<_> = std::iter::from_fn(|| inbox.pop()).collect();
    assert_eq!((came.len(), came.last().unwrap().point), (100_001, Some(AWAY)));
}

#[test]
fn the_location_of_a_private_incident_is_published_on_its_own_channel_only() {
    let all = Observation::of(SubjectKind::Incident, &Arc::from("inc_1"), Some(HOME), Millis(1));
    let channels = |audience| all.clone().to(audience).channels();
    assert_eq!(channels(Audience::Own), ["incidents:inc_1"]);
    assert_eq!(channels(Audience::Restricted), ["incidents.restricted", "incidents:inc_1"]);
}
