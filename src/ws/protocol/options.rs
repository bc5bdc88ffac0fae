//! Times and limits of the protocol.

use std::time::Duration;

use super::Rate;

/// Times and limits; the defaults are those of the protocol description.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolOptions {
    /// Time for `connect`, from the handshake on.
    pub connect_within: Duration,
    /// Time between heartbeats; the first one comes earlier, at a random time.
    pub heartbeat: Duration,
    /// Time for the answer to a heartbeat.
    pub answer_within: Duration,
    /// Time before the expiry of a token at which `auth.expiring` is sent.
    pub expiry_warning: Duration,
    /// Time after the expiry of a token at which the connection is closed.
    pub expiry_grace: Duration,
    /// Time between positions of filtered subscriptions.
    pub positions: Duration,
    /// Time for an answer from other parts of the server.
    pub patience: Duration,
    pub max_subscriptions: usize,
    /// Largest number of requests without a reply.
    pub max_waiting: usize,
    /// Largest message, in bytes.
    pub max_frame: usize,
    pub commands: Rate,
    /// Rate of frames of every kind.
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
