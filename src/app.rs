//! The parts of the server, started in order and held together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_rt::Arbiter;
use muster_actors::health::Health;
use muster_actors::keys::{KeyActorOptions, Keys, Token};
use muster_actors::limits::{Options as LimiterOptions, RateLimiter};
use muster_actors::provider::{Chain, ChainOptions, Provider, TokenCounter};
use muster_actors::supervise::Tree;
use muster_actors::{Clock, Millis};
use muster_models::{ChatModel, LocalModel, Options as ModelOptions, Selection};
use muster_providers::{
    Adapter, Catalogue, ChatRequest, EMBEDDED_MODEL, EMBEDDED_PROVIDER, EmbeddedAdapter, OpenAiAdapter, OpenAiConfig,
    Price, ProviderKind, ProviderSettings, Registry, Secret, Timeouts,
};
use muster_store::{Options as StoreOptions, SledStore, StoreHandle};

use crate::config::{self, Config, Source};
use crate::probes;
use crate::telemetry::Metrics;

/// What keeps the server from starting, and how to mend it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> StartError + '_ {
    move |error| StartError(format!("{what}: {error}"))
}

/// Everything a handler may ask.
#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub clock: Clock,
    pub tree: Tree,
    pub store: StoreRef,
    pub keys: Keys,
    pub limiter: RateLimiter,
    pub registry: Arc<Registry>,
    pub chain: Chain,
    pub model: Arc<dyn ChatModel>,
    pub health: Health,
    pub metrics: Metrics,
    pub started_at: Millis,
    /// Providers of the chain besides the embedded model.
    pub remote_providers: usize,
    /// The first key of an empty store, until it was shown.
    pub first_key: Option<String>,
    draining: AtomicBool,
    local: Arc<LocalModel>,
    sled: Arc<SledStore>,
    arbiters: Vec<Arbiter>,
}

/// The store behind its port.
#[derive(Clone)]
pub struct StoreRef(pub StoreHandle);

impl std::fmt::Debug for StoreRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StoreRef").field(&self.0.stats()).finish()
    }
}

impl std::ops::Deref for StoreRef {
    type Target = StoreHandle;
    fn deref(&self) -> &StoreHandle {
        &self.0
    }
}

impl App {
    /// Starts every part. The embedded model goes on loading after this returns.
    ///
    /// # Errors
    /// The first part that cannot start, with how to mend it.
    pub async fn start(config: Config, source: Source, bootstrap: Option<Token>) -> Result<Self, StartError> {
        let clock = Clock::system();
        let sled = open_store(&config)?;
        let store: StoreHandle = Arc::clone(&sled) as _;
        // Actors that decide for requests live on arbiters of their own, apart from the HTTP workers and each other.
        let arbiters: Vec<Arbiter> = (0..2).map(|_| Arbiter::new()).collect();
        let handles: Vec<_> = arbiters.iter().map(Arbiter::handle).collect();
        let first = || handles.first().cloned().unwrap_or_else(Arbiter::current);
        let tree = Tree::new(Arbiter::current(), clock.clone());

        let key_options = KeyActorOptions { store: Arc::clone(&store), clock: clock.clone() };
        let keys = Keys::start(&tree.group("keys"), first(), key_options);
        let limiter = RateLimiter::start(&tree.group("limits"), &handles, &store, &clock, &LimiterOptions::default());

        let local = LocalModel::start(model_options(&config));
        let model: Arc<dyn ChatModel> = Arc::clone(&local) as _;
        let registry = Arc::new(registry(&config, &*model)?);
        let providers = providers(&config, &registry, &model)?;
        let remote_providers = registry.chain().filter(|id| *id != EMBEDDED_PROVIDER).count();
        let chain = Chain::start(
            &tree.group("providers"),
            &handles,
            Arc::clone(&registry),
            providers,
            Arc::new(Counter(Arc::clone(&model))),
            chain_options(&config),
            &clock,
        );

        let metrics = Metrics::new().map_err(|error| failed("metrics")(&error))?;
        let parts = probes::Parts {
            config: config.clone(),
            source,
            clock: clock.clone(),
            tree: tree.clone(),
            store: Arc::clone(&store),
            keys: keys.clone(),
            limiter: limiter.clone(),
            chain: chain.clone(),
            model: Arc::clone(&model),
            metrics: metrics.clone(),
        };

        let up = async { tokio::join!(keys.up(), limiter.up()) };
        tokio::time::timeout(Duration::from_secs(30), up).await.map_err(|_| {
            StartError(
                "keys and limits could not be read within 30 s: see the log, then run `muster doctor`".to_owned(),
            )
        })?;
        let first_key = first_key(&keys, bootstrap).await?;
        let health = Health::start(&tree.group("health"), first(), probes::all(parts), clock.clone());
        Ok(Self {
            started_at: clock.now(),
            config,
            clock,
            tree,
            store: StoreRef(store),
            keys,
            limiter,
            registry,
            chain,
            model,
            health,
            metrics,
            remote_providers,
            first_key,
            draining: AtomicBool::new(false),
            local,
            sled,
            arbiters,
        })
    }

    /// No new work is accepted any more.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Readiness turns red, actors finish what they have in hand.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.tree.drain();
    }

    /// Stops the actors, then closes the store: what was acknowledged is on the disk.
    pub async fn stop(&self) {
        self.drain();
        self.tree.stop().await;
        let sled = Arc::clone(&self.sled);
        // Only a panic inside could be told here, and the store is closed by its drop all the same.
        let _ = tokio::task::spawn_blocking(move || sled.close()).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }

    /// Kills the embedded model's thread. For fault-injection tests.
    pub fn inject_model_panic(&self) {
        self.local.inject_panic();
    }

    /// What a model costs; `None` where it is not known.
    pub fn price_of(&self, model_id: &str) -> Option<Price> {
        self.registry.catalogue().model(model_id).map(Price::of)
    }

    /// Brings the gauges of `/metrics` up to date.
    pub fn refresh_gauges(&self) {
        let set = |part: &str, name: &str, value: u64| {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            self.metrics.gauges.with_label_values(&[part, name]).set(value);
        };
        let store = self.store.stats();
        set("store", "bytes_on_disk", store.bytes_on_disk);
        set("store", "queue_depth", store.queue_depth as u64);
        set("store", "commits", store.commits);
        set("store", "groups", store.groups);
        set("store", "poisoned", u64::from(store.poisoned.is_some()));
        let model = self.model.stats();
        set("model", "active", model.active as u64);
        set("model", "waiting", model.waiting as u64);
        set("model", "restarts", model.restarts);
        set("health", "score", self.health.report().score.into());
        for actor in self.tree.snapshot() {
            set(&actor.path, "mailbox_depth", actor.mailbox_depth as u64);
            set(&actor.path, "restarts", actor.restarts);
            set(&actor.path, "refused", actor.refused);
        }
    }
}

/// The settings of the embedded model.
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

/// Opens the store of the settings.
pub fn open_store(config: &Config) -> Result<Arc<SledStore>, StartError> {
    let mut options = StoreOptions::new(&config.store.path);
    options.cache_bytes = config.store.cache_mib << 20;
    let opened = SledStore::open(options).map_err(|error| failed("the store")(&error))?;
    if let Some(what) = &opened.quarantined {
        tracing::error!(%what, "the store was corrupt and was set aside");
    }
    for migrated in &opened.migrated {
        tracing::info!(?migrated, "stored records were brought up to date");
    }
    Ok(opened.store)
}

/// The providers of the settings over the catalogue.
pub fn registry(config: &Config, model: &dyn ChatModel) -> Result<Registry, StartError> {
    let catalogue = Catalogue::embedded().map_err(|error| failed("the catalogue")(&error))?;
    let info = model.info();
    // Without a model nothing is known of its bounds.
    let catalogue = if info.context > 0 { catalogue.with_embedded_model(&info) } else { catalogue };
    let catalogue = Arc::new(catalogue);
    let settings: Vec<_> = config.provider.iter().map(settings).collect();
    Registry::new(catalogue, &settings, config.chain.order.clone()).map_err(|error| failed("providers")(&error))
}

fn settings(provider: &config::Provider) -> ProviderSettings {
    ProviderSettings {
        id: provider.id.clone(),
        kind: provider.kind.clone(),
        base_url: provider.base_url.clone(),
        api_key_env: provider.api_key_env.clone(),
        has_key: provider.api_key.is_some(),
        models: provider.models.clone(),
    }
}

/// Every provider of the settings with the way to speak to it, and the embedded one.
fn providers(config: &Config, registry: &Registry, model: &Arc<dyn ChatModel>) -> Result<Vec<Provider>, StartError> {
    let mut providers = Vec::new();
    for provider in &config.provider {
        let kind = ProviderKind::parse(&provider.kind).unwrap_or(ProviderKind::OpenAi);
        let adapter: Arc<dyn Adapter> = match kind {
            ProviderKind::Embedded => Arc::new(EmbeddedAdapter::new(Arc::clone(model))),
            // The registry has refused the kinds that are not spoken yet.
            ProviderKind::OpenAi | ProviderKind::Anthropic | ProviderKind::Gemini => {
                Arc::new(openai(provider, registry)?)
            }
        };
        providers.push(Provider { id: provider.id.clone(), kind, models: provider.models.clone(), adapter });
    }
    if !providers.iter().any(|provider| provider.kind == ProviderKind::Embedded) {
        providers.push(Provider {
            id: EMBEDDED_PROVIDER.to_owned(),
            kind: ProviderKind::Embedded,
            models: vec![EMBEDDED_MODEL.to_owned()],
            adapter: Arc::new(EmbeddedAdapter::new(Arc::clone(model))),
        });
    }
    Ok(providers)
}

fn openai(provider: &config::Provider, registry: &Registry) -> Result<OpenAiAdapter, StartError> {
    let settings = settings(provider).with_defaults(registry.catalogue());
    let mut adapter = OpenAiConfig::new(&provider.id, settings.base_url.unwrap_or_default());
    if let Some(key) = &provider.api_key {
        adapter = adapter.with_key(Secret::new(key.0.clone()));
    }
    OpenAiAdapter::new(adapter).map_err(|error| failed(&format!("provider {}", provider.id))(&error))
}

/// Counts by the embedded model's tokenizer, the only one at hand; before it is loaded, and for texts that would hold a
/// serving thread up, by the field's rule of thumb of four bytes a token. Both are marked `estimated`.
#[derive(Debug)]
struct Counter(Arc<dyn ChatModel>);

const MAX_COUNTED_BYTES: usize = 16 << 10;

impl TokenCounter for Counter {
    fn prompt(&self, model_id: &str, request: &ChatRequest) -> u32 {
        request.messages.iter().map(|message| self.text(model_id, &message.content).saturating_add(4)).sum()
    }

    fn text(&self, _: &str, text: &str) -> u32 {
        let exact = (text.len() <= MAX_COUNTED_BYTES).then(|| self.0.count_text(text)).flatten();
        exact.unwrap_or_else(|| u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX))
    }
}

fn chain_options(config: &Config) -> ChainOptions {
    let chain = &config.chain;
    let ms = Duration::from_millis;
    let mut options = ChainOptions {
        timeouts: Timeouts {
            connect: ms(chain.connect_timeout_ms),
            headers: ms(chain.headers_timeout_ms),
            first_delta: ms(chain.first_delta_timeout_ms),
            between_deltas: ms(chain.between_deltas_timeout_ms),
        },
        deadline: ms(chain.deadline_ms),
        stream_total: ms(chain.stream_limit_ms),
        max_attempts: chain.max_attempts,
        retries: chain.retries,
        ..ChainOptions::default()
    };
    options.breaker.failure_share = chain.breaker_failure_share;
    options.breaker.min_calls = chain.breaker_min_calls;
    options.breaker.window = ms(chain.breaker_window_ms);
    options.breaker.first_cooldown = ms(chain.breaker_cooldown_ms);
    // A probe is not given up while its own request may still run.
    options.breaker.probe_lease = ms(chain.deadline_ms) + Duration::from_secs(15);
    options.breaker.hard_cooldown = ms(chain.breaker_hard_cooldown_ms);
    options
}

/// Makes the first key where there is none, and gives its text to be shown once.
async fn first_key(keys: &Keys, bootstrap: Option<Token>) -> Result<Option<String>, StartError> {
    if keys.count() > 0 {
        return Ok(None);
    }
    let given = bootstrap.is_some();
    let made = keys.create_first(bootstrap).await.map_err(|error| failed("the first API key")(&error))?;
    Ok((!given).then(|| made.key.reveal()))
}
