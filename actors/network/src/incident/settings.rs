//! What an operator sets of incidents and alerts.

use std::time::Duration;

/// Settings of incidents and alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentSettings {
    /// How long an acknowledgement counts without activation.
    pub ack_for: Duration,
    /// How long a proposed alert waits for a second person.
    pub confirm_within: Duration,
    /// How long an imported message waits for one that it refers to.
    pub parked_for: Duration,
    /// How long an alert is in force where nothing else is said.
    pub alert_for: Duration,
    /// How long what is over stays in memory: from then on it is read from the store.
    pub keep_finished: Duration,
    /// CAP's `sender`: who publishes here, unique in the world, such as an e-mail address.
    pub sender: String,
    /// For people.
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
