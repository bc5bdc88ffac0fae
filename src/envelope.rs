//! What the answers of many routes share: the disaster network's envelope, and whether one is given again.

use actix_web::http::StatusCode;
use actix_web::http::header::ETAG;
use actix_web::{HttpResponse, HttpResponseBuilder};
use muster_core::page::Page;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// An answer with data.
#[derive(Debug, Serialize, ToSchema)]
pub struct Data<T> {
    /// Always true.
    pub success: bool,
    pub data: T,
}

/// An answer that only says what was done.
#[derive(Debug, Serialize, ToSchema)]
pub struct Said {
    /// Always true.
    pub success: bool,
    pub message: String,
}

/// 200 with data.
pub fn data<T: Serialize>(data: T) -> HttpResponse {
    HttpResponse::Ok().json(Data { success: true, data })
}

/// 200 with a record and its version as `ETag`.
pub fn record<T: Serialize>(version: u64, data: T) -> HttpResponse {
    HttpResponse::Ok().insert_header((ETAG, etag(version))).json(Data { success: true, data })
}

/// Whether an answer is given for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    First,
    /// Again, for its `Idempotency-Key`.
    Again,
}

impl Given {
    pub const fn again_if(replayed: bool) -> Self {
        if replayed { Self::Again } else { Self::First }
    }

    /// Says in the headers that it is given again; nothing of the first time.
    pub fn tell(self, response: &mut HttpResponseBuilder) {
        if self == Self::Again {
            response.insert_header(("Idempotency-Replayed", "true"));
        }
    }
}

/// 201 with what was made.
pub fn created<T: Serialize>(data: T, given: Given) -> HttpResponse {
    let mut response = HttpResponse::build(StatusCode::CREATED);
    given.tell(&mut response);
    response.json(Data { success: true, data })
}

/// 200 with a sentence.
pub fn said(message: impl Into<String>) -> HttpResponse {
    HttpResponse::Ok().json(Said { success: true, message: message.into() })
}

/// 200 with a page of a list: its items under the plural noun, and `next_cursor`.
pub fn list<T: Serialize>(noun: &str, page: &Page<T>) -> HttpResponse {
    let mut fields = Map::new();
    fields.insert(noun.to_owned(), json!(page.items));
    fields.insert("next_cursor".to_owned(), json!(page.next));
    data(Value::Object(fields))
}

/// A version as a strong entity tag.
pub fn etag(version: u64) -> String {
    format!("\"{version}\"")
}
