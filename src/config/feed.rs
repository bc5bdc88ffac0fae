//! Settings of the live feed.

use std::time::Duration;

use serde::Deserialize;

use super::ConfigError;
use crate::ws::protocol::ProtocolOptions;
use crate::ws::{ShardOptions, SocketOptions};

/// What carries the bytes of sockets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// The feed takes sockets out of HTTP and writes to them itself. Not with TLS, which is always `Actix`.
    #[default]
    Direct,
    /// A response of actix-web, with an actor for each.
    Actix,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Feed {
    pub lane: Lane,
    /// For the first frame of a socket without a token at its handshake.
    pub connect_within_ms: u64,
    /// From one heartbeat to the next.
    pub heartbeat_ms: u64,
    /// For the answer to a heartbeat.
    pub answer_within_ms: u64,
    /// How long before a token's end its socket is told.
    pub expiry_warning_ms: u64,
    /// How long after a token's end its socket closes.
    pub expiry_grace_ms: u64,
    /// From one position of filtered subscriptions to the next.
    pub positions_ms: u64,
    /// Sockets that have not said who they are.
    pub max_unauthenticated: usize,
    /// Sockets and streams of a person.
    pub max_per_person: usize,
    /// A reader this far behind that takes too little is cut off.
    pub max_behind_bytes: usize,
    pub max_behind_frames: usize,
    /// So is one that takes nothing for so long.
    pub no_progress_ms: u64,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            lane: Lane::default(),
            connect_within_ms: 10_000,
            heartbeat_ms: 25_000,
            answer_within_ms: 10_000,
            expiry_warning_ms: 60_000,
            expiry_grace_ms: 25_000,
            positions_ms: 10_000,
            max_unauthenticated: 1_000,
            max_per_person: 10,
            max_behind_bytes: 1 << 20,
            max_behind_frames: 1_024,
            no_progress_ms: 10_000,
        }
    }
}

impl Feed {
    /// What the sockets are given; `origins` may connect besides the server's own pages.
    pub fn options(&self, origins: &[String]) -> SocketOptions {
        let protocol = ProtocolOptions {
            connect_within: Duration::from_millis(self.connect_within_ms),
            heartbeat: Duration::from_millis(self.heartbeat_ms),
            answer_within: Duration::from_millis(self.answer_within_ms),
            expiry_warning: Duration::from_millis(self.expiry_warning_ms),
            expiry_grace: Duration::from_millis(self.expiry_grace_ms),
            positions: Duration::from_millis(self.positions_ms),
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
        Ok(())
    }
}
