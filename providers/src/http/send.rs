//! The request on its way: connect, write, headers, each within its own bound.

use std::error::Error;

use bytes::Bytes;
use futures::channel::oneshot;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Body, Response, Url};
use tokio::time::{Instant, timeout};

use super::body::read_into;
use super::origin::{Origin, Reporter};
use crate::{Fault, Phase, Timeouts};

/// The largest error answer that is read, in bytes; the rest says nothing more.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Whether the answer comes at once or in deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Whole,
    Streamed,
}

/// One request to a provider.
#[derive(Debug)]
pub(crate) struct Post<'a> {
    pub(crate) url: Url,
    /// JSON.
    pub(crate) body: Bytes,
    pub(crate) mode: Mode,
    pub(crate) timeouts: Timeouts,
    pub(crate) request_id: &'a str,
    pub(crate) traceparent: Option<&'a str>,
}

/// Sends the request and returns the answer once its headers say success.
pub(crate) async fn post(origin: &Origin, reporter: &Reporter, post: Post<'_>) -> Result<Response, Fault> {
    let bound = post.timeouts.first_delta;
    let response = exchange(origin, reporter, post).await?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let deadline = Instant::now() + bound;
    // Whatever came of the error's body will do: the status alone tells the class.
    let mut said = Vec::new();
    let _ = read_into(&mut said, response, MAX_ERROR_BYTES, deadline).await;
    Err(reporter.status(status, &headers, &said))
}

/// One exchange up to the headers. The client asks for the request's body only once it has a connection, so the body
/// tells when connecting ends and waiting for the headers begins.
async fn exchange(origin: &Origin, reporter: &Reporter, post: Post<'_>) -> Result<Response, Fault> {
    let (written, connected) = oneshot::channel();
    let headers = headers(origin, &post);
    let Post { url, body, timeouts, .. } = post;
    let length = body.len();
    let body = Body::wrap_stream(futures::stream::once(async move {
        // Nobody listens any more when the call was given up.
        let _ = written.send(());
        Ok::<_, std::convert::Infallible>(body)
    }));
    let client = origin.client().map_err(|error| reporter.transient(Phase::Connect, error))?;
    let response = client
        .post(url)
        .headers(headers)
        // A stream has no length of its own, and some servers take no chunked request.
        .header(CONTENT_LENGTH, length)
        .body(body)
        .send();
    tokio::pin!(response);
    let limit = timeouts.connect;
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
    let limit = timeouts.headers;
    match timeout(limit, response).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(reporter.transport(phase_of(&error), &error)),
        Err(_) => Err(reporter.transient(Phase::Headers, format_args!("sent no headers within {limit:?}"))),
    }
}

fn phase_of(error: &reqwest::Error) -> Phase {
    if error.is_connect() { Phase::Connect } else { Phase::Headers }
}

fn headers(origin: &Origin, post: &Post<'_>) -> HeaderMap {
    let mut headers = origin.headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = match post.mode {
        Mode::Whole => "application/json",
        Mode::Streamed => "text/event-stream",
    };
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    if let Ok(id) = HeaderValue::from_str(post.request_id) {
        headers.insert("x-request-id", id);
    }
    if let Some(Ok(trace)) = post.traceparent.map(HeaderValue::from_str) {
        headers.insert("traceparent", trace);
    }
    headers
}

/// The innermost reason of an error, which is the one that says something: `Connection refused (os error 111)`.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
