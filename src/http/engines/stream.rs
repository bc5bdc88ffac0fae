//! A run as server-sent events: `progress`, then `result` or `error`.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream;
use futures::{Stream, StreamExt};
use muster_core::Error;
use muster_engines::Engine;
use muster_tasks::engine::{EngineAnswer, EngineCall, EngineProgress, EngineRunner as _};
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

/// A run whose events are being sent.
struct Events {
    engine: &'static Engine,
    app: web::Data<App>,
    /// `None` once the last event was sent.
    answer: Option<BoxFuture<'static, Result<EngineAnswer, Error>>>,
    /// `None` once no more progress can come.
    progress: Option<watch::Receiver<EngineProgress>>,
    idle: Interval,
}

/// Runs the call and returns its events. Dropping the response, as when the client disconnects, stops the call.
pub(super) fn open(app: &web::Data<App>, call: EngineCall) -> HttpResponse {
    let (sender, receiver) = watch::channel(EngineProgress::default());
    let engine = call.engine;
    let call = EngineCall { progress: Some(Arc::new(sender)), ..call };
    let keep_alive = Duration::from_millis(app.live().config.chain.keep_alive_ms.max(1));
    let mut idle = interval(keep_alive);
    // The first tick is due after the interval, not at once.
    idle.reset();
    let answer = Some(app.engines.run(call));
    let events = Events { engine, app: app.clone(), answer, progress: Some(receiver), idle };
    sent(stream::unfold(events, |mut events| async move { Some((events.next().await?, events)) }))
}

/// Returns the response that sends the events as they come. Dropping it drops the stream.
pub(super) fn sent(events: impl Stream<Item = Bytes> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(events.map(Ok::<_, std::convert::Infallible>))
}

impl Events {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let answer = self.answer.as_mut()?;
            let progress = async {
                match &mut self.progress {
                    Some(receiver) => receiver.changed().await.map(|()| receiver.borrow_and_update().clone()).ok(),
                    None => std::future::pending().await,
                }
            };
            let mut out = BytesMut::new();
            tokio::select! {
                biased;
                answer = answer => {
                    self.answer = None;
                    match answer {
                        Ok(answer) => frame(Some("result"), &EngineRun::of(self.engine, answer), &mut out),
                        Err(error) => {
                            let now = self.app.clock.now();
                            frame(Some("error"), &error_body(&error, Dialect::Agent, now), &mut out);
                        }
                    }
                }
                progress = progress => match progress {
                    Some(progress) => frame(Some("progress"), &progress, &mut out),
                    None => {
                        self.progress = None;
                        continue;
                    }
                },
                _ = self.idle.tick() => out.extend_from_slice(b": keep-alive\n\n"),
            }
            self.idle.reset();
            return Some(out.freeze());
        }
    }
}
