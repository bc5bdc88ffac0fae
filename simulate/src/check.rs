//! Checks whether a downloaded image is the one that was announced and signed. Pure.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::{PublicKey, manifest};
use serde_json::{Map, Value};

use super::job::{Image, Job, JobError};

/// The `typ` of a signed manifest.
const TYP: &str = "fw-manifest+jws";

/// Size and hash of a downloaded image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) size: u64,
    /// Lower-case hexadecimal.
    pub(super) sha256: String,
}

/// What a device compares an image with.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImagePolicy<'a> {
    pub(super) hw_class: &'a str,
    /// Sequence number of the running version.
    pub(super) sequence: u64,
    /// The vendor's key. Without one the content of the signed manifest is compared, but not its signature.
    pub(super) trusted: Option<&'a PublicKey>,
}

/// Checks size and SHA-256, the signed manifest against the announced image, hardware class and sequence number.
pub(super) fn check(job: &Job, content: &Content, policy: ImagePolicy<'_>) -> Result<(), JobError> {
    let Some(image) = &job.artifact else { return Ok(()) };
    if content.size != image.size || content.sha256 != image.sha256 {
        let message = format!("{} bytes with SHA-256 {} were received", content.size, content.sha256);
        return Err(JobError::new("hash_mismatch", message));
    }
    signed(image, policy.trusted)?;
    if image.hw_class != policy.hw_class {
        let message = format!("the image is for {}, this is a {}", image.hw_class, policy.hw_class);
        return Err(JobError::new("image_incompatible", message));
    }
    if image.sequence <= policy.sequence && !job.allow_downgrade {
        let message = format!("sequence {} is not above {}", image.sequence, policy.sequence);
        return Err(JobError::new("image_outdated", message));
    }
    Ok(())
}

fn signed(image: &Image, trusted: Option<&PublicKey>) -> Result<(), JobError> {
    let wrong = |why: String| JobError::new("image_not_authentic", why);
    let jws = image.manifest_jws.as_deref().ok_or_else(|| wrong("there is no signed manifest".to_owned()))?;
    let payload = match trusted {
        Some(key) => manifest::verify(jws, TYP, |kid| (kid == key.thumbprint()).then(|| key.clone()))
            .map(|signed| signed.payload)
            .map_err(|error| wrong(error.to_string()))?,
        None => jws
            .split('.')
            .nth(1)
            .and_then(|part| URL_SAFE_NO_PAD.decode(part).ok())
            .ok_or_else(|| wrong("the manifest is no JWS".to_owned()))?,
    };
    let manifest: Map<String, Value> =
        serde_json::from_slice(&payload).map_err(|_| wrong("the signed manifest is no JSON object".to_owned()))?;
    let announced = |name: &str| match name {
        "size" => Some(Value::from(image.size)),
        "sha256" => Some(Value::from(image.sha256.as_str())),
        "hw_class" => Some(Value::from(image.hw_class.as_str())),
        "sequence" => Some(Value::from(image.sequence)),
        name => image.rest.get(name).cloned(),
    };
    for name in ["name", "version", "sequence", "vendor", "hw_class", "size", "sha256"] {
        if manifest.get(name).is_none_or(|signed| announced(name).as_ref() != Some(signed)) {
            return Err(wrong(format!("`{name}` of the job differs from the signed manifest")));
        }
    }
    Ok(())
}
