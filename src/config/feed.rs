//! Settings of the live feed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::ws::protocol::ProtocolOptions;
use crate::ws::{ShardOptions, SocketOptions};

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Feed {
    /// Milliseconds for the first frame of a connection without a token in its handshake.
    pub connect_within_ms: u64,
    /// Milliseconds between heartbeats.
    pub heartbeat_ms: u64,
    /// Milliseconds for the answer to a heartbeat.
    pub answer_within_ms: u64,
    /// Milliseconds before the expiry of a token at which its connection gets a warning.
    pub expiry_warning_ms: u64,
    /// Milliseconds after the expiry of a token at which its connection is closed.
    pub expiry_grace_ms: u64,
    /// Milliseconds between position frames of filtered subscriptions.
    pub positions_ms: u64,
    /// Largest number of connections that have not authenticated yet.
    pub max_unauthenticated: usize,
    /// Largest number of sockets and streams of one user.
    pub max_per_person: usize,
    /// Largest number of subscriptions of one connection.
    pub max_subscriptions: usize,
    /// Bytes and frames that may wait for a slow reader before it is disconnected.
    pub max_behind_bytes: usize,
    pub max_behind_frames: usize,
    /// Milliseconds without progress after which a reader is disconnected.
    pub no_progress_ms: u64,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            connect_within_ms: 10_000,
            heartbeat_ms: 25_000,
            answer_within_ms: 10_000,
            expiry_warning_ms: 60_000,
            expiry_grace_ms: 25_000,
            positions_ms: 10_000,
            max_unauthenticated: 1_000,
            max_per_person: 10,
            max_subscriptions: 128,
            max_behind_bytes: 1 << 20,
            max_behind_frames: 1_024,
            no_progress_ms: 10_000,
        }
    }
}

impl Feed {
    /// Returns the options of sockets. Pages from `origins` may connect in addition to the server's own.
    pub fn options(&self, origins: &[String]) -> SocketOptions {
        let protocol = ProtocolOptions {
            connect_within: Duration::from_millis(self.connect_within_ms),
            heartbeat: Duration::from_millis(self.heartbeat_ms),
            answer_within: Duration::from_millis(self.answer_within_ms),
            expiry_warning: Duration::from_millis(self.expiry_warning_ms),
            expiry_grace: Duration::from_millis(self.expiry_grace_ms),
            positions: Duration::from_millis(self.positions_ms),
            max_subscriptions: self.max_subscriptions,
            ..ProtocolOptions::default()
        };
        let shard = ShardOptions {
            max_behind_bytes: self.max_behind_bytes,
            max_behind_frames: self.max_behind_frames,
            no_progress: Duration::from_millis(self.no_progress_ms),
            ..ShardOptions::default()
        };
        SocketOptions {
            protocol,
            shard,
            max_unauthenticated: self.max_unauthenticated,
            max_per_person: self.max_per_person,
            origins: origins.to_vec(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let times = [
            ("connect_within_ms", self.connect_within_ms),
            ("heartbeat_ms", self.heartbeat_ms),
            ("answer_within_ms", self.answer_within_ms),
            ("positions_ms", self.positions_ms),
            ("no_progress_ms", self.no_progress_ms),
        ];
        for (name, value) in times {
            if !(100..=3_600_000).contains(&value) {
                let why = "takes 100 to 3600000".to_owned();
                return Err(ConfigError::Bad { setting: format!("feed.{name}"), why });
            }
        }
        if !(1..=1_024).contains(&self.max_subscriptions) {
            let why = "takes 1 to 1024".to_owned();
            return Err(ConfigError::Bad { setting: "feed.max_subscriptions".to_owned(), why });
        }
        Ok(())
    }
}
