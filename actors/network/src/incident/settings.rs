//! Settings of incidents and alerts.

use std::time::Duration;

/// Settings of incidents and alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentSettings {
    /// Time after which an acknowledgement without activation expires.
    pub ack_for: Duration,
    /// Time after which an unconfirmed proposal lapses.
    pub confirm_within: Duration,
    /// Time after which an imported message that refers to an unknown one is dropped.
    pub parked_for: Duration,
    /// Default validity of an alert.
    pub alert_for: Duration,
    /// Time for which finished incidents stay in memory; later they are read from the store.
    pub keep_finished: Duration,
    /// CAP `sender`: globally unique name of this publisher, such as an e-mail address.
    pub sender: String,
    /// Name of the publisher for people.
    pub sender_name: String,
}

impl Default for IncidentSettings {
    fn default() -> Self {
        Self {
            ack_for: Duration::from_secs(30 * 60),
            confirm_within: Duration::from_secs(30 * 60),
            parked_for: Duration::from_secs(7 * 24 * 3600),
            alert_for: Duration::from_secs(24 * 3600),
            keep_finished: Duration::from_secs(90 * 24 * 3600),
            sender: "alerts@muster.local".to_owned(),
            sender_name: "Muster".to_owned(),
        }
    }
}
