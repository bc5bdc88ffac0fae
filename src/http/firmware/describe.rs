//! Responses of firmware: describes the records that the actor returns.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// A firmware artifact. The manifest, which is signed, consists of the fields from `name` to `min_current_sequence`.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ArtifactBody {
    /// `art_…`.
    pub id: String,
    pub name: String,
    /// Semantic version (SemVer).
    pub version: String,
    /// Release counter within a hardware class.
    pub sequence: u64,
    pub vendor: String,
    pub hw_class: String,
    /// Hardware revisions; an empty list means every revision.
    pub hw_revisions: Vec<String>,
    /// Size of the image, in bytes.
    pub size: u64,
    /// SHA-256 of the image, lower-case hexadecimal.
    pub sha256: String,
    /// Format: `raw`, `swu`, `raucb`, `mender`, `delta`, `tar` or `config`.
    pub format: String,
    /// Time after which the artifact is not installed, RFC 3339.
    pub expires_at: Option<String>,
    pub min_current_sequence: Option<u64>,
    pub content_type: String,
    /// Compact JWS of the manifest, once it is verified.
    pub signature: Option<String>,
    pub signing_kid: Option<String>,
    pub release_notes: String,
    pub sbom_url: Option<String>,
    /// State: `uploading`, `verifying`, `ready`, `revoked` or `rejected`.
    pub state: String,
    /// Reason of the state `rejected` (a code, `:` and a text) or `revoked`, or of the last verification that failed.
    pub reason: Option<String>,
    pub uploaded_by: String,
    /// Time of creation, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
    /// Version of the record, for `If-Match`.
    pub record_version: u64,
}

/// A page of artifacts.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ArtifactList {
    pub artifacts: Vec<ArtifactBody>,
    pub next_cursor: Option<String>,
}

/// The progress of an upload.
#[derive(Debug, Serialize, ToSchema)]
pub struct UploadBody {
    /// Number of durable bytes.
    pub received: u64,
    /// Size of the image, in bytes.
    pub size: u64,
    pub complete: bool,
}

/// A key that may sign firmware.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct SigningKeyBody {
    /// RFC 7638 thumbprint of the key.
    pub kid: String,
    /// Ed25519 public key, base64url.
    pub x: String,
    pub name: String,
    pub added_by: String,
    pub added_at: String,
    pub revoked_at: Option<String>,
}

/// The keys that may sign firmware.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct SigningKeyList {
    pub keys: Vec<SigningKeyBody>,
    pub next_cursor: Option<String>,
}

/// A rollout.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct FirmwareJobBody {
    /// `job_…`.
    pub id: String,
    pub name: String,
    pub artifact_id: Option<String>,
    /// Artifact at the creation of the job: id, name, version, sequence, size, sha256.
    #[schema(value_type = Option<Object>)]
    pub image: Option<()>,
    /// Kind: `update`, `downgrade`, `config` or `reboot`.
    pub kind: String,
    #[schema(value_type = Object)]
    pub target: (),
    /// Number of devices of the job.
    pub resolved_count: u32,
    /// State: `pending_approval`, `scheduled`, `rolling_out`, `paused`, `aborting`, `rolling_back`, or a final state:
    /// `succeeded`, `partially_succeeded`, `failed`, `aborted`, `rolled_back`, `canceled`, `denied`.
    pub state: String,
    #[schema(value_type = Object)]
    pub policy: (),
    /// Decisions on the job: user, role, decision, at, note, sha256.
    #[schema(value_type = Vec<Object>)]
    pub approvals: Vec<()>,
    pub approvals_required: u32,
    /// `apr_…`: the approval whose decisions are those on the job. Null for a job without one.
    pub approval_id: Option<String>,
    /// Groups in order: size, state, started_at, reached_at, passed_at, waived.
    #[schema(value_type = Vec<Object>)]
    pub groups: Vec<()>,
    /// Index of the present group, from 0.
    pub current_group: u32,
    pub start_at: Option<String>,
    /// Only while `aborting`: the next state, `aborted`, `canceled` or `roll_back`.
    pub after: Option<String>,
    /// Users who executed the job; none of them may approve it.
    pub executed_by: Vec<String>,
    /// Number of executions by state; the sum is `resolved_count`.
    pub counters: BTreeMap<String, u32>,
    pub progress_pct: u32,
    pub created_by: String,
    pub created_at: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    /// Reason of the last pause or end.
    pub end_reason: Option<String>,
    /// Reasons of all pauses and ends, oldest first: at, state, reason.
    #[schema(value_type = Vec<Object>)]
    pub reasons: Vec<()>,
    /// Rollback requested after the job had finished: requested_by, requested_at, from, rollout_approvals,
    /// rollout_approvals_required, finished_at.
    #[schema(value_type = Option<Object>)]
    pub rollback: Option<()>,
    pub idempotency_key: Option<String>,
    pub version: u64,
    pub updated_at: String,
}

/// A page of jobs.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct FirmwareJobList {
    pub jobs: Vec<FirmwareJobBody>,
    pub next_cursor: Option<String>,
}

/// A job on one device.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ExecutionBody {
    pub job_id: String,
    pub device_id: String,
    /// Index of the group, from 0.
    pub group: u32,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// State: `queued`, `notified`, `downloading`, `downloaded`, `verified`, `installing`, `rebooting`, `verifying`,
    /// `rolling_back`, or a final state: `succeeded`, `already_installed`, `failed`, `timed_out`, `rejected`,
    /// `rolled_back`, `canceled`, `removed`.
    pub state: String,
    pub progress_pct: u8,
    pub bytes_done: u64,
    pub details: BTreeMap<String, String>,
    /// `code` and `message` of a failure.
    #[schema(value_type = Option<Object>)]
    pub error: Option<()>,
    /// All failures, oldest first: at, attempt, state, code, message. They stay after further attempts and a rollback.
    #[schema(value_type = Vec<Object>)]
    pub failures: Vec<()>,
    /// Firmware before the job: artifact, version, sequence.
    #[schema(value_type = Option<Object>)]
    pub from: Option<()>,
    #[schema(value_type = Option<Object>)]
    pub to: Option<()>,
    /// Time of the last transition to each state.
    pub times: BTreeMap<String, String>,
    /// Version of the execution, to be sent with the next report.
    pub exec_version: u64,
    pub deadline: Option<String>,
    /// Whether the rollback of the job has reached the device.
    pub reverted: bool,
    pub updated_at: String,
}

/// With `dialect=aws`: a `JobExecution` of AWS IoT.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code)]
pub struct AwsExecution {
    pub job_id: String,
    /// Identifier of the device.
    pub thing_name: String,
    /// `QUEUED`, `IN_PROGRESS`, `SUCCEEDED`, `FAILED`, `TIMED_OUT`, `REJECTED`, `REMOVED` or `CANCELED`.
    pub status: String,
    pub version_number: u64,
    /// Number of the attempt, from 1.
    pub execution_number: u32,
    pub status_details: BTreeMap<String, String>,
    /// Unix time in seconds.
    pub last_updated_at: u64,
}

/// With `dialect=ddi`: a feedback of hawkBit's DDI.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct DdiExecution {
    /// Identifier of the job.
    pub id: String,
    #[serde(rename = "controllerId")]
    pub controller_id: String,
    pub status: DdiStatus,
}

#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct DdiStatus {
    /// `scheduled`, `download`, `downloaded`, `proceeding`, `closed`, `canceled` or `rejected`.
    pub execution: String,
    pub result: DdiResult,
}

#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct DdiResult {
    /// `none`, `success` or `failure`.
    pub finished: String,
}

/// With `dialect=mender`: a device of a deployment of Mender.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct MenderExecution {
    /// Identifier of the job.
    pub deployment_id: String,
    pub device_id: String,
    pub status: String,
    pub attempts: u32,
    pub updated: String,
}

/// A job on one device, in the terms of the requested `dialect`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)]
pub enum ListedExecution {
    Muster(Box<ExecutionBody>),
    Aws(AwsExecution),
    Ddi(DdiExecution),
    Mender(MenderExecution),
}

/// A page of executions.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ExecutionList {
    pub executions: Vec<ListedExecution>,
    pub next_cursor: Option<String>,
}
