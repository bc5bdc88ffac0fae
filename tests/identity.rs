//! People of the disaster network: login, sessions, tokens and permissions.

mod attacked;
mod bound;
mod cli;
mod crash;
mod guessing;
mod login;
mod people;
mod refresh;
mod service_accounts;
mod tokens;

use crate::support;

use muster_auth::{AccessClaims, KeyRing, KeySet, RotationPolicy};
use muster_core::Clock;
use std::path::Path;
use std::sync::Arc;

/// Now, in Unix seconds.
fn now() -> u64 {
    Clock::system().now().seconds()
}

/// The signing keys of a server's data folder, as an insider could steal them.
fn keys_of(data: &Path) -> Arc<KeySet> {
    KeyRing::open(data.join("store/signing"), RotationPolicy::default(), now()).unwrap().set()
}

/// The claims of a token, not verified.
fn claims(token: &str) -> serde_json::Value {
    use base64::Engine as _;
    let body = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(body).unwrap()).unwrap()
}

fn access(token: &str) -> AccessClaims {
    serde_json::from_value(claims(token)).unwrap()
}
