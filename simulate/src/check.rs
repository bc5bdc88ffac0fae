//! Whether a fetched image is what was announced and signed. Pure.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::{PublicKey, manifest};
use serde_json::{Map, Value};

use super::job::{Image, Job, Trouble};

/// The `typ` of a signed manifest.
const TYP: &str = "fw-manifest+jws";

/// What a device has of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) size: u64,
    /// Lower-case hexadecimal.
    pub(super) sha256: String,
}

/// What a device goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar<'a> {
    pub(super) hw_class: &'a str,
    /// Of what it runs.
    pub(super) sequence: u64,
    /// The key that its maker gave it; without one only what was signed is compared, not who signed.
    pub(super) trusted: Option<&'a PublicKey>,
}

/// Compares size and SHA-256, the signed manifest with what was told, hardware and sequence.
pub(super) fn check(job: &Job, content: &Content, bar: Bar<'_>) -> Result<(), Trouble> {
    let Some(image) = &job.artifact else { return Ok(()) };
    if content.size != image.size || content.sha256 != image.sha256 {
        let told = format!("{} bytes with SHA-256 {} came", content.size, content.sha256);
        return Err(Trouble::new("hash_mismatch", told));
    }
    signed(image, bar.trusted)?;
    if image.hw_class != bar.hw_class {
        let told = format!("the image is for {}, this is a {}", image.hw_class, bar.hw_class);
        return Err(Trouble::new("image_incompatible", told));
    }
    if image.sequence <= bar.sequence && !job.allow_downgrade {
        let told = format!("sequence {} is not above {}", image.sequence, bar.sequence);
        return Err(Trouble::new("image_outdated", told));
    }
    Ok(())
}

fn signed(image: &Image, trusted: Option<&PublicKey>) -> Result<(), Trouble> {
    let wrong = |why: String| Trouble::new("image_not_authentic", why);
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
        serde_json::from_slice(&payload).map_err(|_| wrong("what is signed is no object".to_owned()))?;
    let told = |name: &str| match name {
        "size" => Some(Value::from(image.size)),
        "sha256" => Some(Value::from(image.sha256.as_str())),
        "hw_class" => Some(Value::from(image.hw_class.as_str())),
        "sequence" => Some(Value::from(image.sequence)),
        name => image.rest.get(name).cloned(),
    };
    for name in ["name", "version", "sequence", "vendor", "hw_class", "size", "sha256"] {
        if manifest.get(name).is_none_or(|said| told(name).as_ref() != Some(said)) {
            return Err(wrong(format!("`{name}` was told other than it was signed")));
        }
    }
    Ok(())
}
