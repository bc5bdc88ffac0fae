//! The request on its way: connect, write, headers, each within its own bound.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use futures::channel::oneshot;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Body, Response};
use tokio::time::{Instant, timeout, timeout_at};

use super::body::{Mode, encode};
use super::origin::{Origin, Reporter};
use crate::{Call, ClientFault, Fault, FaultClass, Phase};

/// The largest error answer that is read, in bytes; the rest says nothing more.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Sends the call and returns the answer once its headers say success.
pub(super) async fn send(
    origin: &Arc<Origin>,
    reporter: &Reporter,
    call: &Call,
    mode: Mode,
) -> Result<Response, Fault> {
    let body = encode(call, origin.dialect, mode).map_err(|error| Fault {
        client: Some(ClientFault::InvalidRequest),
        ..Fault::new(FaultClass::Client, Phase::Connect, error.to_string())
    })?;
    let response = exchange(origin, reporter, call, mode, body).await?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let deadline = Instant::now() + call.timeouts.first_delta;
    // Whatever came of the error's body will do: the status alone tells the class.
    let mut said = Vec::new();
    let _ = read_into(&mut said, response, MAX_ERROR_BYTES, deadline).await;
    Err(reporter.status(status, &headers, &said))
}

/// One exchange up to the headers. The client asks for the request's body only once it has a connection, so the body
/// tells when connecting ends and waiting for the headers begins.
async fn exchange(
    origin: &Origin,
    reporter: &Reporter,
    call: &Call,
    mode: Mode,
    body: Vec<u8>,
) -> Result<Response, Fault> {
    let (written, connected) = oneshot::channel();
    let length = body.len();
    let body = Body::wrap_stream(futures::stream::once(async move {
        // Nobody listens any more when the call was given up.
        let _ = written.send(());
        Ok::<_, std::convert::Infallible>(Bytes::from(body))
    }));
    let response = origin
        .client
        .post(origin.url.clone())
        .headers(headers(origin, call, mode))
        // A stream has no length of its own, and some servers take no chunked request.
        .header(CONTENT_LENGTH, length)
        .body(body)
        .send();
    tokio::pin!(response);
    let limit = call.timeouts.connect;
    tokio::select! {
        biased;
        early = &mut response => {
            return early.map_err(|e| reporter.transport(phase_of(&e), &e));
        }
        started = timeout(limit, connected) => if started.is_err() {
            return Err(reporter.transient(
                Phase::Connect,
                format_args!("took no connection within {limit:?}"),
            ));
        },
    }
    let limit = call.timeouts.headers;
    match timeout(limit, response).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(reporter.transport(phase_of(&error), &error)),
        Err(_) => Err(reporter.transient(Phase::Headers, format_args!("sent no headers within {limit:?}"))),
    }
}

fn phase_of(error: &reqwest::Error) -> Phase {
    if error.is_connect() { Phase::Connect } else { Phase::Headers }
}

fn headers(origin: &Origin, call: &Call, mode: Mode) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = match mode {
        Mode::Whole => "application/json",
        Mode::Streamed => "text/event-stream",
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    if let Some(authorization) = &origin.authorization {
        headers.insert(AUTHORIZATION, authorization.clone());
    }
    if let Ok(id) = HeaderValue::from_str(&call.request_id) {
        headers.insert("x-request-id", id);
    }
    let trace = call.traceparent.as_deref().map(HeaderValue::from_str);
    if let Some(Ok(trace)) = trace {
        headers.insert("traceparent", trace);
    }
    headers
}

/// Why a body could not be read to its end.
#[derive(Debug)]
pub(super) enum ReadError {
    TooLarge,
    TimedOut,
    Broken(reqwest::Error),
}

/// Appends the body to `out`; on an error `out` holds what came before it.
pub(super) async fn read_into(
    out: &mut Vec<u8>,
    mut response: Response,
    limit: usize,
    deadline: Instant,
) -> Result<(), ReadError> {
    loop {
        match timeout_at(deadline, response.chunk()).await {
            Err(_) => return Err(ReadError::TimedOut),
            Ok(Err(error)) => return Err(ReadError::Broken(error)),
            Ok(Ok(None)) => return Ok(()),
            Ok(Ok(Some(chunk))) if out.len() + chunk.len() > limit => {
                return Err(ReadError::TooLarge);
            }
            Ok(Ok(Some(chunk))) => out.extend_from_slice(&chunk),
        }
    }
}

/// The innermost reason of an error, which is the one that says something: `Connection refused (os error 111)`.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
