//! The models of interface A.

use actix_web::{HttpRequest, web};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{InterfaceA, ReadErrors};
use crate::guard::{ModelsA, Queried, caller_of};
use crate::models_list::{self, ModelView, ModelsQuery, Pricing, UNCONFIGURED};

/// A chat model.
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
    /// Availability: `available`, `unconfigured` (the provider has no credentials) or `open_circuit` (the provider is
    /// failing).
    pub status: &'static str,
    /// Missing setting of an unconfigured model.
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

/// List models
///
/// Returns every chat model that the key and its team may use, with its capabilities, prices and availability. A model
/// whose provider has no credentials is listed with the status `unconfigured`, unless `configured=true` or the setting
/// `[models] list_unconfigured = false` leaves it out.
#[utoipa::path(get, path = "/api/models", tag = "interface A", operation_id = "list_models_a", params(ModelsQuery),
    responses((status = 200, description = "The models", body = ModelListA), ReadErrors<InterfaceA>))]
pub async fn list(
    request: Queried<ModelsA, ModelsQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ModelListA>, HttpError> {
    let mut models = models_list::list(&app, &caller_of(&http)?.key);
    if request.query.leaves_out(&app) {
        models.retain(|model| model.status != UNCONFIGURED);
    }
    Ok(web::Json(ModelListA { models: models.into_iter().map(ModelA::from).collect() }))
}
