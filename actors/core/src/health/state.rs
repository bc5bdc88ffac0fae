//! Combines the results of all modules into one report. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::probe::ProbeResult;
use crate::Millis;

/// Health status of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModuleStatus {
    /// Not probed yet.
    Starting,
    /// The module works.
    Healthy,
    /// The module works with limitations.
    Degraded,
    /// The module does not work.
    Unhealthy,
}

impl ModuleStatus {
    /// Returns the name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// Health status of the whole server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OverallStatus {
    /// The score is at least 90 and no critical module is unhealthy.
    Operational,
    /// The score is below 90.
    Degraded,
    /// A critical module is unhealthy.
    Outage,
}

impl OverallStatus {
    /// Returns the name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operational => "operational",
            Self::Degraded => "degraded",
            Self::Outage => "outage",
        }
    }
}

/// Health of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModuleHealth {
    /// Status of the module.
    pub status: ModuleStatus,
    /// What is wrong, in plain text.
    pub why: Option<String>,
    /// Whether the server is in outage while this module is unhealthy.
    pub critical: bool,
    /// Weight of the module in the score.
    pub weight: u32,
    /// Time of the last probe.
    pub checked_at: Option<Millis>,
    /// Duration of the last probe, in milliseconds.
    pub took_ms: u64,
}

/// Health of all modules and of the whole server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HealthReport {
    /// Status of the whole server.
    pub status: OverallStatus,
    /// 0 to 100: `round(100 * sum(weight * value) / sum(weight))`, where healthy is 1, degraded is 0.5 and everything
    /// else 0.
    pub score: u32,
    /// Health by module.
    pub modules: BTreeMap<&'static str, ModuleHealth>,
}

impl Default for HealthReport {
    fn default() -> Self {
        Self::of(BTreeMap::new())
    }
}

impl HealthReport {
    pub(super) fn of(modules: BTreeMap<&'static str, ModuleHealth>) -> Self {
        let (mut halves, mut weights) = (0_u32, 0_u32);
        for module in modules.values() {
            weights += module.weight;
            halves += module.weight
                * match module.status {
                    ModuleStatus::Healthy => 2,
                    ModuleStatus::Degraded => 1,
                    ModuleStatus::Starting | ModuleStatus::Unhealthy => 0,
                };
        }
        // Rounded half up: 100 * halves / (2 * weights) + 1/2.
        let score = (100 * halves + weights).checked_div(2 * weights).unwrap_or(0);
        let down = |module: &ModuleHealth| module.critical && module.status == ModuleStatus::Unhealthy;
        let status = match () {
            () if modules.values().any(down) => OverallStatus::Outage,
            () if score >= 90 => OverallStatus::Operational,
            () => OverallStatus::Degraded,
        };
        Self { status, score, modules }
    }

    pub(super) fn with(mut self, module: &'static str, verdict: ProbeResult, at: Millis, took_ms: u64) -> Self {
        if let Some(health) = self.modules.get_mut(module) {
            (health.status, health.why) = match verdict {
                ProbeResult::Healthy => (ModuleStatus::Healthy, None),
                ProbeResult::Degraded(why) => (ModuleStatus::Degraded, Some(why)),
                ProbeResult::Unhealthy(why) => (ModuleStatus::Unhealthy, Some(why)),
            };
            health.checked_at = Some(at);
            health.took_ms = took_ms;
        }
        Self::of(self.modules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(modules: &[(&'static str, ModuleStatus, bool, u32)]) -> HealthReport {
        HealthReport::of(
            modules
                .iter()
                .map(|&(name, status, critical, weight)| {
                    (name, ModuleHealth { status, why: None, critical, weight, checked_at: None, took_ms: 0 })
                })
                .collect(),
        )
    }

    #[test]
    fn the_score_is_the_weighted_average() {
        use ModuleStatus::{Degraded, Healthy, Unhealthy};
        let all = |seen: HealthReport| (seen.status, seen.score);
        assert_eq!(all(report(&[("a", Healthy, true, 5)])), (OverallStatus::Operational, 100));
        // (5 + 5/2) / 10 = 75 %.
        let half = report(&[("a", Healthy, true, 5), ("b", Degraded, true, 5)]);
        assert_eq!(all(half), (OverallStatus::Degraded, 75));
        let down = report(&[("a", Healthy, false, 99), ("b", Unhealthy, true, 1)]);
        assert_eq!(all(down), (OverallStatus::Outage, 99));
        let minor = report(&[("a", Healthy, true, 95), ("b", Unhealthy, false, 5)]);
        assert_eq!(all(minor), (OverallStatus::Operational, 95));
        assert_eq!(all(report(&[])), (OverallStatus::Degraded, 0));
    }
}
