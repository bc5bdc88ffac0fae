//! Files encrypted and authenticated with a passphrase, files encrypted to the recipients of public keys
//! ([`AgeWriter`]), and single records with a key ([`RecordKey`]).
//!
//! A file with a passphrase begins with a header: `"MUSTSEA1"`, the costs of argon2id (memory in KiB, passes, lanes: u32 each,
//! little-endian), a random salt of 16 bytes, and 16 bytes that distinguish a wrong passphrase from a damaged file. Salt
//! and passphrase give the file's own key. The content follows in chunks of 64 KiB, each encrypted with
//! ChaCha20-Poly1305 (RFC 8439) under the nonce `chunk number (11 bytes, big-endian), 1 for the last chunk or 0`, with
//! the header as associated data. This is the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizár, 2015), with
//! the nonces of the file format `age`: a chunk that is changed, moved, repeated or missing is detected when it is
//! read, and so is one after the last.
//!
//! Writing and reading use memory for one chunk, besides that of argon2id.

#![warn(missing_docs)]

mod age_file;
mod passphrase;
mod reader;
mod record;
mod sealer;
#[cfg(test)]
mod tests;
mod writer;

pub use age_file::{AGE_MAGIC, AgeIdentity, AgeReader, AgeRecipient, AgeWriter, MAX_RECIPIENTS, is_age};
pub use passphrase::Passphrase;
pub use reader::OpenReader;
pub use record::{RECORD_OVERHEAD, RECORD_SALT, RecordKey, RecordSecret};
pub use sealer::Sealer;
pub use writer::SealWriter;

use std::io;

/// Bytes of content in one chunk.
pub const CHUNK: usize = 64 << 10;
/// First bytes of a sealed file.
pub const MAGIC: [u8; 8] = *b"MUSTSEA1";
/// Bytes by which encryption makes a chunk longer.
const TAG: usize = 16;

/// Why a file cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The passphrase has a length that is not accepted.
    #[error("a passphrase has {} to {} bytes", passphrase::SHORTEST, passphrase::LONGEST)]
    PassphraseLength,
    /// The file is not sealed.
    #[error("it is not encrypted")]
    NotSealed,
    /// The passphrase is not the one that the file was sealed with.
    #[error("the passphrase is wrong: it is not the one that the file was encrypted with")]
    WrongPassphrase,
    /// The file was changed or cut after it was sealed.
    #[error("it was changed or cut after it was encrypted")]
    Damaged,
    /// The header asks for more memory or time than any file of this program.
    #[error("its key would cost too much to derive: it was not made by this program")]
    TooCostly,
    /// The content exceeds what one key may encrypt.
    #[error("the content is too long for one file")]
    TooLong,
    /// The text is no recipient.
    #[error("a recipient is a public key of age: `age1` and 58 letters and digits")]
    Recipient,
    /// The text is no identity.
    #[error("an identity is a private key of age: `AGE-SECRET-KEY-1` and 58 letters and digits")]
    Identity,
    /// A file cannot have this number of recipients.
    #[error("a file has 1 to {MAX_RECIPIENTS} recipients")]
    Recipients,
    /// The file is encrypted to recipients of whom no identity was given.
    #[error("it is encrypted to other recipients: no identity that was given decrypts it")]
    OtherRecipients,
    /// The operating system provided no randomness.
    #[error("the system has no random numbers")]
    Random,
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<SealError> for io::Error {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Io(error) => error,
            SealError::Damaged => Self::new(io::ErrorKind::InvalidData, error),
            other => Self::other(other),
        }
    }
}

/// Returns the size of a sealed file with this much content.
#[must_use]
pub fn sealed_size(content: u64) -> u64 {
    let chunks = content.div_ceil(CHUNK as u64).max(1);
    sealer::HEADER as u64 + content + chunks * TAG as u64
}

/// Returns whether a file that begins with these bytes is sealed.
#[must_use]
pub fn is_sealed(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}
