//! Bundles of entries: each with its length in front, two bytes in big-endian order (C2SP tlog-tiles, "Log entries").

use crate::TILE_WIDTH;

/// Entries that cannot be in one bundle, or bytes that are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a bundle has 1 to 256 entries of at most 65,535 bytes, each after its length")]
pub struct BundleError;

/// Writes a bundle.
///
/// # Errors
/// [`BundleError`]: too many entries, or one that is too long.
pub fn write_bundle<'a>(entries: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, BundleError> {
    let mut bundle = Vec::new();
    let mut count = 0;
    for entry in entries {
        count += 1;
        let length = u16::try_from(entry.len()).map_err(|_| BundleError)?;
        if count > TILE_WIDTH {
            return Err(BundleError);
        }
        bundle.extend_from_slice(&length.to_be_bytes());
        bundle.extend_from_slice(entry);
    }
    if count == 0 { Err(BundleError) } else { Ok(bundle) }
}

/// Reads the entries of a bundle.
///
/// # Errors
/// [`BundleError`].
pub fn read_bundle(mut bundle: &[u8]) -> Result<Vec<&[u8]>, BundleError> {
    let mut entries = Vec::new();
    while let Some((length, rest)) = bundle.split_first_chunk() {
        let (entry, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or(BundleError)?;
        entries.push(entry);
        bundle = rest;
        if entries.len() > TILE_WIDTH {
            return Err(BundleError);
        }
    }
    if bundle.is_empty() && !entries.is_empty() { Ok(entries) } else { Err(BundleError) }
}
