//! The protocol's times and limits.

use std::time::Duration;

use super::Rate;

/// The defaults are contract 5's.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolOptions {
    /// For `connect`, from the handshake on.
    pub connect_within: Duration,
    /// From one heartbeat to the next; the first comes earlier, by chance.
    pub heartbeat: Duration,
    /// For the answer to a heartbeat.
    pub answer_within: Duration,
    /// How long before the token's end `auth.expiring` is told.
    pub expiry_warning: Duration,
    /// How long after the token's end the socket closes.
    pub expiry_grace: Duration,
    /// From one position of filtered subscriptions to the next.
    pub positions: Duration,
    /// For the answer to anything asked inside.
    pub patience: Duration,
    pub max_subscriptions: usize,
    /// Requests without a reply yet.
    pub max_waiting: usize,
    /// Bytes of a message.
    pub max_frame: usize,
    pub commands: Rate,
    /// Frames of every kind.
    pub frames: Rate,
}

impl Default for ProtocolOptions {
    fn default() -> Self {
        Self {
            connect_within: Duration::from_secs(10),
            heartbeat: Duration::from_secs(25),
            answer_within: Duration::from_secs(10),
            expiry_warning: Duration::from_secs(60),
            expiry_grace: Duration::from_secs(25),
            positions: Duration::from_secs(10),
            patience: Duration::from_secs(15),
            max_subscriptions: 128,
            max_waiting: 256,
            max_frame: 64 << 10,
            commands: Rate { per_second: 20, burst: 40 },
            frames: Rate { per_second: 200, burst: 1_000 },
        }
    }
}
