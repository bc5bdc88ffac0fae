//! The signed stream of a backup, as functions of bytes: which instance it is of, its content, and who signed it.
//!
//! ```text
//! "MUSTBAK1"
//! length of the header   u32, little-endian
//! header                 canonical JSON (RFC 8785): [`Header`]
//! content
//! signatures             64 bytes for each of the header's keys, in their order
//! ```
//!
//! Each signature is Ed25519 over [`DOMAIN`], a zero byte and the SHA-256 of everything before the signatures. The keys
//! are those of the audit log. No note that they sign has a zero byte, so neither signature can stand for the other.
//!
//! Writing and reading use memory for the header and one block. Encryption is a layer outside of this one.

#![warn(missing_docs)]

mod audit;
mod header;
mod reader;
mod writer;

pub use audit::{AuditCheck, AuditError, Discrepancy};
pub use header::{Header, HeaderError, MAX_HEADER, MAX_KEYS};
pub use reader::{SignatureError, SignedReader, Trust};
pub use writer::SignedWriter;

/// First bytes of a signed backup.
pub const MAGIC: [u8; 8] = *b"MUSTBAK1";
/// What the signatures of a backup are about.
pub const DOMAIN: &str = "muster.backup.v1";
/// Bytes of a signature.
pub const SIGNATURE: usize = 64;

/// Returns whether content that begins with these bytes is a signed backup.
#[must_use]
pub fn is_signed(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}
