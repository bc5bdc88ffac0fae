//! What is sent.

use muster_core::Millis;
use muster_network::firmware::{JobKind, JobTarget, Manifest, NewArtifact, NewJob, Policy, TargetQuery};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::body::{Fields, FromJson};

/// A page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// 1 to 200, by default 50.
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// Only those in that state.
    pub state: Option<String>,
    /// States in the words of `aws` (IoT Jobs), `ddi` (hawkBit) or `mender`; of executions only.
    pub dialect: Option<String>,
}

fn time(fields: &mut Fields<'_>, name: &str) -> Option<Millis> {
    let text = fields.string(name)?;
    let at = Millis::parse_rfc3339(&text);
    if at.is_none() {
        fields.fail(name, "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z");
    }
    at
}

fn whole(fields: &mut Fields<'_>, name: &str) -> Option<u64> {
    fields.integer(name, 0..=i64::MAX).and_then(|number| u64::try_from(number).ok())
}

fn required(fields: &mut Fields<'_>, name: &str) -> String {
    let text = fields.string(name);
    fields.require(name, text).unwrap_or_default()
}

fn short(fields: &mut Fields<'_>, name: &str, most: usize) -> Option<String> {
    let text = fields.string(name)?;
    if text.chars().count() > most {
        fields.fail(name, format!("must be at most {most} characters"));
    }
    Some(text)
}

/// An image to be announced: exactly what its manifest says, and what people read.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct NewArtifactBody {
    /// 1 to 100 characters.
    pub name: String,
    /// Semantic version.
    pub version: String,
    pub sequence: u64,
    pub vendor: String,
    pub hw_class: String,
    #[schema(value_type = Option<Vec<String>>)]
    pub hw_revisions: Vec<String>,
    /// In bytes.
    pub size: u64,
    /// 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// `raw` (default), `swu`, `raucb`, `mender`, `delta`, `tar` or `config`.
    #[schema(value_type = Option<String>)]
    pub format: String,
    /// RFC 3339.
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<Millis>,
    pub min_current_sequence: Option<u64>,
    /// By default `application/octet-stream`.
    pub content_type: Option<String>,
    pub release_notes: Option<String>,
    pub sbom_url: Option<String>,
}

impl FromJson for NewArtifactBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let sequence = whole(fields, "sequence");
        let size = whole(fields, "size");
        Self {
            name: required(fields, "name"),
            version: required(fields, "version"),
            sequence: fields.require("sequence", sequence).unwrap_or_default(),
            vendor: required(fields, "vendor"),
            hw_class: required(fields, "hw_class"),
            hw_revisions: fields.choice("hw_revisions").unwrap_or_default(),
            size: fields.require("size", size).unwrap_or_default(),
            sha256: required(fields, "sha256"),
            format: fields.string("format").unwrap_or_else(|| "raw".to_owned()),
            expires_at: time(fields, "expires_at"),
            min_current_sequence: whole(fields, "min_current_sequence"),
            content_type: short(fields, "content_type", 100),
            release_notes: short(fields, "release_notes", 20_000),
            sbom_url: short(fields, "sbom_url", 2_000),
        }
    }
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
            content_type: body.content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
            release_notes: body.release_notes.unwrap_or_default(),
            sbom_url: body.sbom_url,
        }
    }
}

/// A signed manifest.
#[derive(Debug, ToSchema)]
pub struct VerifyArtifactBody {
    /// A compact JWS with `alg: EdDSA`, `typ: fw-manifest+jws` and `kid`; its payload is the manifest: the artifact's
    /// fields from `name` to `min_current_sequence`.
    pub manifest_jws: String,
}

impl FromJson for VerifyArtifactBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self { manifest_jws: required(fields, "manifest_jws") }
    }
}

/// Why.
#[derive(Debug, ToSchema)]
pub struct RevokeArtifactBody {
    /// At most 500 characters.
    pub reason: String,
}

impl FromJson for RevokeArtifactBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let reason = short(fields, "reason", 500);
        Self { reason: fields.require("reason", reason).unwrap_or_default() }
    }
}

/// What is to be remembered of an act.
#[derive(Debug, ToSchema)]
pub struct FirmwareNoteBody {
    /// At most 500 characters.
    #[schema(value_type = Option<String>)]
    pub note: String,
}

impl FromJson for FirmwareNoteBody {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { note: short(fields, "note", 500).unwrap_or_default() }
    }
}

/// A key that is to be trusted.
#[derive(Debug, ToSchema)]
pub struct NewSigningKeyBody {
    /// 1 to 100 characters.
    pub name: String,
    /// A JWK: `{"kty":"OKP","crv":"Ed25519","x":"…"}`.
    #[schema(value_type = Object)]
    pub public_key: String,
}

impl FromJson for NewSigningKeyBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let name = short(fields, "name", 100);
        let key = fields.object("public_key", |key| required(key, "x"));
        Self {
            name: fields.require("name", name).unwrap_or_default(),
            public_key: fields.require("public_key", key).unwrap_or_default(),
        }
    }
}

/// A rollout to be made.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct NewJobBody {
    /// At most 100 characters.
    #[schema(value_type = Option<String>)]
    pub name: String,
    /// Left out of kind `reboot` only.
    pub artifact_id: Option<String>,
    /// `update` (default), `downgrade`, `config` or `reboot`.
    #[schema(value_type = Option<String>)]
    pub kind: JobKind,
    /// One of `device_ids` (an array), `group` (a name) or `query` (`tag`, `group`, `hw_class`, `kind`).
    #[schema(value_type = Object)]
    pub target: JobTarget,
    /// `groups[{pct|count, soak_s, success_threshold_pct, error_threshold_pct, on_success, on_error}]`,
    /// `rate{base_per_min, factor, max_per_min, every_succeeded}`, `abort[{on, pct, min_executed}]`,
    /// `device_timeout_s`, `retries`, `mode`, `window{cron, duration_s, tz}`, `health_gate{probe, within_s, rules}`,
    /// `auto_rollback`; each may be left out.
    #[schema(value_type = Option<Object>)]
    pub policy: Policy,
    /// Not before; RFC 3339.
    #[schema(value_type = Option<String>)]
    pub start_at: Option<Millis>,
}

impl FromJson for NewJobBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let target = fields.value("target").cloned().unwrap_or(Value::Null);
        let read = fields.choice("target");
        if let Some(JobTarget::Query(query)) = &read
            && *query == TargetQuery::default()
        {
            fields.fail("target", "an empty query would be every device: name `tag`, `group`, `hw_class` or `kind`");
        }
        let target = if target.is_null() { fields.require("target", None) } else { read };
        Self {
            name: short(fields, "name", 100).unwrap_or_default(),
            artifact_id: fields.string("artifact_id"),
            kind: fields.choice("kind").unwrap_or(JobKind::Update),
            target: target.unwrap_or(JobTarget::Group(String::new())),
            policy: fields.choice("policy").unwrap_or_default(),
            start_at: time(fields, "start_at"),
        }
    }
}

impl From<NewJobBody> for NewJob {
    fn from(body: NewJobBody) -> Self {
        let NewJobBody { name, artifact_id, kind, target, policy, start_at } = body;
        Self { name, artifact_id, kind, target, policy, start_at }
    }
}
