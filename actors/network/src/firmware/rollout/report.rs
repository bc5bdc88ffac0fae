//! Reports of devices on executions, and heartbeats that a health gate waits for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::Rollout;
use crate::device::{FirmwareVersion, Status};
use crate::firmware::execution::{ExecError, ExecState, Execution};
use crate::firmware::policy::{GateRule, HealthGate, Probe};
use muster_core::{Error, Kind, Millis};

/// Report of a device on its job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExecutionReport {
    /// New state; `None` leaves it.
    pub state: Option<ExecState>,
    /// Progress, 0 to 100 percent.
    pub progress_pct: Option<u8>,
    /// Bytes downloaded.
    pub bytes_done: Option<u64>,
    /// Further values, merged into the earlier ones.
    pub details: BTreeMap<String, String>,
    /// Error, with a failure or refusal.
    pub error: Option<ExecError>,
    /// Version of the execution that the device knows.
    pub exec_version: u64,
}

/// A heartbeat as a health gate evaluates it.
#[derive(Debug, Clone)]
pub struct GateHeartbeat<'a> {
    pub device: &'a Arc<str>,
    pub firmware: &'a FirmwareVersion,
    pub status: Status,
}

/// Largest number of keys of an execution's `details`.
pub const MAX_DETAILS: usize = 32;

impl Rollout {
    /// # Errors
    /// `NotFound` if the job is not the device's; `Conflict` for a stale version (`stale_execution`) or an illegal
    /// transition, both with the current state.
    pub fn report(&mut self, device: &str, report: ExecutionReport, now: Millis) -> Result<(), Error> {
        let none = || Error::new(Kind::NotFound, "this device has no such job");
        let at = self.index.get(device).copied().ok_or_else(none)?;
        let execution = self.at(at).ok_or_else(none)?;
        let present = json!({
            "state": execution.state.name(), "exec_version": execution.exec_version, "attempt": execution.attempt,
        });
        if report.exec_version != execution.exec_version {
            let message = format!(
                "the execution is at version {}, not {}: ask for it again",
                execution.exec_version, report.exec_version
            );
            return Err(Error::new(Kind::Conflict, message).coded("stale_execution").detailing(present));
        }
        let from = execution.state;
        let to = report.state.unwrap_or(from);
        let allowed = from.reports(self.job.kind, self.job.policy.mode);
        if !from.is_active() || (to != from && !allowed.contains(&to)) {
            let names: Vec<_> = allowed.iter().map(|state| state.name()).collect();
            let message = format!("from {} a device cannot report {}", from.name(), to.name());
            let mut details = present;
            if let Some(details) = details.as_object_mut() {
                details.insert("allowed".to_owned(), json!(names));
            }
            return Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details));
        }
        self.note(at, &report, now)?;
        self.moved_by_device(at, to, report.error, now);
        Ok(())
    }

    /// Applies the values of a report.
    fn note(&mut self, at: u32, report: &ExecutionReport, now: Millis) -> Result<(), Error> {
        let Some(execution) = self.executions.get_mut(at as usize) else { return Ok(()) };
        let new = report.details.keys().filter(|key| !execution.details.contains_key(*key)).count();
        if execution.details.len() + new > MAX_DETAILS {
            return Err(Error::field(Kind::Invalid, &["body", "details"], "must be at most 32 keys", json!(null)));
        }
        execution.details.extend(report.details.clone());
        execution.progress_pct = report.progress_pct.unwrap_or(execution.progress_pct).min(100);
        execution.bytes_done = report.bytes_done.unwrap_or(execution.bytes_done);
        execution.updated_at = now;
        if report.state.is_none_or(|state| state == execution.state) {
            execution.exec_version += 1;
        }
        self.changed.executions.insert(at);
        Ok(())
    }

    fn moved_by_device(&mut self, at: u32, to: ExecState, error: Option<ExecError>, now: Millis) {
        let Some(from) = self.at(at).map(|execution| execution.state) else { return };
        if from == to {
            return;
        }
        let gate = self.job.policy.health_gate.clone();
        let device_error = error.unwrap_or_else(|| ExecError { code: "device_error".into(), message: String::new() });
        match to {
            ExecState::Failed => {
                self.fail_attempt(at, ExecState::Failed, &device_error.code, &device_error.message, now)
            }
            ExecState::Rejected => {
                self.set_error(at, &device_error.code, &device_error.message, now);
                self.transition(at, ExecState::Rejected, now);
            }
            ExecState::RollingBack => {
                self.set_error(at, &device_error.code, &device_error.message, now);
                self.transition(at, ExecState::RollingBack, now);
                self.set_deadline(at, now.plus(self.timeout()));
            }
            ExecState::Verifying => {
                self.transition(at, ExecState::Verifying, now);
                if let Some(gate) = gate {
                    self.set_deadline(at, now.plus(Duration::from_secs(gate.within_s.into())));
                }
            }
            // The gate decides, not the device: its report only increments the version.
            ExecState::Succeeded if gate.is_some() && from == ExecState::Verifying => {
                if let Some(execution) = self.executions.get_mut(at as usize) {
                    execution.exec_version += 1;
                }
            }
            to => self.transition(at, to, now),
        }
    }

    /// Applies a heartbeat of a device that is working on this job.
    pub fn heartbeat(&mut self, heartbeat: &GateHeartbeat<'_>, now: Millis) {
        let Some(at) = self.index.get(heartbeat.device).copied() else { return };
        let Some(execution) = self.at(at) else { return };
        let runs = |version: &Option<FirmwareVersion>| {
            version.as_ref().is_some_and(|version| same(version, heartbeat.firmware))
        };
        match execution.state {
            ExecState::RollingBack if runs(&execution.from) => self.transition(at, ExecState::RolledBack, now),
            ExecState::Rebooting | ExecState::Verifying if runs(&execution.to) => {
                let Some(gate) = &self.job.policy.health_gate else { return };
                if !passes(gate, execution, heartbeat.status) {
                    return;
                }
                if execution.state == ExecState::Rebooting {
                    self.transition(at, ExecState::Verifying, now);
                }
                self.transition(at, ExecState::Succeeded, now);
            }
            _ => {}
        }
    }
}

/// Returns whether two versions are the same; a device that knows no sequence reports none.
fn same(expected: &FirmwareVersion, value: &FirmwareVersion) -> bool {
    expected.version == value.version && (value.sequence == 0 || value.sequence == expected.sequence)
}

fn passes(gate: &HealthGate, execution: &Execution, status: Status) -> bool {
    let figure = |rule: &GateRule| execution.details.get(&rule.metric).and_then(|value| value.parse::<f64>().ok());
    let holds = |rule: &GateRule| {
        figure(rule).is_some_and(|figure| {
            rule.min.is_none_or(|least| figure >= least) && rule.max.is_none_or(|most| figure <= most)
        })
    };
    match gate.probe {
        Probe::Heartbeat => true,
        Probe::Metric => status != Status::Degraded && gate.rules.iter().all(holds),
    }
}
