//! An image of firmware and what is signed about it.

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::threat::Threat;
use muster_core::{Error, Kind, Millis};

/// Where an artifact stands: `uploading` → `verifying` → `ready` or `rejected`; `ready` → `revoked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactState {
    Uploading,
    Verifying,
    Ready,
    Revoked,
    Rejected,
}

impl ArtifactState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uploading => "uploading",
            Self::Verifying => "verifying",
            Self::Ready => "ready",
            Self::Revoked => "revoked",
            Self::Rejected => "rejected",
        }
    }
}

/// Payload formats that devices of the network read.
pub const FORMATS: [&str; 7] = ["raw", "swu", "raucb", "mender", "delta", "tar", "config"];

/// What is signed: exactly these fields of the artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// Grows with every release of a hardware class: the bar against older images.
    pub sequence: u64,
    pub vendor: String,
    pub hw_class: String,
    /// Empty: every revision.
    #[serde(default)]
    pub hw_revisions: Vec<String>,
    /// In bytes.
    pub size: u64,
    /// Lower-case hexadecimal.
    pub sha256: String,
    /// One of [`FORMATS`].
    pub format: String,
    pub expires_at: Option<Millis>,
    /// What a device must run at least, to come from.
    pub min_current_sequence: Option<u64>,
}

impl Manifest {
    /// # Errors
    /// `Invalid`, naming the field; what is out of `max_size` bytes is `TooLarge`.
    pub fn check(&self, max_size: u64, now: Millis) -> Result<(), Error> {
        let wrong =
            |field: &str, why: &str| Err(Error::field(Kind::Invalid, &["body", field], why, serde_json::Value::Null));
        let named = |text: &str| (1..=100).contains(&text.chars().count());
        if !named(&self.name) {
            return wrong("name", "must be 1 to 100 characters");
        }
        if semver::Version::parse(&self.version).is_err() {
            return wrong("version", "must be a semantic version, such as 2.4.1");
        }
        if !named(&self.vendor) || !named(&self.hw_class) {
            return wrong("hw_class", "vendor and hw_class must be 1 to 100 characters");
        }
        if self.hw_revisions.len() > 32 || !self.hw_revisions.iter().all(|revision| named(revision)) {
            return wrong("hw_revisions", "must be at most 32 of 1 to 100 characters");
        }
        if self.size == 0 {
            return wrong("size", "must be at least 1 byte");
        }
        if self.size > max_size {
            let message = format!("an image of {} bytes is over {max_size}: set firmware.max_image_bytes", self.size);
            return Err(Error::new(Kind::TooLarge, message));
        }
        if self.sha256.len() != 64 || !self.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return wrong("sha256", "must be 64 lower-case hexadecimal digits");
        }
        if !FORMATS.contains(&self.format.as_str()) {
            let message = format!("`{}` is no format of a payload: {}", self.format, FORMATS.join(", "));
            return Err(Threat::ImageFormat.refusal(message));
        }
        if self.expires_at.is_some_and(|at| at <= now) {
            return Err(Threat::ManifestExpired.refusal("the manifest's time is over: have a new one signed"));
        }
        Ok(())
    }
}

/// An artifact as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// `art_…`.
    pub id: String,
    #[serde(flatten)]
    pub manifest: Manifest,
    pub content_type: String,
    /// The compact JWS over the manifest, once it was verified.
    pub signature: Option<String>,
    pub signing_kid: Option<String>,
    pub release_notes: String,
    pub sbom_url: Option<String>,
    pub state: ArtifactState,
    /// Why it is `rejected` or `revoked`.
    pub reason: Option<String>,
    pub uploaded_by: String,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub record_version: u64,
}

impl Artifact {
    /// Why it cannot be rolled out now.
    ///
    /// # Errors
    /// Not ready, revoked, expired, or of a revoked key.
    pub fn deployable(&self, key_trusted: KeyTrust, now: Millis) -> Result<(), Error> {
        match self.state {
            ArtifactState::Ready => {}
            ArtifactState::Revoked => {
                return Err(Threat::ArtifactRevoked.refusal(format!("artifact {} is revoked", self.id)));
            }
            ArtifactState::Rejected => {
                let why = self.reason.as_deref().unwrap_or("it was not verified");
                let threat = Threat::ALL.into_iter().find(|threat| why.starts_with(threat.code()));
                let threat = threat.unwrap_or(Threat::ImageNotAuthentic);
                return Err(threat.refusal(format!("artifact {} is rejected: {why}", self.id)));
            }
            state @ (ArtifactState::Uploading | ArtifactState::Verifying) => {
                let message = format!("artifact {} is {}: upload it whole and verify it first", self.id, state.name());
                return Err(Error::new(Kind::Conflict, message).coded("artifact_not_ready"));
            }
        }
        if key_trusted == KeyTrust::Revoked {
            return Err(Threat::SigningKeyRevoked.refusal("the key that signed this artifact is revoked: sign it anew"));
        }
        if self.manifest.expires_at.is_some_and(|at| at <= now) {
            return Err(Threat::ManifestExpired.refusal("the manifest's time is over: have a new one signed"));
        }
        Ok(())
    }
}

/// Whether the key that signed is still trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyTrust {
    Trusted,
    Revoked,
}

impl Record for Artifact {
    const TREE: Tree = Tree::Artifacts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// SHA-256 of each mebibyte of a verified image: each is compared before a byte of it is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    pub hashes: Vec<[u8; 32]>,
}

impl Record for Blocks {
    const TREE: Tree = Tree::Artifacts;
    const SCHEMA: u16 = 1;
}

/// A key that may sign firmware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKey {
    /// The thumbprint of its JWK (RFC 7638), or the name that manifests give it.
    pub kid: String,
    /// The Ed25519 public key's 32 bytes, base64url.
    pub x: String,
    pub name: String,
    pub added_by: String,
    pub added_at: Millis,
    pub revoked_at: Option<Millis>,
}

impl Record for SigningKey {
    const TREE: Tree = Tree::Artifacts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
