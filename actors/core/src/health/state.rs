//! From the modules' verdicts to one report. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::probe::Verdict;
use crate::Millis;

/// One module's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModuleStatus {
    /// Not probed yet.
    Starting,
    Healthy,
    Degraded,
    Unhealthy,
}

impl ModuleStatus {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
        }
    }
}

/// The whole server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OverallStatus {
    Operational,
    Degraded,
    Outage,
}

impl OverallStatus {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operational => "operational",
            Self::Degraded => "degraded",
            Self::Outage => "outage",
        }
    }
}

/// What is known of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModuleHealth {
    pub status: ModuleStatus,
    /// What is wrong, for people.
    pub why: Option<String>,
    pub critical: bool,
    pub weight: u32,
    pub checked_at: Option<Millis>,
    pub took_ms: u64,
}

/// All modules, and what follows for the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HealthReport {
    pub status: OverallStatus,
    /// 0 to 100: `round(100 * sum(weight * value) / sum(weight))`, healthy 1, degraded one half, else 0.
    pub score: u32,
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

    pub(super) fn with(mut self, module: &'static str, verdict: Verdict, at: Millis, took_ms: u64) -> Self {
        if let Some(health) = self.modules.get_mut(module) {
            (health.status, health.why) = match verdict {
                Verdict::Healthy => (ModuleStatus::Healthy, None),
                Verdict::Degraded(why) => (ModuleStatus::Degraded, Some(why)),
                Verdict::Unhealthy(why) => (ModuleStatus::Unhealthy, Some(why)),
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
    fn the_score_is_the_weighted_share() {
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
