//! Entries by key or identifier, their history, and lists of them.

use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::Page;
use muster_core::{Error, Kind};
use muster_memory::{EntryRecord, ListParams};
use serde::Serialize;
use utoipa::ToSchema;

use super::queries::{KeyQuery, ListQuery, NamespaceQuery};
use super::response::EntryBody;
use crate::app::App;
use crate::envelope::etag;
use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, ReadErrors};
use crate::guard::{MemoryUse, Queried, acting};

#[derive(Debug, Serialize, ToSchema)]
pub struct EntryList {
    pub entries: Vec<EntryBody>,
    /// Cursor of the next page, with the same filters; null on the last page. A page of a selective filter may be short
    /// or empty without being the last.
    pub next_cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EntryHistory {
    /// The present version, then the stored earlier versions, newest first.
    pub versions: Vec<EntryBody>,
    /// Always null: the list has one page.
    pub next_cursor: Option<String>,
}

/// Returns the error for an entry that does not exist, has expired or belongs to another owner.
pub(super) fn missing(key: &str) -> Error {
    let key: String = key.chars().take(100).collect();
    Error::new(
        Kind::NotFound,
        format!("there is no entry {key:?} of yours in this namespace: GET /api/memory lists them"),
    )
}

/// List memory entries
///
/// Returns a page of the caller's entries, or of those of a shared namespace, in the order in which their keys were
/// first stored, newest first.
#[utoipa::path(get, path = "/api/memory", tag = "memory", operation_id = "list_memory",
    params(ListQuery),
    responses((status = 200, description = "A page of entries", body = EntryList), ReadErrors<Agent>))]
pub async fn list(
    request: Queried<MemoryUse, ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<EntryList>, HttpError> {
    let mut query = request.query;
    let key = query.key.take();
    let list = ListParams::from(query);
    let by = acting(&http)?;
    let Page { items, next } = match key {
        Some(key) => {
            let found = app.memory.entries.get(list.namespace.as_deref(), &key, &by)?;
            Page { items: found.into_iter().filter(|entry| entry.key() == key).collect(), next: None }
        }
        None => app.memory.entries.list(list, &by).await?,
    };
    Ok(web::Json(EntryList { entries: bodies(&items), next_cursor: next }))
}

fn bodies(records: &[EntryRecord]) -> Vec<EntryBody> {
    records.iter().map(|record| EntryBody::new(record, None)).collect()
}

/// Get a memory entry
///
/// Returns one entry, with its version as `ETag`. An entry of another owner, or one that has expired, is 404.
#[utoipa::path(get, path = "/api/memory/{key}", tag = "memory", operation_id = "get_memory",
    params(
        ("key" = String, Path, description = "Percent-encoded key, or the identifier (`mem_…`) of an entry of any namespace"),
        NamespaceQuery,
    ),
    responses((status = 200, description = "The entry", body = EntryBody), ReadErrors<Agent>, NotFound<Agent>))]
pub async fn get(
    request: Queried<MemoryUse, NamespaceQuery>,
    key: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let namespace = request.query.namespace;
    let entries = &app.memory.entries;
    let found = entries.get(namespace.as_deref(), &key, &acting(&http)?)?.ok_or_else(|| missing(&key))?;
    let state = entries.index_state(&found)?;
    let tag = (ETAG, etag(found.version.into()));
    Ok(HttpResponse::Ok().insert_header(tag).json(EntryBody::new(&found, Some(state))))
}

/// Get the history of a memory entry
///
/// Returns the kept versions of an entry: the current one and those that it replaced, each until it expires.
#[utoipa::path(get, path = "/api/memory/history", tag = "memory", operation_id = "memory_history",
    params(KeyQuery),
    responses((status = 200, description = "The versions of the entry", body = EntryHistory), ReadErrors<Agent>,
        NotFound<Agent>))]
pub async fn history(
    request: Queried<MemoryUse, KeyQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<EntryHistory>, HttpError> {
    let KeyQuery { key, namespace } = request.query;
    let versions = app.memory.entries.history(namespace.as_deref(), &key, &acting(&http)?)?;
    if versions.is_empty() {
        return Err(HttpError(missing(&key)));
    }
    Ok(web::Json(EntryHistory { versions: bodies(&versions), next_cursor: None }))
}
