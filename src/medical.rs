//! The medical interface: starts its parts and keeps them tested.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_clinical::{Defect, Knowledge, Latencies, Uptime, UptimeOptions};
use muster_core::Clock;
use muster_core::supervise::Tree;
use muster_core::upkeep::PeriodicJob;
use muster_store::StoreHandle;
use tokio::sync::watch;

/// Time between two self-tests. Less than a minute, so that every minute that passes has a mark.
const TEST_EVERY: Duration = Duration::from_secs(20);
/// Rules whose examples are run in one self-test.
const RULES_A_TEST: usize = 8;

/// The medical interface as handlers use it.
#[derive(Debug, Clone)]
pub struct Medical {
    knowledge: Arc<Result<Knowledge, Defect>>,
    /// Why the last self-test failed.
    defect: Arc<watch::Sender<Option<Defect>>>,
    /// Durations of the last answers.
    pub latencies: Latencies,
    /// Durations of the last self-tests, shown until there was an answer.
    pub probes: Latencies,
    pub uptime: Uptime,
}

impl Medical {
    pub(crate) fn start(tree: &Tree, arbiter: ArbiterHandle, store: &StoreHandle, clock: &Clock) -> Self {
        let knowledge = Knowledge::load();
        if let Err(Defect(why)) = &knowledge {
            tracing::error!(why, "the medical knowledge base cannot be read: its routes answer 503");
        }
        let options = UptimeOptions { store: Arc::clone(store), clock: clock.clone() };
        Self {
            knowledge: Arc::new(knowledge),
            defect: Arc::new(watch::channel(None).0),
            latencies: Latencies::default(),
            probes: Latencies::default(),
            uptime: Uptime::start(&tree.group("medical"), arbiter, options),
        }
    }

    /// Returns the knowledge base.
    ///
    /// # Errors
    /// Why it cannot be used, for the caller.
    pub fn knowledge(&self) -> Result<&Knowledge, String> {
        let unusable = |Defect(why): &Defect| format!("the knowledge base failed its self-test: {why}");
        if let Some(defect) = &*self.defect.borrow() {
            return Err(unusable(defect));
        }
        self.knowledge.as_ref().as_ref().map_err(unusable)
    }

    /// The hash of the data, if it could be read.
    pub fn ruleset(&self) -> Option<&str> {
        self.knowledge.as_ref().as_ref().ok().map(Knowledge::ruleset)
    }

    /// Tests the checksum, the scores and the examples of the next rules.
    ///
    /// # Errors
    /// The first that does not hold.
    pub async fn test(&self) -> Result<(), Defect> {
        let (knowledge, probes) = (Arc::clone(&self.knowledge), self.probes.clone());
        let run = move || {
            let begun = std::time::Instant::now();
            let outcome = knowledge.as_ref().as_ref().map_err(Clone::clone)?.test(RULES_A_TEST);
            probes.add(begun.elapsed() / u32::try_from(RULES_A_TEST * 4).unwrap_or(1));
            outcome
        };
        let outcome = tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| Err(Defect(error.to_string())));
        self.defect.send_replace(outcome.as_ref().err().cloned());
        outcome
    }

    /// The job that tests the knowledge base and marks the minute.
    pub(crate) fn upkeep(&self) -> PeriodicJob {
        let medical = self.clone();
        PeriodicJob::new("medical-self-test", TEST_EVERY, move || {
            let medical = medical.clone();
            async move {
                medical.test().await.map_err(|Defect(why)| why)?;
                medical.uptime.mark().await.map_err(|error| error.to_string())
            }
        })
    }
}
