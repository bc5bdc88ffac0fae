//! Deletion of entries with their history.

use actix_web::{HttpRequest, HttpResponse, web};

use super::queries::{KeyQuery, NamespaceQuery};
use super::read::missing;
use super::store::precondition;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, Conflict, NotFound, ReadErrors, VersionFailed};
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

/// Delete a memory entry
///
/// Deletes an entry with its history and its vector. No search finds it after this returns.
#[utoipa::path(delete, path = "/api/memory/{key}", tag = "memory", operation_id = "delete_memory",
    params(
        ("key" = String, Path, description = "Percent-encoded key, or the identifier (`mem_…`) of an entry of any namespace"),
        NamespaceQuery,
        ("If-Match" = Option<String>, Header, description = "Changes the entry only at this version"),
    ),
    responses((status = 204, description = "The entry is deleted"), ReadErrors<Agent>, NotFound<Agent>,
        Conflict<Agent>, VersionFailed<Agent>))]
pub async fn delete(
    request: Queried<MemoryUse, NamespaceQuery>,
    key: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    carry_out(&app, &http, request.query.namespace.as_deref(), &key).await
}

/// Delete a memory entry by query
///
/// Deletes an entry with its history and its vector. The key is a query parameter: use this for keys that cannot be
/// part of a path, such as `search` or `..`.
#[utoipa::path(delete, path = "/api/memory", tag = "memory", operation_id = "delete_memory_named",
    params(
        KeyQuery,
        ("If-Match" = Option<String>, Header, description = "Changes the entry only at this version"),
    ),
    responses((status = 204, description = "The entry is deleted"), ReadErrors<Agent>, NotFound<Agent>,
        Conflict<Agent>, VersionFailed<Agent>))]
pub async fn delete_named(
    request: Queried<MemoryUse, KeyQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let KeyQuery { key, namespace } = request.query;
    carry_out(&app, &http, namespace.as_deref(), &key).await
}
