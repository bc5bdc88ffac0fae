//! The options of the parts of the server, from its settings.

use std::sync::Arc;

use muster_core::Clock;
use muster_core::guard::StandingReader;
use muster_feed::{FeedOptions, Limits as FeedLimits};
use muster_identity::IdentityOptions;
use muster_models::{EmbedOptions, ModelOptions, Selection};
use muster_store::{Options as StoreOptions, StoreHandle};

use crate::config::{Config, EmbeddingModel};

/// Returns the options of the embedded model.
pub fn model_options(config: &Config) -> ModelOptions {
    let selection = match config.llm.model.as_str() {
        "auto" => Selection::Auto,
        "none" => Selection::None,
        path if path.contains('/') || path.ends_with(".gguf") => Selection::Path(path.into()),
        id => Selection::Id(id.to_owned()),
    };
    let mut options = ModelOptions {
        selection,
        cache_dir: config.llm.cache.clone(),
        slots: config.llm.slots,
        context_per_slot: config.llm.context,
        queue: config.llm.queue,
        ..ModelOptions::default()
    };
    if config.llm.threads > 0 {
        options.threads = config.llm.threads;
    }
    options
}

/// Returns the options of the embedded model of embeddings.
pub(crate) fn embed_options(config: &Config) -> EmbedOptions {
    let embeddings = &config.embeddings;
    let options = EmbedOptions::default();
    EmbedOptions {
        enabled: embeddings.model == EmbeddingModel::Minilm,
        cache_dir: config.llm.cache.clone(),
        threads: if embeddings.threads > 0 { embeddings.threads } else { options.threads },
        queue: embeddings.queue,
    }
}

/// Returns the options of users, sessions and tokens.
pub fn identity_options(config: &Config, clock: &Clock) -> IdentityOptions {
    let auth = &config.auth;
    IdentityOptions {
        clock: clock.clone(),
        publisher: None,
        keys: config.store.path.join("signing"),
        policy: auth.policy(),
        issuer: auth.issuer.clone(),
        lifetimes: auth.lifetimes(),
        rates: auth.rates(),
        hasher: auth.hasher(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        bound_bearer: auth.bound(),
        // The server has its own; the command line works on a stopped server.
        standing: StandingReader::unconstituted(),
    }
}

/// Returns the options of the live feed.
pub(crate) fn feed_options(config: &Config, store: &StoreHandle, clock: &Clock) -> FeedOptions {
    FeedOptions {
        store: Arc::clone(store),
        folder: config.store.path.join("feed"),
        clock: clock.clone(),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned()),
        limits: FeedLimits::default(),
    }
}

/// Returns the options of the store.
pub fn store_options(config: &Config) -> StoreOptions {
    let mut options = StoreOptions::new(&config.store.path);
    options.cache_bytes = config.store.cache_mib << 20;
    options
}
