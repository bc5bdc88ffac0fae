//! Server-sent events: one body for every dialect of streamed chat.

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

/// A comment line keeps an idle line open through proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What is ready is written once it has grown to this, even while more is ready.
const WRITE_SIZE: usize = 16 << 10;

/// One event of a stream, for the description of the API.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventBody {
    /// The event's name, where the dialect names its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// One line: JSON, or `[DONE]`.
    pub data: String,
}

/// How a dialect says the parts of a streamed answer.
pub trait Frames {
    /// What comes before the first delta.
    fn start(&mut self, out: &mut BytesMut);
    fn delta(&mut self, delta: &Delta, out: &mut BytesMut);
    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut);
    /// An honest end in the middle; nothing follows it.
    fn error(&mut self, error: &Error, out: &mut BytesMut);
}

/// Writes `event: name` (none for a bare one) and one line of data.
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

/// The response of a streamed answer. Dropping it, as happens when the client leaves, drops `parts` and so cancels.
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
        // Reverse proxies that buffer would hold the deltas back.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(body)
}

struct Body<S, F> {
    /// Gone once the end was said.
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

    /// Everything that is ready leaves in one write.
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
                    // The chain counts where a provider gives no figures, so they are always there.
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
