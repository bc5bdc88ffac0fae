//! Executions in the vocabulary of other systems: AWS IoT Jobs, hawkBit DDI, Mender.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::execution::{ExecState, Execution};

/// Vocabulary of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// AWS IoT Jobs.
    Aws,
    /// hawkBit Direct Device Integration.
    Ddi,
    /// Mender.
    Mender,
}

/// Returns an execution in the vocabulary of another system.
pub fn export(execution: &Execution, dialect: Dialect) -> Value {
    let device = &execution.device_id;
    match dialect {
        Dialect::Aws => json!({
            "jobId": execution.job_id, "thingName": device, "status": aws(execution.state),
            "versionNumber": execution.exec_version, "executionNumber": execution.attempt,
            "statusDetails": execution.details, "lastUpdatedAt": execution.updated_at.seconds(),
        }),
        Dialect::Ddi => {
            let (stage, finished) = ddi(execution.state);
            let status = json!({ "execution": stage, "result": { "finished": finished } });
            json!({ "id": execution.job_id, "controllerId": device, "status": status })
        }
        Dialect::Mender => json!({
            "deployment_id": execution.job_id, "device_id": device, "status": mender(execution.state),
            "attempts": execution.attempt, "updated": execution.updated_at,
        }),
    }
}

/// Returns `JobExecution.status` of AWS IoT.
pub const fn aws(state: ExecState) -> &'static str {
    match state {
        ExecState::Queued => "QUEUED",
        ExecState::Succeeded | ExecState::AlreadyInstalled => "SUCCEEDED",
        ExecState::Failed | ExecState::RolledBack => "FAILED",
        ExecState::TimedOut => "TIMED_OUT",
        ExecState::Rejected => "REJECTED",
        ExecState::Canceled => "CANCELED",
        ExecState::Removed => "REMOVED",
        _ => "IN_PROGRESS",
    }
}

/// Returns `status.execution` and `status.result.finished` of a DDI feedback.
pub const fn ddi(state: ExecState) -> (&'static str, &'static str) {
    match state {
        ExecState::Queued | ExecState::Notified => ("scheduled", "none"),
        ExecState::Downloading => ("download", "none"),
        ExecState::Downloaded | ExecState::Verified => ("downloaded", "none"),
        ExecState::Installing | ExecState::Rebooting | ExecState::Verifying | ExecState::RollingBack => {
            ("proceeding", "none")
        }
        ExecState::Succeeded | ExecState::AlreadyInstalled => ("closed", "success"),
        ExecState::Failed | ExecState::TimedOut | ExecState::RolledBack => ("closed", "failure"),
        ExecState::Rejected => ("rejected", "failure"),
        ExecState::Canceled | ExecState::Removed => ("canceled", "none"),
    }
}

/// Returns the status of a device in a deployment of Mender.
pub const fn mender(state: ExecState) -> &'static str {
    match state {
        ExecState::Queued | ExecState::Notified => "pending",
        ExecState::Downloading | ExecState::Downloaded | ExecState::Verified => "downloading",
        ExecState::Installing | ExecState::RollingBack => "installing",
        ExecState::Rebooting | ExecState::Verifying => "rebooting",
        ExecState::Succeeded => "success",
        ExecState::AlreadyInstalled => "already-installed",
        ExecState::Failed | ExecState::TimedOut | ExecState::Rejected | ExecState::RolledBack => "failure",
        ExecState::Canceled => "aborted",
        ExecState::Removed => "decommissioned",
    }
}
