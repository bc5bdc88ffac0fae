//! Adversarial tests 44 to 48.

use std::time::Duration;

use futures::StreamExt;
use muster_auth::{PrivateKey, manifest};

use super::fleet::{CONTENT, House, maker};
use super::*;
use crate::firmware::policy::{HealthGate, OnError, Probe};
use crate::firmware::{ArtifactState, MANIFEST_TYP, Threat};
use muster_core::Kind;

async fn rejected(house: &House, manifest: super::super::Manifest, content: &'static [u8], jws: String) -> String {
    let id = house.upload(manifest, content).await;
    let artifact = house.firmwares.verify(id.clone(), jws, maker()).await.unwrap();
    assert_eq!(artifact.state, ArtifactState::Rejected);
    let refused = house.job(JobKind::Update, &id, Policy::default()).await.unwrap_err();
    let code = refused.code.unwrap();
    assert!(artifact.reason.unwrap().starts_with(code), "the job is refused for the same reason");
    code.to_owned()
}

#[test]
fn a44_what_is_not_what_was_signed_is_rejected_and_no_job_takes_it() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 1).await;
        let good = house.manifest(2);
        let tampered = rejected(&house, good.clone(), b"a siren's secret firmware", house.sign(&good)).await;
        assert_eq!(tampered, "image_not_authentic");
        let other = house.manifest(3);
        assert_eq!(rejected(&house, good.clone(), CONTENT, house.sign(&other)).await, "image_not_authentic");
        let stranger = PrivateKey::from_seed(&[9; 32]);
        let payload = serde_json::to_vec(&good).unwrap();
        let strange = manifest::sign(&stranger, MANIFEST_TYP, &payload).unwrap();
        assert_eq!(rejected(&house, good.clone(), CONTENT, strange).await, "image_not_authentic");
        let wrong_type = manifest::sign(&house.key, "other+jws", &payload).unwrap();
        assert_eq!(rejected(&house, good.clone(), CONTENT, wrong_type).await, "image_not_authentic");
        house.firmwares.revoke_key(house.key.public().thumbprint(), maker()).await.unwrap();
        assert_eq!(rejected(&house, good.clone(), CONTENT, house.sign(&good)).await, "signing_key_revoked");
    });
}

#[test]
fn a44_wrong_hardware_old_sequences_and_expired_manifests_are_refused_with_their_codes() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 4).await;
        let artifact = house.artifact(2).await;
        house.fleet.change("dev_00001", |device| device.hw_class = Some("siren-1".into()));
        house.fleet.change("dev_00002", |device| device.firmware.current = Some(version(3)));
        house.fleet.change("dev_00003", |device| device.hw_revision = Some("a".into()));
        for (device, threat) in
            [(1, Threat::ImageIncompatible), (2, Threat::ImageOutdated), (3, Threat::ImageIncompatible)]
        {
            let target = JobTarget::DeviceIds(vec![format!("dev_{device:05}").into()]);
            let refused = house.job_for(JobKind::Update, &artifact.id, Policy::default(), target).await.unwrap_err();
            assert_eq!((refused.kind, refused.code), (Kind::Conflict, Some(threat.code())));
            assert_eq!(refused.details.unwrap()["threat"], threat.rfc9124());
        }
        // Of a group, those are left out.
        let made = house.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        assert_eq!(made.data["counters"]["removed"], 3);
        test_world::after(Duration::from_secs(86_400)).await;
        let refused = house.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap_err();
        assert_eq!(refused.code, Some("manifest_expired"));
    });
}

#[test]
fn a44_a_device_that_no_longer_fits_when_its_turn_comes_fails_with_the_code() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 2).await;
        let artifact = house.artifact(2).await;
        let groups = vec![group(1), group(1)];
        let made = house.job(JobKind::Update, &artifact.id, Policy { groups, ..Policy::default() }).await.unwrap();
        let job = made.data["id"].as_str().unwrap().to_owned();
        house.fleet.change("dev_00001", |device| device.firmware.current = Some(version(5)));
        house.go("dev_00000", ExecState::Succeeded).await;
        house.job_comes_to(&job, JobState::Paused).await;
        let page = house.firmwares.executions_of("dev_00001", Default::default()).await.unwrap();
        assert_eq!(page.items[0].state, ExecState::Failed);
        assert_eq!(page.items[0].error.as_ref().unwrap().code, "image_outdated");
    });
}

#[test]
fn a44_an_image_swapped_after_its_verification_is_not_served_and_its_jobs_end() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 1).await;
        let artifact = house.artifact(2).await;
        let made = house.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap();
        let told = house.next("dev_00000").await;
        let by = By::Device("dev_00000".into());
        let content = house.firmwares.content(&artifact.id, &by).await.unwrap();
        let read = |content| {
            let stream = house.firmwares.bytes(&content, 0, CONTENT.len() as u64 - 1);
            async move { Box::pin(stream).next().await.unwrap() }
        };
        assert_eq!(read(content.clone()).await.unwrap(), CONTENT);
        let path = house.folder.path().join(format!("{}.img", artifact.id));
        std::fs::write(path, b"a siren's evil   firmware").unwrap();
        assert_eq!(read(content).await.unwrap_err().code, Some("image_replaced"));
        house.job_comes_to(made.data["id"].as_str().unwrap(), JobState::Aborted).await;
        let stopped = house.report("dev_00000", &told, ExecState::Downloading).await.unwrap_err();
        assert_eq!(stopped.kind, Kind::Conflict);
        let refused = house.firmwares.content(&artifact.id, &maker()).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Conflict);
        let refused = house.job(JobKind::Update, &artifact.id, Policy::default()).await.unwrap_err();
        assert_eq!(refused.code, Some("image_replaced"));
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
            let house = House::start(&tree, 4).await;
            let artifact = house.artifact(2).await;
            let first = GroupPolicy { on_error, ..group(2) };
            let policy = Policy { groups: vec![first, group(2)], ..Policy::default() };
            let made = house.job(JobKind::Update, &artifact.id, policy).await.unwrap();
            let job = made.data["id"].as_str().unwrap();
            house.go("dev_00000", ExecState::Succeeded).await;
            let told = house.next("dev_00001").await;
            house.report("dev_00001", &told, ExecState::Failed).await.unwrap();
            if on_error == OnError::Rollback {
                let back = house.next("dev_00000").await;
                assert_eq!((back.action, back.allow_downgrade), ("rollback", true));
                assert_eq!(back.to, Some(version(1)), "to what it ran before, and nothing else");
                house.report("dev_00000", &back, ExecState::RolledBack).await.unwrap();
            }
            let view = house.job_comes_to(job, end).await;
            assert_eq!(view["groups"][1]["started_at"], serde_json::Value::Null);
            let page = house.firmwares.executions(job, None, Default::default()).await.unwrap();
            for execution in page.items.iter().filter(|execution| execution.group == 1) {
                assert!(!execution.times.contains_key(&ExecState::Notified));
            }
        });
    }
}

#[test]
fn a46_makers_repeated_roles_and_executors_do_not_approve() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 1).await;
        let artifact = house.artifact(2).await;
        house.fleet.change("dev_00000", |device| device.firmware.current = Some(version(3)));
        let made = house.job(JobKind::Downgrade, &artifact.id, Policy::default()).await.unwrap();
        assert_eq!((&made.data["state"], &made.data["approvals_required"]), (&"pending_approval".into(), &2.into()));
        let job = made.data["id"].as_str().unwrap();
        let refused = |by: Arc<Person>, code: &'static str| {
            let house = &house;
            async move {
                let refused = house.act(job, Act::Approve, by).await.unwrap_err();
                assert_eq!((refused.kind, refused.code), (Kind::Forbidden, Some(code)));
            }
        };
        refused(person("usr_maker", UserRole::SuperAdmin), "creator_cannot_approve").await;
        let first = person("usr_a", UserRole::Approver);
        let view = house.act(job, Act::Approve, Arc::clone(&first)).await.unwrap();
        assert_eq!(view["state"], "pending_approval", "one of two");
        refused(Arc::clone(&first), "already_approved").await;
        refused(person("usr_b", UserRole::Approver), "role_already_approved").await;
        let view = house.act(job, Act::Approve, person("usr_c", UserRole::SuperAdmin)).await.unwrap();
        assert_eq!(view["approvals"][0]["sha256"], artifact.manifest.sha256);
        house.next("dev_00000").await;
        let executes = house.act(job, Act::Pause, first).await.unwrap_err();
        assert_eq!((executes.kind, executes.code), (Kind::Forbidden, Some("separation_of_duty")));
    });
}

#[test]
fn a47_stale_reports_and_reports_on_other_devices_jobs_change_nothing() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 2).await;
        let artifact = house.artifact(2).await;
        let target = JobTarget::DeviceIds(vec!["dev_00000".into()]);
        house.job_for(JobKind::Update, &artifact.id, Policy::default(), target).await.unwrap();
        let told = house.next("dev_00000").await;
        let verifying = house.go("dev_00000", ExecState::Verifying).await;
        let stale = house.report("dev_00000", &told, ExecState::Succeeded).await.unwrap_err();
        assert_eq!((stale.kind, stale.code), (Kind::Conflict, Some("stale_execution")));
        assert_eq!(stale.details.unwrap()["exec_version"], verifying.exec_version);
        let other = house.report("dev_00001", &verifying, ExecState::Succeeded).await.unwrap_err();
        assert_eq!(other.kind, Kind::NotFound);
        let fetch = house.firmwares.content(&artifact.id, &By::Device("dev_00001".into())).await.unwrap_err();
        assert_eq!(fetch.kind, Kind::NotFound);
        assert_eq!(house.next("dev_00000").await, verifying);
    });
}

#[test]
fn a48_a_device_that_never_comes_back_times_out_counts_as_failed_and_is_taken_back() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 2).await;
        let artifact = house.artifact(2).await;
        let gate = HealthGate { probe: Probe::Heartbeat, within_s: 60, rules: Vec::new() };
        let first = GroupPolicy { on_error: OnError::Rollback, ..group(2) };
        let policy =
            Policy { groups: vec![first], device_timeout_s: 300, health_gate: Some(gate), ..Policy::default() };
        let made = house.job(JobKind::Update, &artifact.id, policy).await.unwrap();
        let job = made.data["id"].as_str().unwrap();
        house.go("dev_00001", ExecState::Verifying).await;
        house.fleet.beat("dev_00001", version(2));
        house.go("dev_00000", ExecState::Rebooting).await;
        house.job_comes_to(job, JobState::RollingBack).await;
        let page = house.firmwares.executions_of("dev_00000", Default::default()).await.unwrap();
        assert!(page.items[0].times.contains_key(&ExecState::TimedOut));
        // The other one goes back when it is told; this one comes to life in its old slot.
        let back = house.next("dev_00001").await;
        house.report("dev_00001", &back, ExecState::RolledBack).await.unwrap();
        house.fleet.beat("dev_00000", version(1));
        let view = house.job_comes_to(job, JobState::RolledBack).await;
        assert_eq!(view["counters"]["rolled_back"], 2);
        test_world::until(|| house.fleet.runs("dev_00001") == 1).await;
    });
}
