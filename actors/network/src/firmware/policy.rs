//! Rollout policies: groups, thresholds, rates, windows, gates.

use serde::{Deserialize, Serialize};

use muster_core::{Error, Kind};

/// What follows when a group has succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSuccess {
    /// Start the next group.
    #[default]
    Next,
    /// Pause the job.
    Pause,
}

/// What follows when the error threshold of a group is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Pause the job.
    #[default]
    Pause,
    /// Abort the job.
    Abort,
    /// Abort the job and roll its devices back.
    Rollback,
}

/// A group of devices; the last group takes all remaining devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupPolicy {
    /// Share of all devices of the job in percent, rounded up.
    pub pct: Option<u8>,
    /// Number of devices, instead of `pct`.
    pub count: Option<u32>,
    /// Seconds from the success threshold to the next group.
    pub soak_s: u32,
    /// Percent of successful devices from which the group has passed, 1 to 100.
    pub success_threshold_pct: u8,
    /// Percent of failed devices from which the group has failed, 1 to 100.
    pub error_threshold_pct: u8,
    /// What follows a success.
    pub on_success: OnSuccess,
    /// What follows a failure.
    pub on_error: OnError,
}

impl Default for GroupPolicy {
    fn default() -> Self {
        Self {
            pct: None,
            count: None,
            soak_s: 0,
            success_threshold_pct: 90,
            error_threshold_pct: 10,
            on_success: OnSuccess::Next,
            on_error: OnError::Pause,
        }
    }
}

/// Rate at which devices are notified.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Devices per minute at the start, 1 to 60,000.
    pub base_per_min: u32,
    /// Growth factor, 1 to 5: the rate is multiplied by it for every `every_succeeded` successful devices.
    #[serde(default = "one")]
    pub factor: f64,
    /// Largest number of devices per minute.
    #[serde(default = "fastest")]
    pub max_per_min: u32,
    /// Number of successes after which the rate grows.
    #[serde(default = "ten")]
    pub every_succeeded: u32,
}

const FASTEST: u32 = 60_000;

fn one() -> f64 {
    1.0
}
fn fastest() -> u32 {
    FASTEST
}
fn ten() -> u32 {
    10
}

/// Final states that an abort rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortOn {
    /// Failed and rolled back.
    Failed,
    /// Rejected by the device.
    Rejected,
    /// Timed out.
    TimedOut,
    /// All failures.
    Any,
}

/// Rule that aborts the rollout, over all its groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortRule {
    /// States that are counted.
    pub on: AbortOn,
    /// Percent of notified devices from which the job is aborted, 1 to 100.
    pub pct: u8,
    /// Number of notified devices from which the rule applies, at least 1.
    pub min_executed: u32,
}

/// How devices install the image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// At once.
    #[default]
    Forced,
    /// When the device chooses.
    Soft,
    /// Downloaded and verified, but not installed.
    DownloadOnly,
}

/// Maintenance window in which devices may be notified: from each firing of a cron expression for a duration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Cron expression of five fields (minute first), or six or seven (second first, year last).
    pub cron: String,
    /// Duration in seconds, 60 to 604,800.
    pub duration_s: u32,
    /// IANA name of the time zone.
    #[serde(default = "utc")]
    pub tz: String,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// Evidence of health after an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// A heartbeat with the new version.
    Heartbeat,
    /// A heartbeat with the new version, while all rules of the gate hold.
    Metric,
}

/// Bounds of a health metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateRule {
    /// Metric: `battery_pct`, `signal_dbm`, `temp_c` or `uptime_s`.
    pub metric: String,
    /// Least value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

/// Health gate: when an updated device counts as healthy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthGate {
    /// Evidence required.
    pub probe: Probe,
    /// Seconds from `verifying` within which the gate must be passed.
    pub within_s: u32,
    /// Bounds of metrics.
    #[serde(default)]
    pub rules: Vec<GateRule>,
}

/// Policy of a rollout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Groups, started one after another; empty means one group of all devices.
    pub groups: Vec<GroupPolicy>,
    /// Rate of notifications; `None` means unlimited.
    pub rate: Option<Rate>,
    /// Abort rules.
    pub abort: Vec<AbortRule>,
    /// Seconds from `notified` to the end of an attempt.
    pub device_timeout_s: u32,
    /// Number of attempts after the first.
    pub retries: u32,
    /// How devices install the image.
    pub mode: Mode,
    /// Maintenance window; `None` means always.
    pub window: Option<Window>,
    /// Health gate; `None` trusts the device's report.
    pub health_gate: Option<HealthGate>,
    /// Whether devices that fail the health gate, and all devices of an aborted job, return to their previous firmware.
    pub auto_rollback: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            rate: None,
            abort: Vec::new(),
            device_timeout_s: 3600,
            retries: 0,
            mode: Mode::Forced,
            window: None,
            health_gate: None,
            auto_rollback: false,
        }
    }
}

const MAX_GROUPS: usize = 32;
const MAX_RULES: usize = 16;
const WEEK_S: u32 = 7 * 24 * 3600;
const METRICS: [&str; 4] = ["battery_pct", "signal_dbm", "temp_c", "uptime_s"];

impl Policy {
    /// # Errors
    /// `Invalid` with the field that is out of range.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |field: &str, why: &str| {
            Err(Error::field(Kind::Invalid, &["body", "policy", field], why, serde_json::Value::Null))
        };
        let share = |pct: u8| (1..=100).contains(&pct);
        if self.groups.len() > MAX_GROUPS {
            return wrong("groups", "must be at most 32");
        }
        for group in &self.groups {
            let sized = match (group.pct, group.count) {
                (Some(pct), None) => share(pct),
                (None, Some(count)) => count > 0,
                (None, None) => self.groups.len() == 1,
                (Some(_), Some(_)) => false,
            };
            if !sized {
                return wrong("groups", "each has either `pct` (1 to 100) or `count` (at least 1)");
            }
            if !share(group.success_threshold_pct) || !share(group.error_threshold_pct) || group.soak_s > WEEK_S {
                return wrong("groups", "thresholds are 1 to 100, `soak_s` at most 604,800");
            }
        }
        if let Some(rate) = &self.rate {
            let whole = (1..=FASTEST).contains(&rate.base_per_min) && rate.max_per_min >= rate.base_per_min;
            if !whole || !(1.0..=5.0).contains(&rate.factor) || rate.every_succeeded == 0 {
                return wrong("rate", "base_per_min is 1 to 60,000, max_per_min not below it, factor 1 to 5");
            }
        }
        if self.abort.len() > MAX_RULES || !self.abort.iter().all(|rule| share(rule.pct) && rule.min_executed > 0) {
            return wrong("abort", "must be at most 16 rules with `pct` 1 to 100 and `min_executed` at least 1");
        }
        if !(10..=WEEK_S).contains(&self.device_timeout_s) {
            return wrong("device_timeout_s", "must be 10 to 604,800");
        }
        if self.retries > 10 {
            return wrong("retries", "must be 0 to 10");
        }
        if let Some(gate) = &self.health_gate {
            let known = gate.rules.iter().all(|rule| METRICS.contains(&rule.metric.as_str()));
            if gate.rules.len() > MAX_RULES || !known || !(1..=WEEK_S).contains(&gate.within_s) {
                return wrong(
                    "health_gate",
                    "rules name battery_pct, signal_dbm, temp_c or uptime_s; within_s is 1 up",
                );
            }
        }
        if let Some(window) = &self.window {
            super::pacing::MaintenanceWindow::read(window)?;
        }
        Ok(())
    }

    /// Returns the groups, at least one.
    pub fn groups(&self) -> Vec<GroupPolicy> {
        if self.groups.is_empty() { vec![GroupPolicy::default()] } else { self.groups.clone() }
    }

    /// Returns the sizes of the groups for `devices` devices: together all of them, none empty.
    pub fn sizes(&self, devices: u32) -> Vec<u32> {
        let (mut sizes, mut left) = (Vec::new(), devices);
        let groups = self.groups();
        for (nth, group) in groups.iter().enumerate() {
            let last = nth + 1 == groups.len();
            let selected = match (group.pct, group.count) {
                _ if last => left,
                (Some(pct), _) => u32::try_from((u64::from(devices) * u64::from(pct)).div_ceil(100)).unwrap_or(left),
                (None, Some(count)) => count,
                (None, None) => left,
            };
            let size = selected.min(left);
            if size > 0 {
                sizes.push(size);
            }
            left -= size;
        }
        sizes
    }
}
