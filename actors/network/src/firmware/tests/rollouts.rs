//! Tests of the actor: notifications, events and snapshots of rollouts.

use std::time::Duration;

use super::fleet::{FirmwareServer, run_device};
use super::*;
use crate::firmware::policy::{HealthGate, Probe};
use muster_core::page::PageParams;
use muster_core::principal::Viewer;
use muster_feed::{Denied, SnapshotReply, SnapshotRequest, SnapshotSource};

#[test]
fn a_rollout_publishes_its_events_in_order_and_finishes_on_every_device() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 3).await;
        let artifact = server.artifact(2).await;
        let policy = Policy { groups: vec![group(1), group(2)], ..Policy::default() };
        let made = server.job(JobKind::Update, &artifact.id, policy).await.unwrap();
        let job = made.data["id"].as_str().unwrap();
        for n in 0..3 {
            server.advance_device(&format!("dev_{n:05}"), ExecState::Succeeded).await;
        }
        server.wait_for_job_state(job, JobState::Succeeded).await;
        test_world::until(|| (0..3).all(|n| server.fleet.runs(&format!("dev_{n:05}")) == 2)).await;
        let events = server.feed.take();
        let of_job: Vec<_> =
            events.iter().map(|event| event.name.as_str()).filter(|name| name.starts_with("firmware.job")).collect();
        let without_progress: Vec<_> = of_job.into_iter().filter(|name| !name.ends_with("progress")).collect();
        assert_eq!(
            without_progress,
            [
                "firmware.job.created",
                "firmware.job.started",
                "firmware.job.group_started",
                "firmware.job.group_passed",
                "firmware.job.group_started",
                "firmware.job.group_passed",
                "firmware.job.completed",
            ]
        );
        let changed: Vec<_> = events.iter().filter(|event| event.name == "firmware.execution.changed").collect();
        assert_eq!(changed.len(), 3 * 8, "each state of each device once");
        assert_eq!(changed[0].channels, [format!("firmware:{job}"), "devices:dev_00000".to_owned()]);
    });
}

#[test]
fn a_long_poll_returns_the_job_when_it_arrives_and_nothing_at_its_timeout() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(server.firmwares.next("dev_00000".into(), Duration::from_secs(30)).await.unwrap(), None);
        assert_eq!(begun.elapsed().as_secs(), 30);
        let artifact = server.artifact(2).await;
        let firmwares = server.firmwares.clone();
        let polled = tokio::spawn(async move { firmwares.next("dev_00000".into(), Duration::from_secs(30)).await });
        let begun = tokio::time::Instant::now();
        server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let job = polled.await.unwrap().unwrap().expect("a job");
        assert_eq!((job.action, job.state), ("install", ExecState::Notified));
        assert_eq!(job.artifact.unwrap().manifest, artifact.manifest);
        assert!(begun.elapsed() < Duration::from_secs(2));
    });
}

#[test]
fn the_health_gate_decides_and_not_the_device() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 2).await;
        let artifact = server.artifact(2).await;
        let gate = HealthGate { probe: Probe::Heartbeat, within_s: 60, rules: Vec::new() };
        let lenient = GroupPolicy { error_threshold_pct: 100, success_threshold_pct: 50, ..group(2) };
        let groups = vec![lenient];
        let policy = Policy { groups, health_gate: Some(gate), auto_rollback: true, ..Policy::default() };
        let made = server.job(JobKind::Update, &artifact.id, policy).await.unwrap();
        for device in ["dev_00000", "dev_00001"] {
            let verifying = server.advance_device(device, ExecState::Verifying).await;
            let execution = server.report(device, &verifying, ExecState::Succeeded).await.unwrap();
            assert_eq!(execution.state, ExecState::Verifying, "its report alone is not enough");
        }
        server.fleet.heartbeat("dev_00000", version(1));
        server.fleet.heartbeat("dev_00000", version(2));
        let back = loop {
            let offered = server.next("dev_00001").await;
            if offered.state == ExecState::RollingBack {
                break offered;
            }
            test_world::after(Duration::from_secs(5)).await;
        };
        server.report("dev_00001", &back, ExecState::RolledBack).await.unwrap();
        let view = server.wait_for_job_state(made.data["id"].as_str().unwrap(), JobState::PartiallySucceeded).await;
        assert_eq!((&view["counters"]["succeeded"], &view["counters"]["rolled_back"]), (&1.into(), &1.into()));
    });
}

#[test]
fn two_jobs_are_never_active_on_one_device() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let (second, third) = (server.artifact(2).await, server.artifact(3).await);
        let first = server.job(JobKind::Update, &second.id, Policy::default()).await.unwrap();
        let offered = server.advance_device("dev_00000", ExecState::Installing).await;
        let later = server.job(JobKind::Update, &third.id, Policy::default()).await.unwrap();
        test_world::after(Duration::from_secs(5)).await;
        assert_eq!(server.next("dev_00000").await, offered);
        server.advance_device("dev_00000", ExecState::Succeeded).await;
        server.wait_for_job_state(first.data["id"].as_str().unwrap(), JobState::Succeeded).await;
        let next = server.next("dev_00000").await;
        assert_eq!(Some(&*next.id), later.data["id"].as_str());
    });
}

#[test]
fn ten_thousand_devices_are_notified_in_bounded_commits_and_listed_in_pages() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 10_000).await;
        let artifact = server.artifact(2).await;
        let groups = vec![GroupPolicy::default()];
        let made = server.job(JobKind::Update, &artifact.id, Policy { groups, ..Policy::default() }).await.unwrap();
        let job = made.data["id"].as_str().unwrap();
        assert_eq!((&made.data["resolved_count"], &made.data["approvals_required"]), (&10_000.into(), &2.into()));
        server.apply_action(job, JobAction::Approve, person("usr_a", UserRole::Approver)).await.unwrap();
        server.apply_action(job, JobAction::Approve, person("usr_b", UserRole::SuperAdmin)).await.unwrap();
        while server.firmwares.job(job).await.unwrap()["counters"]["notified"] != 10_000 {
            test_world::after(Duration::from_millis(100)).await;
        }
        let (mut seen, mut after) = (0, None);
        loop {
            let page =
                server.firmwares.executions(job, Some(ExecState::Notified), PageParams { limit: 200, after }).await;
            let page = page.unwrap();
            seen += page.items.len();
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, 10_000);
    });
}

#[test]
fn channel_snapshots_require_the_permission() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 2).await;
        let artifact = server.artifact(2).await;
        let made = server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let job = made.data["id"].as_str().unwrap();
        let params = |channel: String, permissions| {
            let (to, from) = tokio::sync::oneshot::channel();
            let reply = SnapshotReply::new(move |state| to.send(state).unwrap());
            server.firmwares.request(SnapshotRequest {
                channel,
                viewer: Viewer { id: "usr_1".into(), permissions },
                reply,
            });
            async move { from.await.unwrap() }
        };
        let all = Permissions::all();
        let items = params(format!("firmware:{job}"), all).await.unwrap();
        let ids: Vec<_> = items.iter().map(|item| item.id.clone()).collect();
        assert_eq!(ids, [job.to_owned(), format!("{job}/dev_00000"), format!("{job}/dev_00001")]);
        assert_eq!(params("firmware".into(), all).await.unwrap().len(), 2, "the job and the artifact");
        assert_eq!(params("firmware:job_none".into(), all).await.unwrap_err(), Denied::NotFound);
        assert_eq!(params("firmware".into(), Permissions::default()).await.unwrap_err(), Denied::NotFound);
    });
}

#[test]
fn an_autonomous_fleet_completes_a_rollout() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 20).await;
        let artifact = server.artifact(2).await;
        let groups = vec![group(5), group(15)];
        let made = server.job(JobKind::Update, &artifact.id, Policy { groups, ..Policy::default() }).await.unwrap();
        let devices = (0..20).map(|n| tokio::spawn(run_device(server.firmwares.clone(), device(n).id)));
        for seen in futures::future::join_all(devices).await {
            assert_eq!(seen.unwrap().len(), 7, "each state once");
        }
        server.wait_for_job_state(made.data["id"].as_str().unwrap(), JobState::Succeeded).await;
    });
}
