//! Server-sent events: one response body for all dialects of streamed chat.

use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header;
use bytes::{Bytes, BytesMut};
use futures::Stream;
use muster_core::Error;
use muster_gateway::AnswerStream;
use muster_providers::{ChatEvent, Delta, FinishReason, Usage};
use serde::Serialize;
use tokio::time::{Instant, Sleep};
use utoipa::ToSchema;

use crate::chat::{AnsweredBy, cached};
use crate::error::HttpError;

/// A comment line, which keeps an idle connection open through proxies and which readers of events ignore.
const COMMENT: &[u8] = b": keep-alive\n\n";
/// Buffered size at which events are written even while more are ready.
const WRITE_SIZE: usize = 16 << 10;
/// How often at most a write waits for the deltas that arrive right behind it.
const MOST_ROUNDS: u8 = 8;

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

/// Writes the failure of a stream whose answer never began.
type WriteError = Box<dyn FnOnce(&Error, &mut BytesMut)>;

/// How a dialect writes a stream whose answer has not begun.
pub struct StreamForm {
    keep_alive: &'static [u8],
    error: WriteError,
}

impl StreamForm {
    /// Keeps the connection alive by comment lines. `error` writes the failure of a stream whose answer never began.
    pub fn comments(error: impl FnOnce(&Error, &mut BytesMut) + 'static) -> Self {
        Self { keep_alive: COMMENT, error: Box::new(error) }
    }

    /// The same with an event of the dialect instead of the comment.
    pub fn pings(ping: &'static [u8], error: impl FnOnce(&Error, &mut BytesMut) + 'static) -> Self {
        Self { keep_alive: ping, error: Box::new(error) }
    }
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

type Opening<F> = Pin<Box<dyn Future<Output = Result<(AnswerStream, F), HttpError>>>>;

/// Returns the response of a streamed answer: when it has begun, or after `keep_alive` without it, with keep-alives from
/// then on. Dropping the response, as when the client disconnects, cancels the call.
///
/// # Errors
/// The error of a stream that did not begin, if it came before the first keep-alive; a later one is an event.
pub async fn open<F: Frames + Unpin + 'static>(
    opening: impl Future<Output = Result<(AnswerStream, F), HttpError>> + 'static,
    form: StreamForm,
    keep_alive: Duration,
) -> Result<HttpResponse, HttpError> {
    let mut opening: Opening<F> = Box::pin(opening);
    let mut response = HttpResponse::Ok();
    let (state, first) = match tokio::time::timeout(keep_alive, &mut opening).await {
        Ok(opened) => {
            let (parts, frames) = opened?;
            for header in AnsweredBy::from(&parts).headers() {
                response.insert_header(header);
            }
            for header in cached::headers(parts.cache) {
                response.insert_header(header);
            }
            (BodyState::Answering { parts: Box::pin(parts), frames, started: false }, keep_alive)
        }
        // The headers are sent now, and the first keep-alive with them.
        Err(_) => (BodyState::Waiting(opening), Duration::ZERO),
    };
    let idle = Box::pin(tokio::time::sleep(first));
    let out = BytesMut::new();
    let body = Body { state, ping: form.keep_alive, late: Some(form.error), keep_alive, idle, out, rounds: 0 };
    Ok(response
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        // Tells buffering reverse proxies to pass each delta on at once.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(body))
}

/// Writes who answers as comments, which readers of events ignore: the headers were sent before it was known.
fn announce(answered: &AnsweredBy, out: &mut BytesMut) {
    for (name, value) in answered.headers() {
        out.extend_from_slice(format!(": {name}: {value}\n").as_bytes());
    }
    out.extend_from_slice(b"\n");
}

struct Body<F> {
    state: BodyState<F>,
    ping: &'static [u8],
    /// Writes the failure of a stream whose answer never began.
    late: Option<WriteError>,
    keep_alive: Duration,
    idle: Pin<Box<Sleep>>,
    /// Written and not yet returned, because more was arriving.
    out: BytesMut,
    /// How often `out` has waited.
    rounds: u8,
}

enum BodyState<F> {
    /// No content has arrived.
    Waiting(Opening<F>),
    Answering {
        parts: Pin<Box<AnswerStream>>,
        frames: F,
        started: bool,
    },
    /// The end was written.
    Over,
}

impl<F: Frames + Unpin> Body<F> {
    /// Writes everything that is ready. Returns the number of parts.
    fn write(&mut self, context: &mut Context<'_>) -> usize {
        let mut parts_written = 0;
        while self.out.len() < WRITE_SIZE {
            match &mut self.state {
                BodyState::Waiting(opening) => match opening.as_mut().poll(context) {
                    Poll::Pending => break,
                    Poll::Ready(Ok((parts, frames))) => {
                        announce(&AnsweredBy::from(&parts), &mut self.out);
                        self.state = BodyState::Answering { parts: Box::pin(parts), frames, started: false };
                    }
                    Poll::Ready(Err(HttpError(error))) => {
                        if let Some(late) = self.late.take() {
                            late(&error, &mut self.out);
                        }
                        self.state = BodyState::Over;
                    }
                },
                BodyState::Answering { parts, frames, started } => {
                    let Poll::Ready(part) = parts.as_mut().poll_next(context) else { break };
                    if !*started {
                        *started = true;
                        frames.start(&mut self.out);
                    }
                    parts_written += 1;
                    if answer(frames, part, &mut self.out).is_break() {
                        self.state = BodyState::Over;
                    }
                }
                BodyState::Over => break,
            }
        }
        parts_written
    }

    /// Whether `out` waits until the other tasks of this thread have run, after `parts` were added to it.
    ///
    /// The HTTP client's connection hands over few chunks at a time, so that of many that have arrived only some can be
    /// read at once, and a system call for each few would be most of a stream's cost. A single delta, as a model at work
    /// sends them, never waits.
    fn gathers(&mut self, parts: usize, context: &mut Context<'_>) -> bool {
        let arriving = if self.rounds == 0 { parts > 1 } else { parts > 0 };
        let over = matches!(self.state, BodyState::Over);
        if over || !arriving || self.out.len() >= WRITE_SIZE || self.rounds == MOST_ROUNDS {
            return false;
        }
        self.rounds += 1;
        // Polled once, it has this task woken after the others.
        pin!(tokio::task::yield_now()).poll(context).is_pending()
    }
}

/// Writes a part of an answer; breaks at its end.
fn answer(frames: &mut impl Frames, part: Option<Result<ChatEvent, Error>>, out: &mut BytesMut) -> ControlFlow<()> {
    match part {
        Some(Ok(ChatEvent::Delta(delta))) => {
            frames.delta(&delta, out);
            return ControlFlow::Continue(());
        }
        // The chain estimates token counts that a provider does not report, so they are always present.
        Some(Ok(ChatEvent::Done { finish, usage })) => frames.done(finish, usage.unwrap_or_default(), out),
        Some(Err(error)) => frames.error(&error, out),
        None => {}
    }
    ControlFlow::Break(())
}

impl<F: Frames + Unpin> Stream for Body<F> {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let parts = this.write(context);
        if !this.out.is_empty() {
            if this.gathers(parts, context) {
                return Poll::Pending;
            }
            this.rounds = 0;
            this.idle.as_mut().reset(Instant::now() + this.keep_alive);
            return Poll::Ready(Some(Ok(this.out.split().freeze())));
        }
        if matches!(this.state, BodyState::Over) {
            return Poll::Ready(None);
        }
        match this.idle.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                this.idle.as_mut().reset(Instant::now() + this.keep_alive);
                // Polled again at once, so that the new timer is registered.
                context.waker().wake_by_ref();
                Poll::Ready(Some(Ok(Bytes::from_static(this.ping))))
            }
        }
    }
}
