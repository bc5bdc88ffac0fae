//! `POST /api/memory/store`

use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_memory::{Precondition, StoreReply};

use super::entry::StoreBody;
use super::shown::EntryBody;
use crate::app::App;
use crate::ask;
use crate::envelope::{Given, etag};
use crate::error::{ErrorAgent, HttpError};
use crate::guard::{MemoryUse, Sent, acting};

/// What must hold of the entry that a request changes: `If-Match` with its version, or `If-None-Match: *`.
///
/// # Errors
/// `Invalid` names the header.
pub(super) fn precondition(http: &HttpRequest) -> Result<Precondition, Error> {
    if http.headers().contains_key(IF_MATCH) {
        return ask::if_match(http).map(Precondition::Match);
    }
    match http.headers().get(IF_NONE_MATCH).map(|value| value.to_str().unwrap_or_default().trim()) {
        None => Ok(Precondition::None),
        Some("*") => Ok(Precondition::Absent),
        Some(other) => Err(Error::field(
            Kind::Invalid,
            &["header", "If-None-Match"],
            "takes * only: store what is not there yet",
            other.into(),
        )),
    }
}

/// Stores an entry: it is durable when this answers, and the next search finds it by its words; by its meaning once the
/// embedding model has read it (`index_state`). A known key of the namespace is replaced: the version is one more, what
/// was before stays in its history. A key needs the scope `memory`, a person a role with it.
#[utoipa::path(post, operation_id = "store_memory", path = "/api/memory/store", tag = "memory", request_body = StoreBody,
    params(
        ("If-Match" = Option<String>, Header, description = "Only where the entry is at that version; `*`: only where it is there"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only where there is none"),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters"),
    ),
    responses((status = 200, body = EntryBody, description = "Replaced"), (status = 201, body = EntryBody, description = "New"),
        (status = 400, body = ErrorAgent), (status = 401, body = ErrorAgent), (status = 403, body = ErrorAgent),
        (status = 409, body = ErrorAgent), (status = 412, body = ErrorAgent), (status = 413, body = ErrorAgent),
        (status = 415, body = ErrorAgent), (status = 422, body = ErrorAgent), (status = 429, body = ErrorAgent),
        (status = 503, body = ErrorAgent)))]
pub async fn store(
    request: Sent<MemoryUse, StoreBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = acting(&http)?;
    let condition = precondition(&http)?;
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let StoreReply { record, created, index_state, replayed } =
        app.memory.entries.store(request.body.into(), &by, condition, named).await?;
    app.metrics.memory_writes("store", 1);
    let mut response = HttpResponse::build(if created { StatusCode::CREATED } else { StatusCode::OK });
    response.insert_header((ETAG, etag(record.version.into())));
    Given::again_if(replayed).tell(&mut response);
    Ok(response.json(EntryBody::new(&record, Some(index_state))))
}
