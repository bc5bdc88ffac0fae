//! When a device that is heard of is not well. Pure.

use super::record::{Health, Status};

/// The rules of health. A degraded device is well again only beyond a margin, so that it does not flap at a threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthRules {
    /// Percent; less is ill.
    pub battery_below_pct: f64,
    /// Degrees Celsius; more is ill.
    pub temp_above_c: f64,
    /// Degrees Celsius; less is ill.
    pub temp_below_c: f64,
    /// Decibels of a milliwatt; less is ill.
    pub signal_below_dbm: f64,
    /// What a device says of its own errors.
    pub errors: Errors,
}

/// Whether a `last_error` makes a device ill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    Degrade,
    Ignore,
}

impl Default for HealthRules {
    fn default() -> Self {
        Self {
            battery_below_pct: 15.0,
            temp_above_c: 75.0,
            temp_below_c: -35.0,
            signal_below_dbm: -120.0,
            errors: Errors::Degrade,
        }
    }
}

/// Of percent, degrees and decibels alike.
const MARGIN: f64 = 3.0;

impl HealthRules {
    /// The first rule that is broken; `None` where it is well, or says nothing of itself.
    pub fn broken(&self, health: &Health, status: Status) -> Option<&'static str> {
        let margin = if status == Status::Degraded { MARGIN } else { 0.0 };
        let below = |value: Option<f64>, least: f64| value.is_some_and(|value| value < least + margin);
        let above = |value: Option<f64>, most: f64| value.is_some_and(|value| value > most - margin);
        let error = || health.last_error.as_deref().is_some_and(|error| !error.is_empty());
        match () {
            () if below(health.battery_pct, self.battery_below_pct) => Some("battery_pct"),
            () if above(health.temp_c, self.temp_above_c) || below(health.temp_c, self.temp_below_c) => Some("temp_c"),
            () if below(health.signal_dbm, self.signal_below_dbm) => Some("signal_dbm"),
            () if self.errors == Errors::Degrade && error() => Some("last_error"),
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
        let ignoring = HealthRules { errors: Errors::Ignore, ..rules };
        assert_eq!(ignoring.broken(&error("disk full"), Status::Online), None);
        assert_eq!(ignoring.broken(&Health::default(), Status::Online), None);
    }
}
