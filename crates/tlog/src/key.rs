//! Keys of notes: Ed25519 signatures (C2SP signed-note, type 1) and timestamped cosignatures of checkpoints (C2SP
//! tlog-cosignature, type 4).

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::NoteSignature;

/// Maximum length of the name of a key, in bytes.
const MAX_NAME: usize = 255;
/// Latest time of a cosignature.
const MAX_TIME: u64 = i64::MAX as u64;

/// What the signatures of a key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SignatureType {
    /// Ed25519 over the text of the note.
    Ed25519 = 1,
    /// Ed25519 over `cosignature/v1`, a time and the text of a checkpoint: the statement of a witness.
    CosignatureV1 = 4,
}

/// What a verified signature states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// The owner of the key signed the text.
    Text,
    /// A witness has seen this checkpoint, and none of a larger tree, at a time in seconds since 1970.
    At(u64),
}

/// Returns whether a key may have this name: not empty, no white space, no plus sign, no control character.
pub(crate) fn valid_name(name: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    !name.is_empty() && name.len() <= MAX_NAME && !name.contains(forbidden)
}

fn key_id(name: &str, kind: SignatureType, key: &[u8; 32]) -> u32 {
    let digest = Sha256::new().chain_update(name).chain_update([b'\n', kind as u8]).chain_update(key).finalize();
    digest.first_chunk().map_or(0, |id| u32::from_be_bytes(*id))
}

fn cosigned(text: &str, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

/// What is signed for bytes of a domain. No note contains NUL, and neither does a domain, so that nothing can be read as
/// something else that the key signs.
fn in_domain(domain: &str, bytes: &[u8]) -> Vec<u8> {
    [domain.split('\0').next().unwrap_or_default().as_bytes(), b"\0", bytes].concat()
}

/// Why a text is no verifier key, or a key cannot have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not `<name>+<8 hexadecimal digits>+<base64>`.
    #[error("a verifier key is <name>+<key id in 8 lower-case hexadecimal digits>+<base64 of type and key>")]
    Form,
    /// The name is empty, too long, or contains white space or a plus sign.
    #[error("the name of a key has 1 to {MAX_NAME} bytes and contains neither white space nor `+`")]
    Name,
    /// The key is of a type that is not known here.
    #[error("the key is neither an Ed25519 key (type 1) nor one of Ed25519 cosignatures (type 4)")]
    Type,
    /// The key is no point of the curve, or one of low order.
    #[error("the key is no valid Ed25519 key")]
    Key,
    /// The identifier is not that of the name and the key.
    #[error("the key id does not belong to this name and key: one of them was changed")]
    Id,
}

/// A named public key that verifies signatures of notes: a *vkey*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    kind: SignatureType,
    id: u32,
    key: VerifyingKey,
}

impl VerifierKey {
    /// Makes a verifier key of the bytes of an Ed25519 key (RFC 8032, section 5.1.5).
    ///
    /// # Errors
    /// [`KeyError::Name`] or [`KeyError::Key`].
    pub fn new(name: &str, kind: SignatureType, key: &[u8; 32]) -> Result<Self, KeyError> {
        if !valid_name(name) {
            return Err(KeyError::Name);
        }
        let key = VerifyingKey::from_bytes(key).ok().filter(|key| !key.is_weak()).ok_or(KeyError::Key)?;
        Ok(Self { name: name.to_owned(), kind, id: key_id(name, kind, key.as_bytes()), key })
    }

    /// Returns the name of the key.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the signatures of the key are.
    #[must_use]
    pub const fn kind(&self) -> SignatureType {
        self.kind
    }

    /// Returns the identifier of the key: the beginning of a hash of name, type and key.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Returns the 32 bytes of the key.
    #[must_use]
    pub fn key_bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// Verifies a signature of bytes that are no note: one by [`NoteSigner::sign_bytes`] for the same domain.
    #[must_use]
    pub fn verify_bytes(&self, domain: &str, bytes: &[u8], signature: &[u8; 64]) -> bool {
        self.key.verify_strict(&in_domain(domain, bytes), &Signature::from_bytes(signature)).is_ok()
    }

    /// Returns whether a signature is said to be of this key.
    pub(crate) fn made(&self, signature: &NoteSignature) -> bool {
        self.id == signature.key_id && self.name == signature.name
    }

    pub(crate) fn verify(&self, text: &str, signature: &[u8]) -> Option<Signed> {
        match self.kind {
            SignatureType::Ed25519 => {
                let signature = Signature::from_slice(signature).ok()?;
                self.key.verify_strict(text.as_bytes(), &signature).ok()?;
                Some(Signed::Text)
            }
            SignatureType::CosignatureV1 => {
                let (time, signature) = signature.split_first_chunk()?;
                let time = u64::from_be_bytes(*time);
                if time > MAX_TIME {
                    return None;
                }
                let signature = Signature::from_slice(signature).ok()?;
                self.key.verify_strict(cosigned(text, time).as_bytes(), &signature).ok()?;
                Some(Signed::At(time))
            }
        }
    }
}

impl FromStr for VerifierKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        // Base64 contains plus signs, names and identifiers do not.
        let (name, rest) = text.split_once('+').ok_or(KeyError::Form)?;
        let (id, encoded) = rest.split_once('+').ok_or(KeyError::Form)?;
        if id.len() != 8 || !id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(KeyError::Form);
        }
        let id = u32::from_str_radix(id, 16).map_err(|_| KeyError::Form)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| KeyError::Form)?;
        let (kind, key) = bytes.split_first().ok_or(KeyError::Form)?;
        let kind = match kind {
            1 => SignatureType::Ed25519,
            4 => SignatureType::CosignatureV1,
            _ => return Err(KeyError::Type),
        };
        let key = Self::new(name, kind, key.try_into().map_err(|_| KeyError::Key)?)?;
        if key.id == id { Ok(key) } else { Err(KeyError::Id) }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&[self.kind as u8], &self.key.as_bytes()[..]].concat();
        write!(f, "{}+{:08x}+{}", self.name, self.id, STANDARD.encode(bytes))
    }
}

/// A named private key that signs notes. Its `Debug` shows the public key only.
pub struct NoteSigner {
    public: VerifierKey,
    key: SigningKey,
}

impl NoteSigner {
    /// Makes a signer of the seed of an Ed25519 key.
    ///
    /// # Errors
    /// [`KeyError::Name`].
    pub fn new(name: &str, kind: SignatureType, seed: &[u8; 32]) -> Result<Self, KeyError> {
        let key = SigningKey::from_bytes(seed);
        Ok(Self { public: VerifierKey::new(name, kind, key.verifying_key().as_bytes())?, key })
    }

    /// Returns the key that verifies its signatures.
    #[must_use]
    pub const fn public(&self) -> &VerifierKey {
        &self.public
    }

    /// Signs a text that ends in a newline. `time`, in seconds since 1970, is part of a cosignature and of no other
    /// signature.
    #[must_use]
    pub fn sign(&self, text: &str, time: u64) -> NoteSignature {
        let signature = match self.public.kind {
            SignatureType::Ed25519 => self.key.sign(text.as_bytes()).to_vec(),
            SignatureType::CosignatureV1 => {
                let time = time.min(MAX_TIME);
                let signature = self.key.sign(cosigned(text, time).as_bytes());
                [&time.to_be_bytes()[..], &signature.to_bytes()].concat()
            }
        };
        NoteSignature { name: self.public.name.clone(), key_id: self.public.id, signature }
    }

    /// Signs bytes that are no note. `domain` says what they are: a text without NUL, such as `muster.backup.v1`.
    #[must_use]
    pub fn sign_bytes(&self, domain: &str, bytes: &[u8]) -> [u8; 64] {
        self.key.sign(&in_domain(domain, bytes)).to_bytes()
    }
}

impl fmt::Debug for NoteSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NoteSigner").field(&self.public.to_string()).finish()
    }
}
