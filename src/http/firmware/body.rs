//! Requests for firmware.

use muster_core::Millis;
use muster_network::firmware::{
    Dialect, ExecState, JobKind, JobState, JobTarget, Manifest, NewArtifact, NewJob, Policy, TargetQuery,
};
use muster_request::{Fields, Request};

use crate::ask::{PageQuery, time};

/// Which jobs are listed.
#[derive(Debug, Request)]
#[request(query)]
pub struct JobQuery {
    /// Only those in that state.
    #[request(schema = String)]
    pub state: Option<JobState>,
    #[request(flatten)]
    pub page: PageQuery,
}

/// Which executions of a job are listed.
#[derive(Debug, Request)]
#[request(query)]
pub struct ExecutionQuery {
    /// Only those in that state.
    #[request(schema = String)]
    pub state: Option<ExecState>,
    #[request(flatten)]
    pub page: DialectQuery,
}

/// A page of executions.
#[derive(Debug, Request)]
#[request(query)]
pub struct DialectQuery {
    /// States in the words of `aws` (IoT Jobs), `ddi` (hawkBit) or `mender`.
    #[request(schema = String)]
    pub dialect: Option<Dialect>,
    #[request(flatten)]
    pub page: PageQuery,
}

/// An image to be announced: exactly what its manifest says, and what people read.
#[derive(Debug, Request)]
#[request(example = {
    "name": "siren", "version": "2.0.0", "sequence": 2, "vendor": "acme", "hw_class": "siren-2", "size": 11,
    "sha256": "64ec88ca00b268e5ba1a35678a1b5316d212f4f366b2477232534a8aeca37f3c", "format": "raw"
})]
pub struct NewArtifactBody {
    /// 1 to 100 characters.
    name: String,
    /// Semantic version.
    version: String,
    sequence: u64,
    vendor: String,
    hw_class: String,
    #[request(default)]
    hw_revisions: Vec<String>,
    /// In bytes.
    size: u64,
    /// 64 lower-case hexadecimal digits.
    sha256: String,
    /// `raw`, `swu`, `raucb`, `mender`, `delta`, `tar` or `config`.
    #[request(default = "raw".to_owned())]
    format: String,
    /// RFC 3339.
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
    /// A compact JWS with `alg: EdDSA`, `typ: fw-manifest+jws` and `kid`; its payload is the manifest: the artifact's
    /// fields from `name` to `min_current_sequence`.
    #[request(example = "eyJhbGciOiJFZERTQSIsInR5cCI6ImZ3LW1hbmlmZXN0K2p3cyJ9.e30.c2lnbmF0dXJl")]
    pub manifest_jws: String,
}

/// Why an artifact is revoked.
#[derive(Debug, Request)]
pub struct RevokeArtifactBody {
    #[request(chars = ..=500, example = "bricks revision B")]
    pub reason: String,
}

/// A note that is kept with a decision on a job.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct FirmwareNoteBody {
    #[request(chars = ..=500, default, example = "read and tried")]
    pub note: String,
}

/// A key that is to be trusted.
#[derive(Debug, Request)]
#[request(example = {
    "name": "release 2026",
    "public_key": { "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }
})]
pub struct NewSigningKeyBody {
    /// 1 to 100 characters.
    #[request(chars = ..=100)]
    pub name: String,
    /// A JWK: `{"kty":"OKP","crv":"Ed25519","x":"…"}`.
    #[request(with = public_key, schema = Object)]
    pub public_key: String,
}

fn public_key(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.object(name, |key| key.required_string("x"))
}

/// A rollout to be made.
#[derive(Debug, Request)]
#[request(into = NewJob, example = {
    "name": "reboot the sirens", "kind": "reboot", "target": { "group": "sirens" },
    "policy": { "groups": [{ "pct": 10, "soak_s": 600 }, { "pct": 100 }], "retries": 1 }
})]
pub struct NewJobBody {
    #[request(chars = ..=100, default)]
    name: String,
    /// Left out of kind `reboot` only.
    artifact_id: Option<String>,
    /// `update` (default), `downgrade`, `config` or `reboot`.
    #[request(default = JobKind::Update, schema = String)]
    kind: JobKind,
    /// One of `device_ids` (an array), `group` (a name) or `query` (`tag`, `group`, `hw_class`, `kind`).
    #[request(check = named, schema = Object)]
    target: JobTarget,
    /// `groups[{pct|count, soak_s, success_threshold_pct, error_threshold_pct, on_success, on_error}]`,
    /// `rate{base_per_min, factor, max_per_min, every_succeeded}`, `abort[{on, pct, min_executed}]`,
    /// `device_timeout_s`, `retries`, `mode`, `window{cron, duration_s, tz}`, `health_gate{probe, within_s, rules}`,
    /// `auto_rollback`; each may be left out.
    #[request(default, schema = Object)]
    policy: Policy,
    /// Not before; RFC 3339.
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
