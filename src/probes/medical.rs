//! Probes of the medical interface: the outcome of its last self-test, reviews that are due, and conversations that the
//! present key does not open.

use std::time::Duration;

use muster_core::Clock;
use muster_core::health::{Probe, ProbeResult};

use crate::medical::Medical;

/// Time between two checks. The self-test itself runs on its own.
const EVERY: Duration = Duration::from_secs(5);

pub(super) fn all(medical: &Medical, clock: &Clock) -> Vec<Probe> {
    let (knowledge, clock) = (medical.clone(), clock.clone());
    let mut probes =
        vec![Probe::new("medical-knowledge", 3, EVERY, move || std::future::ready(examine(&knowledge, &clock)))];
    if medical.conversations.kept() {
        let medical = medical.clone();
        probes.push(Probe::new("medical-conversations", 1, EVERY, move || {
            let conversations = medical.conversations.clone();
            async move {
                match conversations.count().await {
                    Ok(counts) if counts.unreadable == 0 => ProbeResult::Healthy,
                    Ok(counts) => ProbeResult::Degraded(format!(
                        "{} of {} kept conversations were sealed with another MUSTER_MEDICAL_KEY: set the former one again, \
                         or let them end",
                        counts.unreadable, counts.kept
                    )),
                    Err(error) => ProbeResult::Unhealthy(error.to_string()),
                }
            }
        }));
    }
    probes
}

fn examine(medical: &Medical, clock: &Clock) -> ProbeResult {
    let today: String = clock.now().rfc3339().chars().take(10).collect();
    match medical.knowledge().map(|knowledge| knowledge.overdue(&today)) {
        Ok(0) => ProbeResult::Healthy,
        Ok(overdue) => ProbeResult::Degraded(format!("the review of {overdue} records is overdue")),
        Err(why) => ProbeResult::Unhealthy(why),
    }
}
