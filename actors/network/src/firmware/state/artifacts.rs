//! Artifacts and signing keys.

use muster_auth::{PublicKey, TokenError, manifest};
use serde_json::{Map, Value, json};

use super::{FirmwareState, truncated};
use crate::firmware::artifact::{Artifact, ArtifactState, Blocks, Manifest, SIGNING_KEYS, SigningKey};
use crate::firmware::threat::Threat;
use crate::firmware::transaction::FirmwareTransaction;
use muster_core::audit::AuditEntry;
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// `typ` of a signed manifest.
pub const MANIFEST_TYP: &str = "fw-manifest+jws";

/// An artifact to be announced.
#[derive(Debug, Clone, PartialEq)]
pub struct NewArtifact {
    /// Manifest of the image.
    pub manifest: Manifest,
    /// Media type of the image.
    pub content_type: String,
    /// Release notes.
    pub release_notes: String,
    /// Address of the software bill of materials.
    pub sbom_url: Option<String>,
}

/// Digest of uploaded content.
#[derive(Debug)]
pub struct Hashed {
    pub sha256: String,
    pub size: u64,
    pub blocks: Blocks,
}

impl FirmwareState {
    /// # Errors
    /// The manifest is out of bounds, or there are too many artifacts.
    pub fn create_artifact(
        &mut self,
        new: NewArtifact,
        by: &By,
        named: Option<&Idempotency>,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<Artifact, Error> {
        new.manifest.check(self.rules.max_image_bytes, now)?;
        if self.artifacts.len() >= self.rules.max_artifacts {
            return Err(Error::new(Kind::Conflict, "there are too many artifacts").coded("too_many_artifacts"));
        }
        let artifact = Artifact {
            id: new_id(IdKind::Artifact),
            manifest: new.manifest,
            content_type: new.content_type,
            signature: None,
            signing_kid: None,
            release_notes: new.release_notes,
            sbom_url: new.sbom_url,
            state: ArtifactState::Uploading,
            reason: None,
            uploaded_by: by.id().to_owned(),
            created_at: now,
            updated_at: now,
            record_version: 1,
        };
        if let Some(named) = named {
            transaction.answer(named, now, json!(artifact));
        }
        transaction.artifact(&artifact);
        self.artifacts.insert(artifact.id.clone(), artifact.clone());
        Ok(artifact)
    }

    /// Begins the verification of an uploaded artifact.
    ///
    /// # Errors
    /// `Conflict` unless it is `uploading` and complete.
    pub fn begin_verify(
        &mut self,
        id: &str,
        received: u64,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<(), Error> {
        let artifact = self.artifact(id)?;
        if artifact.state != ArtifactState::Uploading {
            let message = format!("an artifact that is {} cannot be verified", artifact.state.name());
            return Err(Error::new(Kind::Conflict, message).coded("illegal_transition"));
        }
        if received != artifact.manifest.size {
            let message = format!("{received} of {} bytes are here: upload the rest first", artifact.manifest.size);
            let details = json!({ "received": received, "size": artifact.manifest.size });
            return Err(Error::new(Kind::Conflict, message).coded("upload_incomplete").detailing(details));
        }
        self.set_artifact(id, ArtifactState::Verifying, None, transaction, now);
        Ok(())
    }

    /// Verifies content, manifest and signature: the artifact becomes `ready`, or `rejected` with the code of the
    /// reason if the content is not what the manifest describes.
    ///
    /// # Errors
    /// `Conflict` if it was not being verified, for example after a restart; the threat's refusal if the manifest is
    /// not signed by a trusted key or differs from the record: then the artifact can be verified again.
    pub fn finish_verify(
        &mut self,
        id: &str,
        jws: &str,
        hashed: Result<Hashed, String>,
        by: &By,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<Artifact, Error> {
        if self.artifact(id)?.state != ArtifactState::Verifying {
            return Err(Error::new(Kind::Conflict, "the verification was broken off: ask for it again"));
        }
        let checked = match self.check_signature(id, jws) {
            Ok(kid) => hashed.map_err(|error| Threat::ImageNotAuthentic.refusal(error)).and_then(|hashed| {
                self.check_image(id, &hashed, now)?;
                Ok((kid, hashed))
            }),
            // The image is not at fault: it stays, and another manifest may be sent.
            Err(error) => {
                let why = format!("{}: {}", error.code.unwrap_or("image_not_authentic"), error.message);
                let details = json!({ "reason": why });
                transaction.audit(&AuditEntry::new(now, by.id(), "firmware.artifact.not_verified", id, details));
                self.set_artifact(id, ArtifactState::Uploading, Some(why), transaction, now);
                return Err(error);
            }
        };
        match checked {
            Ok((kid, hashed)) => {
                transaction.record(blocks_key(id), &hashed.blocks);
                if let Some(artifact) = self.artifacts.get_mut(id) {
                    (artifact.signature, artifact.signing_kid) = (Some(jws.to_owned()), Some(kid));
                }
                self.set_artifact(id, ArtifactState::Ready, None, transaction, now);
            }
            Err(error) => {
                let code = error.code.unwrap_or("image_not_authentic");
                let why = format!("{code}: {}", error.message);
                transaction.audit(&AuditEntry::new(
                    now,
                    by.id(),
                    "firmware.artifact.rejected",
                    id,
                    json!({ "reason": why }),
                ));
                self.set_artifact(id, ArtifactState::Rejected, Some(why), transaction, now);
            }
        }
        self.artifact(id).cloned()
    }

    /// Checks that a trusted key has signed the manifest, and that it matches the record. Returns the key's identifier.
    fn check_signature(&self, id: &str, jws: &str) -> Result<String, Error> {
        let artifact = self.artifact(id)?;
        let (mut revoked, mut named) = (false, String::new());
        let signed = manifest::verify(jws, MANIFEST_TYP, |kid| {
            named = truncated(kid);
            let key = self.keys.get(kid)?;
            revoked = key.revoked_at.is_some();
            public(&key.x).filter(|_| !revoked)
        });
        let signed = signed.map_err(|error| match error {
            _ if revoked => Threat::SigningKeyRevoked.refusal(format!(
                "the key {named} that signed the manifest is revoked: sign it with another key, and verify again"
            )),
            TokenError::UnknownKey => Threat::ImageNotAuthentic.refusal(format!(
                "the manifest is signed by no trusted key: its `kid` is `{named}`; sign it with a key of GET \
                 /api/v1/firmware/keys, and verify again"
            )),
            error => Threat::ImageNotAuthentic
                .refusal(format!("the manifest's signature does not hold ({error}): sign it anew, and verify again")),
        })?;
        let no_manifest =
            |error: serde_json::Error| Threat::ImageFormat.refusal(format!("what is signed is no manifest: {error}"));
        let signed_object: Map<String, Value> = serde_json::from_slice(&signed.payload).map_err(no_manifest)?;
        // A misspelt condition, such as the least sequence of a device, must not be lost.
        let known = serde_json::to_value(&artifact.manifest).unwrap_or_default();
        if let Some(name) = signed_object.keys().find(|name| known.get(name).is_none()) {
            let known: Vec<&str> = known.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let why = muster_names::unknown("field", name, &known);
            return Err(Threat::ImageFormat.refusal(format!("what is signed is no manifest: {why}")));
        }
        let signed_manifest: Manifest = serde_json::from_value(Value::Object(signed_object)).map_err(no_manifest)?;
        if signed_manifest != artifact.manifest {
            let message = "the manifest differs from the artifact's record: sign the record's fields, and verify again";
            return Err(Threat::ImageNotAuthentic.refusal(message));
        }
        Ok(signed.kid)
    }

    /// Checks that the content is what the manifest describes.
    fn check_image(&self, id: &str, hashed: &Hashed, now: Millis) -> Result<(), Error> {
        let manifest = &self.artifact(id)?.manifest;
        if hashed.size != manifest.size || hashed.sha256 != manifest.sha256 {
            let message = format!("the content is {} bytes with SHA-256 {}", hashed.size, hashed.sha256);
            return Err(Threat::ImageNotAuthentic.refusal(message));
        }
        manifest.check(self.rules.max_image_bytes, now)
    }

    /// # Errors
    /// `Conflict` unless it is `ready`; `PreconditionFailed`.
    pub fn revoke_artifact(
        &mut self,
        id: &str,
        reason: &str,
        by: &By,
        if_match: IfMatch,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<Artifact, Error> {
        let artifact = self.artifact(id)?;
        if_match.check(artifact.record_version)?;
        if artifact.state != ArtifactState::Ready {
            let message = format!("an artifact that is {} cannot be revoked", artifact.state.name());
            return Err(Error::new(Kind::Conflict, message).coded("illegal_transition"));
        }
        transaction.audit(&AuditEntry::new(now, by.id(), "firmware.artifact.revoked", id, json!({ "reason": reason })));
        self.set_artifact(id, ArtifactState::Revoked, Some(reason.to_owned()), transaction, now);
        self.withdraw_jobs(id, "artifact_revoked: the artifact was revoked", transaction, now);
        self.artifact(id).cloned()
    }

    /// Rejects an artifact whose stored image is not the one that was verified.
    pub fn reject_replaced(&mut self, id: &str, transaction: &mut FirmwareTransaction, now: Millis) {
        if self.artifacts.get(id).is_none_or(|artifact| artifact.state != ArtifactState::Ready) {
            return;
        }
        let why = format!("{}: the stored image was exchanged", Threat::ImageReplaced.code());
        tracing::error!(artifact = id, "a stored image is not the one that was verified");
        transaction.audit(&AuditEntry::new(now, By::System.id(), "firmware.image_replaced", id, json!({})));
        self.set_artifact(id, ArtifactState::Rejected, Some(why.clone()), transaction, now);
        self.withdraw_jobs(id, &why, transaction, now);
    }

    fn withdraw_jobs(&mut self, artifact: &str, why: &str, transaction: &mut FirmwareTransaction, now: Millis) {
        for id in self.active_jobs() {
            if self.jobs.get(&id).is_some_and(|rollout| rollout.job.artifact_id.as_deref() == Some(artifact)) {
                self.with(&id, transaction, now, |rollout, _| rollout.withdraw(why, now));
                transaction.touched.insert(id);
            }
        }
    }

    fn set_artifact(
        &mut self,
        id: &str,
        state: ArtifactState,
        reason: Option<String>,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) {
        let Some(artifact) = self.artifacts.get_mut(id) else { return };
        (artifact.state, artifact.reason, artifact.updated_at) = (state, reason, now);
        artifact.record_version += 1;
        transaction.artifact(artifact);
    }

    /// # Errors
    /// `Invalid` for a malformed key; `Conflict` if it is known or was revoked.
    pub fn add_key(
        &mut self,
        x: &str,
        name: &str,
        by: &By,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<SigningKey, Error> {
        let wrong = || {
            let why = "must be an Ed25519 public key: 32 bytes as base64url";
            Error::field(Kind::Invalid, &["body", "public_key", "x"], why, serde_json::Value::Null)
        };
        let kid = public(x).ok_or_else(wrong)?.thumbprint();
        if let Some(known) = self.keys.get(&kid) {
            let what = if known.revoked_at.is_some() { "was revoked: make a new one" } else { "is trusted already" };
            return Err(Error::new(Kind::Conflict, format!("this key {what}")).coded("key_known"));
        }
        if self.keys.len() >= 1_000 {
            return Err(Error::new(Kind::Conflict, "there are too many signing keys"));
        }
        let (added_by, name) = (by.id().to_owned(), name.to_owned());
        let key = SigningKey { kid, x: x.to_owned(), name, added_by, added_at: now, revoked_at: None };
        let entry = AuditEntry::new(now, by.id(), "firmware.key.added", &key.kid, json!({ "name": key.name }));
        transaction.audit(&entry.after(&key.allows()));
        transaction.record(signing_key(&key.kid), &key);
        self.keys.insert(key.kid.clone(), key.clone());
        Ok(key)
    }

    /// Revokes a key: artifacts that it signed are no longer rolled out.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn revoke_key(
        &mut self,
        kid: &str,
        by: &By,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<SigningKey, Error> {
        let unknown = || Error::new(Kind::NotFound, format!("there is no signing key {}", truncated(kid)));
        let key = self.keys.get_mut(kid).ok_or_else(unknown)?;
        if key.revoked_at.is_none() {
            key.revoked_at = Some(now);
        }
        let key = key.clone();
        transaction.record(signing_key(kid), &key);
        let entry = AuditEntry::new(now, by.id(), "firmware.key.revoked", kid, json!({}));
        transaction.audit(&entry.after(&key.allows()));
        let signed = |artifact: &&Artifact| artifact.signing_kid.as_deref() == Some(kid);
        let signed: Vec<String> = self.artifacts.values().filter(signed).map(|artifact| artifact.id.clone()).collect();
        for artifact in signed {
            self.withdraw_jobs(&artifact, "signing_key_revoked: the key that signed it was revoked", transaction, now);
        }
        Ok(key)
    }
}

/// Returns a public key by its `x`.
pub fn public(x: &str) -> Option<PublicKey> {
    PublicKey::from_jwk(&json!({ "kty": "OKP", "crv": "Ed25519", "x": x })).ok()
}

/// Returns whether a text is the `x` of an Ed25519 public key, as settings name it.
pub fn is_public_key(x: &str) -> bool {
    public(x).is_some()
}

/// Returns the key of an image's block hashes in the store.
pub fn blocks_key(id: &str) -> Vec<u8> {
    format!("blocks/{id}").into_bytes()
}

/// Returns the key of a signing key in the store.
fn signing_key(kid: &str) -> Vec<u8> {
    format!("{SIGNING_KEYS}{kid}").into_bytes()
}
