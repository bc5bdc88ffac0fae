//! Tokens, proofs of possession and passwords: pure functions over bytes and times. Knows nobody.
//!
//! No clock is read here: every time is an argument, in seconds since the epoch. The only randomness is the system's,
//! for keys, salts and identifiers of proofs; the only files are the signing keys'.

mod b64;
pub mod cache;
pub mod claims;
pub mod device;
pub mod dpop;
mod error;
pub mod jwk;
mod jws;
pub mod keys;
pub mod manifest;
pub mod password;
mod secret;
mod strict;
#[cfg(test)]
mod tests;
pub mod token;

pub use cache::TokenCache;
pub use claims::{AccessClaims, Confirmation, LEEWAY, RefreshClaims};
pub use error::{RandomError, TokenError};
pub use jwk::{JwkError, PrivateKey, PublicKey};
pub use keys::{Change, KeyError, KeyRing, KeySet, Policy};
pub use secret::Secret;
pub use token::{Expect, MAX_TOKEN, MintError, Typ, mint, verify};
