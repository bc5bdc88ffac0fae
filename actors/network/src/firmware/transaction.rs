//! The changes of one decision: written in one batch, then published.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_store::{Op, Record, StoreError};
use serde_json::{Value, json};

use super::artifact::Artifact;
use super::execution::{ExecState, Execution};
use super::job::Job;
use super::rollout::{Rollout, RolloutEvent};
use crate::device::{FirmwareStateUpdate, FirmwareSync, FirmwareVersion};
use muster_core::Millis;
use muster_core::audit::AuditEntry;
use muster_core::event::Event;
use muster_core::guard::{ApprovalStep, Cleared};
use muster_core::idempotency::Idempotency;
use muster_core::journal::Precondition;

/// Changes that become durable together.
#[derive(Debug, Default)]
pub(crate) struct FirmwareTransaction {
    /// What must still be stored: the approval that is executed with the change.
    pub(crate) expect: Vec<Precondition>,
    /// Writes that must be durable before the others.
    pub(crate) earlier: Vec<Vec<Op>>,
    pub(crate) ops: Vec<Op>,
    pub(crate) events: Vec<Event>,
    /// Jobs to be advanced before the decision ends.
    pub(crate) touched: BTreeSet<Arc<str>>,
    /// Devices that have a job.
    pub(crate) ready_devices: Vec<Arc<str>>,
    /// Firmware updates of devices' records.
    pub(crate) firmware: Vec<(Arc<str>, FirmwareStateUpdate)>,
    /// The response to a request with an idempotency key.
    pub(crate) answer: Option<(Idempotency, Value)>,
    fault: Option<StoreError>,
}

impl FirmwareTransaction {
    fn put(&mut self, op: Result<Op, StoreError>) {
        match op {
            Ok(op) => self.ops.push(op),
            Err(error) => self.fault = Some(error),
        }
    }

    pub(crate) fn record<R: Record>(&mut self, key: impl Into<Vec<u8>>, record: &R) {
        let op = record.encode().map(|rec| Op::Put { tree: R::TREE, key: key.into(), rec });
        self.put(op);
    }

    pub(crate) fn publish(&mut self, event: Event) {
        self.put(event.op());
        self.events.push(event);
    }

    /// Adds the execution of an approval.
    pub(crate) fn permit(&mut self, cleared: Cleared) {
        let (expect, ops) = cleared.into_parts();
        self.expect.extend(expect);
        self.ops.extend(ops);
    }

    /// Adds a change of the approval that the change waits for.
    pub(crate) fn step(&mut self, step: ApprovalStep) {
        self.expect.push(step.expect);
        self.ops.extend(step.ops);
    }

    pub(crate) fn audit(&mut self, entry: &AuditEntry) {
        self.put(entry.op());
    }

    /// Stores the response to a request with an idempotency key.
    pub(crate) fn answer(&mut self, request: &Idempotency, now: Millis, answer: Value) {
        self.put(request.op(now, answer.clone()));
        self.answer = Some((request.clone(), answer));
    }

    /// Returns the error of a record that cannot be stored, if there is one.
    pub(crate) fn fault(&mut self) -> Option<StoreError> {
        self.fault.take()
    }

    /// Adds the changes of a rollout.
    pub(crate) fn collect(&mut self, rollout: &mut Rollout, now: Millis) {
        let drained = rollout.drain();
        if drained.job {
            self.record(rollout.job.id.as_bytes(), &rollout.job);
        }
        for at in &drained.executions {
            if let Some(execution) = rollout.at(*at) {
                self.record(execution.key(), execution);
                self.touched.insert(Arc::clone(&execution.job_id));
            }
        }
        let mut published = BTreeSet::new();
        for events in drained.events {
            match events {
                RolloutEvent::Job(name) => self.publish(job_event(name, rollout, now)),
                RolloutEvent::Execution(at) => {
                    if let Some(execution) = rollout.at(at).filter(|_| published.insert(at)) {
                        self.execution(&rollout.job, execution, now);
                    }
                }
            }
        }
    }

    /// Adds a new job.
    pub(crate) fn created(&mut self, rollout: &Rollout, now: Millis) {
        self.record(rollout.job.id.as_bytes(), &rollout.job);
        self.publish(job_event("firmware.job.created", rollout, now));
    }

    fn execution(&mut self, job: &Job, execution: &Execution, now: Millis) {
        self.publish(execution_event(execution, now));
        if execution.state.is_active() {
            self.ready_devices.push(Arc::clone(&execution.device_id));
        }
        if let Some(set) = firmware_of(job, execution) {
            self.firmware.push((Arc::clone(&execution.device_id), set));
        }
    }

    pub(crate) fn artifact(&mut self, artifact: &Artifact) {
        self.record(artifact.id.as_bytes(), artifact);
        let name = match artifact.state {
            super::artifact::ArtifactState::Ready => "firmware.artifact.ready",
            super::artifact::ArtifactState::Rejected => "firmware.artifact.rejected",
            super::artifact::ArtifactState::Revoked => "firmware.artifact.revoked",
            _ => return,
        };
        let patch = json!({
            "state": artifact.state, "reason": artifact.reason, "signing_kid": artifact.signing_kid,
            "updated_at": artifact.updated_at,
        });
        let data = json!({ "id": artifact.id, "version": artifact.record_version, "patch": patch });
        self.publish(Event::new(name, artifact.updated_at, vec!["firmware".to_owned()], &data));
    }
}

/// Returns a job as JSON, with the counters of its executions.
pub(crate) fn job_view(rollout: &Rollout) -> Value {
    let mut view = serde_json::to_value(&rollout.job).unwrap_or_default();
    if let Some(view) = view.as_object_mut() {
        view.insert("counters".to_owned(), json!(rollout.counters().named()));
        view.insert("progress_pct".to_owned(), json!(rollout.progress_pct()));
    }
    view
}

fn job_event(name: &str, rollout: &Rollout, now: Millis) -> Event {
    let job = &rollout.job;
    let data = if name == "firmware.job.created" {
        job_view(rollout)
    } else {
        let patch = json!({
            "state": job.state, "approvals": job.approvals, "approvals_required": job.approvals_required,
            "approval_id": job.approval_id,
            "rollback": job.rollback, "reasons": job.reasons, "groups": job.groups, "current_group": job.current_group,
            "counters": rollout.counters().named(), "progress_pct": rollout.progress_pct(),
            "started_at": job.started_at, "finished_at": job.finished_at, "end_reason": job.end_reason,
            "after": job.after, "executed_by": job.executed_by, "version": job.version, "updated_at": job.updated_at,
        });
        json!({ "id": job.id, "version": job.version, "patch": patch })
    };
    Event::new(name, now, vec!["firmware".to_owned(), format!("firmware:{}", job.id)], &data)
}

/// Returns the identifier of an execution in the feed.
pub(crate) fn execution_id(execution: &Execution) -> String {
    format!("{}/{}", execution.job_id, execution.device_id)
}

fn execution_event(execution: &Execution, now: Millis) -> Event {
    let patch = json!({
        "job_id": execution.job_id, "device_id": execution.device_id, "state": execution.state,
        "attempt": execution.attempt, "progress_pct": execution.progress_pct, "bytes_done": execution.bytes_done,
        "details": execution.details, "error": execution.error, "failures": execution.failures, "from": execution.from,
        "to": execution.to, "times": execution.times, "deadline": execution.deadline, "reverted": execution.reverted,
        "exec_version": execution.exec_version, "updated_at": execution.updated_at,
    });
    let data = json!({ "id": execution_id(execution), "version": execution.exec_version, "patch": patch });
    let channels = vec![format!("firmware:{}", execution.job_id), format!("devices:{}", execution.device_id)];
    Event::new("firmware.execution.changed", now, channels, &data)
}

/// Returns the update of a device's firmware state that follows from an execution.
pub(crate) fn firmware_of(job: &Job, execution: &Execution) -> Option<FirmwareStateUpdate> {
    if !job.kind.changes_firmware() || job.policy.mode == super::policy::Mode::DownloadOnly {
        return None;
    }
    let wish = |version: &Option<FirmwareVersion>, sync| FirmwareStateUpdate {
        desired: Some(version.clone()),
        sync: Some(sync),
        ..FirmwareStateUpdate::default()
    };
    // What was installed stays the desired version: a device that leaves it later has drifted.
    let runs = |now: &Option<FirmwareVersion>, before: &Option<FirmwareVersion>| FirmwareStateUpdate {
        current: now.clone(),
        previous: before.clone(),
        ..wish(now, FirmwareSync::InSync)
    };
    match execution.state {
        ExecState::Notified => Some(wish(&execution.to, FirmwareSync::Pending)),
        ExecState::RollingBack => Some(wish(&execution.from, FirmwareSync::Pending)),
        ExecState::Succeeded => Some(runs(&execution.to, &execution.from)),
        ExecState::RolledBack => Some(runs(&execution.from, &execution.to)),
        ExecState::AlreadyInstalled => {
            Some(wish(&job.image.as_ref().map(super::job::JobImage::as_version), FirmwareSync::InSync))
        }
        // As before: what the device ran is what it should run.
        ExecState::Canceled if execution.times.contains_key(&ExecState::Notified) => {
            let known = if execution.from.is_some() { FirmwareSync::InSync } else { FirmwareSync::Unknown };
            Some(wish(&execution.from, known))
        }
        ExecState::Failed | ExecState::TimedOut | ExecState::Rejected => {
            Some(FirmwareStateUpdate { sync: Some(FirmwareSync::Error), ..FirmwareStateUpdate::default() })
        }
        _ => None,
    }
}
