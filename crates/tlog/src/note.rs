//! Signed notes (C2SP signed-note): text, an empty line, signature lines.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::key::valid_name;
use crate::{Signed, VerifierKey};

/// Maximum length of a note, in bytes. A verifier must accept 16 signatures, of up to 5 kB each.
pub const MAX_NOTE: usize = 256 << 10;
/// Maximum number of signatures of a note.
pub const MAX_SIGNATURES: usize = 64;
/// Beginning of a signature line: an em dash and a space.
const DASH: &str = "\u{2014} ";
/// Bytes of a key identifier in front of a signature.
const KEY_ID: usize = 4;

/// Why bytes are no note, or a note is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The note is longer than [`MAX_NOTE`] or has more than [`MAX_SIGNATURES`] signatures.
    #[error("a note has at most {MAX_NOTE} bytes and {MAX_SIGNATURES} signatures")]
    TooLong,
    /// The bytes are not UTF-8 or contain a control character other than a newline.
    #[error("a note is UTF-8 without control characters")]
    Characters,
    /// There is no text, no empty line after it, or no signature.
    #[error("a note is a text, an empty line and one or more signatures")]
    Form,
    /// A signature line is not an em dash, a key name and base64 of a key identifier and a signature.
    #[error("line {0} after the text is no signature")]
    SignatureLine(usize),
    /// The signature of a known key does not verify.
    #[error("a signature of a known key is not valid")]
    Signature,
    /// No signature is of a known key.
    #[error("no signature is of a known key")]
    Unsigned,
}

/// A signature line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    pub(crate) name: String,
    pub(crate) key_id: u32,
    pub(crate) signature: Vec<u8>,
}

impl NoteSignature {
    /// Returns the name of the key.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the identifier of the key, which with the name selects a known key and proves nothing.
    #[must_use]
    pub const fn key_id(&self) -> u32 {
        self.key_id
    }

    /// Reads a signature line, without its newline.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
        if !valid_name(name) {
            return None;
        }
        let bytes = STANDARD.decode(encoded).ok()?;
        let (key_id, signature) = bytes.split_first_chunk::<KEY_ID>()?;
        if signature.is_empty() {
            return None;
        }
        Some(Self { name: name.to_owned(), key_id: u32::from_be_bytes(*key_id), signature: signature.to_vec() })
    }
}

impl fmt::Display for NoteSignature {
    /// Writes the signature line, without a newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.key_id.to_be_bytes()[..], &self.signature].concat();
        write!(f, "{DASH}{} {}", self.name, STANDARD.encode(bytes))
    }
}

/// A parsed note. Its text must not be used before [`Note::verify`] succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

impl Note {
    /// Makes a note of a text, which ends in a newline, and signatures of it.
    ///
    /// # Errors
    /// [`NoteError`]: it would not be read back as the same note.
    pub fn new(text: String, signatures: Vec<NoteSignature>) -> Result<Self, NoteError> {
        let note = Self { text, signatures };
        if Self::parse(note.to_string().as_bytes())? == note { Ok(note) } else { Err(NoteError::Form) }
    }

    /// Parses a note. No signature is verified.
    ///
    /// # Errors
    /// [`NoteError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, NoteError> {
        if bytes.len() > MAX_NOTE {
            return Err(NoteError::TooLong);
        }
        let note = std::str::from_utf8(bytes).map_err(|_| NoteError::Characters)?;
        if note.bytes().any(|byte| byte < b' ' && byte != b'\n') {
            return Err(NoteError::Characters);
        }
        // The text contains its final newline, but not the empty line.
        let at = note.rfind("\n\n").ok_or(NoteError::Form)?;
        let (text, rest) = note.split_at(at + 1);
        let lines = rest.strip_prefix('\n').and_then(|rest| rest.strip_suffix('\n')).ok_or(NoteError::Form)?;
        let mut signatures = Vec::new();
        for (number, line) in lines.split('\n').enumerate() {
            if number == MAX_SIGNATURES {
                return Err(NoteError::TooLong);
            }
            signatures.push(NoteSignature::parse(line).ok_or(NoteError::SignatureLine(number + 1))?);
        }
        Ok(Self { text: text.to_owned(), signatures })
    }

    /// Returns the text, with its final newline.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the signatures.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Verifies every signature of a known key and returns what each one states. Signatures of other keys are ignored.
    ///
    /// # Errors
    /// [`NoteError::Signature`] if one of them is not valid, [`NoteError::Unsigned`] if there is none.
    pub fn verify<'k>(&self, known: &'k [VerifierKey]) -> Result<Vec<(&'k VerifierKey, Signed)>, NoteError> {
        let mut verified: Vec<(&VerifierKey, Signed)> = Vec::new();
        for signature in &self.signatures {
            for key in known.iter().filter(|key| key.made(signature)) {
                let signed = key.verify(&self.text, &signature.signature).ok_or(NoteError::Signature)?;
                if verified.iter().all(|(before, _)| *before != key) {
                    verified.push((key, signed));
                }
            }
        }
        if verified.is_empty() { Err(NoteError::Unsigned) } else { Ok(verified) }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}
