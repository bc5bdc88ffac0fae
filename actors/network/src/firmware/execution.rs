//! Executions: a job on one device, its states and stored record.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::job::JobKind;
use super::policy::Mode;
use crate::device::FirmwareVersion;
use muster_core::Millis;

/// State of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecState {
    /// Waits to be notified.
    Queued,
    /// The device is offered the job.
    Notified,
    /// The device downloads the image.
    Downloading,
    /// The image is downloaded.
    Downloaded,
    /// The device has verified the image.
    Verified,
    /// The device installs the image.
    Installing,
    /// The device restarts.
    Rebooting,
    /// The device is back and has to pass its health gate.
    Verifying,
    /// The device returns to its previous firmware.
    RollingBack,
    /// Installed and healthy.
    Succeeded,
    /// The device already ran the version.
    AlreadyInstalled,
    /// The last attempt failed.
    Failed,
    /// No report arrived in time.
    TimedOut,
    /// The device refused the job.
    Rejected,
    /// The device is back on its previous firmware.
    RolledBack,
    /// Canceled before anything was changed.
    Canceled,
    /// The device left the target or was never compatible.
    Removed,
}

use ExecState::*;

impl ExecState {
    /// All states.
    pub const ALL: [Self; 17] = [
        Queued,
        Notified,
        Downloading,
        Downloaded,
        Verified,
        Installing,
        Rebooting,
        Verifying,
        RollingBack,
        Succeeded,
        AlreadyInstalled,
        Failed,
        TimedOut,
        Rejected,
        RolledBack,
        Canceled,
        Removed,
    ];

    /// Returns the name of the state in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Queued => "queued",
            Notified => "notified",
            Downloading => "downloading",
            Downloaded => "downloaded",
            Verified => "verified",
            Installing => "installing",
            Rebooting => "rebooting",
            Verifying => "verifying",
            RollingBack => "rolling_back",
            Succeeded => "succeeded",
            AlreadyInstalled => "already_installed",
            Failed => "failed",
            TimedOut => "timed_out",
            Rejected => "rejected",
            RolledBack => "rolled_back",
            Canceled => "canceled",
            Removed => "removed",
        }
    }

    /// Returns the state of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Returns whether the device is working on it.
    pub const fn is_active(self) -> bool {
        matches!(
            self,
            Notified | Downloading | Downloaded | Verified | Installing | Rebooting | Verifying | RollingBack
        )
    }

    /// Returns whether the state is final.
    pub const fn is_terminal(self) -> bool {
        !self.is_active() && !matches!(self, Queued)
    }

    /// Returns whether it is active and nothing on the device was changed yet, so that it can be canceled.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Notified | Downloading | Downloaded | Verified)
    }

    /// Returns whether the state counts as a failure of its group.
    pub const fn is_failure(self) -> bool {
        matches!(self, Failed | TimedOut | Rejected | RolledBack)
    }

    /// Returns whether the state counts as a success.
    pub const fn is_success(self) -> bool {
        matches!(self, Succeeded | AlreadyInstalled)
    }

    /// Returns whether a transition exists in the state machine. From an active state to `queued` is a further attempt;
    /// from a final state to `rolling_back` leads only the rollback of the job.
    pub const fn may_become(self, to: Self) -> bool {
        match (self, to) {
            (Queued, Notified | AlreadyInstalled | Removed | Canceled)
            | (Notified, Downloading | Installing | Rebooting | Rejected)
            | (Downloading, Downloaded)
            | (Downloaded, Verified)
            | (Verified, Installing | Succeeded)
            | (Installing, Rebooting | Verifying)
            | (Rebooting, Verifying)
            | (Verifying, Succeeded | RollingBack)
            | (RollingBack, RolledBack | Canceled)
            | (Succeeded | Failed | TimedOut, RollingBack) => true,
            (from, Failed | TimedOut) => from.is_active(),
            (from, Queued) => from.is_active() && !matches!(from, RollingBack),
            (from, Canceled) => from.is_harmless(),
            _ => false,
        }
    }

    /// Returns the states that a device may report next, besides the current one, by the job's kind and mode.
    pub fn reports(self, kind: JobKind, mode: Mode) -> &'static [Self] {
        match (self, kind, mode) {
            (Notified, JobKind::Reboot, _) => &[Rebooting, Rejected, Failed],
            (Notified, _, _) => &[Downloading, Rejected, Failed],
            (Downloading, _, _) => &[Downloaded, Failed],
            (Downloaded, _, _) => &[Verified, Failed],
            (Verified, _, Mode::DownloadOnly) => &[Succeeded, Failed],
            (Verified, _, _) => &[Installing, Failed],
            // A configuration may need no restart.
            (Installing, JobKind::Config, _) => &[Rebooting, Verifying, Failed],
            (Installing, _, _) => &[Rebooting, Failed],
            (Rebooting, _, _) => &[Verifying, Failed],
            (Verifying, _, _) => &[Succeeded, RollingBack, Failed],
            (RollingBack, _, _) => &[RolledBack, Failed],
            _ => &[],
        }
    }
}

/// Error of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecError {
    /// Stable code.
    pub code: String,
    /// Message of at most 500 characters.
    pub message: String,
}

/// A failure of an execution, kept after further attempts and a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecFailure {
    /// Time of the failure.
    pub at: Millis,
    /// Attempt, from 1.
    pub attempt: u32,
    /// State in which it failed.
    pub state: ExecState,
    /// Error.
    #[serde(flatten)]
    pub error: ExecError,
}

/// Largest number of failures that an execution keeps, the first one and the latest: attempts are at most 11.
const MAX_FAILURES: usize = 16;

/// A job on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The job.
    pub job_id: Arc<str>,
    /// The device.
    pub device_id: Arc<str>,
    /// Index of the group, from 0.
    pub group: u32,
    /// Attempt, from 1.
    pub attempt: u32,
    /// State.
    pub state: ExecState,
    /// Progress of the device, 0 to 100 percent.
    pub progress_pct: u8,
    /// Bytes downloaded.
    pub bytes_done: u64,
    /// Further values reported by the device, at most 32 keys.
    pub details: BTreeMap<String, String>,
    /// Last error.
    pub error: Option<ExecError>,
    /// All failures, oldest first.
    #[serde(default)]
    pub failures: Vec<ExecFailure>,
    /// Version that the device ran when it was notified.
    pub from: Option<FirmwareVersion>,
    /// Version that it should run afterwards.
    pub to: Option<FirmwareVersion>,
    /// Time of the last entry into each state.
    pub times: BTreeMap<ExecState, Millis>,
    /// Incremented with every change; a report with another version is stale.
    pub exec_version: u64,
    /// Time at which it times out.
    pub deadline: Option<Millis>,
    /// Whether the rollback of its job has reached it.
    pub reverted: bool,
    /// Time of the last change.
    pub updated_at: Millis,
}

impl Execution {
    /// Creates a queued execution.
    pub fn new(job_id: Arc<str>, device_id: Arc<str>, group: u32, now: Millis) -> Self {
        Self {
            job_id,
            device_id,
            group,
            attempt: 1,
            state: Queued,
            progress_pct: 0,
            bytes_done: 0,
            details: BTreeMap::new(),
            error: None,
            failures: Vec::new(),
            from: None,
            to: None,
            times: BTreeMap::from([(Queued, now)]),
            exec_version: 1,
            deadline: None,
            reverted: false,
            updated_at: now,
        }
    }

    /// Sets the last error, which joins the failures.
    pub fn fail(&mut self, error: ExecError, at: Millis) {
        if self.failures.len() >= MAX_FAILURES {
            self.failures.remove(1);
        }
        self.failures.push(ExecFailure { at, attempt: self.attempt, state: self.state, error: error.clone() });
        self.error = Some(error);
    }

    /// Returns whether the device may run another firmware than before.
    pub fn touched(&self) -> bool {
        self.times.contains_key(&Installing) || self.times.contains_key(&Rebooting)
    }

    /// Returns its key in the store.
    pub fn key(&self) -> Vec<u8> {
        [self.job_id.as_bytes(), b"/", self.device_id.as_bytes()].concat()
    }
}

impl Record for Execution {
    const TREE: Tree = Tree::Executions;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
