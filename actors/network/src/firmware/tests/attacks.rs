//! Adversarial tests 44 to 48.

use std::time::Duration;

use futures::StreamExt;
use muster_auth::{PrivateKey, manifest};

use super::fleet::{CONTENT, FirmwareServer, creator};
use super::*;
use crate::firmware::ArtifactState;
use crate::firmware::policy::{HealthGate, OnError, Probe};
use crate::firmware::state::artifacts::MANIFEST_TYP;
use crate::firmware::threat::Threat;
use muster_core::Kind;

async fn rejected(
    server: &FirmwareServer,
    manifest: super::super::Manifest,
    content: &'static [u8],
    jws: String,
) -> String {
    let id = server.upload(manifest, content).await;
    let artifact = server.firmwares.verify(id.clone(), jws, creator()).await.unwrap();
    assert_eq!(artifact.state, ArtifactState::Rejected);
    let error = server.job(JobKind::Update, &id, Policy::default()).await.unwrap_err();
    let code = error.code.unwrap();
    assert!(artifact.reason.unwrap().starts_with(code), "the job is refused for the same reason");
    code.to_owned()
}

/// Verifies with a manifest that is at fault: the artifact stays uploaded, no job accepts it, and the right manifest is
/// still accepted.
async fn not_verified(server: &FirmwareServer, manifest: super::super::Manifest, jws: String) -> String {
    let id = server.upload(manifest.clone(), CONTENT).await;
    let error = server.firmwares.verify(id.clone(), jws, creator()).await.unwrap_err();
    let code = error.code.unwrap();
    let artifact = server.firmwares.artifact(&id).await.unwrap();
    assert_eq!(artifact.state, ArtifactState::Uploading);
    assert!(artifact.reason.unwrap().starts_with(code));
    let refused = server.job(JobKind::Update, &id, Policy::default()).await.unwrap_err();
    assert_eq!(refused.code, Some("artifact_not_ready"));
    if code != "signing_key_revoked" {
        let verified = server.firmwares.verify(id, server.sign(&manifest), creator()).await.unwrap();
        assert_eq!((verified.state, verified.reason), (ArtifactState::Ready, None));
    }
    code.to_owned()
}

#[test]
fn a44_an_image_that_does_not_match_its_signature_is_rejected_and_no_job_accepts_it() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let good = server.manifest(2);
        let tampered = rejected(&server, good.clone(), b"a siren's secret firmware", server.sign(&good)).await;
        assert_eq!(tampered, "image_not_authentic");
        let other = server.manifest(3);
        assert_eq!(not_verified(&server, good.clone(), server.sign(&other)).await, "image_not_authentic");
        let stranger = PrivateKey::from_seed(&[9; 32]);
        let payload = serde_json::to_vec(&good).unwrap();
        let strange = manifest::sign(&stranger, MANIFEST_TYP, &payload).unwrap();
        assert_eq!(not_verified(&server, good.clone(), strange).await, "image_not_authentic");
        let wrong_type = manifest::sign(&server.key, "other+jws", &payload).unwrap();
        assert_eq!(not_verified(&server, good.clone(), wrong_type).await, "image_not_authentic");
        server.firmwares.revoke_key(server.key.public().thumbprint(), creator()).await.unwrap();
        assert_eq!(not_verified(&server, good.clone(), server.sign(&good)).await, "signing_key_revoked");
    });
}

#[test]
fn a44_wrong_hardware_old_sequences_and_expired_manifests_are_rejected_with_their_codes() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 4).await;
        let artifact = server.artifact(2).await;
        server.fleet.change("dev_00001", |device| device.hw_class = Some("siren-1".into()));
        server.fleet.change("dev_00002", |device| device.firmware.current = Some(version(3)));
        server.fleet.change("dev_00003", |device| device.hw_revision = Some("a".into()));
        for (device, threat) in
            [(1, Threat::ImageIncompatible), (2, Threat::ImageOutdated), (3, Threat::ImageIncompatible)]
        {
            let target = JobTarget::DeviceIds(vec![format!("dev_{device:05}").into()]);
            let error = server.job_for(JobKind::Update, &artifact.id, Policy::default(), target).await.unwrap_err();
            assert_eq!((error.kind, error.code), (Kind::Conflict, Some(threat.code())));
            assert_eq!(error.details.unwrap()["threat"], threat.rfc9124());
        }
        // In a group, incompatible devices are removed.
        let made = server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        assert_eq!(made.data["counters"]["removed"], 3);
        test_world::after(Duration::from_secs(86_400)).await;
        let error = server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap_err();
        assert_eq!(error.code, Some("manifest_expired"));
    });
}

#[test]
fn a44_a_device_that_became_incompatible_fails_with_the_code_when_it_is_notified() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 2).await;
        let artifact = server.artifact(2).await;
        let groups = vec![group(1), group(1)];
        let made = server.job(JobKind::Update, &artifact.id, Policy { groups, ..Policy::default() }).await.unwrap();
        let job = made.data["id"].as_str().unwrap().to_owned();
        server.fleet.change("dev_00001", |device| device.firmware.current = Some(version(5)));
        server.advance_device("dev_00000", ExecState::Succeeded).await;
        server.wait_for_job_state(&job, JobState::Paused).await;
        let page = server.firmwares.executions_of("dev_00001", Default::default()).await.unwrap();
        assert_eq!(page.items[0].state, ExecState::Failed);
        assert_eq!(page.items[0].error.as_ref().unwrap().code, "image_outdated");
    });
}

#[test]
fn a44_an_image_swapped_after_its_verification_is_not_served_and_its_jobs_end() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let artifact = server.artifact(2).await;
        let made = server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let offered = server.next("dev_00000").await;
        let by = By::Device("dev_00000".into());
        let content = server.firmwares.content(&artifact.id, &by).await.unwrap();
        let read = |content| {
            let stream = server.firmwares.bytes(&content, 0, CONTENT.len() as u64 - 1);
            async move { Box::pin(stream).next().await.unwrap() }
        };
        assert_eq!(read(content.clone()).await.unwrap(), CONTENT);
        let path = server.folder.path().join(format!("{}.img", artifact.id));
        std::fs::write(path, b"a siren's evil   firmware").unwrap();
        assert_eq!(read(content).await.unwrap_err().code, Some("image_replaced"));
        server.wait_for_job_state(made.data["id"].as_str().unwrap(), JobState::Aborted).await;
        let stopped = server.report("dev_00000", &offered, ExecState::Downloading).await.unwrap_err();
        assert_eq!(stopped.kind, Kind::Conflict);
        let error = server.firmwares.content(&artifact.id, &creator()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        let error = server.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap_err();
        assert_eq!(error.code, Some("image_replaced"));
    });
}

#[test]
fn a45_an_error_threshold_crossed_in_the_first_group_keeps_the_second_from_starting() {
    for (on_error, end) in [
        (OnError::Pause, JobState::Paused),
        (OnError::Abort, JobState::Aborted),
        (OnError::Rollback, JobState::RolledBack),
    ] {
        test_world::run(|tree| async move {
            let server = FirmwareServer::start(&tree, 4).await;
            let artifact = server.artifact(2).await;
            let first = GroupPolicy { on_error, ..group(2) };
            let policy = Policy { groups: vec![first, group(2)], ..Policy::default() };
            let made = server.job(JobKind::Update, &artifact.id, policy).await.unwrap();
            let job = made.data["id"].as_str().unwrap();
            server.advance_device("dev_00000", ExecState::Succeeded).await;
            let offered = server.next("dev_00001").await;
            server.report("dev_00001", &offered, ExecState::Failed).await.unwrap();
            if on_error == OnError::Rollback {
                let back = server.next("dev_00000").await;
                assert_eq!((back.action, back.allow_downgrade), ("rollback", true));
                assert_eq!(back.to, Some(version(1)), "to the version before, and nothing else");
                server.report("dev_00000", &back, ExecState::RolledBack).await.unwrap();
            }
            let view = server.wait_for_job_state(job, end).await;
            assert_eq!(view["groups"][1]["started_at"], serde_json::Value::Null);
            let page = server.firmwares.executions(job, None, Default::default()).await.unwrap();
            for execution in page.items.iter().filter(|execution| execution.group == 1) {
                assert!(!execution.times.contains_key(&ExecState::Notified));
            }
        });
    }
}

#[test]
fn a46_creators_repeated_roles_and_executors_cannot_approve() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 1).await;
        let artifact = server.artifact(2).await;
        server.fleet.change("dev_00000", |device| device.firmware.current = Some(version(3)));
        let made = server.job(JobKind::Downgrade, &artifact.id, Policy::default()).await.unwrap();
        assert_eq!((&made.data["state"], &made.data["approvals_required"]), (&"pending_approval".into(), &2.into()));
        let job = made.data["id"].as_str().unwrap();
        let error = |by: Arc<Person>, code: &'static str| {
            let server = &server;
            async move {
                let error = server.apply_action(job, JobAction::Approve, by).await.unwrap_err();
                assert_eq!((error.kind, error.code), (Kind::Forbidden, Some(code)));
            }
        };
        error(person("usr_creator", UserRole::SuperAdmin), "creator_cannot_approve").await;
        let first = person("usr_a", UserRole::Approver);
        let view = server.apply_action(job, JobAction::Approve, Arc::clone(&first)).await.unwrap();
        assert_eq!(view["state"], "pending_approval", "one of two");
        error(Arc::clone(&first), "already_approved").await;
        error(person("usr_b", UserRole::Approver), "role_already_approved").await;
        let view = server.apply_action(job, JobAction::Approve, person("usr_c", UserRole::SuperAdmin)).await.unwrap();
        assert_eq!(view["approvals"][0]["sha256"], artifact.manifest.sha256);
        server.next("dev_00000").await;
        let record_executor = server.apply_action(job, JobAction::Pause, first).await.unwrap_err();
        assert_eq!((record_executor.kind, record_executor.code), (Kind::Forbidden, Some("separation_of_duty")));
    });
}

#[test]
fn a47_stale_reports_and_reports_on_other_devices_jobs_change_nothing() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 2).await;
        let artifact = server.artifact(2).await;
        let target = JobTarget::DeviceIds(vec!["dev_00000".into()]);
        server.job_for(JobKind::Update, &artifact.id, Policy::default(), target).await.unwrap();
        let offered = server.next("dev_00000").await;
        let verifying = server.advance_device("dev_00000", ExecState::Verifying).await;
        let stale = server.report("dev_00000", &offered, ExecState::Succeeded).await.unwrap_err();
        assert_eq!((stale.kind, stale.code), (Kind::Conflict, Some("stale_execution")));
        assert_eq!(stale.details.unwrap()["exec_version"], verifying.exec_version);
        let other = server.report("dev_00001", &verifying, ExecState::Succeeded).await.unwrap_err();
        assert_eq!(other.kind, Kind::NotFound);
        let fetch = server.firmwares.content(&artifact.id, &By::Device("dev_00001".into())).await.unwrap_err();
        assert_eq!(fetch.kind, Kind::NotFound);
        assert_eq!(server.next("dev_00000").await, verifying);
    });
}

#[test]
fn a48_a_device_that_never_returns_times_out_counts_as_failed_and_is_rolled_back() {
    test_world::run(|tree| async move {
        let server = FirmwareServer::start(&tree, 2).await;
        let artifact = server.artifact(2).await;
        let gate = HealthGate { probe: Probe::Heartbeat, within_s: 60, rules: Vec::new() };
        let first = GroupPolicy { on_error: OnError::Rollback, ..group(2) };
        let policy =
            Policy { groups: vec![first], device_timeout_s: 300, health_gate: Some(gate), ..Policy::default() };
        let made = server.job(JobKind::Update, &artifact.id, policy).await.unwrap();
        let job = made.data["id"].as_str().unwrap();
        server.advance_device("dev_00001", ExecState::Verifying).await;
        server.fleet.heartbeat("dev_00001", version(2));
        server.advance_device("dev_00000", ExecState::Rebooting).await;
        server.wait_for_job_state(job, JobState::RollingBack).await;
        let page = server.firmwares.executions_of("dev_00000", Default::default()).await.unwrap();
        assert!(page.items[0].times.contains_key(&ExecState::TimedOut));
        // The other device rolls back when it polls; this one returns in its old slot.
        let back = server.next("dev_00001").await;
        server.report("dev_00001", &back, ExecState::RolledBack).await.unwrap();
        server.fleet.heartbeat("dev_00000", version(1));
        let view = server.wait_for_job_state(job, JobState::RolledBack).await;
        assert_eq!(view["counters"]["rolled_back"], 2);
        test_world::until(|| server.fleet.runs("dev_00001") == 1).await;
    });
}
