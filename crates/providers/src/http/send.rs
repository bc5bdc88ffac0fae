//! Sends a request: connect, write and headers, each within its own time limit.

use std::convert::Infallible;
use std::error::Error;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Body, Method, Request, Response, Url};
use tokio::time::{Instant, sleep_until};

use super::body::read_into;
use super::origin::{Origin, Reporter};
use crate::{Fault, Phase, Timeouts};

/// Maximum size of an error body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Whether the answer is complete or streamed.
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

/// Sends the request and returns the response once its headers report success.
pub(crate) async fn post(origin: &Origin, reporter: &Reporter, post: Post<'_>) -> Result<Response, Fault> {
    let bound = post.timeouts.first_delta;
    let response = exchange(origin, reporter, post).await?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let deadline = Instant::now() + bound;
    // A partial error body is enough: the status alone determines the class.
    let mut error_body = Vec::new();
    let _ = read_into(&mut error_body, response, MAX_ERROR_BYTES, deadline).await;
    Err(reporter.status(status, &headers, &error_body))
}

/// One exchange up to the headers. The client requests the body only once it is connected, so the body records when
/// connecting ended and waiting for the headers began.
async fn exchange(origin: &Origin, reporter: &Reporter, post: Post<'_>) -> Result<Response, Fault> {
    let mut headers = headers(origin, &post);
    let Post { url, body, timeouts, .. } = post;
    // A streamed body has no length of its own, and some servers reject chunked requests.
    headers.insert(CONTENT_LENGTH, body.len().into());
    let connected = Arc::new(OnceLock::new());
    let mut request = Request::new(Method::POST, url);
    *request.headers_mut() = headers;
    *request.body_mut() = Some(Body::wrap_stream(TrackedBody { body: Some(body), connected: Arc::clone(&connected) }));
    let client = origin.client().map_err(|error| reporter.transient(Phase::Connect, error))?;
    let mut response = pin!(client.execute(request));
    let started = Instant::now();
    let mut alarm = pin!(sleep_until(started + timeouts.connect.min(timeouts.headers)));
    loop {
        tokio::select! {
            biased;
            response = &mut response => return response.map_err(|e| reporter.transport(phase_of(&e), &e)),
            () = &mut alarm => {
                alarm.as_mut().reset(next_alarm(reporter, timeouts, started, connected.get().copied())?);
            }
        }
    }
}

/// Returns when to check again, or a fault if a phase has taken too long. An exchange has one timer, set early enough
/// not to miss the headers limit should the connection be established right now.
fn next_alarm(
    reporter: &Reporter,
    timeouts: Timeouts,
    started: Instant,
    connected: Option<Instant>,
) -> Result<Instant, Fault> {
    let now = Instant::now();
    let Timeouts { connect, headers, .. } = timeouts;
    match connected {
        Some(at) if now >= at + headers => {
            Err(reporter.transient(Phase::Headers, format_args!("sent no headers within {headers:?}")))
        }
        Some(at) => Ok(at + headers),
        None if now >= started + connect => {
            Err(reporter.transient(Phase::Connect, format_args!("took no connection within {connect:?}")))
        }
        None => Ok((started + connect).min(now + headers)),
    }
}

/// Request body that records when it is first polled.
struct TrackedBody {
    body: Option<Bytes>,
    connected: Arc<OnceLock<Instant>>,
}

impl Stream for TrackedBody {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.connected.get_or_init(Instant::now);
        Poll::Ready(self.body.take().map(Ok))
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

/// Returns the innermost cause of an error, which is the informative one: `Connection refused (os error 111)`.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
