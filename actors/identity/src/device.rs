//! Authentication of devices: the trait that the device feature implements.

use std::sync::Arc;

use muster_core::{Error, Millis};

/// Authenticates devices by their public keys. Called for every request of a device, so it must return without waiting for an
/// actor.
pub trait DeviceDirectory: Send + Sync + std::fmt::Debug {
    /// Returns the identifier (`dev_…`) of the device that signed the token.
    ///
    /// # Errors
    /// `Unauthenticated` if the token is invalid or the device is blocked.
    fn authenticate(&self, token: &str, now: Millis) -> Result<Arc<str>, Error>;
}
