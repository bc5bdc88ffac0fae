//! Reads request bodies within bounds of size, time and memory, and converts the failed checks of a request into an
//! error.
//!
//! What can be judged from the head of a request is judged before a byte of its body is read. Bytes are counted in a
//! budget of the whole server, and the structure of JSON is counted before a tree is built from it.

mod budget;
mod complexity;
pub mod form;
mod pace;

use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest, dev::Payload, web};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use muster_core::{Error, FieldError, Kind};
use muster_request::{FieldFailure, Rejection, Request};
use serde_json::Value;

use crate::app::App;
use crate::error::Dialect;
use crate::guard::{Caller, address_name};

use form::FormFields;

pub use budget::{BodyBudget, BodyHold};
pub use pace::{Pace, SharedBody, keeping};

/// Size above which a body is parsed on a thread that serves no requests.
const PARSED_APART: usize = 256 << 10;
/// Largest body that [`read_arrived`] reads.
const ARRIVES_AT_ONCE: usize = 16 << 10;

/// Whether a request was sent without a body.
pub fn is_empty(request: &HttpRequest) -> bool {
    !request.headers().contains_key(header::TRANSFER_ENCODING) && matches!(length(request), None | Some(0))
}

/// Returns the size of the body, if the client states it.
fn length(request: &HttpRequest) -> Option<usize> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Checks what the head says about a JSON body of at most `limit` bytes.
///
/// # Errors
/// `UnsupportedMediaType`, `TooLarge`.
pub fn check_json_head(request: &HttpRequest, limit: usize) -> Result<(), Error> {
    let kind = content_type(request);
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
        let message = format!("the body must be sent with Content-Type: application/json, not `{kind}`");
        return Err(Error::new(Kind::UnsupportedMediaType, message));
    }
    check_length(request, limit)
}

/// Checks what the head says about a body of at most `limit` bytes: JSON, or a form.
///
/// # Errors
/// `UnsupportedMediaType`, `TooLarge`.
pub fn check_form_head(request: &HttpRequest, limit: usize) -> Result<(), Error> {
    if form::boundary(content_type(request)).is_some() {
        return check_length(request, limit);
    }
    check_json_head(request, limit).map_err(|error| match error.kind {
        Kind::UnsupportedMediaType => {
            let message =
                "the body must be sent with Content-Type: application/json, or multipart/form-data with a boundary";
            Error::new(Kind::UnsupportedMediaType, message)
        }
        _ => error,
    })
}

/// The content type as it was sent.
pub fn content_type(request: &HttpRequest) -> &str {
    request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Checks the size that the head states.
///
/// # Errors
/// `TooLarge`.
pub fn check_length(request: &HttpRequest, limit: usize) -> Result<(), Error> {
    if length(request).is_some_and(|length| length > limit) { Err(too_large(limit)) } else { Ok(()) }
}

fn too_large(limit: usize) -> Error {
    Error::new(Kind::TooLarge, format!("the body is larger than {limit} bytes, the most taken here"))
}

/// Converts a failure of the connection or of the client while a body is read.
pub fn broken(error: &PayloadError) -> Error {
    match error {
        PayloadError::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => slow(&error.to_string()),
        error => Error::new(Kind::InvalidJson, format!("the body broke off: {error}")),
    }
}

fn slow(why: &str) -> Error {
    Error::new(Kind::TimedOut, format!("{why}: send it faster, or in several requests"))
}

/// Reads a body of at most `limit` bytes. Its bytes are held in the budget until the response begins.
///
/// # Errors
/// `TooLarge`; `Unavailable` if the budget is exhausted; `TimedOut` if the client is too slow; `InvalidJson` where the
/// body broke off.
pub async fn read(app: &App, request: &HttpRequest, payload: &mut Payload, limit: usize) -> Result<Bytes, Error> {
    read_after(BytesMut::new(), app, request, payload, limit).await
}

/// Reads on after the bytes that were read before.
async fn read_after(
    mut bytes: BytesMut,
    app: &App,
    request: &HttpRequest,
    payload: &mut Payload,
    limit: usize,
) -> Result<Bytes, Error> {
    check_length(request, limit)?;
    let (most, within) = {
        let live = app.live();
        let server = &live.config.server;
        (server.max_body_bytes_in_flight, server.body_within())
    };
    let length = length(request).unwrap_or(0);
    let mut hold = hold(app, request, most);
    hold.grow_to(length.max(bytes.len()))?;
    bytes.reserve(length.saturating_sub(bytes.len()));
    let all = async {
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|error| broken(&error))?;
            if bytes.len() + chunk.len() > limit {
                return Err(too_large(limit));
            }
            hold.grow_to(bytes.len() + chunk.len())?;
            bytes.extend_from_slice(&chunk);
        }
        Ok(())
    };
    let read = tokio::time::timeout(within, all).await;
    read.unwrap_or_else(|_| Err(slow(&format!("the body did not arrive within {} s", within.as_secs()))))?;
    // Released with the request, after the handler.
    request.extensions_mut().insert(hold);
    Ok(bytes.freeze())
}

/// Returns a hold for the sender of a request.
fn hold(app: &App, request: &HttpRequest, most: usize) -> BodyHold {
    if let Some(caller) = request.extensions().get::<Caller>() {
        return app.bodies.hold(&caller.key.id, most);
    }
    app.bodies.hold(&address_name(app, request), most)
}

/// A body of which a first part may have been read.
#[derive(Debug)]
pub enum Begun {
    /// The whole body had arrived with the head.
    Whole(Bytes),
    /// The client may still have to send the rest.
    Part(BytesMut),
}

/// Reads what has arrived of a small body, without waiting for the client.
///
/// # Errors
/// Those of [`read`].
pub async fn read_arrived(request: &HttpRequest, payload: &mut Payload) -> Result<Begun, Error> {
    let mut bytes = BytesMut::new();
    if length(request).is_none_or(|length| length > ARRIVES_AT_ONCE) {
        return Ok(Begun::Part(bytes));
    }
    // HTTP/1 hands the bytes over after it has called the route once.
    for last in [false, true] {
        while let std::task::Poll::Ready(next) = futures::poll!(payload.next()) {
            let Some(chunk) = next else { return Ok(Begun::Whole(bytes.freeze())) };
            bytes.extend_from_slice(&chunk.map_err(|error| broken(&error))?);
        }
        if !last {
            tokio::task::yield_now().await;
        }
    }
    Ok(Begun::Part(bytes))
}

impl Begun {
    /// Reads the rest.
    ///
    /// # Errors
    /// Those of [`read`].
    pub async fn finish(
        self,
        app: &App,
        request: &HttpRequest,
        payload: &mut Payload,
        limit: usize,
    ) -> Result<Bytes, Error> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::Part(bytes) => read_after(bytes, app, request, payload, limit).await,
        }
    }
}

/// Parses a request. Large bodies are parsed apart from the threads that serve requests, a few at a time.
///
/// # Errors
/// `InvalidJson` with line and column; `Invalid` with every failed check, or if the body is too complex;
/// `UnsupportedValue`; `Unavailable` if the server is stopping.
pub async fn parse<T: Request + Send + 'static>(app: &App, bytes: Bytes) -> Result<(T, Bytes), Error> {
    if bytes.len() <= PARSED_APART {
        return parse_here(bytes);
    }
    let stopping = || Error::new(Kind::Unavailable, "the server is stopping: try again");
    let turn = std::sync::Arc::clone(&app.parsing).acquire_owned().await.map_err(|_| stopping())?;
    let parsed = web::block(move || {
        let parsed = parse_here(bytes);
        drop(turn);
        parsed
    });
    parsed.await.map_err(|_| stopping())?
}

/// Parses a request that came as a form with this boundary. Its file may be large, so that it is always parsed apart.
///
/// # Errors
/// `Invalid` for a broken form or with every failed check; `Unavailable` if the server is stopping.
pub async fn parse_form<T: Request + Send + 'static>(
    app: &App,
    bytes: Bytes,
    boundary: String,
    fields: FormFields,
) -> Result<(T, Bytes), Error> {
    let stopping = || Error::new(Kind::Unavailable, "the server is stopping: try again");
    let turn = std::sync::Arc::clone(&app.parsing).acquire_owned().await.map_err(|_| stopping())?;
    let parsed = web::block(move || {
        let value = form::to_json(&bytes, &boundary, &fields);
        drop(turn);
        let value = value.map_err(|why| Error::field(Kind::Invalid, &["body"], why, Value::Null))?;
        Ok((from_json(&value)?, Bytes::new()))
    });
    parsed.await.map_err(|_| stopping())?
}

fn parse_here<T: Request>(bytes: Bytes) -> Result<(T, Bytes), Error> {
    complexity::check(&bytes)
        .map_err(|error| Error::field(Kind::Invalid, &["body"], error.to_string(), Value::Null))?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Error::new(Kind::InvalidJson, format!("the body is not JSON: {error}")))?;
    Ok((from_json(&value)?, bytes))
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

/// The query of a route that has no parameters.
#[derive(Debug, Request)]
#[request(query)]
struct NoQuery {}

/// Refuses the parameters of a query on a route that has none. The dialects of other wires ignore them, because their
/// clients send some (Anthropic's `?beta=true`, Azure's `?api-version=`).
///
/// # Errors
/// `Invalid` names every parameter.
pub fn refuse_query(request: &HttpRequest) -> Result<(), Error> {
    if request.query_string().is_empty() {
        return Ok(());
    }
    match Dialect::of(request.path()) {
        Dialect::Disaster | Dialect::Agent => from_query::<NoQuery>(request).map(|_| ()),
        Dialect::A | Dialect::B | Dialect::Messages | Dialect::Medical => Ok(()),
    }
}

/// Reads a value by serde; unknown members are refused at every depth.
///
/// # Errors
/// `Invalid` with every failed check, whose `loc` begins with `place`.
pub fn read_value<T: serde::de::DeserializeOwned>(value: &Value, place: &str) -> Result<T, Error> {
    muster_request::read_value(value, place).map_err(refused)
}

fn refused(rejection: Rejection) -> Error {
    let kind = if rejection.unsupported { Kind::UnsupportedValue } else { Kind::Invalid };
    let fields = rejection.fields.into_iter();
    let fields = fields.map(|FieldFailure { kind, loc, msg, input }| FieldError { kind, loc, msg, input });
    Error { fields: fields.collect(), ..Error::new(kind, rejection.message) }
}
