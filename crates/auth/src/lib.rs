//! Tokens, proofs of possession, signing keys and passwords, as pure functions over bytes and times.
//!
//! No clock is read: every time is an argument, in seconds since the Unix epoch. The only source of randomness is the
//! operating system's, for keys, salts and identifiers of proofs; the only files are those of the signing keys. This
//! crate depends on no other crate of the workspace.

#![warn(missing_docs)]

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
pub use keys::{KeyError, KeyRing, KeySet, RotationPolicy, SigningKeyChange};
pub use secret::Secret;
pub use token::{MAX_TOKEN, MintError, TokenRequirements, TokenType, mint, verify};
