//! `POST /api/memory/batch`

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Error;
use muster_memory::StoreResponse;
use muster_request::Request;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::entry::StoreBody;
use super::response::EntryBody;
use crate::app::App;
use crate::envelope::IdempotencyReplay;
use crate::error::sets::{Agent, WriteErrors};
use crate::error::{Dialect, ErrorAgent, HttpError, body, status};
use crate::guard::{MemoryUse, Sent, acting};
use crate::parameters;

const MOST: usize = 100;

/// Entries to store.
#[derive(Debug, Request)]
#[request(example = { "entries": [
    { "key": "oncall/friday", "value": "Ada has the pager", "namespace": "rota" },
    { "key": "oncall/saturday", "value": "Grace has the pager", "namespace": "rota" }
] })]
pub struct BatchBody {
    /// Entries, stored in this order.
    #[request(list, items = 1..=MOST)]
    entries: Vec<StoreBody>,
}

/// The result for one entry.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchEntry {
    /// Status of storing the entry alone: 201 (created), 200 (replaced), or that of the error.
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ErrorAgent>)]
    pub error: Option<Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct BatchAnswer {
    /// One result for each entry, in the same order.
    pub results: Vec<BatchEntry>,
}

fn entry_result(app: &App, result: Result<StoreResponse, Error>) -> BatchEntry {
    match result {
        Ok(StoreResponse { record, created, index_state, .. }) => BatchEntry {
            status: if created { 201 } else { 200 },
            entry: Some(EntryBody::new(&record, Some(index_state))),
            error: None,
        },
        Err(error) => BatchEntry {
            status: status(error.kind, Dialect::Agent).as_u16(),
            entry: None,
            error: Some(body(&error, Dialect::Agent, app.clock.now())),
        },
    }
}

/// Store several memory entries
///
/// Stores up to 100 entries, each with a result of its own. Stored entries are durable when this returns. If an entry
/// is not well-formed, 422 lists every failure and nothing is stored. The body is limited to 1 MiB.
#[utoipa::path(post, path = "/api/memory/batch", tag = "memory", operation_id = "store_memories", request_body = BatchBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 200, description = "The result of each entry", body = BatchAnswer), WriteErrors<Agent>))]
pub async fn store_many(
    request: Sent<MemoryUse, BatchBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = acting(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let entries = request.body.entries.into_iter().map(Into::into).collect();
    let results = app.memory.entries.store_many(entries, &by, named).await?;
    let replayed = results.iter().any(|result| result.as_ref().is_ok_and(|reply| reply.replayed));
    app.metrics.memory_writes("store", results.iter().filter(|result| result.is_ok()).count() as u64);
    let mut response = HttpResponse::Ok();
    IdempotencyReplay::from(replayed).write_to(&mut response);
    Ok(response.json(BatchAnswer { results: results.into_iter().map(|result| entry_result(&app, result)).collect() }))
}
