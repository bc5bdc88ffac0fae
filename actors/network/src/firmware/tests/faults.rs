//! The actor dies, and the store fails, in the middle of rollouts: nothing is lost, and nothing is done twice.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use muster_auth::PrivateKey;
use muster_store::{PageRequest, Store, StoreError, StoreHandle};

use super::fleet::{House, live, maker};
use super::*;
use crate::firmware::{DeviceJob, NewArtifact};
use muster_core::Kind;
use muster_core::event::Event;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
use muster_core::principal::Viewer;
use muster_core::supervise::ActorState;
use muster_feed::{SnapshotReply, SnapshotRequest, SnapshotSource};

/// How often each execution came into each state, by the events that were committed.
fn told(house: &House) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    let store: StoreHandle = Arc::clone(&house.store) as _;
    for event in store.records::<Event>([], PageRequest::default()).values() {
        let event = event.unwrap();
        if event.name == "firmware.execution.changed" {
            let data: serde_json::Value = serde_json::from_str(event.data.get()).unwrap();
            let state = format!("{} {}", data["patch"]["attempt"], data["patch"]["state"]);
            *counts.entry((data["id"].to_string(), state)).or_default() += 1;
        }
    }
    counts
}

async fn rollout_under(devices: usize, house: &House, mut fault: impl AsyncFnMut(u64)) {
    let artifact = house.artifact(2).await;
    let policy = Policy { groups: vec![group(3), group(100)], ..Policy::default() };
    let made = house.job(JobKind::Update, &artifact.id, policy).await.unwrap();
    let lives: Vec<_> = (0..devices).map(|n| tokio::spawn(live(house.firmwares.clone(), device(n).id))).collect();
    for n in 0..5 {
        fault(n).await;
    }
    for seen in futures::future::join_all(lives).await {
        let seen = seen.unwrap();
        let mut ordered = seen.clone();
        ordered.sort_unstable();
        ordered.dedup();
        assert_eq!(seen, ordered, "a device never went back to what it had done");
    }
    house.job_comes_to(made.data["id"].as_str().unwrap(), JobState::Succeeded).await;
    let told = told(house);
    assert_eq!(told.len(), devices * 8);
    assert!(told.values().all(|count| *count == 1), "{told:?}");
    test_world::until(|| (0..devices).all(|n| house.fleet.runs(&format!("dev_{n:05}")) == 2)).await;
}

#[test]
fn an_actor_that_is_killed_again_and_again_installs_everything_exactly_once() {
    for seed in 0..8u64 {
        test_world::run(|tree| async move {
            let house = House::start(&tree, 10).await;
            let killer = tree.clone();
            rollout_under(10, &house, async |n| {
                // Another moment each time, over the whole rollout.
                test_world::after(Duration::from_millis(11_000 + (seed * 131 + n * 37) % 700)).await;
                killer.inject_panic("firmware/firmware");
            })
            .await;
        });
    }
}

#[test]
fn a_store_that_fails_for_a_while_delays_a_rollout_and_changes_nothing_of_it() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 10).await;
        let store = Arc::clone(&house.store);
        rollout_under(10, &house, async |_| {
            store.fail_commits(Some(StoreError::Io("no disk".into())));
            test_world::after(Duration::from_millis(900)).await;
            store.fail_commits(None);
            test_world::after(Duration::from_secs(20)).await;
        })
        .await;
    });
}

#[test]
fn what_is_not_durable_is_not_answered_told_or_seen() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 1).await;
        let artifact = house.artifact(2).await;
        house.feed.take();
        house.store.hold_commits();
        let pending = house.job(JobKind::Update, &artifact.id, Policy::default());
        let unanswered = tokio::time::timeout(Duration::from_secs(2), pending).await;
        assert!(unanswered.is_err());
        assert!(house.feed.take().is_empty());
        house.store.release();
    });
}

#[test]
fn a_store_that_only_reads_refuses_every_write_alike_and_reads_go_on() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 3).await;
        let artifact = house.artifact(2).await;
        let made = house.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let job = house.next("dev_00000").await;
        house.feed.take();
        house.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let refused = house.report("dev_00000", &job, ExecState::Downloading).await.unwrap_err();
        assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        assert_eq!(house.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap_err(), refused);
        let id = made.data["id"].as_str().unwrap();
        let act = house.act(id, Act::Pause, person("usr_operator", UserRole::FirmwareManager)).await;
        assert_eq!(act.unwrap_err(), refused);
        let key = PrivateKey::from_seed(&[8; 32]).public().x();
        assert_eq!(house.firmwares.add_key(key, "b".into(), maker()).await.unwrap_err(), refused);
        assert_eq!(house.firmwares.job(id).await.unwrap()["id"], id);
        assert_eq!(house.next("dev_00000").await, job);
        // What is due by time stays due.
        test_world::after(Duration::from_secs(600)).await;
        assert_eq!((house.feed.take().len(), tree.snapshot()[0].restarts), (0, 0));
        house.store.fail_commits(None);
        let fresh = house.next("dev_00000").await;
        house.report("dev_00000", &fresh, ExecState::Downloading).await.unwrap();
    });
}

#[test]
fn requests_that_come_while_a_batch_is_written_share_the_next_and_see_each_other() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 50).await;
        let artifact = house.artifact(2).await;
        house.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let jobs: Vec<DeviceJob> = join_all((0..50).map(async |n| house.next(&format!("dev_{n:05}")).await)).await;
        test_world::after(Duration::from_millis(1)).await;
        let before = house.store.stats().commits;
        house.store.hold_commits();
        let reports = jobs
            .iter()
            .enumerate()
            .map(async |(n, job)| house.report(&format!("dev_{n:05}"), job, ExecState::Downloading).await);
        let named = || Some(Idempotency { principal: "usr_maker".into(), key: "k".into(), digest: [1; 32] });
        let announce = || {
            let (manifest, release_notes) = (house.manifest(3), String::new());
            let new = NewArtifact { manifest, content_type: "a/b".into(), release_notes, sbom_url: None };
            house.firmwares.create_artifact(new, maker(), named())
        };
        let revoke = || house.firmwares.revoke_artifact(artifact.id.clone(), "x".into(), maker(), IfMatch::Version(3));
        let release = async {
            house.store.held(2).await;
            test_world::after(Duration::from_millis(1)).await;
            house.store.release();
        };
        let (reports, first, again, revoked, stale, shown, ()) = tokio::join!(
            join_all(reports),
            announce(),
            announce(),
            revoke(),
            revoke(),
            house.firmwares.artifact(&artifact.id),
            release
        );
        assert!(reports.into_iter().all(|job| job.unwrap().state == ExecState::Downloading));
        let (first, again) = (first.unwrap(), again.unwrap());
        assert_eq!((first.replayed, again.replayed, &first.data), (false, true, &again.data));
        assert_eq!((revoked.unwrap().record_version, stale.unwrap_err().kind), (4, Kind::PreconditionFailed));
        assert_eq!(
            shown.unwrap().record_version,
            4,
            "a read rests on what is decided, and waits until that is durable"
        );
        assert!(house.store.stats().commits - before <= 4, "{:?}", house.store.stats());
    });
}

#[test]
fn a_commit_that_fails_refuses_all_who_wait_and_loses_nothing_acknowledged() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 1).await;
        let artifact = house.artifact(2).await;
        house.feed.take();
        house.store.hold_commits();
        let key = |seed| {
            let x = PrivateKey::from_seed(&[seed; 32]).public().x();
            house.firmwares.add_key(x, "b".into(), maker())
        };
        let fail = async {
            house.store.held(2).await;
            house.store.fail_commits(Some(StoreError::Io("no disk".into())));
            house.store.release();
            house.store.fail_commits(None);
        };
        let (keys, revoked, read, ()) = tokio::join!(
            join_all((10..30).map(key)),
            house.firmwares.revoke_artifact(artifact.id.clone(), "x".into(), maker(), IfMatch::Any),
            house.firmwares.keys(),
            fail
        );
        assert!(keys.into_iter().all(|key| key.unwrap_err().kind == Kind::Unavailable));
        assert_eq!((revoked.unwrap_err().kind, read.unwrap_err().kind), (Kind::Unavailable, Kind::Unavailable));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(house.firmwares.artifact(&artifact.id).await.unwrap(), artifact);
        assert_eq!((house.firmwares.keys().await.unwrap().len(), house.feed.take().len()), (1, 0), "of the settings");
    });
}

#[test]
fn the_state_of_a_channel_comes_behind_the_events_of_what_it_shows() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 1).await;
        let artifact = house.artifact(2).await;
        house.feed.take();
        house.store.hold_commits();
        let (send, answer) = tokio::sync::oneshot::channel();
        let feed = Arc::clone(&house.feed);
        let ask = async {
            house.store.held(1).await;
            let viewer = Viewer { id: "usr_x".into(), permissions: UserRole::FirmwareManager.permissions() };
            let reply = SnapshotReply::new(move |state| {
                let before: Vec<String> = feed.take().into_iter().map(|event| event.name).collect();
                drop(send.send((state, before)));
            });
            house.firmwares.request(SnapshotRequest { channel: "firmware".to_owned(), viewer, reply });
            tokio::task::yield_now().await;
            house.store.release();
        };
        let revoke = house.firmwares.revoke_artifact(artifact.id.clone(), "x".into(), maker(), IfMatch::Any);
        let (revoked, ()) = tokio::join!(revoke, ask);
        let (state, before) = answer.await.unwrap();
        assert_eq!(state.unwrap()[0].version, revoked.unwrap().record_version);
        assert_eq!(before, ["firmware.artifact.revoked"]);
    });
}
