//! Reads request bodies within a bound, and converts the failed checks of a request into an error.

use actix_web::http::header;
use actix_web::{HttpRequest, dev::Payload, web};
use bytes::Bytes;
use futures::StreamExt;
use muster_core::{Error, FieldError, Kind};
use muster_request::{FieldFailure, Rejection, Request};
use serde_json::Value;

/// Whether a request was sent without a body.
pub fn is_empty(request: &HttpRequest) -> bool {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH).map(|value| value.as_bytes());
    !headers.contains_key(header::TRANSFER_ENCODING) && matches!(length, None | Some(b"0"))
}

/// Reads a JSON body of at most `limit` bytes.
///
/// # Errors
/// `UnsupportedMediaType`, `TooLarge`, `InvalidJson` (with line and column).
pub async fn read_json(request: &HttpRequest, payload: &mut Payload, limit: usize) -> Result<(Value, Bytes), Error> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
        let message = format!("the body must be sent with Content-Type: application/json, not `{kind}`");
        return Err(Error::new(Kind::UnsupportedMediaType, message));
    }
    let bytes = read(request, payload, limit).await?.freeze();
    let value = serde_json::from_slice(&bytes)
        .map_err(|error| Error::new(Kind::InvalidJson, format!("the body is not JSON: {error}")))?;
    Ok((value, bytes))
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// `TooLarge`; `InvalidJson` where it broke off.
pub async fn read(request: &HttpRequest, payload: &mut Payload, limit: usize) -> Result<web::BytesMut, Error> {
    let too_large =
        || Error::new(Kind::TooLarge, format!("the body is larger than {limit} bytes, the most taken here"));
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut bytes = web::BytesMut::with_capacity(length.unwrap_or(0));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| Error::new(Kind::InvalidJson, format!("the body broke off: {error}")))?;
        if bytes.len() + chunk.len() > limit {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Reads a request out of a JSON body.
///
/// # Errors
/// `Invalid` with every failed check; `UnsupportedValue` where the first one is a known field that is not supported.
pub fn from_json<T: Request>(value: &Value) -> Result<T, Error> {
    T::from_json(value).map_err(refused)
}

/// Reads a request out of the parameters of a query.
///
/// # Errors
/// `Invalid` with every failed check.
pub fn from_query<T: Request>(request: &HttpRequest) -> Result<T, Error> {
    let pairs = web::Query::<Vec<(String, String)>>::from_query(request.query_string());
    let pairs = pairs.map_err(|error| Error::new(Kind::Invalid, error.to_string()))?;
    T::from_query(&pairs).map_err(refused)
}

fn refused(rejection: Rejection) -> Error {
    let kind = if rejection.unsupported { Kind::UnsupportedValue } else { Kind::Invalid };
    let fields = rejection.fields.into_iter();
    let fields = fields.map(|FieldFailure { kind, loc, msg, input }| FieldError { kind, loc, msg, input });
    Error { fields: fields.collect(), ..Error::new(kind, rejection.message) }
}
