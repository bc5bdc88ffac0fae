//! Probe of the medical knowledge base: checksum, scores and examples of red flags in rotation, and reviews that are due.

use std::time::Duration;

use muster_clinical::Defect;
use muster_core::Clock;
use muster_core::health::{Probe, ProbeResult};

use crate::medical::Medical;

/// Time between two checks.
const EVERY: Duration = Duration::from_secs(300);

pub(super) fn all(medical: &Medical, clock: &Clock) -> Vec<Probe> {
    let (medical, clock) = (medical.clone(), clock.clone());
    vec![Probe::new("medical-knowledge", 3, EVERY, move || {
        let (medical, clock) = (medical.clone(), clock.clone());
        async move {
            if let Err(Defect(why)) = medical.test().await {
                return ProbeResult::Unhealthy(why);
            }
            let today: String = clock.now().rfc3339().chars().take(10).collect();
            match medical.knowledge().map(|knowledge| knowledge.overdue(&today)) {
                Ok(0) => ProbeResult::Healthy,
                Ok(overdue) => ProbeResult::Degraded(format!("the review of {overdue} records is overdue")),
                Err(why) => ProbeResult::Unhealthy(why),
            }
        }
    })]
}
