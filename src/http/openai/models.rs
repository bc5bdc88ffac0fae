//! The models of interface B in the format of OpenAI.

use actix_web::{HttpRequest, web};
use muster_core::Kind;
use muster_identity::keys::KeyRecord;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{NotFound, OpenAi, ReadErrors, WireErrors};
use crate::guard::{Guarded, ModelsB, Queried, caller_of};
use crate::models_list::{self, ModelView, ModelsQuery, Pricing, UNCONFIGURED};

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelB {
    pub id: String,
    /// Always `model`.
    pub object: &'static str,
    /// Unix time at which this server began to list the model, in seconds.
    pub created: u64,
    pub owned_by: String,
    pub capabilities: Vec<String>,
    pub context_window: u32,
    pub max_tokens: u32,
    pub pricing: Option<Pricing>,
    /// `available`, `unconfigured` (the provider has no credentials) or `open_circuit` (the provider is failing).
    pub status: &'static str,
    /// Missing setting of an unconfigured model, such as the environment variable of the provider's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Length of the vectors of an embedding model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ModelListB {
    /// Always `list`.
    pub object: &'static str,
    pub data: Vec<ModelB>,
}

fn model_b(model: ModelView, created: u64) -> ModelB {
    ModelB {
        id: model.id,
        object: "model",
        created,
        owned_by: model.provider,
        capabilities: model.capabilities,
        context_window: model.context_window,
        max_tokens: model.max_tokens,
        pricing: model.price,
        status: model.status,
        setting: model.setting,
        dimensions: None,
    }
}

/// Returns all models that a key may use, chat models first.
fn all(app: &App, key: &KeyRecord) -> Vec<ModelB> {
    let created = app.started_at.seconds();
    let chat = models_list::list(app, key).into_iter().map(|model| model_b(model, created));
    let embedding = models_list::embeddings(app, key)
        .into_iter()
        .map(|(model, dimensions)| ModelB { dimensions: Some(dimensions), ..model_b(model, created) });
    chat.chain(embedding).collect()
}

/// List models in OpenAI format
///
/// Returns every chat model that the key and its team may use, then every embedding model (capability `embeddings`).
/// Besides these identifiers, requests may name `default` and the families `fast`, `reasoning`, `vision` and `code` (also
/// as `muster-fast` and so on): each stands for the first available model of its order.
///
/// A model whose provider has no credentials is listed with the status `unconfigured`, unless `configured=true` or the
/// setting `[models] list_unconfigured = false` leaves it out.
#[utoipa::path(get, path = "/v1/models", tag = "interface B", operation_id = "list_models_b", params(ModelsQuery),
    responses((status = 200, description = "The models", body = ModelListB), ReadErrors<OpenAi>))]
pub async fn list(
    request: Queried<ModelsB, ModelsQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ModelListB>, HttpError> {
    let mut data = all(&app, &caller_of(&http)?.key);
    if request.query.leaves_out(&app) {
        data.retain(|model| model.status != UNCONFIGURED);
    }
    Ok(web::Json(ModelListB { object: "list", data }))
}

/// Get a model in OpenAI format
///
/// Returns one model. An identifier may contain slashes.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "interface B", operation_id = "get_model_b", params(("id" = String, Path)),
    responses((status = 200, description = "The model", body = ModelB), WireErrors<OpenAi>, NotFound<OpenAi>))]
pub async fn get(
    _guard: Guarded<ModelsB>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ModelB>, HttpError> {
    let found = all(&app, &caller_of(&http)?.key).into_iter().find(|model| model.id == *id);
    let missing = || {
        HttpError::new(
            Kind::ModelNotFound,
            format!("The model `{id}` does not exist: GET /v1/models lists those that do"),
        )
    };
    Ok(web::Json(found.ok_or_else(missing)?))
}
