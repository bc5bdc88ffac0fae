//! Panics of the actor and failures of the store during rollouts: nothing is lost, and nothing is done twice.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use muster_auth::PrivateKey;
use muster_store::{PageRequest, Store, StoreError, StoreHandle};

use super::fleet::{FirmwareServer, creator, run_device};
use super::*;
use crate::firmware::{DeviceJob, NewArtifact};
use muster_core::Kind;
use muster_core::event::Event;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
use muster_core::principal::Viewer;
use muster_core::supervise::ActorState;
use muster_feed::{SnapshotReply, SnapshotRequest, SnapshotSource};

/// Counts how often each execution entered each state, by the committed events.
fn published(server: &FirmwareServer) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    let store: StoreHandle = Arc::clone(&server.store) as _;
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

async fn rollout_with_faults(devices: usize, server: &FirmwareServer, mut fault: impl AsyncFnMut(u64)) {
    let artifact = server.artifact(2).await;
    let policy = Policy { groups: vec![group(3), group(100)], ..Policy::default() };
    let made = server.job(JobKind::Update, &artifact.id, policy).await.unwrap();
    let device_runs: Vec<_> =
        (0..devices).map(|n| tokio::spawn(run_device(server.firmwares.clone(), device(n).id))).collect();
    for n in 0..5 {
        fault(n).await;
    }
    for seen in futures::future::join_all(device_runs).await {
        let seen = seen.unwrap();
        let mut ordered = seen.clone();
        ordered.sort_unstable();
        ordered.dedup();
        assert_eq!(seen, ordered, "a device never repeated an earlier state");
    }
    server.wait_for_job_state(made.data["id"].as_str().unwrap(), JobState::Succeeded).await;
    let published = published(server);
    assert_eq!(published.len(), devices * 8);
    assert!(published.values().all(|count| *count == 1), "{published:?}");
    test_world::until(|| (0..devices).all(|n| server.fleet.runs(&format!("dev_{n:05}")) == 2)).await;
}

#[test]
fn an_actor_that_is_killed_again_and_again_installs_everything_exactly_once() {
    for seed in 0..8u64 {
        test_world::run(|tree| async move {
            let server = FirmwareServer::start(&tree, 10).await;
            let killer = tree.clone();
            rollout_with_faults(10, &server, async |n| {
                // At a different moment each time, over the whole rollout.
                test_world::after(Duration::from_millis(11_000 + (seed * 131 + n * 37) % 700)).await;
                killer.inject_panic("firmware/firmware");
            })
            .await;
        });
    }
}

#[test]
fn a_temporary_store_failure_delays_a_rollout_and_changes_nothing_else() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 10).await;
        let store = Arc::clone(&server.store);
        rollout_with_faults(10, &server, async |_| {
            store.fail_commits(Some(StoreError::Io("no disk".into())));
            test_world::after(Duration::from_millis(900)).await;
            store.fail_commits(None);
            test_world::after(Duration::from_secs(20)).await;
        })
        .await;
    });
}

#[test]
fn an_undurable_change_is_neither_answered_nor_published_nor_readable() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let artifact = server.artifact(2).await;
        server.feed.take();
        server.store.hold_commits();
        let pending = server.job(JobKind::Update, &artifact.id, Policy::default());
        let unanswered = tokio::time::timeout(Duration::from_secs(2), pending).await;
        assert!(unanswered.is_err());
        assert!(server.feed.take().is_empty());
        server.store.release();
    });
}

#[test]
fn a_read_only_store_rejects_every_write_alike_and_reads_continue() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 3).await;
        let artifact = server.artifact(2).await;
        let made = server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let job = server.next("dev_00000").await;
        server.feed.take();
        server.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let error = server.report("dev_00000", &job, ExecState::Downloading).await.unwrap_err();
        assert_eq!((error.kind, error.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        assert_eq!(server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap_err(), error);
        let id = made.data["id"].as_str().unwrap();
        let action = server.apply_action(id, JobAction::Pause, person("usr_operator", UserRole::FirmwareManager)).await;
        assert_eq!(action.unwrap_err(), error);
        let key = PrivateKey::from_seed(&[8; 32]).public().x();
        assert_eq!(server.firmwares.add_key(key, "b".into(), creator()).await.unwrap_err(), error);
        assert_eq!(server.firmwares.job(id).await.unwrap()["id"], id);
        assert_eq!(server.next("dev_00000").await, job);
        // Timed changes stay due.
        test_world::after(Duration::from_secs(600)).await;
        assert_eq!((server.feed.take().len(), tree.snapshot()[0].restarts), (0, 0));
        server.store.fail_commits(None);
        let fresh = server.next("dev_00000").await;
        server.report("dev_00000", &fresh, ExecState::Downloading).await.unwrap();
    });
}

#[test]
fn requests_during_a_write_share_the_next_batch_and_see_each_other() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 50).await;
        let artifact = server.artifact(2).await;
        server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let jobs: Vec<DeviceJob> = join_all((0..50).map(async |n| server.next(&format!("dev_{n:05}")).await)).await;
        test_world::after(Duration::from_millis(1)).await;
        let before = server.store.stats().commits;
        server.store.hold_commits();
        let reports = jobs
            .iter()
            .enumerate()
            .map(async |(n, job)| server.report(&format!("dev_{n:05}"), job, ExecState::Downloading).await);
        let named = || Some(Idempotency { principal: "usr_creator".into(), key: "k".into(), digest: [1; 32] });
        let announce = || {
            let (manifest, release_notes) = (server.manifest(3), String::new());
            let new = NewArtifact { manifest, content_type: "a/b".into(), release_notes, sbom_url: None };
            server.firmwares.create_artifact(new, creator(), named())
        };
        let revoke =
            || server.firmwares.revoke_artifact(artifact.id.clone(), "x".into(), creator(), IfMatch::Version(3));
        let release = async {
            server.store.held(2).await;
            test_world::after(Duration::from_millis(1)).await;
            server.store.release();
        };
        let (reports, first, again, revoked, stale, truncated, ()) = tokio::join!(
            join_all(reports),
            announce(),
            announce(),
            revoke(),
            revoke(),
            server.firmwares.artifact(&artifact.id),
            release
        );
        assert!(reports.into_iter().all(|job| job.unwrap().state == ExecState::Downloading));
        let (first, again) = (first.unwrap(), again.unwrap());
        assert_eq!((first.replayed, again.replayed, &first.data), (false, true, &again.data));
        assert_eq!((revoked.unwrap().record_version, stale.unwrap_err().kind), (4, Kind::PreconditionFailed));
        assert_eq!(
            truncated.unwrap().record_version,
            4,
            "a read rests on what is decided, and waits until that is durable"
        );
        assert!(server.store.stats().commits - before <= 4, "{:?}", server.store.stats());
    });
}

#[test]
fn a_failed_commit_rejects_all_waiting_callers_and_loses_nothing_acknowledged() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let artifact = server.artifact(2).await;
        server.feed.take();
        server.store.hold_commits();
        let key = |seed| {
            let x = PrivateKey::from_seed(&[seed; 32]).public().x();
            // Before there is a quorum, only they add one without an approval.
            let top = By::Person(person("usr_top", UserRole::SuperAdmin));
            server.firmwares.add_key(x, "b".into(), top)
        };
        let fail = async {
            server.store.held(2).await;
            server.store.fail_commits(Some(StoreError::Io("no disk".into())));
            server.store.release();
            server.store.fail_commits(None);
        };
        let (keys, revoked, read, ()) = tokio::join!(
            join_all((10..30).map(key)),
            server.firmwares.revoke_artifact(artifact.id.clone(), "x".into(), creator(), IfMatch::Any),
            server.firmwares.keys(),
            fail
        );
        assert!(keys.into_iter().all(|key| key.unwrap_err().kind == Kind::Unavailable));
        assert_eq!((revoked.unwrap_err().kind, read.unwrap_err().kind), (Kind::Unavailable, Kind::Unavailable));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(server.firmwares.artifact(&artifact.id).await.unwrap(), artifact);
        assert_eq!((server.firmwares.keys().await.unwrap().len(), server.feed.take().len()), (1, 0), "of the settings");
    });
}

#[test]
fn a_channel_snapshot_is_sent_after_the_events_it_includes() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let artifact = server.artifact(2).await;
        server.feed.take();
        server.store.hold_commits();
        let (send, answer) = tokio::sync::oneshot::channel();
        let feed = Arc::clone(&server.feed);
        let request = async {
            server.store.held(1).await;
            let viewer = Viewer { id: "usr_x".into(), permissions: UserRole::FirmwareManager.permissions() };
            let reply = SnapshotReply::new(move |state| {
                let before: Vec<String> = feed.take().into_iter().map(|event| event.name).collect();
                drop(send.send((state, before)));
            });
            server.firmwares.request(SnapshotRequest { channel: "firmware".to_owned(), viewer, reply });
            tokio::task::yield_now().await;
            server.store.release();
        };
        let revoke = server.firmwares.revoke_artifact(artifact.id.clone(), "x".into(), creator(), IfMatch::Any);
        let (revoked, ()) = tokio::join!(revoke, request);
        let (state, before) = answer.await.unwrap();
        assert_eq!(state.unwrap()[0].version, revoked.unwrap().record_version);
        assert_eq!(before, ["firmware.artifact.revoked"]);
    });
}
