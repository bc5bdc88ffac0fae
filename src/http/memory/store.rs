//! `POST /api/memory/store`

use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_memory::{Precondition, StoreResponse};

use super::entry::StoreBody;
use super::response::EntryBody;
use crate::app::App;
use crate::envelope::{IdempotencyReplay, etag};
use crate::error::HttpError;
use crate::error::sets::{Agent, VersionFailed, WriteErrors};
use crate::guard::{MemoryUse, Sent, acting};
use crate::parameters;

/// Reads the precondition of a change: `If-Match` with a version, or `If-None-Match: *`.
///
/// # Errors
/// `Invalid` names the header.
pub(super) fn precondition(http: &HttpRequest) -> Result<Precondition, Error> {
    if http.headers().contains_key(IF_MATCH) {
        return parameters::if_match(http).map(Precondition::Match);
    }
    match http.headers().get(IF_NONE_MATCH).map(|value| value.to_str().unwrap_or_default().trim()) {
        None => Ok(Precondition::None),
        Some("*") => Ok(Precondition::Absent),
        Some(other) => Err(Error::field(
            Kind::Invalid,
            &["header", "If-None-Match"],
            "must be *: the entry is stored only if it does not exist",
            other.into(),
        )),
    }
}

/// Store a memory entry
///
/// Stores an entry, which is durable when this returns. Searches find it by its words at once, and by its meaning after
/// the embedding model has processed it (`index_state`). An existing key of the namespace is replaced: its version is
/// incremented, and the previous content is kept in its history.
#[utoipa::path(post, path = "/api/memory/store", tag = "memory", operation_id = "store_memory", request_body = StoreBody,
    params(
        ("If-Match" = Option<String>, Header, description = "Changes the entry only at this version; `*`: only if it exists"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: stores the entry only if it does not exist"),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters"),
    ),
    responses((status = 200, description = "The entry, which replaced another", body = EntryBody),
        (status = 201, description = "The new entry", body = EntryBody), WriteErrors<Agent>, VersionFailed<Agent>))]
pub async fn store(
    request: Sent<MemoryUse, StoreBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = acting(&http)?;
    let condition = precondition(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let StoreResponse { record, created, index_state, replayed } =
        app.memory.entries.store(request.body.into(), &by, condition, named).await?;
    app.metrics.memory_writes("store", 1);
    let mut response = HttpResponse::build(if created { StatusCode::CREATED } else { StatusCode::OK });
    response.insert_header((ETAG, etag(record.version.into())));
    IdempotencyReplay::from(replayed).write_to(&mut response);
    Ok(response.json(EntryBody::new(&record, Some(index_state))))
}
