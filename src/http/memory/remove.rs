//! Entries deleted, with their history.

use actix_web::{HttpRequest, HttpResponse, web};

use super::query::{Pairs, Query};
use super::read::missing;
use super::store::precondition;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, Conflict, NotFound, ReadErrors, VersionFailed};
use crate::guard::{Guarded, MemoryUse, acting};

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
        ("key" = String, Path, description = "The key, percent-encoded whatever it holds, or the id (`mem_…`) of an entry of any namespace"),
        ("namespace" = Option<String>, Query, description = "Of the key, `default` where it is left out"),
        ("If-Match" = Option<String>, Header, description = "Only where the entry is at that version"),
    ),
    responses((status = 204, description = "The entry is deleted"), ReadErrors<Agent>, NotFound<Agent>,
        Conflict<Agent>, VersionFailed<Agent>))]
pub async fn delete(
    _guard: Guarded<MemoryUse>,
    key: web::Path<String>,
    query: web::Query<Pairs>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let mut asked = Query::new(&query);
    let namespace = asked.namespace();
    asked.finish()?;
    carry_out(&app, &http, namespace.as_deref(), &key).await
}

/// Delete a memory entry by query
///
/// Deletes an entry with its history and its vector. The key is a query parameter: use this for keys that cannot be
/// part of a path, such as `search` or `..`.
#[utoipa::path(delete, path = "/api/memory", tag = "memory", operation_id = "delete_memory_named",
    params(
        ("key" = String, Query, description = "The key"),
        ("namespace" = Option<String>, Query, description = "Of the key, `default` where it is left out"),
        ("If-Match" = Option<String>, Header, description = "Only where the entry is at that version"),
    ),
    responses((status = 204, description = "The entry is deleted"), ReadErrors<Agent>, NotFound<Agent>,
        Conflict<Agent>, VersionFailed<Agent>))]
pub async fn delete_named(
    _guard: Guarded<MemoryUse>,
    query: web::Query<Pairs>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let mut asked = Query::new(&query);
    let (namespace, key) = (asked.namespace(), asked.key());
    if key.is_none() {
        asked.required("key");
    }
    asked.finish()?;
    carry_out(&app, &http, namespace.as_deref(), &key.unwrap_or_default()).await
}
