//! How a rollout goes: groups, thresholds, rates, windows, gates.

use serde::{Deserialize, Serialize};

use muster_core::{Error, Kind};

/// What a group does when it has succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSuccess {
    #[default]
    Next,
    Pause,
}

/// What a group does when its error threshold is crossed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    #[default]
    Pause,
    Abort,
    Rollback,
}

/// A group of devices; the last one takes whoever is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupPolicy {
    /// A share of all devices of the job, rounded up.
    pub pct: Option<u8>,
    /// In place of `pct`.
    pub count: Option<u32>,
    /// From the success threshold to the next group.
    pub soak_s: u32,
    pub success_threshold_pct: u8,
    pub error_threshold_pct: u8,
    pub on_success: OnSuccess,
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

/// How many devices are told per minute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub base_per_min: u32,
    /// 1 is a constant rate; above, it is multiplied by this for every `every_succeeded` devices that succeeded.
    #[serde(default = "one")]
    pub factor: f64,
    #[serde(default = "fastest")]
    pub max_per_min: u32,
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

/// Which ends of executions an abort rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortOn {
    Failed,
    Rejected,
    TimedOut,
    Any,
}

/// Ends the rollout over all its groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortRule {
    pub on: AbortOn,
    pub pct: u8,
    /// Devices that must have been told before the rule counts.
    pub min_executed: u32,
}

/// How devices are to take it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// At once.
    #[default]
    Forced,
    /// When it suits the device.
    Soft,
    /// Fetched and checked, not installed.
    DownloadOnly,
}

/// When devices may be told: from each firing of a cron expression for so long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Five fields (minute first) or six and seven (second first, year last).
    pub cron: String,
    pub duration_s: u32,
    /// An IANA name.
    #[serde(default = "utc")]
    pub tz: String,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// What a device must show after it came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// A heartbeat that tells the new version.
    Heartbeat,
    /// The same, and every rule holds of its health.
    Metric,
}

/// A bound on a figure of a device's health.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateRule {
    /// `battery_pct`, `signal_dbm`, `temp_c` or `uptime_s`.
    pub metric: String,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// When an installed device counts as healthy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthGate {
    pub probe: Probe,
    /// From `verifying` on.
    pub within_s: u32,
    #[serde(default)]
    pub rules: Vec<GateRule>,
}

/// How a rollout goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// They start one after another; none is one group of all.
    pub groups: Vec<GroupPolicy>,
    /// None: as fast as the server can.
    pub rate: Option<Rate>,
    pub abort: Vec<AbortRule>,
    /// From `notified` to the end of an attempt.
    pub device_timeout_s: u32,
    /// Attempts after the first.
    pub retries: u32,
    pub mode: Mode,
    pub window: Option<Window>,
    pub health_gate: Option<HealthGate>,
    /// Devices whose health gate fails, and all of an aborted job, go back to what they ran.
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
    /// `Invalid`, naming what is out of its range.
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
            super::schedule::Opening::read(window)?;
        }
        Ok(())
    }

    /// The groups, at least one.
    pub fn groups(&self) -> Vec<GroupPolicy> {
        if self.groups.is_empty() { vec![GroupPolicy::default()] } else { self.groups.clone() }
    }

    /// How many devices each group gets, of `devices`: together all of them, and none is empty.
    pub fn sizes(&self, devices: u32) -> Vec<u32> {
        let (mut sizes, mut left) = (Vec::new(), devices);
        let groups = self.groups();
        for (nth, group) in groups.iter().enumerate() {
            let last = nth + 1 == groups.len();
            let asked = match (group.pct, group.count) {
                _ if last => left,
                (Some(pct), _) => u32::try_from((u64::from(devices) * u64::from(pct)).div_ceil(100)).unwrap_or(left),
                (None, Some(count)) => count,
                (None, None) => left,
            };
            let size = asked.min(left);
            if size > 0 {
                sizes.push(size);
            }
            left -= size;
        }
        sizes
    }
}
