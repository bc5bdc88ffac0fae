//! The models by interface A.

use actix_web::web;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::ErrorA;
use crate::guard::{Guarded, ModelsA};
use crate::models_list::{self, ModelView, Pricing};

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelA {
    pub id: String,
    pub name: String,
    pub provider: String,
    pub capabilities: Vec<String>,
    pub max_tokens: u32,
    pub family: Vec<String>,
    pub context_window: u32,
    pub price: Option<Pricing>,
    /// `available`, `unconfigured` (its provider has no credentials) or `open_circuit` (its provider is failing).
    pub status: &'static str,
    /// The setting that is missing, where it is unconfigured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ModelListA {
    pub models: Vec<ModelA>,
}

impl From<ModelView> for ModelA {
    fn from(model: ModelView) -> Self {
        let ModelView {
            id,
            name,
            provider,
            families,
            capabilities,
            context_window,
            max_tokens,
            price,
            status,
            setting,
        } = model;
        Self { id, name, provider, capabilities, max_tokens, family: families, context_window, price, status, setting }
    }
}

/// Every chat model, with what it can do, what it costs and whether it can be had.
#[utoipa::path(get, operation_id = "list_models_a", path = "/api/models", tag = "interface A",
    responses((status = 200, body = ModelListA), (status = 401, body = ErrorA), (status = 403, body = ErrorA),
        (status = 429, body = ErrorA)))]
pub async fn list(_guard: Guarded<ModelsA>, app: web::Data<App>) -> web::Json<ModelListA> {
    web::Json(ModelListA { models: models_list::list(&app).into_iter().map(ModelA::from).collect() })
}
