//! Entries deleted, with their history.

use actix_web::{HttpRequest, HttpResponse, web};

use super::queries::{KeyQuery, NamespaceQuery};
use super::read::missing;
use super::store::precondition;
use crate::app::App;
use crate::error::{ErrorAgent, HttpError};
use crate::guard::{MemoryUse, Queried, acting};

async fn carry_out(
    app: &App,
    http: &HttpRequest,
    namespace: Option<&str>,
    key: &str,
) -> Result<HttpResponse, HttpError> {
    let condition = precondition(http)?;
    if !app.memory.entries.delete(namespace, key, condition, &acting(http)?).await? {
        return Err(HttpError(missing(key)));
    }
    app.metrics.memory_writes("delete", 1);
    Ok(HttpResponse::NoContent().finish())
}

/// Deletes an entry with its history and its vector: no search finds it from this answer on.
#[utoipa::path(delete, operation_id = "delete_memory", path = "/api/memory/{key}", tag = "memory",
    params(
        ("key" = String, Path, description = "The key, percent-encoded whatever it holds, or the id (`mem_…`) of an entry of any namespace"),
        NamespaceQuery,
        ("If-Match" = Option<String>, Header, description = "Only where the entry is at that version"),
    ),
    responses((status = 204, description = "Deleted"), (status = 401, body = ErrorAgent), (status = 403, body = ErrorAgent),
        (status = 404, body = ErrorAgent), (status = 409, body = ErrorAgent), (status = 412, body = ErrorAgent),
        (status = 422, body = ErrorAgent), (status = 429, body = ErrorAgent), (status = 503, body = ErrorAgent)))]
pub async fn delete(
    request: Queried<MemoryUse, NamespaceQuery>,
    key: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    carry_out(&app, &http, request.query.namespace.as_deref(), &key).await
}

/// Deletes the entry of a key that cannot stand in a path, such as `search` or `..`.
#[utoipa::path(delete, operation_id = "delete_memory_named", path = "/api/memory", tag = "memory",
    params(
        KeyQuery,
        ("If-Match" = Option<String>, Header, description = "Only where the entry is at that version"),
    ),
    responses((status = 204, description = "Deleted"), (status = 401, body = ErrorAgent), (status = 403, body = ErrorAgent),
        (status = 404, body = ErrorAgent), (status = 409, body = ErrorAgent), (status = 412, body = ErrorAgent),
        (status = 422, body = ErrorAgent), (status = 429, body = ErrorAgent), (status = 503, body = ErrorAgent)))]
pub async fn delete_named(
    request: Queried<MemoryUse, KeyQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let KeyQuery { key, namespace } = request.query;
    carry_out(&app, &http, namespace.as_deref(), &key).await
}
