//! Jobs: rollouts of an artifact, their states and stored record.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::policy::Policy;
use crate::device::FirmwareVersion;
use muster_core::Millis;
use muster_core::principal::UserRole;

/// Kind of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Update to a higher sequence.
    Update,
    /// Downgrade to a lower sequence; always needs two approvals.
    Downgrade,
    /// Configuration instead of an image; the firmware version stays.
    Config,
    /// Restart without an artifact.
    Reboot,
}

impl JobKind {
    /// Returns whether devices run another firmware afterwards, and can be rolled back.
    pub const fn changes_firmware(self) -> bool {
        matches!(self, Self::Update | Self::Downgrade)
    }
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Being created; never visible from outside.
    Draft,
    /// Waits for approvals.
    PendingApproval,
    /// Approved; waits for its start time and maintenance window.
    Scheduled,
    /// Devices are notified group by group.
    RollingOut,
    /// Paused by a person or by its policy.
    Paused,
    /// Active executions finish; no new ones start.
    Aborting,
    /// Devices return to their previous firmware.
    RollingBack,
    /// Finished: no device failed.
    Succeeded,
    /// Finished: some devices failed.
    PartiallySucceeded,
    /// Finished: no device succeeded, or a rollback was incomplete.
    Failed,
    /// Aborted by its policy or by the server.
    Aborted,
    /// All devices are back on their previous firmware.
    RolledBack,
    /// Canceled by a person.
    Canceled,
    /// Denied by an approver.
    Denied,
}

/// Action of a person on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobAction {
    /// Approve.
    Approve,
    /// Deny.
    Deny,
    /// Pause.
    Pause,
    /// Resume; failures so far no longer count against the group.
    Resume,
    /// Cancel.
    Cancel,
    /// Return devices to their previous firmware.
    Rollback,
}

impl JobAction {
    /// All actions.
    pub const ALL: [Self; 6] = [Self::Approve, Self::Deny, Self::Pause, Self::Resume, Self::Cancel, Self::Rollback];

    /// Returns the name of the action in JSON.
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
    /// All states.
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

    /// Returns the name of the state in JSON.
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

    /// Returns whether the state is final. The only way on is a rollback.
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

    /// Returns the actions that this state allows.
    pub const fn allowed_actions(self) -> &'static [JobAction] {
        match self {
            Self::PendingApproval => &[JobAction::Approve, JobAction::Deny, JobAction::Cancel],
            Self::RollingOut => &[JobAction::Pause, JobAction::Cancel, JobAction::Rollback],
            Self::Paused => &[JobAction::Resume, JobAction::Cancel, JobAction::Rollback],
            Self::Draft | Self::Scheduled | Self::Aborting | Self::RollingBack => &[JobAction::Cancel],
            Self::Succeeded | Self::PartiallySucceeded | Self::Failed | Self::Aborted | Self::Canceled => {
                &[JobAction::Rollback]
            }
            Self::RolledBack | Self::Denied => &[],
        }
    }

    /// Returns whether a transition exists in the state machine.
    pub const fn may_become(self, to: Self) -> bool {
        use JobState as S;
        match (self, to) {
            (S::Draft, S::PendingApproval | S::Scheduled)
            | (S::PendingApproval, S::Scheduled | S::Denied)
            | (S::Scheduled, S::RollingOut | S::Aborting)
            | (S::RollingOut, S::Succeeded | S::PartiallySucceeded | S::Failed | S::Paused | S::Aborting)
            | (S::Paused, S::RollingOut | S::Aborting)
            | (S::Aborting, S::Aborted | S::RollingBack)
            | (S::RollingBack, S::RolledBack | S::Failed)
            // The rollback of a finished job waits for approval; without it the job is again what it was.
            | (S::Succeeded | S::PartiallySucceeded | S::Failed | S::Aborted | S::Canceled, S::PendingApproval)
            | (S::PendingApproval, S::RollingBack | S::Succeeded | S::PartiallySucceeded | S::Failed | S::Aborted) => {
                true
            }
            (from, S::Canceled) => !from.is_terminal(),
            _ => false,
        }
    }
}

/// Target of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobTarget {
    /// Devices by identifier.
    DeviceIds(Vec<Arc<str>>),
    /// All devices of a group.
    Group(String),
    /// All devices that match a query.
    Query(TargetQuery),
}

/// Query of devices; all fields that are set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetQuery {
    /// Tag.
    pub tag: Option<String>,
    /// Group.
    pub group: Option<String>,
    /// Hardware class.
    pub hw_class: Option<String>,
    /// Kind.
    pub kind: Option<crate::device::DeviceKind>,
}

/// Decision of an approver.
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
    /// SHA-256 of the image that was approved; no other image is covered.
    pub sha256: Option<String>,
}

/// State of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupState {
    Waiting,
    Running,
    /// The success threshold is reached; the soak time runs.
    Soaking,
    Passed,
    Failed,
}

/// Progress of a group of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRun {
    pub size: u32,
    pub state: GroupState,
    pub started_at: Option<Millis>,
    /// Time at which the success threshold was reached.
    pub reached_at: Option<Millis>,
    pub passed_at: Option<Millis>,
    /// Number of failures that an operator has accepted by resuming.
    pub waived: Option<u32>,
}

/// What follows once an aborted job has no active executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterAbort {
    Aborted,
    Canceled,
    RollBack,
}

/// The rollback of a finished job, which needs approvals of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RollbackRequest {
    pub requested_by: String,
    pub requested_at: Millis,
    /// State of the job before, to which it returns if the rollback is denied or canceled.
    pub from: JobState,
    /// Approvals of the rollout, and how many it needed.
    pub rollout_approvals: Vec<Approval>,
    pub rollout_approvals_required: u32,
    pub finished_at: Option<Millis>,
}

/// Why a job entered a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobReason {
    pub at: Millis,
    pub state: JobState,
    pub reason: String,
}

/// Largest number of reasons that a job keeps: the first one and the latest.
const MAX_REASONS: usize = 32;

/// The artifact as it was when the job was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobImage {
    pub id: String,
    pub name: String,
    pub version: String,
    pub sequence: u64,
    pub size: u64,
    pub sha256: String,
}

impl JobImage {
    pub fn as_version(&self) -> FirmwareVersion {
        FirmwareVersion { artifact: Some(self.id.clone()), version: self.version.clone(), sequence: self.sequence }
    }
}

/// A job as it is stored. Its counters are computed from its executions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Identifier, `job_…`.
    pub id: Arc<str>,
    /// Name.
    pub name: String,
    /// Artifact to install.
    pub artifact_id: Option<String>,
    /// The artifact as it was when the job was created.
    pub image: Option<JobImage>,
    /// Kind.
    pub kind: JobKind,
    /// Target.
    pub target: JobTarget,
    /// Number of devices.
    pub resolved_count: u32,
    /// State.
    pub state: JobState,
    /// Policy.
    pub policy: Policy,
    /// Decisions of approvers.
    pub approvals: Vec<Approval>,
    /// Number of approvals that are needed.
    pub approvals_required: u32,
    /// Groups in order.
    pub groups: Vec<GroupRun>,
    /// Index of the current group, from 0.
    pub current_group: u32,
    /// Earliest start.
    pub start_at: Option<Millis>,
    /// Set while the state is `aborting`.
    pub after: Option<AfterAbort>,
    /// Users who paused, resumed, canceled or rolled back; none of them may approve.
    pub executed_by: BTreeSet<String>,
    /// User who created it.
    pub created_by: String,
    /// Time of creation.
    pub created_at: Millis,
    /// Time of the start.
    pub started_at: Option<Millis>,
    /// Time of the end.
    pub finished_at: Option<Millis>,
    /// Reason of the last pause or end.
    pub end_reason: Option<String>,
    /// Reasons of all pauses and ends, oldest first.
    #[serde(default)]
    pub reasons: Vec<JobReason>,
    /// Rollback that was requested after the job had finished.
    #[serde(default)]
    pub rollback: Option<RollbackRequest>,
    /// Approval (`apr_…`) that it waits for, or waited for: its decisions are those of the job.
    #[serde(default)]
    pub approval_id: Option<String>,
    /// Idempotency key of the request that created it.
    pub idempotency_key: Option<String>,
    /// Version, for `If-Match`.
    pub version: u64,
    /// Time of the last change.
    pub updated_at: Millis,
}

impl Job {
    /// Keeps the present reason, unless it is kept already.
    pub fn keep_reason(&mut self, at: Millis) {
        let Some(reason) = &self.end_reason else { return };
        if self.reasons.last().is_some_and(|last| last.reason == *reason) {
            return;
        }
        if self.reasons.len() >= MAX_REASONS {
            self.reasons.remove(1);
        }
        self.reasons.push(JobReason { at, state: self.state, reason: reason.clone() });
    }
}

impl Record for Job {
    const TREE: Tree = Tree::Jobs;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
