//! Settings of incidents and alerts.

use std::time::Duration;

use muster_network::incident::{IncidentKind, IncidentSettings, PointRadii};
use serde::{Deserialize, Serialize};

use super::ConfigError;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Incidents {
    /// Minutes after which an acknowledgement lapses without activation.
    pub ack_minutes: u64,
    /// Minutes that an alert waits for confirmation by a second user.
    pub confirm_minutes: u64,
    /// Days that an imported message waits for the message it refers to.
    pub parked_days: u64,
    /// Hours that an alert is valid if it has no expiry time.
    pub alert_hours: u64,
    /// Days that a closed incident stays in memory. After that it is read from the store.
    pub memory_days: u64,
    /// CAP `sender`: worldwide unique, such as an e-mail address of the authority.
    pub sender: String,
    /// Human-readable name of the authority.
    pub sender_name: String,
    /// Whether the feed of public alerts and their documents need no credential.
    pub public_feed: bool,
    /// Radius of an alert whose incident is a point, in metres, by kind of incident.
    pub point_radius_m: PointRadii,
}

impl Default for Incidents {
    fn default() -> Self {
        Self {
            ack_minutes: 30,
            confirm_minutes: 30,
            parked_days: 7,
            alert_hours: 24,
            memory_days: 90,
            sender: "alerts@muster.local".to_owned(),
            sender_name: "Muster".to_owned(),
            public_feed: false,
            point_radius_m: PointRadii::default(),
        }
    }
}

impl Incidents {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad =
            |name: &str, why: &str| Err(ConfigError::Bad { setting: format!("incidents.{name}"), why: why.to_owned() });
        // CAP 1.2, section 3.2.1.
        let barred = |c: char| c.is_whitespace() || c.is_control() || matches!(c, ',' | '<' | '&');
        if self.sender.is_empty() || self.sender.len() > 200 || self.sender.contains(barred) {
            return bad("sender", "takes one word of up to 200 bytes, without commas, < or &: CAP requires it");
        }
        if self.sender_name.trim().is_empty() || self.sender_name.len() > 200 {
            return bad("sender_name", "takes 1 to 200 bytes");
        }
        let ranges = [
            ("ack_minutes", self.ack_minutes, 1, 1440),
            ("confirm_minutes", self.confirm_minutes, 1, 1440),
            ("parked_days", self.parked_days, 1, 365),
            ("alert_hours", self.alert_hours, 1, 8760),
            ("memory_days", self.memory_days, 31, 36_500),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return bad(name, &format!("takes {least} to {most}"));
            }
        }
        for kind in IncidentKind::ALL {
            if !PointRadii::RANGE.contains(&self.point_radius_m.of(*kind)) {
                return bad(&format!("point_radius_m.{}", kind.name()), "takes 10 to 1000000");
            }
        }
        Ok(())
    }

    /// Converts the settings to those of the incident actor.
    pub fn settings(&self) -> IncidentSettings {
        let span = |count: u64, seconds: u64| Duration::from_secs(count.saturating_mul(seconds));
        IncidentSettings {
            ack_for: span(self.ack_minutes, 60),
            confirm_within: span(self.confirm_minutes, 60),
            parked_for: span(self.parked_days, 24 * 3600),
            alert_for: span(self.alert_hours, 3600),
            point_radius_m: self.point_radius_m,
            keep_finished: span(self.memory_days, 24 * 3600),
            sender: self.sender.clone(),
            sender_name: self.sender_name.clone(),
        }
    }
}
