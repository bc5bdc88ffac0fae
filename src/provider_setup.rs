//! The provider chain as the settings describe it.

use std::sync::Arc;
use std::time::Duration;

use muster_actors::provider::{ChainOptions, Provider, TokenCounter};
use muster_models::ChatModel;
use muster_providers::{
    Adapter, Catalogue, ChatRequest, EMBEDDED_MODEL, EMBEDDED_PROVIDER, EmbeddedAdapter, GeminiAdapter, HttpConfig,
    OpenAiAdapter, ProviderKind, ProviderSettings, Registry, Secret, Timeouts,
};

use crate::app::{StartError, failed};
use crate::config::{self, Config};
use crate::tokens;

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
pub fn providers(
    config: &Config,
    registry: &Registry,
    model: &Arc<dyn ChatModel>,
) -> Result<Vec<Provider>, StartError> {
    let mut providers = Vec::new();
    for provider in &config.provider {
        let kind = ProviderKind::parse(&provider.kind).unwrap_or(ProviderKind::OpenAi);
        let adapter: Arc<dyn Adapter> = match kind {
            ProviderKind::Embedded => Arc::new(EmbeddedAdapter::new(Arc::clone(model))),
            // The registry has refused the kinds that are not spoken yet.
            ProviderKind::OpenAi | ProviderKind::Anthropic => Arc::new(openai(provider, registry)?),
            ProviderKind::Gemini => Arc::new(gemini(provider, registry)?),
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
    OpenAiAdapter::new(http(provider, registry)).map_err(|error| failed(&format!("provider {}", provider.id))(&error))
}

fn gemini(provider: &config::Provider, registry: &Registry) -> Result<GeminiAdapter, StartError> {
    GeminiAdapter::new(http(provider, registry)).map_err(|error| failed(&format!("provider {}", provider.id))(&error))
}

/// How a provider is reached: its settings over the catalogue's.
fn http(provider: &config::Provider, registry: &Registry) -> HttpConfig {
    let settings = settings(provider).with_defaults(registry.catalogue());
    let http = HttpConfig::new(&provider.id, settings.base_url.unwrap_or_default());
    match &provider.api_key {
        Some(key) => http.with_key(Secret::new(key.0.clone())),
        None => http,
    }
}

/// Counts what a provider gave no figures for; the chain marks it `estimated`.
#[derive(Debug)]
pub struct Counter(pub Arc<dyn ChatModel>);

/// The field's rule of thumb for a text that is not tokenized.
const BYTES_PER_TOKEN: usize = 4;

impl TokenCounter for Counter {
    fn prompt(&self, _: &str, request: &ChatRequest) -> u32 {
        tokens::of_prompt(&*self.0, request, BYTES_PER_TOKEN)
    }

    fn text(&self, _: &str, text: &str) -> u32 {
        tokens::of_text(&*self.0, text, BYTES_PER_TOKEN)
    }
}

/// The bounds of the chain's work.
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
