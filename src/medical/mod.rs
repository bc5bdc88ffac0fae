//! The medical interface: starts its parts and keeps them tested.

mod findings;
mod key;
mod phrasing;

use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_clinical::{
    Capabilities, ConversationOptions, Conversations, Defect, Knowledge, Latencies, Uptime, UptimeOptions,
};
use muster_core::Clock;
use muster_core::supervise::Tree;
use muster_core::upkeep::PeriodicJob;
use muster_store::StoreHandle;
use serde_json::json;
use tokio::sync::watch;

use crate::app::StartError;
use crate::config;
use crate::telemetry::Metrics;

pub use key::record_secret;
pub use phrasing::ProviderCalls;

/// Time between two self-tests. Less than a minute, so that every minute that passes has a mark.
const TEST_EVERY: Duration = Duration::from_secs(20);
/// Time between two deletions of conversations that have ended.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Rules whose examples are run in one self-test.
const RULES_A_TEST: usize = 8;

/// Capabilities that have a self-test.
const CAPABILITIES: u32 = 4;

/// What the interface needs of the server.
#[derive(Clone)]
pub(crate) struct Dependencies<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) arbiter: ArbiterHandle,
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
    pub(crate) metrics: &'a Metrics,
}

/// What the last self-test found.
#[derive(Debug, Clone, Default)]
struct Tested {
    defect: Option<Defect>,
    capabilities: Capabilities,
}

/// The medical interface as handlers use it.
#[derive(Debug, Clone)]
pub struct Medical {
    knowledge: Arc<watch::Sender<Result<Arc<Knowledge>, Defect>>>,
    tested: Arc<watch::Sender<Tested>>,
    metrics: Metrics,
    /// Durations of the last answers.
    pub latencies: Latencies,
    /// Durations of the last self-tests, shown until there was an answer.
    pub probes: Latencies,
    pub uptime: Uptime,
    pub conversations: Conversations,
}

impl Medical {
    /// # Errors
    /// Conversations are to be kept and there is no usable key.
    pub(crate) fn start(settings: &config::Medical, parts: Dependencies<'_>) -> Result<Self, StartError> {
        let secret = record_secret(settings).map_err(StartError)?;
        let knowledge = Knowledge::load();
        if let Err(Defect(why)) = &knowledge {
            tracing::error!(why, "the medical knowledge base cannot be read: its routes answer 503");
        }
        let group = parts.tree.group("medical");
        let (store, clock) = (Arc::clone(parts.store), parts.clock.clone());
        let options = ConversationOptions {
            store: Arc::clone(&store),
            clock: clock.clone(),
            keep_hours: settings.keep_hours,
            most_per_owner: settings.max_conversations,
            secret,
        };
        let begun = std::time::Instant::now();
        let capabilities = knowledge.as_ref().map(Knowledge::capabilities).unwrap_or_default();
        let probes = Latencies::default();
        if knowledge.is_ok() {
            probes.add(begun.elapsed() / CAPABILITIES);
        }
        Ok(Self {
            knowledge: Arc::new(watch::channel(knowledge.map(Arc::new)).0),
            tested: Arc::new(watch::channel(Tested { defect: None, capabilities }).0),
            metrics: parts.metrics.clone(),
            latencies: Latencies::default(),
            probes,
            uptime: Uptime::start(&group, parts.arbiter.clone(), UptimeOptions { store, clock }),
            conversations: Conversations::start(&group, parts.arbiter.clone(), options),
        })
    }

    /// Waits until all parts have read what they need.
    pub(crate) async fn up(&self) {
        tokio::join!(self.uptime.up(), self.conversations.up());
    }

    /// Returns the knowledge base.
    ///
    /// # Errors
    /// Why it cannot be used, for the caller.
    pub fn knowledge(&self) -> Result<Arc<Knowledge>, String> {
        let unusable = |Defect(why): &Defect| format!("the knowledge base failed its self-test: {why}");
        if let Some(defect) = &self.tested.borrow().defect {
            return Err(unusable(defect));
        }
        self.knowledge.borrow().as_ref().map(Arc::clone).map_err(unusable)
    }

    /// Replaces the knowledge base, by one with a fault in tests.
    pub fn replace_knowledge(&self, knowledge: Knowledge) {
        drop(self.knowledge.send_replace(Ok(Arc::new(knowledge))));
    }

    /// The hash of the data, if it could be read.
    pub fn ruleset(&self) -> Option<String> {
        self.knowledge.borrow().as_ref().ok().map(|knowledge| knowledge.ruleset().to_owned())
    }

    /// What passed its self-test.
    pub fn capabilities(&self) -> Capabilities {
        self.tested.borrow().capabilities
    }

    /// Tests the checksum, the scores, the examples of the next rules and each capability.
    ///
    /// # Errors
    /// The first that does not hold.
    pub async fn test(&self) -> Result<(), Defect> {
        let (knowledge, probes) = (self.knowledge.borrow().clone(), self.probes.clone());
        let run = move || {
            let knowledge = knowledge?;
            let begun = std::time::Instant::now();
            knowledge.test(RULES_A_TEST)?;
            probes.add(begun.elapsed() / u32::try_from(RULES_A_TEST * 4).unwrap_or(1));
            Ok(knowledge.capabilities())
        };
        let outcome = tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| Err(Defect(error.to_string())));
        let (outcome, capabilities) = match outcome {
            Ok(capabilities) => (Ok(()), capabilities),
            Err(defect) => (Err(defect), Capabilities::default()),
        };
        if outcome.is_err() {
            self.metrics.self_test_failed();
        }
        self.tested.send_replace(Tested { defect: outcome.as_ref().err().cloned(), capabilities });
        outcome
    }

    /// Writes into the audit log which settings of the interface a reload has changed.
    pub(crate) async fn note_settings(&self, changed: &[String]) {
        let changed: Vec<&String> = changed.iter().filter(|name| name.starts_with("medical.")).collect();
        if changed.is_empty() {
            return;
        }
        let noted =
            self.conversations.note("system", "medical_settings", "medical", json!({ "changed": changed })).await;
        if let Err(error) = noted {
            tracing::error!(%error, ?changed, "a change of medical settings was not written into the audit log");
        }
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

    /// The job that deletes conversations that have ended.
    pub(crate) fn sweeping(&self) -> PeriodicJob {
        let conversations = self.conversations.clone();
        PeriodicJob::new("medical-conversations", SWEEP_EVERY, move || {
            let conversations = conversations.clone();
            async move { conversations.sweep().await.map(drop).map_err(|error| error.to_string()) }
        })
    }
}
