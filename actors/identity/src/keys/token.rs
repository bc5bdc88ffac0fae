//! The form of a key: `mst_` + 12 characters of identifier + `_` + 43 characters of secret (256 bits, base64url).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Prefix of every key.
pub(super) const PREFIX: &str = "mst_";
const LOOKUP: usize = 12;
const SECRET: usize = 43;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The secret part of a key. Never logged and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// SHA-256 of a secret. The secret has 256 random bits, so a slow hash would add no security.
pub(super) type SecretHash = [u8; 32];

impl Secret {
    pub(super) fn hash(&self) -> SecretHash {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

/// Compares two hashes in constant time.
pub(super) fn matches(left: &SecretHash, right: &SecretHash) -> bool {
    left.ct_eq(right).into()
}

/// A whole key, with its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Lookup identifier: the 12 characters that are not secret.
    pub lookup: String,
    /// The secret part.
    pub secret: Secret,
}

/// Why a key could not be parsed or generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text does not have the form of a key.
    #[error("a key has the form mst_<12 characters>_<43 characters>")]
    Malformed,
    /// The operating system returned no random numbers.
    #[error("no random numbers from the system: {0}")]
    NoRandomness(String),
}

impl Token {
    /// Generates a random key.
    ///
    /// # Errors
    /// The operating system returned no random numbers.
    pub fn generate() -> Result<Self, TokenError> {
        let mut random = [0_u8; LOOKUP + 32];
        getrandom::fill(&mut random).map_err(|error| TokenError::NoRandomness(error.to_string()))?;
        let (lookup, secret) = random.split_at(LOOKUP);
        let lookup = lookup
            .iter()
            .filter_map(|byte| ALPHABET.get(usize::from(byte % 32)))
            .map(|&letter| char::from(letter))
            .collect();
        Ok(Self { lookup, secret: Secret(URL_SAFE_NO_PAD.encode(secret)) })
    }

    /// Parses a key in the form that clients send.
    ///
    /// # Errors
    /// The text does not have this form.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let parts = text.strip_prefix(PREFIX).and_then(|rest| rest.split_at_checked(LOOKUP));
        let (lookup, rest) = parts.ok_or(TokenError::Malformed)?;
        let secret = rest.strip_prefix('_').ok_or(TokenError::Malformed)?;
        let lookup_valid = lookup.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let secret_valid = secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if !lookup_valid || !secret_valid || secret.len() != SECRET {
            return Err(TokenError::Malformed);
        }
        Ok(Self { lookup: lookup.to_owned(), secret: Secret(secret.to_owned()) })
    }

    /// Returns the whole key as text, for the one response that contains it.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.lookup, self.secret.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_has_the_specified_form_and_can_be_parsed() {
        let token = Token::generate().unwrap();
        let text = token.reveal();
        assert_eq!(text.len(), 4 + 12 + 1 + 43);
        assert_eq!(Token::parse(&text), Ok(token));
        assert_ne!(Token::generate().unwrap().reveal(), text);
    }

    #[test]
    fn malformed_keys_are_rejected() {
        let good = format!("mst_abcdefghijkl_{}", "A".repeat(43));
        assert!(Token::parse(&good).is_ok());
        let long = format!("{good}A");
        let unicode = good.replace("abc", "äbc");
        for bad in ["", "mst_", "sk-123", good.trim_end_matches('A'), &long, &good.replace("mst_", "mst-"), &unicode] {
            assert_eq!(Token::parse(bad), Err(TokenError::Malformed), "{bad}");
        }
    }

    #[test]
    fn debug_output_does_not_contain_the_secret() {
        let token = Token::generate().unwrap();
        assert!(!format!("{token:?}").contains(&token.secret.0));
    }

    #[test]
    fn the_hash_is_sha_256() {
        // Example of FIPS 180-4: SHA-256("abc").
        let hash = Secret("abc".into()).hash();
        assert_eq!(hash[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert!(matches(&Secret("abc".into()).hash(), &hash) && !matches(&Secret("abd".into()).hash(), &hash));
    }
}
