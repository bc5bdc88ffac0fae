//! Health rules: when a device that reports is degraded. Pure.

use super::record::{Health, Status};

/// Thresholds of a device's health. A degraded device recovers only beyond a margin, so that it does not flap at a
/// threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthRules {
    /// Battery charge in percent below which a device is degraded.
    pub battery_below_pct: f64,
    /// Temperature in degrees Celsius above which a device is degraded.
    pub temp_above_c: f64,
    /// Temperature in degrees Celsius below which a device is degraded.
    pub temp_below_c: f64,
    /// Signal strength in dBm below which a device is degraded.
    pub signal_below_dbm: f64,
    /// Whether an error that a device reports makes it degraded.
    pub errors: ReportedErrorPolicy,
}

/// Whether a `last_error` makes a device degraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedErrorPolicy {
    /// A device with an error is degraded.
    Degrade,
    /// Errors are ignored.
    Ignore,
}

impl Default for HealthRules {
    fn default() -> Self {
        Self {
            battery_below_pct: 15.0,
            temp_above_c: 75.0,
            temp_below_c: -35.0,
            signal_below_dbm: -120.0,
            errors: ReportedErrorPolicy::Degrade,
        }
    }
}

/// Recovery margin, in percent, degrees and decibels alike.
const MARGIN: f64 = 3.0;

impl HealthRules {
    /// Returns the name of the first rule that is broken; `None` for a healthy device or one that reports nothing.
    pub fn broken(&self, health: &Health, status: Status) -> Option<&'static str> {
        let margin = if status == Status::Degraded { MARGIN } else { 0.0 };
        let below = |value: Option<f64>, least: f64| value.is_some_and(|value| value < least + margin);
        let above = |value: Option<f64>, most: f64| value.is_some_and(|value| value > most - margin);
        let error = || health.last_error.as_deref().is_some_and(|error| !error.is_empty());
        match () {
            () if below(health.battery_pct, self.battery_below_pct) => Some("battery_pct"),
            () if above(health.temp_c, self.temp_above_c) || below(health.temp_c, self.temp_below_c) => Some("temp_c"),
            () if below(health.signal_dbm, self.signal_below_dbm) => Some("signal_dbm"),
            () if self.errors == ReportedErrorPolicy::Degrade && error() => Some("last_error"),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_breaks_at_its_threshold_and_mends_beyond_a_margin() {
        let rules = HealthRules::default();
        let battery = |pct| Health { battery_pct: Some(pct), ..Health::default() };
        assert_eq!(rules.broken(&battery(15.0), Status::Online), None);
        assert_eq!(rules.broken(&battery(14.9), Status::Online), Some("battery_pct"));
        assert_eq!(rules.broken(&battery(17.9), Status::Degraded), Some("battery_pct"));
        assert_eq!(rules.broken(&battery(18.0), Status::Degraded), None);
        let temp = |c| Health { temp_c: Some(c), ..Health::default() };
        assert_eq!(rules.broken(&temp(75.1), Status::Online), Some("temp_c"));
        assert_eq!(rules.broken(&temp(-35.1), Status::Online), Some("temp_c"));
        assert_eq!(rules.broken(&temp(20.0), Status::Degraded), None);
        let signal = Health { signal_dbm: Some(-121.0), ..Health::default() };
        assert_eq!(rules.broken(&signal, Status::Online), Some("signal_dbm"));
        let error = |text: &str| Health { last_error: Some(text.into()), ..Health::default() };
        assert_eq!(rules.broken(&error("disk full"), Status::Online), Some("last_error"));
        assert_eq!(rules.broken(&error(""), Status::Online), None);
        let ignoring = HealthRules { errors: ReportedErrorPolicy::Ignore, ..rules };
        assert_eq!(ignoring.broken(&error("disk full"), Status::Online), None);
        assert_eq!(ignoring.broken(&Health::default(), Status::Online), None);
    }
}
