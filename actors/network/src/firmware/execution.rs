//! A job on one device: its states, who may move it where, and what is stored of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::job::JobKind;
use super::policy::Mode;
use crate::device::FirmwareVersion;
use muster_core::Millis;

/// Where an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecState {
    Queued,
    /// The device may take it.
    Notified,
    Downloading,
    Downloaded,
    Verified,
    Installing,
    Rebooting,
    /// It is back, and has to show that it is well.
    Verifying,
    /// It goes back to what it ran before.
    RollingBack,
    Succeeded,
    AlreadyInstalled,
    Failed,
    TimedOut,
    /// The device refused.
    Rejected,
    RolledBack,
    Canceled,
    /// It left the target, or never fitted it.
    Removed,
}

use ExecState::*;

impl ExecState {
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

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The device has it in hand.
    pub const fn is_active(self) -> bool {
        matches!(
            self,
            Notified | Downloading | Downloaded | Verified | Installing | Rebooting | Verifying | RollingBack
        )
    }

    pub const fn is_terminal(self) -> bool {
        !self.is_active() && !matches!(self, Queued)
    }

    /// In hand, and nothing on the device was changed yet: it can be told to stop.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Notified | Downloading | Downloaded | Verified)
    }

    /// An end that counts against its group.
    pub const fn is_failure(self) -> bool {
        matches!(self, Failed | TimedOut | Rejected | RolledBack)
    }

    pub const fn is_success(self) -> bool {
        matches!(self, Succeeded | AlreadyInstalled)
    }

    /// The whole machine: where an execution may go at all. From an active state to `queued` is another attempt; from
    /// an end to `rolling_back` only the rollback of its job leads.
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

    /// Where a device may say that it has come to, besides where it is; a job's kind and mode decide.
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

/// Why an execution did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecError {
    pub code: String,
    pub message: String,
}

/// A job on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    pub job_id: Arc<str>,
    pub device_id: Arc<str>,
    /// Which group of the job, from 0.
    pub group: u32,
    /// From 1.
    pub attempt: u32,
    pub state: ExecState,
    pub progress_pct: u8,
    pub bytes_done: u64,
    /// What the device says besides; at most 32 keys.
    pub details: BTreeMap<String, String>,
    pub error: Option<ExecError>,
    /// What the device ran when it was told.
    pub from: Option<FirmwareVersion>,
    pub to: Option<FirmwareVersion>,
    /// When it last came into each state.
    pub times: BTreeMap<ExecState, Millis>,
    /// Counts every change: a report that names another is stale.
    pub exec_version: u64,
    /// When it is given up where nothing comes.
    pub deadline: Option<Millis>,
    /// The rollback of its job has reached it.
    pub reverted: bool,
    pub updated_at: Millis,
}

impl Execution {
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
            from: None,
            to: None,
            times: BTreeMap::from([(Queued, now)]),
            exec_version: 1,
            deadline: None,
            reverted: false,
            updated_at: now,
        }
    }

    /// The device may run something other than before.
    pub fn touched(&self) -> bool {
        self.times.contains_key(&Installing) || self.times.contains_key(&Rebooting)
    }

    /// Its place in the store.
    pub fn key(&self) -> Vec<u8> {
        [self.job_id.as_bytes(), b"/", self.device_id.as_bytes()].concat()
    }
}

impl Record for Execution {
    const TREE: Tree = Tree::Executions;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
