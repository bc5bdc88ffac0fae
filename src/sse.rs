//! Server-sent events: one response body for all dialects of streamed chat.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header;
use bytes::{Bytes, BytesMut};
use futures::Stream;
use muster_core::Error;
use muster_providers::{ChatEvent, Delta, FinishReason, Usage};
use serde::Serialize;
use tokio::time::{Instant, Sleep};
use utoipa::ToSchema;

/// Interval of comment lines, which keep an idle connection open through proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Buffered size at which events are written even while more are ready.
const WRITE_SIZE: usize = 16 << 10;

/// One event of a stream, for the API description.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventBody {
    /// Event name, if the dialect names its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// One line: JSON, or `[DONE]`.
    pub data: String,
}

/// How a dialect writes the parts of a streamed answer.
pub trait Frames {
    /// Written before the first delta.
    fn start(&mut self, out: &mut BytesMut);
    fn delta(&mut self, delta: &Delta, out: &mut BytesMut);
    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut);
    /// Written if the stream fails; nothing follows it.
    fn error(&mut self, error: &Error, out: &mut BytesMut);
}

/// Writes `event: name`, if there is a name, and one line of data.
pub fn frame(name: Option<&str>, data: &impl Serialize, out: &mut BytesMut) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\n");
    }
    out.extend_from_slice(b"data: ");
    // Serializing our own types into memory cannot fail; an empty line would still be a valid event.
    out.extend_from_slice(&serde_json::to_vec(data).unwrap_or_default());
    out.extend_from_slice(b"\n\n");
}

/// Returns the response of a streamed answer. Dropping it, as when the client disconnects, drops `parts` and cancels
/// the call.
pub fn response<S, F>(parts: S, frames: F) -> HttpResponse
where
    S: Stream<Item = Result<ChatEvent, Error>> + 'static,
    F: Frames + Unpin + 'static,
{
    let body =
        Body { parts: Some(Box::pin(parts)), frames, started: false, idle: Box::pin(tokio::time::sleep(KEEP_ALIVE)) };
    HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        // Tells buffering reverse proxies to pass each delta on at once.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(body)
}

struct Body<S, F> {
    /// `None` once the end was written.
    parts: Option<Pin<Box<S>>>,
    frames: F,
    started: bool,
    idle: Pin<Box<Sleep>>,
}

impl<S, F> Stream for Body<S, F>
where
    S: Stream<Item = Result<ChatEvent, Error>>,
    F: Frames + Unpin,
{
    type Item = Result<Bytes, std::convert::Infallible>;

    /// Writes everything that is ready at once.
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let mut out = BytesMut::new();
        while out.len() < WRITE_SIZE {
            let Some(parts) = &mut this.parts else { break };
            let Poll::Ready(part) = parts.as_mut().poll_next(context) else { break };
            if !this.started {
                this.started = true;
                this.frames.start(&mut out);
            }
            match part {
                Some(Ok(ChatEvent::Delta(delta))) => this.frames.delta(&delta, &mut out),
                Some(Ok(ChatEvent::Done { finish, usage })) => {
                    // The chain estimates token counts that a provider does not report, so they are always present.
                    this.frames.done(finish, usage.unwrap_or_default(), &mut out);
                    this.parts = None;
                }
                Some(Err(error)) => {
                    this.frames.error(&error, &mut out);
                    this.parts = None;
                }
                None => this.parts = None,
            }
        }
        if !out.is_empty() {
            this.idle.as_mut().reset(Instant::now() + KEEP_ALIVE);
            return Poll::Ready(Some(Ok(out.freeze())));
        }
        if this.parts.is_none() {
            return Poll::Ready(None);
        }
        match this.idle.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                this.idle.as_mut().reset(Instant::now() + KEEP_ALIVE);
                // Polled again at once, so that the new timer is registered.
                context.waker().wake_by_ref();
                Poll::Ready(Some(Ok(Bytes::from_static(b": keep-alive\n\n"))))
            }
        }
    }
}
