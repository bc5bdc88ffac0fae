//! The encoding of a record inside the engine.
//!
//! `magic(1) kind(1) schema(u16 LE) crc32c(u32 LE) body`. The checksum covers the tree's name, the key, the kind, the
//! schema and the body, so that both flipped bits and a record stored under a different key are detected.

use crate::files::hex;
use crate::{StoreError, Tree};

const MAGIC: u8 = 0xA7;
const HEADER: usize = 8;
const INLINE: u8 = 0;
const BLOB: u8 = 1;

/// Name of a value kept in a file of its own: its SHA-256.
pub(crate) type BlobId = [u8; 32];

/// The value of a record, or a reference to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredValue {
    Inline(Vec<u8>),
    Blob(BlobId),
}

/// A decoded envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) schema: u16,
    pub(crate) body: StoredValue,
}

/// Encodes an envelope for a tree and key.
pub(crate) fn seal(tree: Tree, key: &[u8], sealed: &Sealed) -> Vec<u8> {
    let (kind, body) = match &sealed.body {
        StoredValue::Inline(bytes) => (INLINE, bytes.as_slice()),
        StoredValue::Blob(id) => (BLOB, id.as_slice()),
    };
    let mut out = Vec::with_capacity(HEADER + body.len());
    out.extend([MAGIC, kind]);
    out.extend(sealed.schema.to_le_bytes());
    out.extend(checksum(tree, key, kind, sealed.schema, body).to_le_bytes());
    out.extend(body);
    out
}

/// Decodes the envelope stored under a tree and key.
pub(crate) fn unseal(tree: Tree, key: &[u8], bytes: &[u8]) -> Result<Sealed, StoreError> {
    let corrupt = |why: &str| StoreError::Corrupt(format!("{}: {why}", place(tree, key)));
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(corrupt("too short for a record"));
    };
    let &[magic, kind, s0, s1, c0, c1, c2, c3] = header;
    if magic != MAGIC {
        return Err(corrupt("not a record"));
    }
    let schema = u16::from_le_bytes([s0, s1]);
    if checksum(tree, key, kind, schema, body) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err(corrupt("checksum mismatch"));
    }
    let body = match kind {
        INLINE => StoredValue::Inline(body.to_vec()),
        BLOB => StoredValue::Blob(body.try_into().map_err(|_| corrupt("a blob reference of the wrong length"))?),
        _ => return Err(corrupt("unknown kind of record")),
    };
    Ok(Sealed { schema, body })
}

/// Formats a location for messages: `tree/key-in-hex`.
pub(crate) fn place(tree: Tree, key: &[u8]) -> String {
    format!("{}/{}", tree.name(), hex(key))
}

fn checksum(tree: Tree, key: &[u8], kind: u8, schema: u16, body: &[u8]) -> u32 {
    let name = tree.name().as_bytes();
    // The lengths separate tree, key and body unambiguously.
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
        Sealed { schema: 3, body: StoredValue::Inline(b"value".to_vec()) }
    }

    #[test]
    fn an_envelope_decodes_under_its_own_tree_and_key_only() {
        for sealed in [sample(), Sealed { schema: u16::MAX, body: StoredValue::Blob([9; 32]) }] {
            let bytes = seal(Tree::Keys, b"k", &sealed);
            assert_eq!(unseal(Tree::Keys, b"k", &bytes), Ok(sealed));
            assert!(matches!(unseal(Tree::Keys, b"j", &bytes), Err(StoreError::Corrupt(_))));
            assert!(matches!(unseal(Tree::Limits, b"k", &bytes), Err(StoreError::Corrupt(_))));
        }
    }

    #[test]
    fn every_single_bit_flip_and_every_truncation_is_detected() {
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
