//! How devices are told from strangers: the port that the feature of devices fills.

use std::sync::Arc;

use muster_core::{Error, Millis};

/// Who knows the devices' public keys. Asked on every request of a device: no hop, no wait.
pub trait DeviceDirectory: Send + Sync + std::fmt::Debug {
    /// The device (`dev_…`) that signed the token.
    ///
    /// # Errors
    /// `Unauthenticated` where the token is not good, or the device is blocked.
    fn authenticate(&self, token: &str, now: Millis) -> Result<Arc<str>, Error>;
}
