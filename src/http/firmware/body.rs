//! Requests for firmware.

use muster_core::Millis;
use muster_network::firmware::{
    Dialect, ExecState, JobKind, JobState, JobTarget, Manifest, NewArtifact, NewJob, Policy, TargetQuery,
};
use muster_request::{Fields, Request};

use crate::governance::DecisionFields;
use crate::parameters::{PageQuery, note, time};

/// The filter and the page of a list of jobs.
#[derive(Debug, Request)]
#[request(query)]
pub struct JobQuery {
    /// Returns only jobs in this state.
    #[request(schema = String)]
    pub state: Option<JobState>,
    #[request(flatten)]
    pub page: PageQuery,
}

/// The filter and the page of a list of executions.
#[derive(Debug, Request)]
#[request(query)]
pub struct ExecutionQuery {
    /// Returns only executions in this state.
    #[request(schema = String)]
    pub state: Option<ExecState>,
    #[request(flatten)]
    pub page: DialectQuery,
}

/// A page of executions.
#[derive(Debug, Request)]
#[request(query)]
pub struct DialectQuery {
    /// Returns states in the terms of `aws` (IoT Jobs), `ddi` (hawkBit) or `mender`.
    #[request(schema = String)]
    pub dialect: Option<Dialect>,
    #[request(flatten)]
    pub page: PageQuery,
}

/// A new artifact: the fields of its manifest, and descriptive fields.
#[derive(Debug, Request)]
#[request(example = {
    "name": "siren", "version": "2.0.0", "sequence": 2, "vendor": "acme", "hw_class": "siren-2", "size": 11,
    "sha256": "64ec88ca00b268e5ba1a35678a1b5316d212f4f366b2477232534a8aeca37f3c", "format": "raw"
})]
pub struct NewArtifactBody {
    /// 1 to 100 characters.
    name: String,
    /// Semantic version (SemVer).
    version: String,
    sequence: u64,
    vendor: String,
    hw_class: String,
    #[request(default)]
    hw_revisions: Vec<String>,
    /// Size of the image, in bytes.
    size: u64,
    /// SHA-256 of the image: 64 lower-case hexadecimal digits.
    sha256: String,
    /// Format: `raw`, `swu`, `raucb`, `mender`, `delta`, `tar` or `config`.
    #[request(default = "raw".to_owned())]
    format: String,
    /// Time after which the artifact is not installed, RFC 3339.
    #[request(with = time, schema = String)]
    expires_at: Option<Millis>,
    min_current_sequence: Option<u64>,
    #[request(chars = ..=100, default = "application/octet-stream".to_owned())]
    content_type: String,
    #[request(chars = ..=20_000, default)]
    release_notes: String,
    #[request(chars = ..=2_000)]
    sbom_url: Option<String>,
}

impl From<NewArtifactBody> for NewArtifact {
    fn from(body: NewArtifactBody) -> Self {
        Self {
            manifest: Manifest {
                name: body.name,
                version: body.version,
                sequence: body.sequence,
                vendor: body.vendor,
                hw_class: body.hw_class,
                hw_revisions: body.hw_revisions,
                size: body.size,
                sha256: body.sha256,
                format: body.format,
                expires_at: body.expires_at,
                min_current_sequence: body.min_current_sequence,
            },
            content_type: body.content_type,
            release_notes: body.release_notes,
            sbom_url: body.sbom_url,
        }
    }
}

/// A signed manifest.
#[derive(Debug, Request)]
pub struct VerifyArtifactBody {
    /// Compact JWS with `alg: EdDSA`, `typ: fw-manifest+jws` and `kid`. Its payload is the manifest: the artifact's
    /// fields from `name` to `min_current_sequence`.
    #[request(example = "eyJhbGciOiJFZERTQSIsInR5cCI6ImZ3LW1hbmlmZXN0K2p3cyJ9.e30.c2lnbmF0dXJl")]
    pub manifest_jws: String,
}

/// The reason for revoking an artifact.
#[derive(Debug, Request)]
#[allow(dead_code, reason = "the other name is only described")]
pub struct RevokeArtifactBody {
    /// Why the artifact is revoked.
    #[request(with = note, chars = ..=500, schema = String, example = "bricks revision B")]
    pub note: String,
    /// Another name of `note`.
    #[request(described, schema = String)]
    reason: (),
}

/// A note on a decision about a job.
#[derive(Debug, Request)]
#[request(may_be_empty)]
#[allow(dead_code, reason = "the other name is only described")]
pub struct FirmwareNoteBody {
    #[request(with = note, chars = ..=500, default, schema = String, example = "read and tried")]
    pub note: String,
    /// Another name of `note`.
    #[request(described, schema = String)]
    reason: (),
}

/// A decision on a job that waits for approval.
#[derive(Debug, Request)]
#[request(may_be_empty)]
#[allow(dead_code, reason = "the other name is only described")]
pub struct FirmwareDecisionBody {
    #[request(with = note, chars = ..=500, default, schema = String, example = "read and tried")]
    pub note: String,
    /// Another name of `note`.
    #[request(described, schema = String)]
    reason: (),
    #[request(flatten)]
    pub decision: DecisionFields,
}

/// The firmware to which one device returns.
#[derive(Debug, Request)]
#[request(may_be_empty, example = { "artifact_id": "art_01M81Q6Q7V0000G6T3S0QH4G3K" })]
pub struct RollbackDeviceBody {
    /// Identifier of an artifact; by default that of the firmware which the device ran before.
    pub artifact_id: Option<String>,
}

/// A new trusted signing key.
#[derive(Debug, Request)]
#[request(example = {
    "name": "release 2026",
    "public_key": { "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }
})]
pub struct NewSigningKeyBody {
    /// 1 to 100 characters.
    #[request(chars = ..=100)]
    pub name: String,
    /// Public key as a JWK: `{"kty":"OKP","crv":"Ed25519","x":"…"}`.
    #[request(with = public_key, schema = crate::schema::PublicJwk)]
    pub public_key: String,
}

fn public_key(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.object(name, |key| key.required_string("x"))
}

/// A new rollout.
#[derive(Debug, Request)]
#[request(into = NewJob, example = {
    "name": "reboot the sirens", "kind": "reboot", "target": { "group": "sirens" },
    "policy": { "groups": [{ "pct": 10, "soak_s": 600 }, { "pct": 100 }], "retries": 1 }
})]
pub struct NewJobBody {
    #[request(chars = ..=100, default)]
    name: String,
    /// Identifier of the artifact; required except for the kind `reboot`.
    artifact_id: Option<String>,
    /// Kind: `update` (default), `downgrade`, `config` or `reboot`.
    #[request(default = JobKind::Update, schema = String)]
    kind: JobKind,
    /// Target: one of `device_ids` (an array), `group` (a name) or `query` (`tag`, `group`, `hw_class`, `kind`).
    #[request(check = named, schema = Object)]
    target: JobTarget,
    /// Rollout policy, every field optional: `groups[{pct|count, soak_s, success_threshold_pct, error_threshold_pct,
    /// on_success, on_error}]`, `rate{base_per_min, factor, max_per_min, every_succeeded}`, `abort[{on, pct,
    /// min_executed}]`, `device_timeout_s`, `retries`, `mode`, `window{cron, duration_s, tz}`, `health_gate{probe,
    /// within_s, rules}`, `auto_rollback`.
    #[request(default, schema = Object)]
    policy: Policy,
    /// Earliest start, RFC 3339.
    #[request(with = time, schema = String)]
    start_at: Option<Millis>,
}

fn named(target: &JobTarget) -> Result<(), &'static str> {
    match target {
        JobTarget::Query(query) if *query == TargetQuery::default() => {
            Err("an empty query would be every device: name `tag`, `group`, `hw_class` or `kind`")
        }
        _ => Ok(()),
    }
}
