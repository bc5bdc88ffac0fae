//! Tests of firmware: pure state machines under any sequence of events, and the actor with a scripted fleet.

mod attacks;
mod faults;
mod fleet;
mod properties;
mod rollouts;
mod state_machines;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::execution::{ExecState, Execution};
use super::job::{JobAction, JobState};
use super::policy::{GroupPolicy, Policy};
use super::rollout::{ExecutionReport, Rollout};
use super::state::{FirmwareRules, FirmwareState, NewJob, StoredFirmware};
use super::{JobKind, JobTarget};
use crate::device::{DeviceKind, Firmware, FirmwareVersion, RolloutTarget, Status};
use muster_core::principal::{Permissions, UserRole};
use muster_core::{Millis, test_world};
use muster_identity::{By, Person};

const START: Millis = test_world::START;

fn person(id: &str, role: UserRole) -> Arc<Person> {
    Arc::new(Person {
        user_id: id.into(),
        email: format!("{id}@example.org").into(),
        role,
        session_id: "ses_1".into(),
        permissions: Permissions::all(),
    })
}

fn version(sequence: u64) -> FirmwareVersion {
    FirmwareVersion { artifact: None, version: format!("1.{sequence}.0"), sequence }
}

fn device(n: usize) -> RolloutTarget {
    RolloutTarget {
        id: format!("dev_{n:05}").into(),
        kind: DeviceKind::Siren,
        vendor: Some("acme".into()),
        hw_class: Some("siren-2".into()),
        hw_revision: Some("b".into()),
        status: Status::Online,
        firmware: Firmware { current: Some(version(1)), ..Firmware::default() },
        last_seen: None,
    }
}

fn group(count: u32) -> GroupPolicy {
    GroupPolicy { count: Some(count), success_threshold_pct: 100, error_threshold_pct: 50, ..GroupPolicy::default() }
}

/// A pure rollout of a restart to `devices` devices.
fn rollout(devices: usize, policy: Policy) -> Rollout {
    let state = FirmwareState::new(FirmwareRules::default(), StoredFirmware::default(), Vec::new(), START);
    let new = NewJob {
        name: "test".into(),
        artifact_id: None,
        kind: JobKind::Reboot,
        target: JobTarget::Group("all".into()),
        policy,
        start_at: None,
    };
    let found: Vec<_> = (0..devices).map(device).collect();
    let by = By::Person(person("usr_creator", UserRole::FirmwareManager));
    let mut plan = state.plan("job_1".into(), new, &found, &by, START).unwrap();
    plan.job.state = JobState::Scheduled;
    Rollout::new(plan.job, plan.executions, START)
}

/// Notifies every device that may be notified.
fn notify_all(rollout: &mut Rollout, now: Millis) {
    let selected = rollout.candidates(now, 1000, &|_| true);
    let found: Vec<_> = selected.iter().map(|id| RolloutTarget { id: Arc::clone(id), ..device(0) }).collect();
    rollout.notify_devices(&selected, &found, None, now);
}

fn report(rollout: &mut Rollout, device: usize, state: ExecState, now: Millis) -> Result<(), muster_core::Error> {
    let id = format!("dev_{device:05}");
    let exec_version = rollout.execution(&id).map_or(0, |execution| execution.exec_version);
    rollout.report(&id, ExecutionReport { state: Some(state), exec_version, ..ExecutionReport::default() }, now)
}

/// Reports every state of a restart up to its success.
fn succeed(rollout: &mut Rollout, device: usize, now: Millis) {
    for state in [ExecState::Rebooting, ExecState::Verifying, ExecState::Succeeded] {
        report(rollout, device, state, now).unwrap();
    }
}

fn apply_action(rollout: &mut Rollout, action: JobAction, now: Millis) -> Result<(), muster_core::Error> {
    rollout.apply_action(action, &person("usr_operator", UserRole::FirmwareManager), "", None, now)
}

fn advance(rollout: &mut Rollout, now: Millis) {
    while rollout.advance(now, 100, &|_| true, &BTreeSet::new()) > 0 {}
}

fn states(rollout: &Rollout) -> Vec<ExecState> {
    rollout.executions().iter().map(|execution: &Execution| execution.state).collect()
}
