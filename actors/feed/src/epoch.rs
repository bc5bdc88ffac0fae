//! Epochs, within which positions are valid.

use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The epochs of this incarnation. A channel's epoch is derived from one of them and the channel's name, so that a
/// position is not valid in another channel.
#[derive(Debug, Clone, Default)]
pub(super) struct Epochs {
    /// Epoch of channels with durable history.
    pub(super) durable: String,
    /// Epoch of channels without durable history.
    pub(super) memory: String,
}

impl Epochs {
    pub(super) fn of(&self, channel: &str, durable: bool) -> Arc<str> {
        let base = if durable { &self.durable } else { &self.memory };
        let digest = Sha256::digest(channel.as_bytes());
        let tag = digest.iter().take(3).fold(String::new(), |tag, byte| tag + &format!("{byte:02x}"));
        format!("{base}{tag}").into()
    }
}

/// Creates a new epoch of 8 hexadecimal digits.
///
/// # Errors
///
/// Fails if the operating system provides no randomness.
pub(super) fn fresh() -> Result<String, String> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness for an epoch: {error}"))?;
    Ok(format!("{:08x}", u32::from_le_bytes(bytes)))
}
