//! Work on engines as server-sent events: what happens meanwhile, then its result or `error`.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use muster_core::Error;
use muster_tasks::engine::{EngineCall, EngineProgress, EngineRunner as _};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Interval, interval};

use super::body::EngineRun;
use crate::app::App;
use crate::error::{Dialect, body as error_body};
use crate::sse::frame;

/// Whether the client accepts an event stream.
pub(super) fn is_wanted(http: &HttpRequest) -> bool {
    let accept = http.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}

/// Returns an event.
pub(super) fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut out = BytesMut::new();
    frame(Some(name), data, &mut out);
    out.freeze()
}

/// Work whose events are being sent.
struct Events {
    app: web::Data<App>,
    /// What happens before the last event.
    before: BoxStream<'static, Bytes>,
    /// The last event, unless the work fails; `None` once it was sent.
    last: Option<BoxFuture<'static, Result<Bytes, Error>>>,
    idle: Interval,
}

/// Runs the call and returns its events: `progress`, then `result` or `error`.
pub(super) fn run(app: &web::Data<App>, call: EngineCall) -> HttpResponse {
    let (sender, receiver) = watch::channel(EngineProgress::default());
    let (engine, call) = (call.engine, EngineCall { progress: Some(Arc::new(sender)), ..call });
    let progress = stream::unfold(receiver, |mut receiver| async {
        receiver.changed().await.ok()?;
        let event = event("progress", &*receiver.borrow_and_update());
        Some((event, receiver))
    });
    let answer = app.engines.run(call);
    open(app, progress, async move { Ok(event("result", &EngineRun::of(engine, answer.await?))) })
}

/// Returns the response that sends the events `before`, then the one that `last` gives, or `error`. Dropping it, as when the
/// client disconnects, drops both.
pub(super) fn open(
    app: &web::Data<App>,
    before: impl Stream<Item = Bytes> + Send + 'static,
    last: impl Future<Output = Result<Bytes, Error>> + Send + 'static,
) -> HttpResponse {
    let mut idle = interval(Duration::from_millis(app.live().config.chain.keep_alive_ms.max(1)));
    // The first tick is due after the interval, not at once.
    idle.reset();
    let events = Events { app: app.clone(), before: before.fuse().boxed(), last: Some(last.boxed()), idle };
    let events = stream::unfold(events, |mut events| async move { Some((events.next().await?, events)) });
    HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(events.map(Ok::<_, std::convert::Infallible>))
}

impl Events {
    async fn next(&mut self) -> Option<Bytes> {
        let last = self.last.as_mut()?;
        let event = tokio::select! {
            biased;
            Some(event) = self.before.next() => event,
            last = last => {
                self.last = None;
                let last = last.unwrap_or_else(|error| {
                    event("error", &error_body(&error, Dialect::Agent, self.app.clock.now()))
                });
                // What happened in the last moment of the work goes before its end.
                let mut out = BytesMut::new();
                while let Some(Some(event)) = self.before.next().now_or_never() {
                    out.extend_from_slice(&event);
                }
                out.extend_from_slice(&last);
                out.freeze()
            }
            _ = self.idle.tick() => Bytes::from_static(b": keep-alive\n\n"),
        };
        self.idle.reset();
        Some(event)
    }
}
