//! A rollout of an artifact: its states and what is stored of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::policy::Policy;
use crate::device::FirmwareVersion;
use muster_core::Millis;
use muster_core::principal::UserRole;

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// To a higher sequence.
    Update,
    /// To a lower one: always needs two approvals.
    Downgrade,
    /// A configuration in place of an image: what the device runs stays.
    Config,
    /// Nothing but a restart: it has no artifact.
    Reboot,
}

impl JobKind {
    /// Devices run another firmware afterwards, and can go back.
    pub const fn changes_firmware(self) -> bool {
        matches!(self, Self::Update | Self::Downgrade)
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Being made: never seen from outside.
    Draft,
    PendingApproval,
    Scheduled,
    RollingOut,
    Paused,
    /// What is in hand comes to its end; nothing new begins.
    Aborting,
    RollingBack,
    Succeeded,
    PartiallySucceeded,
    Failed,
    Aborted,
    RolledBack,
    Canceled,
    Denied,
}

/// What people may do with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    Approve,
    Deny,
    Pause,
    Resume,
    Cancel,
    Rollback,
}

impl Act {
    pub const ALL: [Self; 6] = [Self::Approve, Self::Deny, Self::Pause, Self::Resume, Self::Cancel, Self::Rollback];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Rollback => "rollback",
        }
    }
}

impl JobState {
    pub const ALL: [Self; 14] = [
        Self::Draft,
        Self::PendingApproval,
        Self::Scheduled,
        Self::RollingOut,
        Self::Paused,
        Self::Aborting,
        Self::RollingBack,
        Self::Succeeded,
        Self::PartiallySucceeded,
        Self::Failed,
        Self::Aborted,
        Self::RolledBack,
        Self::Canceled,
        Self::Denied,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::PendingApproval => "pending_approval",
            Self::Scheduled => "scheduled",
            Self::RollingOut => "rolling_out",
            Self::Paused => "paused",
            Self::Aborting => "aborting",
            Self::RollingBack => "rolling_back",
            Self::Succeeded => "succeeded",
            Self::PartiallySucceeded => "partially_succeeded",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::RolledBack => "rolled_back",
            Self::Canceled => "canceled",
            Self::Denied => "denied",
        }
    }

    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded
                | Self::PartiallySucceeded
                | Self::Failed
                | Self::Aborted
                | Self::RolledBack
                | Self::Canceled
                | Self::Denied
        )
    }

    /// What people may do now.
    pub const fn acts(self) -> &'static [Act] {
        match self {
            Self::PendingApproval => &[Act::Approve, Act::Deny, Act::Cancel],
            Self::RollingOut => &[Act::Pause, Act::Cancel, Act::Rollback],
            Self::Paused => &[Act::Resume, Act::Cancel, Act::Rollback],
            Self::Draft | Self::Scheduled | Self::Aborting | Self::RollingBack => &[Act::Cancel],
            _ => &[],
        }
    }

    /// The whole machine: where a job may go at all.
    pub const fn may_become(self, to: Self) -> bool {
        use JobState as S;
        match (self, to) {
            (S::Draft, S::PendingApproval | S::Scheduled)
            | (S::PendingApproval, S::Scheduled | S::Denied)
            | (S::Scheduled, S::RollingOut | S::Aborting)
            | (S::RollingOut, S::Succeeded | S::PartiallySucceeded | S::Failed | S::Paused | S::Aborting)
            | (S::Paused, S::RollingOut | S::Aborting)
            | (S::Aborting, S::Aborted | S::RollingBack)
            | (S::RollingBack, S::RolledBack | S::Failed) => true,
            (from, S::Canceled) => !from.is_terminal(),
            _ => false,
        }
    }
}

/// Which devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobTarget {
    DeviceIds(Vec<Arc<str>>),
    Group(String),
    Query(TargetQuery),
}

/// Devices by what they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetQuery {
    pub tag: Option<String>,
    pub group: Option<String>,
    pub hw_class: Option<String>,
    pub kind: Option<crate::device::DeviceKind>,
}

/// What somebody decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approved,
    Denied,
}

/// A decision on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub user: String,
    pub role: UserRole,
    pub decision: Decision,
    pub at: Millis,
    pub note: String,
    /// The image that was decided on: another one is not covered.
    pub sha256: Option<String>,
}

/// Where a group stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupState {
    Waiting,
    Running,
    /// Its success threshold is reached.
    Soaking,
    Passed,
    Failed,
}

/// A group of a job, as it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRun {
    pub size: u32,
    pub state: GroupState,
    pub started_at: Option<Millis>,
    /// When its success threshold was reached.
    pub reached_at: Option<Millis>,
    pub passed_at: Option<Millis>,
    /// Failures that an operator went on in spite of.
    pub waived: Option<u32>,
}

/// What follows when an aborted job has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    Aborted,
    Canceled,
    RollBack,
}

/// The artifact as it was when the job was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub id: String,
    pub name: String,
    pub version: String,
    pub sequence: u64,
    pub size: u64,
    pub sha256: String,
}

impl Image {
    pub fn as_version(&self) -> FirmwareVersion {
        FirmwareVersion { artifact: Some(self.id.clone()), version: self.version.clone(), sequence: self.sequence }
    }
}

/// A job as it is stored. Its counters are its executions', counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// `job_…`.
    pub id: Arc<str>,
    pub name: String,
    pub artifact_id: Option<String>,
    pub image: Option<Image>,
    pub kind: JobKind,
    pub target: JobTarget,
    pub resolved_count: u32,
    pub state: JobState,
    pub policy: Policy,
    pub approvals: Vec<Approval>,
    pub approvals_required: u32,
    pub groups: Vec<GroupRun>,
    /// From 0.
    pub current_group: u32,
    /// Not before.
    pub start_at: Option<Millis>,
    /// While `aborting`.
    pub after: Option<After>,
    /// Who paused, resumed, cancelled or rolled back: none of them may approve.
    pub executed_by: BTreeSet<String>,
    pub created_by: String,
    pub created_at: Millis,
    pub started_at: Option<Millis>,
    pub finished_at: Option<Millis>,
    /// Why it paused or ended.
    pub end_reason: Option<String>,
    pub idempotency_key: Option<String>,
    pub version: u64,
    pub updated_at: Millis,
}

impl Record for Job {
    const TREE: Tree = Tree::Jobs;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
