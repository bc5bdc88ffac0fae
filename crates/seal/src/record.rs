//! Records encrypted and authenticated one by one with a key that the operator keeps.
//!
//! A sealed record is `1 (version), salt (16 bytes), nonce (12 bytes), ciphertext, tag (16 bytes)`. Salt and key give the
//! record's own key (HKDF with SHA-256, RFC 5869), with which it is encrypted by ChaCha20-Poly1305 (RFC 8439). Both salt
//! and nonce are random, so that no number of records wears the key out. What identifies the record is authenticated
//! with it: a record that is moved to another place cannot be opened.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

use crate::passphrase::{Costs, derive_key};
use crate::{Passphrase, SealError, TAG};

const KEY: usize = 32;
/// Bytes of the salt that a key is derived with from a passphrase.
pub const RECORD_SALT: usize = 16;
const NONCE: usize = 12;
const VERSION: u8 = 1;
const HEAD: usize = 1 + RECORD_SALT + NONCE;
/// Bytes by which a sealed record is longer than its content.
pub const RECORD_OVERHEAD: usize = HEAD + TAG;
/// Purpose of the keys that are derived (RFC 5869, `info`).
const OF_RECORD: &[u8] = b"muster sealed record 1";
const OF_IDENTIFIER: &[u8] = b"muster key identifier 1";

/// What an operator configures: a key, or a passphrase that a key is derived from. `Debug` does not show it.
#[derive(Clone)]
pub enum RecordSecret {
    /// 32 random bytes.
    Key([u8; KEY]),
    /// A passphrase of at least 12 bytes.
    Passphrase(Passphrase),
}

impl std::fmt::Debug for RecordSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordSecret(…)")
    }
}

impl RecordSecret {
    /// Reads 32 bytes in base64 (either alphabet, with or without padding); any other text is a passphrase.
    ///
    /// # Errors
    /// [`SealError::PassphraseLength`].
    pub fn parse(text: &str) -> Result<Self, SealError> {
        let text = text.trim();
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        for alphabet in [&alphabet::STANDARD, &alphabet::URL_SAFE] {
            let decoded = GeneralPurpose::new(alphabet, config).decode(text);
            if let Some(key) = decoded.ok().and_then(|bytes| <[u8; KEY]>::try_from(bytes).ok()) {
                return Ok(Self::Key(key));
            }
        }
        Passphrase::new(text).map(Self::Passphrase)
    }

    /// Returns the key. That of a passphrase takes 64 MiB of memory and a good fraction of a second to derive: never call
    /// it on a thread that serves requests.
    ///
    /// # Errors
    /// [`SealError::TooCostly`] if there is not enough memory.
    pub fn key(&self, salt: &[u8; RECORD_SALT]) -> Result<RecordKey, SealError> {
        match self {
            Self::Key(key) => Ok(RecordKey { master: *key }),
            Self::Passphrase(passphrase) => {
                let master = derive_key(passphrase, salt, Costs::RECOMMENDED)?;
                Ok(RecordKey { master })
            }
        }
    }
}

/// A key that records are sealed with. `Debug` does not show it.
#[derive(Clone)]
pub struct RecordKey {
    master: [u8; KEY],
}

impl std::fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordKey(…)")
    }
}

impl RecordKey {
    /// Returns what tells this key from others, and nothing of the key itself.
    #[must_use]
    pub fn identifier(&self) -> [u8; 8] {
        let secret = Salt::new(HKDF_SHA256, b"").extract(&self.master);
        let mut whole = [0; KEY];
        // SHA-256 gives 32 bytes at once, which is what is asked for.
        let filled = secret.expand(&[OF_IDENTIFIER], HKDF_SHA256).and_then(|okm| okm.fill(&mut whole));
        let mut identifier = [0; 8];
        if filled.is_ok() {
            identifier.iter_mut().zip(whole).for_each(|(to, byte)| *to = byte);
        }
        identifier
    }

    /// Encrypts a record. `context` is what identifies it; it is authenticated and not contained.
    ///
    /// # Errors
    /// [`SealError::Random`], [`SealError::TooLong`].
    pub fn seal(&self, context: &[u8], content: &[u8]) -> Result<Vec<u8>, SealError> {
        let (mut salt, mut nonce) = ([0; RECORD_SALT], [0; NONCE]);
        getrandom::fill(&mut salt).and_then(|()| getrandom::fill(&mut nonce)).map_err(|_| SealError::Random)?;
        let key = self.derive(&salt)?;
        let mut text = content.to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut text)
            .map_err(|_| SealError::TooLong)?;
        let mut sealed = Vec::with_capacity(HEAD + text.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(&salt);
        sealed.extend_from_slice(&nonce);
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// Decrypts a record.
    ///
    /// # Errors
    /// [`SealError::NotSealed`] for bytes that are no sealed record; [`SealError::Damaged`] if it was sealed with another
    /// key or for another context, or changed since.
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let rest = sealed.strip_prefix(&[VERSION]).ok_or(SealError::NotSealed)?;
        let (salt, rest) = rest.split_first_chunk::<RECORD_SALT>().ok_or(SealError::NotSealed)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE>().ok_or(SealError::NotSealed)?;
        let key = self.derive(salt)?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = key.open_in_place(nonce, Aad::from(context), &mut text).map_err(|_| SealError::Damaged)?.len();
        text.truncate(length);
        Ok(text)
    }

    fn derive(&self, salt: &[u8; RECORD_SALT]) -> Result<LessSafeKey, SealError> {
        let secret = Salt::new(HKDF_SHA256, salt).extract(&self.master);
        let derived = secret.expand(&[OF_RECORD], &CHACHA20_POLY1305).map_err(|_| SealError::Damaged)?;
        Ok(LessSafeKey::new(UnboundKey::from(derived)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> RecordKey {
        RecordSecret::Key([byte; KEY]).key(&[0; RECORD_SALT]).unwrap()
    }

    #[test]
    fn thirty_two_bytes_in_base64_are_a_key_and_other_texts_passphrases() {
        for text in [
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            " AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
        ] {
            let RecordSecret::Key(key) = RecordSecret::parse(text).unwrap() else { panic!("{text}") };
            assert!(key.iter().copied().eq(0..32));
        }
        assert!(matches!(RecordSecret::parse("correct horse battery"), Ok(RecordSecret::Passphrase(_))));
        assert!(matches!(RecordSecret::parse("too short"), Err(SealError::PassphraseLength)));
        assert!(matches!(RecordSecret::parse(""), Err(SealError::PassphraseLength)));
        assert!(!format!("{:?}", RecordSecret::parse("correct horse battery").unwrap()).contains("horse"));
    }

    #[test]
    fn a_passphrase_gives_the_same_key_with_the_same_salt_only() {
        let secret = RecordSecret::parse("correct horse battery").unwrap();
        let identifier = |salt: u8| secret.key(&[salt; RECORD_SALT]).unwrap().identifier();
        assert_eq!(identifier(1), identifier(1));
        assert_ne!(identifier(1), identifier(2));
    }

    #[test]
    fn a_record_opens_with_its_key_in_its_place_only() {
        let sealed = key(1).seal(b"con_1 key_1", b"content").unwrap();
        assert_eq!(sealed.len(), b"content".len() + RECORD_OVERHEAD);
        assert_eq!(key(1).open(b"con_1 key_1", &sealed).unwrap(), b"content");
        assert!(matches!(key(1).open(b"con_2 key_1", &sealed), Err(SealError::Damaged)));
        assert!(matches!(key(2).open(b"con_1 key_1", &sealed), Err(SealError::Damaged)));
        assert_ne!(key(1).identifier(), key(2).identifier());
    }

    #[test]
    fn two_records_of_one_content_have_nothing_in_common() {
        let (one, two) = (key(1).seal(b"c", &[7; 64]).unwrap(), key(1).seal(b"c", &[7; 64]).unwrap());
        assert!(one[1..17] != two[1..17] && one[HEAD..] != two[HEAD..]);
    }

    /// RFC 8439 and RFC 5869 put together by hand.
    #[test]
    fn a_record_is_chacha20_poly1305_under_a_key_of_its_salt() {
        let sealed = key(3).seal(b"context", b"content").unwrap();
        let hmac =
            |key: &[u8], text: &[u8]| ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key), text);
        let secret = hmac(&sealed[1..17], &[3; 32]);
        let derived = hmac(secret.as_ref(), &[OF_RECORD, &[1]].concat());
        let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, derived.as_ref()).unwrap());
        let nonce = Nonce::try_assume_unique_for_key(&sealed[17..29]).unwrap();
        let mut text = sealed[29..].to_vec();
        assert_eq!(key.open_in_place(nonce, Aad::from(b"context"), &mut text).unwrap(), b"content");
    }

    proptest! {
        #[test]
        fn no_changed_or_cut_record_opens(content in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let sealed = key(1).seal(b"c", &content).unwrap();
            let at = at.index(sealed.len());
            let mut changed = sealed.clone();
            changed[at] ^= 1 << bit;
            prop_assert!(key(1).open(b"c", &changed).is_err());
            prop_assert!(key(1).open(b"c", &sealed[..at]).is_err());
            prop_assert_eq!(key(1).open(b"c", &sealed).unwrap(), content);
        }
    }
}
