//! The models as both AI interfaces list them.

use std::collections::HashMap;

use muster_actors::provider::BreakerState;
use muster_models::Status;
use muster_providers::{EMBEDDED_PROVIDER, ListedModel};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// USD for a million tokens.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Pricing {
    pub input_per_million: f64,
    pub output_per_million: f64,
}

/// A chat model, whoever serves it.
#[derive(Debug, Clone)]
pub struct ModelView {
    pub id: String,
    pub name: String,
    pub provider: String,
    /// `fast`, `reasoning`, `vision`, `code`, as many as it belongs to.
    pub families: Vec<String>,
    pub capabilities: Vec<String>,
    pub context_window: u32,
    pub max_tokens: u32,
    /// Unknown for a model that only the configuration names.
    pub price: Option<Pricing>,
    /// `available`, `unconfigured` or `open_circuit`.
    pub status: &'static str,
    /// The setting that is missing, where it is unconfigured.
    pub setting: Option<String>,
}

/// What is assumed of a model that the catalogue does not have.
const UNKNOWN_CONTEXT: u32 = 8192;

/// Every model that can be asked for, the catalogue's first.
pub fn list(app: &App) -> Vec<ModelView> {
    let statuses = app.chain.status().into_iter();
    let open: HashMap<String, bool> =
        statuses.map(|provider| (provider.id, provider.breaker.state == BreakerState::Open)).collect();
    let missing = match app.model.status() {
        Status::Absent { mend } => Some(mend),
        Status::Loading { .. } | Status::Ready | Status::Failed { .. } => None,
    };
    let listed = app.registry.list().into_iter().map(|mut model| {
        if model.provider == EMBEDDED_PROVIDER && missing.is_some() {
            model.configured = false;
            model.setting.clone_from(&missing);
        }
        view(model, &open)
    });
    listed.collect()
}

fn view(model: ListedModel, open: &HashMap<String, bool>) -> ModelView {
    let ListedModel { id, provider, entry, configured, setting } = model;
    let status = match (configured, open.get(&provider)) {
        (false, _) => "unconfigured",
        (true, Some(true)) => "open_circuit",
        (true, _) => "available",
    };
    let name = entry.as_ref().map_or_else(|| id.clone(), |entry| entry.name.clone());
    let context_window = entry.as_ref().and_then(|entry| entry.context_window).unwrap_or(UNKNOWN_CONTEXT);
    let max_tokens = entry.as_ref().and_then(|entry| entry.max_tokens).unwrap_or(context_window);
    let price =
        entry.as_ref().map(|entry| Pricing { input_per_million: entry.price_in, output_per_million: entry.price_out });
    let (capabilities, families) =
        entry.map_or_else(|| (vec!["chat".to_owned()], Vec::new()), |entry| (entry.capabilities, entry.families));
    ModelView { id, name, provider, families, capabilities, context_window, max_tokens, price, status, setting }
}
