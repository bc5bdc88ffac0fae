//! The form of a key: `mst_` + 12 characters of identifier + `_` + 43 characters of secret (256 bits, base64url).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What every key begins with.
pub(super) const PREFIX: &str = "mst_";
const LOOKUP: usize = 12;
const SECRET: usize = 43;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A secret as it was sent. Never shown, never logged, never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// SHA-256 of a secret: the secret has 256 random bits, so a slow hash would add nothing.
pub(super) type SecretHash = [u8; 32];

impl Secret {
    pub(super) fn hash(&self) -> SecretHash {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

/// Compares in constant time.
pub(super) fn matches(one: &SecretHash, other: &SecretHash) -> bool {
    one.ct_eq(other).into()
}

/// A whole key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The 12 characters that find the record; not secret.
    pub lookup: String,
    pub secret: Secret,
}

/// Why a text is no key, or none could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("a key has the form mst_<12 characters>_<43 characters>")]
    Malformed,
    #[error("no random numbers from the system: {0}")]
    NoRandomness(String),
}

impl Token {
    /// A new random key.
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

    /// Reads a key as a client sends it.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let parts = text.strip_prefix(PREFIX).and_then(|rest| rest.split_at_checked(LOOKUP));
        let (lookup, rest) = parts.ok_or(TokenError::Malformed)?;
        let secret = rest.strip_prefix('_').ok_or(TokenError::Malformed)?;
        let named = lookup.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let sealed = secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if !named || !sealed || secret.len() != SECRET {
            return Err(TokenError::Malformed);
        }
        Ok(Self { lookup: lookup.to_owned(), secret: Secret(secret.to_owned()) })
    }

    /// The whole key, to be shown once.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.lookup, self.secret.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_has_the_contracts_form_and_reads_back() {
        let token = Token::generate().unwrap();
        let text = token.reveal();
        assert_eq!(text.len(), 4 + 12 + 1 + 43);
        assert_eq!(Token::parse(&text), Ok(token));
        assert_ne!(Token::generate().unwrap().reveal(), text);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let good = format!("mst_abcdefghijkl_{}", "A".repeat(43));
        assert!(Token::parse(&good).is_ok());
        let long = format!("{good}A");
        let unicode = good.replace("abc", "äbc");
        for bad in ["", "mst_", "sk-123", good.trim_end_matches('A'), &long, &good.replace("mst_", "mst-"), &unicode] {
            assert_eq!(Token::parse(bad), Err(TokenError::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_secret_is_never_shown_by_debug() {
        let token = Token::generate().unwrap();
        assert!(!format!("{token:?}").contains(&token.secret.0));
    }

    #[test]
    fn the_hash_is_sha_256() {
        // FIPS 180-4's example: SHA-256("abc").
        let hash = Secret("abc".into()).hash();
        assert_eq!(hash[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert!(matches(&Secret("abc".into()).hash(), &hash) && !matches(&Secret("abd".into()).hash(), &hash));
    }
}
