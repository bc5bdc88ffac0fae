//! What a record looks like inside the engine.
//!
//! `magic(1) kind(1) schema(u16 LE) crc32c(u32 LE) body`. The checksum covers the tree's name, the key, kind, schema
//! and body, so that neither a flipped bit nor a record moved under another key passes for the right one.

use crate::files::hex;
use crate::{StoreError, Tree};

const MAGIC: u8 = 0xA7;
const HEADER: usize = 8;
const INLINE: u8 = 0;
const BLOB: u8 = 1;

/// The name of a value kept in a file of its own: its SHA-256.
pub(crate) type BlobId = [u8; 32];

/// A record's body: the value, or where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Inline(Vec<u8>),
    Blob(BlobId),
}

/// A decoded envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) schema: u16,
    pub(crate) body: Body,
}

/// The envelope's bytes for this place.
pub(crate) fn seal(tree: Tree, key: &[u8], sealed: &Sealed) -> Vec<u8> {
    let (kind, body) = match &sealed.body {
        Body::Inline(bytes) => (INLINE, bytes.as_slice()),
        Body::Blob(id) => (BLOB, id.as_slice()),
    };
    let mut out = Vec::with_capacity(HEADER + body.len());
    out.extend([MAGIC, kind]);
    out.extend(sealed.schema.to_le_bytes());
    out.extend(checksum(tree, key, kind, sealed.schema, body).to_le_bytes());
    out.extend(body);
    out
}

/// Opens the envelope found at this place.
pub(crate) fn unseal(tree: Tree, key: &[u8], bytes: &[u8]) -> Result<Sealed, StoreError> {
    let corrupt = |why: &str| StoreError::Corrupt(format!("{}: {why}", place(tree, key)));
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(corrupt("shorter than an envelope"));
    };
    let &[magic, kind, s0, s1, c0, c1, c2, c3] = header;
    if magic != MAGIC {
        return Err(corrupt("not an envelope"));
    }
    let schema = u16::from_le_bytes([s0, s1]);
    if checksum(tree, key, kind, schema, body) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err(corrupt("the checksum does not hold"));
    }
    let body = match kind {
        INLINE => Body::Inline(body.to_vec()),
        BLOB => Body::Blob(body.try_into().map_err(|_| corrupt("a pointer of the wrong length"))?),
        _ => return Err(corrupt("an unknown kind of record")),
    };
    Ok(Sealed { schema, body })
}

/// A place as people read it: `tree/key-in-hex`.
pub(crate) fn place(tree: Tree, key: &[u8]) -> String {
    format!("{}/{}", tree.name(), hex(key))
}

fn checksum(tree: Tree, key: &[u8], kind: u8, schema: u16, body: &[u8]) -> u32 {
    let name = tree.name().as_bytes();
    // Lengths keep (tree, key, body) from running into one another.
    let crc = crc32c::crc32c(&(name.len() as u32).to_le_bytes());
    let crc = crc32c::crc32c_append(crc, name);
    let crc = crc32c::crc32c_append(crc, &(key.len() as u32).to_le_bytes());
    let crc = crc32c::crc32c_append(crc, key);
    let crc = crc32c::crc32c_append(crc, &[kind]);
    let crc = crc32c::crc32c_append(crc, &schema.to_le_bytes());
    crc32c::crc32c_append(crc, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sealed {
        Sealed { schema: 3, body: Body::Inline(b"value".to_vec()) }
    }

    #[test]
    fn what_was_sealed_opens_at_its_own_place_only() {
        for sealed in [sample(), Sealed { schema: u16::MAX, body: Body::Blob([9; 32]) }] {
            let bytes = seal(Tree::Keys, b"k", &sealed);
            assert_eq!(unseal(Tree::Keys, b"k", &bytes), Ok(sealed));
            assert!(matches!(unseal(Tree::Keys, b"j", &bytes), Err(StoreError::Corrupt(_))));
            assert!(matches!(unseal(Tree::Limits, b"k", &bytes), Err(StoreError::Corrupt(_))));
        }
    }

    #[test]
    fn every_single_bit_flip_and_every_truncation_is_seen() {
        let bytes = seal(Tree::Keys, b"k", &sample());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(unseal(Tree::Keys, b"k", &flipped), Err(StoreError::Corrupt(_))), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(unseal(Tree::Keys, b"k", &bytes[..len]).is_err(), "cut at {len}");
        }
    }
}
