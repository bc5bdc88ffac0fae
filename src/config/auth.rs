//! Settings of logins, sessions and tokens.

use std::time::Duration;

use muster_identity::{BoundBearer, Hasher, Lifetimes, LoginRates, RotationPolicy};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// How a key-bound token is treated that is sent with the scheme `Bearer`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Accepted together with a valid proof of possession.
    #[default]
    WithProof,
    /// Rejected: the scheme must be `DPoP` (RFC 9449, section 7.2).
    Reject,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// Issuer (`iss`) of every token.
    pub issuer: String,
    /// The server's URL as clients know it. Empty: the URL of the request.
    pub public_url: String,
    /// Lifetime of an access token, in seconds.
    pub access_seconds: u64,
    pub session_idle_days: u64,
    pub session_days: u64,
    /// Seconds for which a used refresh token returns the same successor again.
    pub refresh_grace_seconds: u64,
    pub bound_bearer: Bound,
    pub key_rotation_days: u64,
    pub key_publish_ahead_hours: u64,
    pub logins_per_address: usize,
    pub logins_per_minute: usize,
    pub argon2_memory_kib: u32,
    pub argon2_passes: u32,
    pub argon2_lanes: u32,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            issuer: "muster".to_owned(),
            public_url: String::new(),
            access_seconds: 900,
            session_idle_days: 7,
            session_days: 30,
            refresh_grace_seconds: 10,
            bound_bearer: Bound::default(),
            key_rotation_days: 90,
            key_publish_ahead_hours: 24,
            logins_per_address: 20,
            logins_per_minute: 200,
            argon2_memory_kib: 19_456,
            argon2_passes: 2,
            argon2_lanes: 1,
        }
    }
}

const DAY: u64 = 24 * 3600;

impl Auth {
    pub fn lifetimes(&self) -> Lifetimes {
        Lifetimes {
            access: Duration::from_secs(self.access_seconds),
            idle: Duration::from_secs(self.session_idle_days * DAY),
            absolute: Duration::from_secs(self.session_days * DAY),
            grace: Duration::from_secs(self.refresh_grace_seconds),
        }
    }

    pub fn rates(&self) -> LoginRates {
        LoginRates { per_address: self.logins_per_address, of_all: self.logins_per_minute }
    }

    pub fn hasher(&self) -> Hasher {
        Hasher { m_kib: self.argon2_memory_kib, t: self.argon2_passes, p: self.argon2_lanes }
    }

    pub fn policy(&self) -> RotationPolicy {
        RotationPolicy {
            rotate_every: self.key_rotation_days * DAY,
            publish_ahead: self.key_publish_ahead_hours * 3600,
            longest_token: self.session_days * DAY,
        }
    }

    pub fn bound(&self) -> BoundBearer {
        match self.bound_bearer {
            Bound::WithProof => BoundBearer::WithProof,
            Bound::Reject => BoundBearer::Reject,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad =
            |name: &str, why: &str| Err(ConfigError::Bad { setting: format!("auth.{name}"), why: why.to_owned() });
        let url = &self.public_url;
        if !url.is_empty() && !reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            return bad("public_url", "takes an http or https URL, such as https://muster.example.org, or nothing");
        }
        if self.issuer.is_empty() || self.issuer.len() > 200 {
            return bad("issuer", "takes 1 to 200 bytes");
        }
        let ranges = [
            ("access_seconds", self.access_seconds, 1, 86_400),
            ("session_idle_days", self.session_idle_days, 1, 365),
            ("session_days", self.session_days, 1, 365),
            ("refresh_grace_seconds", self.refresh_grace_seconds, 0, 60),
            ("key_rotation_days", self.key_rotation_days, 1, 3650),
            ("key_publish_ahead_hours", self.key_publish_ahead_hours, 0, 720),
            ("logins_per_address", self.logins_per_address as u64, 1, 1_000_000),
            ("logins_per_minute", self.logins_per_minute as u64, 1, 1_000_000),
            ("argon2_memory_kib", self.argon2_memory_kib.into(), 8, 1 << 20),
            ("argon2_passes", self.argon2_passes.into(), 1, 16),
            ("argon2_lanes", self.argon2_lanes.into(), 1, 16),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return bad(name, &format!("takes {least} to {most}"));
            }
        }
        if self.argon2_memory_kib < 8 * self.argon2_lanes {
            return bad("argon2_memory_kib", "takes at least 8 for each of argon2_lanes");
        }
        Ok(())
    }
}
