//! What the application is started with, why it is not, and the store that its parts share.

use muster_identity::keys::{Keys, Token};
use muster_store::StoreHandle;

/// Why the server cannot start, and how to fix it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

pub(crate) fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> StartError + '_ {
    move |error| StartError(format!("{what}: {error}"))
}

/// Values for an empty store that replace the random ones.
#[derive(Default)]
pub struct InitialCredentials {
    pub key: Option<Token>,
    /// Password of the administrator.
    pub password: Option<String>,
    /// Why an audit log that does not continue what was signed is accepted.
    pub accept_rollback: Option<String>,
}

impl std::fmt::Debug for InitialCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InitialCredentials")
    }
}

/// The store behind its trait.
#[derive(Clone)]
pub struct StoreRef(pub StoreHandle);

impl std::fmt::Debug for StoreRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StoreRef").field(&self.0.stats()).finish()
    }
}

impl std::ops::Deref for StoreRef {
    type Target = StoreHandle;
    fn deref(&self) -> &StoreHandle {
        &self.0
    }
}

/// Creates the first API key of an empty store and returns its text if it was generated.
pub(crate) async fn first_key(keys: &Keys, bootstrap: Option<Token>) -> Result<Option<String>, StartError> {
    if keys.count() > 0 {
        return Ok(None);
    }
    let is_configured = bootstrap.is_some();
    let made = keys.create_first(bootstrap).await.map_err(|error| failed("the first API key")(&error))?;
    Ok((!is_configured).then(|| made.key.reveal()))
}
