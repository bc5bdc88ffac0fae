//! q213: patches between firmware images.

mod bsdiff;

use muster_engine::prelude::*;
use sha2_11::{Digest as _, Sha256};

use crate::hex;
use bsdiff::{apply, diff};

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    old: Bytes,
    new: Option<Bytes>,
    patch: Option<Bytes>,
    expected_sha256: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Operation {
    Diff,
    Apply,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    patch: Option<Bytes>,
    new: Option<Bytes>,
    patch_size_bytes: usize,
    saving: f64,
    old_sha256: String,
    new_sha256: String,
    verified: bool,
}

/// Largest image.
pub(crate) const MAX_IMAGE: usize = 1 << 20;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let old = &input.old.0;
    let sizes = [Some(old), input.new.as_ref().map(|new| &new.0), input.patch.as_ref().map(|patch| &patch.0)];
    if sizes.iter().flatten().any(|image| image.len() > MAX_IMAGE) {
        return Err(Failure::too_large(format!("images and patches have at most {MAX_IMAGE} bytes")));
    }
    let expected = input.expected_sha256.as_deref().map(|text| {
        let hash = hex::decode(text.trim()).filter(|hash| hash.len() == 32);
        hash.ok_or_else(|| Failure::invalid(&["expected_sha256"], "must be 64 hexadecimal digits"))
    });
    let expected = expected.transpose()?;
    let (patch, new, answer) = match input.operation {
        Operation::Diff => {
            let new = input.new.ok_or_else(|| Failure::invalid(&["new"], "is needed to make a patch"))?.0;
            (diff(old, &new)?, new, Operation::Diff)
        }
        Operation::Apply => {
            let patch = input.patch.ok_or_else(|| Failure::invalid(&["patch"], "is needed to apply it"))?.0;
            let new = apply(old, &patch)?;
            (patch, new, Operation::Apply)
        }
    };
    let hash = Sha256::digest(&new);
    // A patch that was just made is applied once, an applied one was compared with its own hash.
    let restored = answer == Operation::Apply || apply(old, &patch)? == new;
    let as_expected = expected.as_ref().is_none_or(|expected| hex::equal(expected, &hash));
    if expected.is_none() && answer == Operation::Apply {
        cx.warn(
            "unchecked: without expected_sha256 the patch itself says what the image should be; verify its signature",
        );
    }
    let saving = if new.is_empty() { 0.0 } else { (1.0 - patch.len() as f64 / new.len() as f64).clamp(0.0, 1.0) };
    let (patch_size_bytes, old_sha256, new_sha256) =
        (patch.len(), hex::encode(&Sha256::digest(old)), hex::encode(&hash));
    let (patch, new) = match answer {
        Operation::Diff => (Some(Bytes(patch)), None),
        Operation::Apply => (None, Some(Bytes(new))),
    };
    Ok(Output { patch, new, patch_size_bytes, saving, old_sha256, new_sha256, verified: restored && as_expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_image_is_not_verified() {
        let image = |operation, new: Option<&[u8]>, patch, expected: &str| {
            let new = new.map(|new| Bytes(new.to_vec()));
            let expected_sha256 = Some(expected.to_owned());
            run(
                Input { operation, old: Bytes(b"version one".to_vec()), new, patch, expected_sha256 },
                &Context::default(),
            )
            .unwrap()
        };
        let made = image(Operation::Diff, Some(b"version two"), None, &"00".repeat(32));
        assert!(!made.verified);
        let applied = image(Operation::Apply, None, made.patch, &hex::encode(&Sha256::digest(b"version two")));
        assert!(applied.verified);
        assert_eq!(applied.new.unwrap().0, b"version two");
    }
}
