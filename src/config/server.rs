//! What the HTTP server derives from its settings, and their bounds.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ipnet::IpNet;

use super::{ConfigError, Server};
use crate::body::Pace;
use crate::connections::ConnectionLimits;

/// The networks of this machine itself.
pub(super) fn loopback() -> Vec<IpNet> {
    let networks = [(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8), (IpAddr::V6(Ipv6Addr::LOCALHOST), 128)];
    networks.into_iter().filter_map(|(address, prefix)| IpNet::new(address, prefix).ok()).collect()
}

impl Server {
    /// Returns these settings with those of bodies, which can change at run time, taken from `other`.
    #[must_use]
    pub fn with_bodies_of(self, other: &Self) -> Self {
        Self {
            max_body_bytes: other.max_body_bytes,
            max_image_body_bytes: other.max_image_body_bytes,
            max_body_bytes_in_flight: other.max_body_bytes_in_flight,
            body_window_seconds: other.body_window_seconds,
            body_min_bytes_per_second: other.body_min_bytes_per_second,
            body_seconds: other.body_seconds,
            ..self
        }
    }

    /// Time for running requests after SIGTERM.
    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.shutdown_grace_seconds)
    }

    /// Time for a whole body that is kept in memory.
    pub fn body_within(&self) -> Duration {
        Duration::from_secs(self.body_seconds)
    }

    /// Least speed of bodies.
    pub fn pace(&self) -> Pace {
        let window = Duration::from_secs(self.body_window_seconds);
        let seconds = usize::try_from(self.body_window_seconds).unwrap_or(usize::MAX);
        Pace { window, least: self.body_min_bytes_per_second.saturating_mul(seconds) }
    }

    /// Bounds of connections.
    pub fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits {
            most: self.max_connections,
            per_network: self.max_connections_per_address,
            unlimited: [self.unlimited_networks.as_slice(), self.trusted_proxies.networks()].concat(),
            idle: Duration::from_secs(self.idle_seconds),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |setting: &str, why: String| Err(ConfigError::Bad { setting: format!("server.{setting}"), why });
        if !(1024..=(64 << 20)).contains(&self.max_body_bytes) {
            return bad("max_body_bytes", "takes 1024 to 67108864".to_owned());
        }
        if !(1024..=(256 << 20)).contains(&self.max_image_body_bytes) {
            return bad("max_image_body_bytes", "takes 1024 to 268435456".to_owned());
        }
        let largest = self.max_body_bytes.max(self.max_image_body_bytes);
        if self.max_body_bytes_in_flight < largest {
            let why = format!("takes at least the largest body, {largest}");
            return bad("max_body_bytes_in_flight", why);
        }
        for (name, value) in [
            ("body_window_seconds", self.body_window_seconds),
            ("body_seconds", self.body_seconds),
            ("idle_seconds", self.idle_seconds),
        ] {
            if !(1..=3600).contains(&value) {
                return bad(name, "takes 1 to 3600".to_owned());
            }
        }
        if !(1..=(1 << 20)).contains(&self.body_min_bytes_per_second) {
            return bad("body_min_bytes_per_second", "takes 1 to 1048576".to_owned());
        }
        for (name, value) in [
            ("max_connections", self.max_connections),
            ("max_connections_per_address", self.max_connections_per_address),
        ] {
            if value == 0 {
                return bad(name, "takes 1 or more".to_owned());
            }
        }
        if let Some(origin) = self.cors_origins.iter().find(|origin| !is_origin(origin)) {
            let why = format!(
                "`{origin}` is no origin: an entry is a scheme with a host and, if it is not the scheme's, a port, such \
                 as \"https://ops.example.org\", or \"*\" for every origin"
            );
            return bad("cors_origins", why);
        }
        if self.tls.cert.as_os_str().is_empty() != self.tls.key.as_os_str().is_empty() {
            return bad("tls", "takes cert and key together, or neither".to_owned());
        }
        Ok(())
    }
}

/// Whether a text is an origin as browsers send it, or stands for all.
fn is_origin(text: &str) -> bool {
    let is_one = |url: &reqwest::Url| url.origin().ascii_serialization() == text && !text.contains('*');
    text == "*" || reqwest::Url::parse(text).is_ok_and(|url| is_one(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_as_browsers_send_it() {
        // RFC 6454, section 6.2, and https://fetch.spec.whatwg.org/#origin-header.
        for origin in ["https://ops.example.org", "http://localhost:3000", "https://[2001:db8::1]:8443", "*"] {
            assert!(is_origin(origin), "{origin}");
        }
        let wrong =
            ["https://ops.example.org/", "ops.example.org", "https://ops.example.org:443", "null", "", "https://*"];
        for origin in wrong {
            assert!(!is_origin(origin), "{origin}");
        }
    }
}
