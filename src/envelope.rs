//! Parts of responses that many routes share: the envelope of the disaster network, and headers of repeated responses.

use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use muster_core::page::Page;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// A response with data.
#[derive(Debug, Serialize, ToSchema)]
pub struct Data<T> {
    /// Always true.
    pub success: bool,
    pub data: T,
}

/// A response that only reports success.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageBody {
    /// Always true.
    pub success: bool,
    pub message: String,
}

/// Returns 200 with data.
pub fn data<T: Serialize>(data: T) -> HttpResponse {
    HttpResponse::Ok().json(Data { success: true, data })
}

/// Returns 200 with a record and its version as `ETag`.
pub fn record<T: Serialize>(version: u64, data: T) -> HttpResponse {
    HttpResponse::Ok().insert_header((ETAG, etag(version))).json(Data { success: true, data })
}

/// Whether a response is the first one for its `Idempotency-Key` or a repetition of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyReplay {
    Original,
    Replayed,
}

impl From<bool> for IdempotencyReplay {
    fn from(replayed: bool) -> Self {
        if replayed { Self::Replayed } else { Self::Original }
    }
}

impl IdempotencyReplay {
    /// Adds the header `Idempotency-Replayed` to a repeated response.
    pub fn write_to(self, response: &mut HttpResponseBuilder) {
        if self == Self::Replayed {
            response.insert_header(("Idempotency-Replayed", "true"));
        }
    }
}

/// Returns 201 with the created record.
pub fn created<T: Serialize>(data: T, replay: IdempotencyReplay) -> HttpResponse {
    let mut response = HttpResponse::build(StatusCode::CREATED);
    replay.write_to(&mut response);
    response.json(Data { success: true, data })
}

/// Returns 200 with a message.
pub fn message(message: impl Into<String>) -> HttpResponse {
    HttpResponse::Ok().json(MessageBody { success: true, message: message.into() })
}

/// Returns 200 with a page of a list: its items under their plural name, and `next_cursor`.
pub fn list<T: Serialize>(noun: &str, page: &Page<T>) -> HttpResponse {
    let mut fields = Map::new();
    fields.insert(noun.to_owned(), json!(page.items));
    fields.insert("next_cursor".to_owned(), json!(page.next));
    data(Value::Object(fields))
}

/// Returns whether `If-None-Match` names an entity tag: the client has this representation.
pub fn is_known(http: &HttpRequest, tag: &str) -> bool {
    let sent = http.headers().get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    // The comparison is weak (RFC 9110, section 13.1.2).
    let same = |known: &str| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag;
    sent.is_some_and(|tags| tags.split(',').any(|known| same(known.trim())))
}

/// Formats a version as a strong entity tag.
pub fn etag(version: u64) -> String {
    format!("\"{version}\"")
}
