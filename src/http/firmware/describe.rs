//! What is answered, as the description of the API names it; the fields are those of the records.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// A firmware image: announced, uploaded, verified. Its fields from `name` to `min_current_sequence` are what is signed.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ArtifactBody {
    /// `art_…`.
    pub id: String,
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// Grows with every release of a hardware class.
    pub sequence: u64,
    pub vendor: String,
    pub hw_class: String,
    /// Empty: every revision.
    pub hw_revisions: Vec<String>,
    /// In bytes.
    pub size: u64,
    /// Lower-case hexadecimal.
    pub sha256: String,
    /// `raw`, `swu`, `raucb`, `mender`, `delta`, `tar` or `config`.
    pub format: String,
    /// RFC 3339.
    pub expires_at: Option<String>,
    pub min_current_sequence: Option<u64>,
    pub content_type: String,
    /// The compact JWS over the manifest, once it was verified.
    pub signature: Option<String>,
    pub signing_kid: Option<String>,
    pub release_notes: String,
    pub sbom_url: Option<String>,
    /// `uploading`, `verifying`, `ready`, `revoked` or `rejected`.
    pub state: String,
    /// Why it is `rejected` (a code, `:` and words) or `revoked`.
    pub reason: Option<String>,
    pub uploaded_by: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
    /// For `If-Match`.
    pub record_version: u64,
}

/// A page of artifacts.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ArtifactList {
    pub artifacts: Vec<ArtifactBody>,
    pub next_cursor: Option<String>,
}

/// How far an upload is.
#[derive(Debug, Serialize, ToSchema)]
pub struct UploadBody {
    /// Bytes that are on the disk.
    pub received: u64,
    /// Bytes of the whole image.
    pub size: u64,
    pub complete: bool,
}

/// A key that may sign firmware.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct SigningKeyBody {
    /// The thumbprint of its JWK (RFC 7638).
    pub kid: String,
    /// The Ed25519 public key, base64url.
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
    /// The artifact as it was when the job was made: id, name, version, sequence, size, sha256.
    #[schema(value_type = Option<Object>)]
    pub image: Option<()>,
    /// `update`, `downgrade`, `config` or `reboot`.
    pub kind: String,
    #[schema(value_type = Object)]
    pub target: (),
    /// How many devices it has.
    pub resolved_count: u32,
    /// `pending_approval`, `scheduled`, `rolling_out`, `paused`, `aborting`, `rolling_back`, or an end: `succeeded`,
    /// `partially_succeeded`, `failed`, `aborted`, `rolled_back`, `canceled`, `denied`.
    pub state: String,
    #[schema(value_type = Object)]
    pub policy: (),
    /// Who decided: user, role, decision, at, note, sha256.
    #[schema(value_type = Vec<Object>)]
    pub approvals: Vec<()>,
    pub approvals_required: u32,
    /// How its groups go: size, state, started_at, reached_at, passed_at, waived.
    #[schema(value_type = Vec<Object>)]
    pub groups: Vec<()>,
    /// From 0.
    pub current_group: u32,
    pub start_at: Option<String>,
    /// While `aborting`: what follows, `aborted`, `canceled` or `roll_back`.
    pub after: Option<String>,
    /// Who executed: none of them may approve.
    pub executed_by: Vec<String>,
    /// Executions by state; together they are `resolved_count`.
    pub counters: BTreeMap<String, u32>,
    pub progress_pct: u32,
    pub created_by: String,
    pub created_at: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub end_reason: Option<String>,
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

/// A job on one device. With `?dialect=` its state in the words of another system.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ExecutionBody {
    pub job_id: String,
    pub device_id: String,
    /// From 0.
    pub group: u32,
    /// From 1.
    pub attempt: u32,
    /// `queued`, `notified`, `downloading`, `downloaded`, `verified`, `installing`, `rebooting`, `verifying`,
    /// `rolling_back`, or an end: `succeeded`, `already_installed`, `failed`, `timed_out`, `rejected`, `rolled_back`,
    /// `canceled`, `removed`.
    pub state: String,
    pub progress_pct: u8,
    pub bytes_done: u64,
    pub details: BTreeMap<String, String>,
    /// `code` and `message`.
    #[schema(value_type = Option<Object>)]
    pub error: Option<()>,
    /// What the device ran: artifact, version, sequence.
    #[schema(value_type = Option<Object>)]
    pub from: Option<()>,
    #[schema(value_type = Option<Object>)]
    pub to: Option<()>,
    /// When it last came into each state.
    pub times: BTreeMap<String, String>,
    /// To be sent back with a report.
    pub exec_version: u64,
    pub deadline: Option<String>,
    /// The rollback of its job has reached it.
    pub reverted: bool,
    pub updated_at: String,
}

/// A page of executions.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct ExecutionList {
    pub executions: Vec<ExecutionBody>,
    pub next_cursor: Option<String>,
}
