//! Traces and metrics for an OpenTelemetry collector, by OTLP over HTTP in JSON. Off by default, and then there is
//! nothing of it: [`Otel::new`] gives `None`, and a request asks no more than that.
//!
//! Spans are made of what is known when work has ended, and wait in a bounded queue for one task that sends them. What
//! does not fit is dropped and counted: exporting never slows a request. Nothing here sees a prompt or an answer.

mod chat;
mod context;
mod export;
mod metrics;
mod server;
mod span;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::app::App;
use crate::config::Telemetry;

pub use chat::{ChatSpan, Operation};
pub use context::{Context, traceparent};
use metrics::Figures;
pub use server::ServerSpan;
use span::Span;

/// Spans that wait at most.
const QUEUE: usize = 2048;
/// How long the last export may take.
const LAST: Duration = Duration::from_secs(2);

/// The way to the exporter. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Otel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Telemetry,
    spans: mpsc::Sender<Span>,
    dropped: AtomicU64,
    figures: Figures,
    /// What the exporter begins with; gone once it runs.
    waiting: Mutex<Option<Ends>>,
    /// Ends the exporter, which answers when it has sent what was left.
    stop: Mutex<Option<oneshot::Sender<oneshot::Sender<()>>>>,
}

#[derive(Debug)]
struct Ends {
    spans: mpsc::Receiver<Span>,
    stop: oneshot::Receiver<oneshot::Sender<()>>,
}

impl Otel {
    /// `None` where nothing is to be sent.
    ///
    /// # Errors
    /// A figure named twice: a mistake in this folder.
    pub fn new(settings: &Telemetry) -> Result<Option<Self>, prometheus::Error> {
        if settings.otlp_endpoint.is_empty() || !(settings.traces || settings.metrics) {
            return Ok(None);
        }
        let (spans, waiting) = mpsc::channel(QUEUE);
        let (stop, stopped) = oneshot::channel();
        Ok(Some(Self(Arc::new(Inner {
            settings: settings.clone(),
            spans,
            dropped: AtomicU64::new(0),
            figures: Figures::new()?,
            waiting: Mutex::new(Some(Ends { spans: waiting, stop: stopped })),
            stop: Mutex::new(Some(stop)),
        }))))
    }

    /// Starts the exporter, once, on this thread's runtime.
    pub fn start(&self, app: &Arc<App>) {
        let ends = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ends) = ends {
            // It holds no part of the application open that is being stopped.
            actix_rt::spawn(export::run(self.clone(), Arc::downgrade(app), ends.spans, ends.stop));
        }
    }

    /// Sends what is left, within two seconds.
    pub async fn stop(&self) {
        let stop = self.0.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(stop) = stop else { return };
        let (done, finished) = oneshot::channel();
        // An exporter that never ran has nothing to send.
        if stop.send(done).is_ok() && tokio::time::timeout(LAST, finished).await.is_err() {
            tracing::warn!("the collector did not take the last spans and figures within 2 s");
        }
    }

    /// Spans that were dropped since the start, because the collector is slow or down.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    fn send(&self, span: Span) {
        if self.0.spans.try_send(span).is_err() {
            self.lost(1);
        }
    }

    fn lost(&self, spans: usize) {
        self.0.dropped.fetch_add(spans as u64, Ordering::Relaxed);
    }
}
