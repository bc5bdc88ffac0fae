//! Export of traces and metrics to an OpenTelemetry collector, by OTLP over HTTP in JSON. Off by default: [`Otel::new`]
//! then returns `None`, and requests do no more than check that.
//!
//! Spans are built when work has ended and wait in a bounded queue for the task that sends them. Spans that do not fit
//! are dropped and counted, so exporting never delays a request. Prompts and answers never reach this module.

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

/// Largest number of waiting spans.
const QUEUE: usize = 2048;
/// Timeout of the last export.
const LAST: Duration = Duration::from_secs(2);

/// A handle of the exporter. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Otel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Telemetry,
    spans: mpsc::Sender<Span>,
    dropped: AtomicU64,
    figures: Figures,
    /// What the exporter starts with; `None` once it runs.
    waiting: Mutex<Option<Ends>>,
    /// Stops the exporter, which replies once it has sent what was left.
    stop: Mutex<Option<oneshot::Sender<oneshot::Sender<()>>>>,
}

#[derive(Debug)]
struct Ends {
    spans: mpsc::Receiver<Span>,
    stop: oneshot::Receiver<oneshot::Sender<()>>,
}

impl Otel {
    /// Creates the exporter, or returns `None` if nothing is to be exported.
    ///
    /// # Errors
    /// A metric is defined twice, which is a mistake in this module.
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
            // The task must not keep parts of the application alive that is being stopped.
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

    /// Returns the number of spans dropped since the start, because the collector is slow or unreachable.
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
