//! The present settings and what is built from them, replaced as a whole at a reload.
//!
//! A request takes the present value when it begins and keeps it to its end, so that no request sees parts of two
//! versions.

use std::sync::Arc;

use muster_gateway::Chain;
use muster_providers::{EMBEDDED_PROVIDER, Registry};
use serde::Serialize;
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::app::{App, StartError};
use crate::config::{self, Config, Source};
use crate::provider_setup::{self, ConfiguredProvider};
use crate::telemetry;

/// The values that a reload replaces together.
#[derive(Debug)]
pub struct Live {
    pub config: Config,
    pub(crate) source: Source,
    pub chain: Chain,
    /// Every provider with its adapter, which is reused if its settings do not change.
    pub(crate) served: Vec<ConfiguredProvider>,
}

impl Live {
    pub fn registry(&self) -> &Registry {
        self.chain.registry()
    }

    /// Returns the providers of the chain besides the embedded model.
    pub fn remote_providers(&self) -> usize {
        self.registry().chain().filter(|id| *id != EMBEDDED_PROVIDER).count()
    }
}

/// Read access to the present value. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LiveReader(pub(crate) watch::Receiver<Arc<Live>>);

impl LiveReader {
    pub fn now(&self) -> Arc<Live> {
        Arc::clone(&self.0.borrow())
    }
}

/// Result of a reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Reloaded {
    /// Sections that changed and are in effect now.
    pub reloaded: Vec<&'static str>,
    /// Sections that changed but need a restart; they stay as they were.
    pub needs_restart: Vec<&'static str>,
}

impl App {
    /// Reads the settings again. Open connections, streams and calls continue with the old ones.
    ///
    /// # Errors
    /// A setting or file cannot be used; nothing is changed then.
    pub async fn reload(&self) -> Result<Reloaded, StartError> {
        // Reloads are serialized, or an older file could replace a newer one.
        let _turn = self.reloading.lock().await;
        let old = self.live();
        let refused = |error: &dyn std::fmt::Display| StartError(error.to_string());
        let (read, source) = old.source.reload().map_err(|error| refused(&error))?;
        let needs_restart = fixed(&old.config, &read);
        let config = merged(&old.config, read);
        let registry = Arc::new(provider_setup::registry(&config, &*self.model)?);
        let served = provider_setup::providers(&config, &registry, &self.embedded, &old.served)?;
        let reloaded = changed(&old.config, &config);
        if let Some(certificate) = self.certificate.get().and_then(Option::as_ref) {
            certificate.reload().map_err(|error| refused(&error))?;
        }
        telemetry::set_level(&config.log).map_err(|error| refused(&error))?;
        let chain = old.chain.replaced(
            registry,
            served.iter().map(|served| served.provider.clone()).collect(),
            provider_setup::options(&config),
            Some(provider_setup::till(&config, &self.ledger, &self.clock)),
        );
        self.live.send_replace(Arc::new(Live { config, source, chain, served }));
        tracing::info!(?reloaded, ?needs_restart, "settings reloaded");
        Ok(Reloaded { reloaded, needs_restart })
    }
}

/// Returns the changed sections that need a restart.
fn fixed(old: &Config, new: &Config) -> Vec<&'static str> {
    let bodies = |config: &Config| config.server.clone().with_bodies_of(&config::Server::default());
    let format = |config: &Config| config.log.format;
    let planned = |config: &Config| config::Agents { planner_model: String::new(), ..config.agents.clone() };
    let differ = [
        ("server", bodies(old) != bodies(new)),
        ("store", old.store != new.store),
        ("log.format", format(old) != format(new)),
        ("telemetry", old.telemetry != new.telemetry),
        ("llm", old.llm != new.llm),
        ("embeddings", old.embeddings != new.embeddings),
        ("agents", planned(old) != planned(new)),
        ("engines", old.engines != new.engines),
        ("memory", old.memory != new.memory),
        ("workspace", old.workspace != new.workspace),
    ];
    differ.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Returns the new settings for sections that can change at run time, and the old ones for the others.
fn merged(old: &Config, new: Config) -> Config {
    let server = old.server.clone().with_bodies_of(&new.server);
    Config {
        server,
        log: config::Log { format: old.log.format, ..new.log },
        store: old.store.clone(),
        telemetry: old.telemetry.clone(),
        llm: old.llm.clone(),
        embeddings: old.embeddings.clone(),
        agents: config::Agents { planner_model: new.agents.planner_model.clone(), ..old.agents.clone() },
        engines: old.engines.clone(),
        memory: old.memory.clone(),
        workspace: old.workspace.clone(),
        ..new
    }
}

fn changed(old: &Config, new: &Config) -> Vec<&'static str> {
    let differ = [
        ("server", old.server != new.server),
        ("log.level", old.log != new.log),
        ("provider", old.provider != new.provider),
        ("chain", old.chain != new.chain),
        ("budget", old.budget != new.budget),
        ("limits", old.limits != new.limits),
        ("agents.planner_model", old.agents != new.agents),
    ];
    differ.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_need_a_restart_are_reported_and_unchanged() {
        let old = Config::default();
        let mut new = Config::default();
        new.server.workers = 7;
        new.server.max_body_bytes = 2048;
        new.llm.slots = 2;
        new.memory.shared = vec!["team".to_owned()];
        new.chain.retries = 4;
        assert_eq!(fixed(&old, &new), ["server", "llm", "memory"]);
        let merged = merged(&old, new);
        assert_eq!((merged.server.workers, merged.server.max_body_bytes), (0, 2048));
        assert_eq!((merged.llm.slots, merged.chain.retries), (old.llm.slots, 4));
        assert_eq!(merged.memory, old.memory);
        assert_eq!(changed(&old, &merged), ["server", "chain"]);
        assert!(changed(&merged, &merged).is_empty() && fixed(&merged, &merged).is_empty());
    }
}
