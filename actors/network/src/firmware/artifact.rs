//! Artifacts: firmware images and their signed manifests.

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

use super::threat::Threat;
use muster_core::{Error, Kind, Millis};

/// State of an artifact: `uploading` → `verifying` → `ready` or `rejected`; `ready` → `revoked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactState {
    /// The image is being uploaded.
    Uploading,
    /// The image is being verified.
    Verifying,
    /// Verified; jobs can roll it out.
    Ready,
    /// Revoked by a person.
    Revoked,
    /// Verification failed, or the stored image was replaced.
    Rejected,
}

impl ArtifactState {
    /// Returns the name of the state in JSON.
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

/// Payload formats that devices support.
pub(crate) const FORMATS: [&str; 7] = ["raw", "swu", "raucb", "mender", "delta", "tar", "config"];

/// The signed description of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name, 1 to 100 characters.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// Anti-rollback sequence number, increasing with every release of a hardware class.
    pub sequence: u64,
    /// Manufacturer of the hardware.
    pub vendor: String,
    /// Hardware class.
    pub hw_class: String,
    /// Hardware revisions; empty means all.
    #[serde(default)]
    pub hw_revisions: Vec<String>,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 of the image in lower-case hexadecimal.
    pub sha256: String,
    /// Payload format: `raw`, `swu`, `raucb`, `mender`, `delta`, `tar` or `config`.
    pub format: String,
    /// Time after which the manifest is no longer valid.
    pub expires_at: Option<Millis>,
    /// Least sequence that a device must run to be updated.
    pub min_current_sequence: Option<u64>,
}

impl Manifest {
    /// # Errors
    /// `Invalid` with the field; `TooLarge` for more than `max_size` bytes; `Conflict` for an unknown format or an
    /// expired manifest.
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
    /// Identifier, `art_…`.
    pub id: String,
    /// Manifest.
    #[serde(flatten)]
    pub manifest: Manifest,
    /// Media type of the image.
    pub content_type: String,
    /// Compact JWS over the manifest, after verification.
    pub signature: Option<String>,
    /// Identifier of the key that signed.
    pub signing_kid: Option<String>,
    /// Release notes.
    pub release_notes: String,
    /// Address of the software bill of materials.
    pub sbom_url: Option<String>,
    /// State.
    pub state: ArtifactState,
    /// Reason of a rejection, a revocation or the last failed verification.
    pub reason: Option<String>,
    /// Principal that announced it.
    pub uploaded_by: String,
    /// Time of the announcement.
    pub created_at: Millis,
    /// Time of the last change.
    pub updated_at: Millis,
    /// Version of the record for `If-Match`.
    pub record_version: u64,
}

impl Artifact {
    /// Checks that the artifact can be rolled out now.
    ///
    /// # Errors
    /// `Conflict` if it is not ready, revoked, expired, or signed by a revoked key.
    pub(crate) fn deployable(&self, key_trusted: KeyTrust, now: Millis) -> Result<(), Error> {
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
                let failed = self.reason.as_ref().map(|why| format!(" (the last verification: {why})"));
                let failed = failed.unwrap_or_default();
                let (id, state) = (&self.id, state.name());
                let message = format!("artifact {id} is {state}: upload it whole and verify it first{failed}");
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

/// Whether the signing key is still trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyTrust {
    Trusted,
    Revoked,
}

impl Record for Artifact {
    const TREE: Tree = Tree::Artifacts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// SHA-256 of each mebibyte of a verified image: each block is compared before a byte of it is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Blocks {
    pub hashes: Vec<[u8; 32]>,
}

impl Record for Blocks {
    const TREE: Tree = Tree::Artifacts;
    const SCHEMA: u16 = 1;
}

/// A key that may sign manifests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKey {
    /// Thumbprint of its JWK (RFC 7638).
    pub kid: String,
    /// The 32 bytes of the Ed25519 public key in base64url.
    pub x: String,
    /// Name given by people.
    pub name: String,
    /// Principal that added it.
    pub added_by: String,
    /// Time of addition.
    pub added_at: Millis,
    /// Time of revocation.
    pub revoked_at: Option<Millis>,
}

impl SigningKey {
    /// Returns what the key allows, of which the entries of the audit log have the hash. No name.
    #[must_use]
    pub fn allows(&self) -> serde_json::Value {
        serde_json::json!({ "kid": self.kid, "x": self.x, "revoked": self.revoked_at.is_some() })
    }

    /// Returns the identifier of every stored key, and what it allows.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn all_that_is_allowed(
        store: &muster_store::StoreHandle,
    ) -> Result<Vec<(String, serde_json::Value)>, muster_store::StoreError> {
        let keys = store.records::<Self>(SIGNING_KEYS, muster_store::PageRequest::default()).values();
        keys.map(|key| key.map(|key| (key.kid.clone(), key.allows()))).collect()
    }
}

/// Beginning of the storage keys of signing keys.
pub(super) const SIGNING_KEYS: &str = "key/";

impl Record for SigningKey {
    const TREE: Tree = Tree::Artifacts;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
