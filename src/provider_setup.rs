//! Builds the provider chain from the settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use muster_core::Clock;
use muster_gateway::{Balance, BudgetGuard, ChainOptions, Provider, ProviderTimeouts, TokenCounter, Unpriced};
use muster_limits::ledger::{Ledger, nanos_of_usd};
use muster_models::ChatModel;
use muster_providers::{
    Adapter, AnthropicAdapter, Catalogue, ChatRequest, ConfigError, EMBEDDED_MODEL, EMBEDDED_PROVIDER, EmbeddedAdapter,
    GeminiAdapter, HttpConfig, OpenAiAdapter, Price, ProviderKind, ProviderSettings, Registry, RoutingSettings, Secret,
    TimeoutOverrides, Timeouts,
};

use crate::app::{StartError, failed};
use crate::config::{self, Config};
use crate::tokens::{self, CountFor};

/// Returns the catalogue of providers with the settings applied.
pub fn registry(config: &Config, model: &dyn ChatModel) -> Result<Registry, StartError> {
    let catalogue = Catalogue::embedded().map_err(|error| failed("the catalogue")(&error))?;
    let info = model.info();
    // Without a model its limits are unknown.
    let catalogue = if info.context > 0 { catalogue.with_embedded_model(&info) } else { catalogue };
    let catalogue = Arc::new(catalogue);
    let settings: Vec<_> = config.provider.iter().map(|provider| settings(provider, &catalogue)).collect();
    Registry::new(catalogue, &settings, config.chain.order.clone())
        .and_then(|registry| registry.with_routing(routing(config)))
        .map_err(|error| failed("providers")(&error))
}

fn routing(config: &Config) -> RoutingSettings {
    let table = |table: &config::ModelTable| {
        table.iter().map(|(name, models)| (name.clone(), models.to_vec())).collect::<BTreeMap<_, _>>()
    };
    RoutingSettings {
        aliases: table(&config.alias),
        fallbacks: table(&config.fallback),
        equivalents: config.equivalent.iter().map(|group| group.models.clone()).collect(),
    }
}

/// Logs which providers answer nothing, because their key is missing.
pub fn warn_of_missing_keys(registry: &Registry) {
    for (provider, variable) in registry.missing_keys() {
        tracing::warn!(
            provider,
            variable,
            "the environment variable with the key of this provider is not set: its models answer 503 until the server is \
             started with it"
        );
    }
}

/// Returns the settings of a provider, completed by the catalogue's entry for its id.
fn settings(provider: &config::Provider, catalogue: &Catalogue) -> ProviderSettings {
    let settings_of = ProviderSettings {
        id: provider.id.clone(),
        kind: provider.kind.clone(),
        base_url: provider.base_url.clone(),
        api_key_env: provider.api_key_env.clone(),
        has_key: provider.api_key.is_some(),
        models: provider.models.clone(),
        price: provider.price.map(|price| Price {
            input_per_million: price.input_per_million,
            output_per_million: price.output_per_million,
        }),
    };
    settings_of.with_defaults(catalogue)
}

/// A provider of the chain, with the settings it was built from.
#[derive(Debug, Clone)]
pub struct ConfiguredProvider {
    /// `None` for the embedded model if the settings do not name it.
    pub settings: Option<config::Provider>,
    pub provider: Provider,
}

/// Builds every provider of the settings with its adapter, and the embedded one.
pub fn providers(
    config: &Config,
    registry: &Registry,
    embedded: &Arc<EmbeddedAdapter>,
    standing: &[ConfiguredProvider],
) -> Result<Vec<ConfiguredProvider>, StartError> {
    let mut providers = Vec::new();
    for provider in &config.provider {
        // An unchanged provider keeps its open connections.
        if let Some(served) = standing.iter().find(|served| served.settings.as_ref() == Some(provider)) {
            providers.push(served.clone());
            continue;
        }
        let kind = ProviderKind::parse(&provider.kind).unwrap_or(ProviderKind::OpenAi);
        let adapter: Arc<dyn Adapter> = match kind {
            ProviderKind::Embedded => Arc::clone(embedded) as _,
            ProviderKind::OpenAi => over_http(provider, registry, OpenAiAdapter::new)?,
            ProviderKind::Anthropic => over_http(provider, registry, AnthropicAdapter::new)?,
            ProviderKind::Gemini => over_http(provider, registry, GeminiAdapter::new)?,
        };
        let settings = Some(provider.clone());
        let (id, models, timeouts) = (provider.id.clone(), provider.models.clone(), timeouts(provider));
        let provider = Provider { id, kind, models, adapter, timeouts, weight: provider.weight };
        providers.push(ConfiguredProvider { settings, provider });
    }
    if !providers.iter().any(|served| served.provider.kind == ProviderKind::Embedded) {
        let provider = Provider {
            id: EMBEDDED_PROVIDER.to_owned(),
            kind: ProviderKind::Embedded,
            models: vec![EMBEDDED_MODEL.to_owned()],
            adapter: Arc::clone(embedded) as _,
            timeouts: ProviderTimeouts::default(),
            weight: 1,
        };
        providers.push(ConfiguredProvider { settings: None, provider });
    }
    Ok(providers)
}

/// Returns the time limits of a provider that differ from those of the chain.
fn timeouts(provider: &config::Provider) -> ProviderTimeouts {
    let ms = |setting: Option<u64>| setting.map(Duration::from_millis);
    let overrides = |timeouts: &config::TimeoutSettings| TimeoutOverrides {
        connect: ms(timeouts.connect_ms),
        headers: ms(timeouts.headers_ms),
        first_delta: ms(timeouts.first_delta_ms),
        between_deltas: ms(timeouts.between_deltas_ms),
    };
    let models = provider.model_timeouts.iter().map(|(model, timeouts)| (model.clone(), overrides(timeouts)));
    ProviderTimeouts { all: overrides(&provider.timeouts), models: models.collect() }
}

fn over_http<A: Adapter>(
    provider: &config::Provider,
    registry: &Registry,
    adapter: fn(HttpConfig) -> Result<A, ConfigError>,
) -> Result<Arc<dyn Adapter>, StartError> {
    let settings = settings(provider, registry.catalogue());
    let mut config =
        HttpConfig::new(&provider.id, settings.base_url.unwrap_or_default()).with_forward(provider.forward.clone());
    if let Some(key) = &provider.api_key {
        config = config.with_key(Secret::new(key.0.clone()));
    }
    let adapter = adapter(config).map_err(|error| failed(&format!("provider {}", provider.id))(&error))?;
    Ok(Arc::new(adapter))
}

/// Estimates token counts that a provider does not report; the chain marks them `estimated`.
#[derive(Debug)]
pub struct Counter(pub Arc<dyn ChatModel>);

impl TokenCounter for Counter {
    fn prompt(&self, _: &str, request: &ChatRequest) -> u32 {
        tokens::of_prompt(&*self.0, &request.prompt_parts(), CountFor::Usage, tokens::QUICK_BYTES)
    }

    fn text(&self, _: &str, text: &str) -> u32 {
        tokens::of_text(&*self.0, text, CountFor::Usage)
    }
}

/// Returns the ledger together with the budgets of models.
pub fn till(config: &Config, ledger: &Ledger, clock: &Clock) -> BudgetGuard {
    let limits = config.budget.models.iter().map(|(model, usd)| (model.clone(), nanos_of_usd(*usd)));
    let unpriced = match config.budget.unpriced {
        config::Unpriced::Refuse => Unpriced::Refuse,
        config::Unpriced::Allow => Unpriced::Allow,
    };
    BudgetGuard { ledger: ledger.clone(), clock: clock.clone(), model_limits: limits.collect(), unpriced }
}

/// Time after which a second probe is admitted beside one that has not ended.
const LONGEST_PROBE: Duration = Duration::from_secs(60);

/// Returns the timeouts and limits of the chain.
pub fn options(config: &Config) -> ChainOptions {
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
        failover_after_start: chain.failover_after_start,
        cache_bytes: config.cache.max_bytes,
        balance: match chain.balance {
            config::Balance::Order => Balance::Order,
            config::Balance::Weight => Balance::Weight,
            config::Balance::Latency => Balance::Latency,
        },
        ..ChainOptions::default()
    };
    options.breaker.failure_share = chain.breaker_failure_share;
    options.breaker.min_calls = chain.breaker_min_calls;
    options.breaker.window = ms(chain.breaker_window_ms);
    options.breaker.first_cooldown = ms(chain.breaker_cooldown_ms);
    options.breaker.consecutive_failures = chain.breaker_consecutive_failures;
    // A probe of a model that takes long closes the breaker when it succeeds, also after another one was admitted.
    options.breaker.probe_lease = ms(chain.deadline_ms).min(LONGEST_PROBE) + Duration::from_secs(15);
    options.breaker.hard_cooldown = ms(chain.breaker_hard_cooldown_ms);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_kind_has_its_own_adapter() {
        let text = r#"
            [[provider]]
            id = "ollama"
            kind = "openai"
            base_url = "http://127.0.0.1:1/v1"
            models = ["m"]

            [[provider]]
            id = "anthropic"
            kind = "anthropic"
            base_url = "http://127.0.0.1:1/v1"
            models = ["claude-haiku-5-5"]
        "#;
        let config = config::parse(text, "config.toml", std::iter::empty()).unwrap();
        let model: Arc<dyn ChatModel> = muster_models::LocalModel::start(muster_models::ModelOptions::default());
        let registry = registry(&config, &*model).unwrap();
        let embedded = Arc::new(EmbeddedAdapter::new(Arc::clone(&model)));
        let providers = providers(&config, &registry, &embedded, &[]).unwrap();
        let adapters: Vec<_> =
            providers.iter().map(|p| (p.provider.id.as_str(), format!("{:?}", p.provider.adapter))).collect();
        let expected =
            [("ollama", "OpenAiAdapter"), ("anthropic", "AnthropicAdapter"), ("embedded", "EmbeddedAdapter")];
        for ((id, adapter), expected) in adapters.iter().zip(expected) {
            assert!(*id == expected.0 && adapter.starts_with(expected.1), "{id}: {adapter}");
        }
        assert_eq!(adapters.len(), expected.len());
    }
}
