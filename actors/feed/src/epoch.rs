//! What a position is valid within.

use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The epochs of this incarnation: a channel's own is made of one of them and its name, so that a position in one channel
/// is none in another.
#[derive(Debug, Clone, Default)]
pub(super) struct Epochs {
    /// Of channels that are read back.
    pub(super) durable: String,
    /// Of channels that begin anew.
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

/// A new epoch: 8 hexadecimal digits.
///
/// # Errors
/// The system has no randomness to give.
pub(super) fn fresh() -> Result<String, String> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness for an epoch: {error}"))?;
    Ok(format!("{:08x}", u32::from_le_bytes(bytes)))
}
