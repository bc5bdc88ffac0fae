//! The list of models, as both AI interfaces show it.

use muster_gateway::Chain;
use muster_identity::keys::KeyRecord;
use muster_models::{EmbedModel, ModelStatus};
use muster_providers::{EMBEDDED_PROVIDER, ListedEmbedding, ListedModel};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat::payer;

/// Which models a list contains.
#[derive(Debug, Request)]
#[request(query, open)]
pub struct ModelsQuery {
    /// `true`: only models whose provider has credentials. `false`: all models. By default as `[models]
    /// list_unconfigured` of the settings says: all.
    pub configured: Option<bool>,
}

impl ModelsQuery {
    /// Returns whether models without credentials are left out.
    pub fn leaves_out(&self, app: &App) -> bool {
        self.configured.unwrap_or(!app.live().config.models.list_unconfigured)
    }
}

/// Status of a model whose provider has no credentials.
pub const UNCONFIGURED: &str = "unconfigured";

/// USD for a million tokens.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Pricing {
    pub input_per_million: f64,
    pub output_per_million: f64,
}

/// A chat model of any provider.
#[derive(Debug, Clone)]
pub struct ModelView {
    pub id: String,
    pub name: String,
    pub provider: String,
    /// Those of `fast`, `reasoning`, `vision` and `code` that apply.
    pub families: Vec<String>,
    pub capabilities: Vec<String>,
    pub context_window: u32,
    pub max_tokens: u32,
    /// Unknown for a model that only the settings name.
    pub price: Option<Pricing>,
    /// `available`, `unconfigured` or `open_circuit`.
    pub status: &'static str,
    /// The setting that is missing if the model is unconfigured.
    pub setting: Option<String>,
}

/// Assumed context size of a model that is not in the catalogue.
const UNKNOWN_CONTEXT: u32 = 8192;

/// Returns every chat model that a key may request, those of the catalogue first.
pub fn list(app: &App, key: &KeyRecord) -> Vec<ModelView> {
    let rules = payer::rules(&app.keys, key);
    let chain = app.live().chain.clone();
    let missing = match app.model.status() {
        ModelStatus::Absent { mend } => Some(mend),
        ModelStatus::Loading { .. } | ModelStatus::Ready | ModelStatus::Failed { .. } => None,
    };
    let live = app.live();
    let registry = live.registry();
    let allowed = |id: &str, provider: &str| rules.allow_all() || registry.allows_listed(&rules, id, provider);
    let listed = registry.list().into_iter().filter(|model| allowed(&model.id, &model.provider)).map(|mut model| {
        if model.provider == EMBEDDED_PROVIDER && missing.is_some() {
            model.configured = false;
            model.setting.clone_from(&missing);
        }
        view(model, &chain)
    });
    listed.collect()
}

/// Returns every embedding model that a key may request.
pub fn embeddings(app: &App, key: &KeyRecord) -> Vec<(ModelView, u32)> {
    let rules = payer::rules(&app.keys, key);
    let chain = app.live().chain.clone();
    let missing = match app.embedder.status() {
        ModelStatus::Absent { mend } => Some(mend),
        ModelStatus::Loading { .. } | ModelStatus::Ready | ModelStatus::Failed { .. } => None,
    };
    let live = app.live();
    let registry = live.registry();
    let allowed = |id: &str, provider: &str| rules.allow_all() || registry.allows_listed(&rules, id, provider);
    let listed = registry.list_embeddings().into_iter();
    let listed = listed.filter(|model| allowed(&model.entry.id, &model.provider)).map(|model| {
        let ListedEmbedding { entry, provider, mut configured, mut setting } = model;
        if provider == EMBEDDED_PROVIDER && missing.is_some() {
            configured = false;
            setting.clone_from(&missing);
        }
        let view = ModelView {
            status: status(configured, &chain, &provider, &entry.id),
            id: entry.id,
            name: entry.name,
            families: Vec::new(),
            capabilities: vec!["embeddings".to_owned()],
            context_window: entry.max_tokens,
            max_tokens: entry.max_tokens,
            price: Some(Pricing { input_per_million: entry.price_in, output_per_million: 0.0 }),
            setting,
            provider,
        };
        (view, entry.dimensions)
    });
    listed.collect()
}

fn status(configured: bool, chain: &Chain, provider: &str, model: &str) -> &'static str {
    match configured {
        false => UNCONFIGURED,
        true if chain.circuit_open(provider, model) => "open_circuit",
        true => "available",
    }
}

fn view(model: ListedModel, chain: &Chain) -> ModelView {
    let ListedModel { id, provider, entry, price, configured, setting } = model;
    let status = status(configured, chain, &provider, &id);
    let name = entry.as_ref().map_or_else(|| id.clone(), |entry| entry.name.clone());
    let context_window = entry.as_ref().and_then(|entry| entry.context_window).unwrap_or(UNKNOWN_CONTEXT);
    let max_tokens = entry.as_ref().and_then(|entry| entry.max_tokens).unwrap_or(context_window);
    let price = price.map(|price| Pricing {
        input_per_million: price.input_per_million,
        output_per_million: price.output_per_million,
    });
    let (capabilities, families) =
        entry.map_or_else(|| (vec!["chat".to_owned()], Vec::new()), |entry| (entry.capabilities, entry.families));
    ModelView { id, name, provider, families, capabilities, context_window, max_tokens, price, status, setting }
}
