//! The task that sends spans and metrics to the collector.

use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::Otel;
use super::span::{Attribute, KeyValue, Span};
use crate::app::App;

/// Largest number of spans in one request.
const BATCH: usize = 512;
/// Longest time that a span waits for others to be sent with.
const LINGER: Duration = Duration::from_secs(2);
/// Timeout of a request to the collector; the queue fills meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

struct Exporter {
    otel: Otel,
    app: Weak<App>,
    client: reqwest::Client,
    base: String,
    /// Whether the last export failed, so that only changes are logged.
    failing: bool,
}

/// Sends until it is stopped, then sends what is left.
pub(super) async fn run(
    otel: Otel,
    app: Weak<App>,
    mut spans: mpsc::Receiver<Span>,
    mut stop: oneshot::Receiver<oneshot::Sender<()>>,
) {
    muster_providers::install_tls();
    let client = reqwest::Client::builder().connect_timeout(LINGER).timeout(PATIENCE).build();
    let client = match client {
        Ok(client) => client,
        Err(error) => return tracing::error!(%error, "no client for the collector: nothing is exported"),
    };
    let base = otel.0.settings.otlp_endpoint.trim_end_matches('/').to_owned();
    let every = Duration::from_secs(otel.0.settings.interval_seconds);
    let mut exporter = Exporter { otel, app, client, base, failing: false };
    let ticks = |every| {
        let mut ticks = interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let (mut figures, mut linger) = (ticks(every), ticks(LINGER));
    let mut batch = Vec::with_capacity(BATCH);
    let stopped = loop {
        tokio::select! {
            stopped = &mut stop => break stopped,
            _ = figures.tick() => exporter.figures().await,
            _ = linger.tick() => exporter.spans(&mut batch).await,
            Some(span) = spans.recv() => {
                batch.push(span);
                if batch.len() >= BATCH {
                    exporter.spans(&mut batch).await;
                }
            }
        }
    };
    while let Ok(span) = spans.try_recv() {
        batch.push(span);
        if batch.len() >= BATCH {
            exporter.spans(&mut batch).await;
        }
    }
    exporter.spans(&mut batch).await;
    exporter.figures().await;
    if let Ok(done) = stopped {
        // The receiver may have given up waiting.
        let _ = done.send(());
    }
}

impl Exporter {
    async fn spans(&mut self, batch: &mut Vec<Span>) {
        if batch.is_empty() {
            return;
        }
        let scope_spans = [ScopeSpans { scope: scope(), spans: batch }];
        let body = Traces { resource_spans: [ResourceSpans { resource: self.resource(), scope_spans }] };
        if !self.post("/v1/traces", &body).await {
            self.otel.lost(batch.len());
        }
        batch.clear();
    }

    async fn figures(&mut self) {
        let Some(app) = self.app.upgrade() else { return };
        if !self.otel.0.settings.metrics {
            return;
        }
        app.refresh_gauges().await;
        let metrics = self.otel.0.figures.json(&app.metrics.families());
        let body = json!({ "resourceMetrics": [{
            "resource": self.resource(), "scopeMetrics": [{ "scope": scope(), "metrics": metrics }] }] });
        // Metrics are cumulative, so the next export contains what this one could not send.
        self.post("/v1/metrics", &body).await;
    }

    /// Sends a request, with one retry if the collector permits it. Returns whether it was accepted.
    async fn post(&mut self, path: &str, body: &impl Serialize) -> bool {
        let body = match serde_json::to_vec(body) {
            Ok(body) => Bytes::from(body),
            Err(error) => {
                tracing::error!(%error, path, "the export cannot be encoded");
                return false;
            }
        };
        let url = format!("{}{path}", self.base);
        let send = || self.client.post(&url).header("content-type", "application/json").body(body.clone()).send();
        let mut answer = send().await;
        if answer.as_ref().is_ok_and(|answer| may_try_again(answer.status())) {
            answer = send().await;
        }
        let why = match answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("it answered {}", answer.status())),
            // The URL may contain a credential, so it is not logged.
            Err(error) => Some(error.without_url().to_string()),
        };
        if self.failing != why.is_some() {
            match &why {
                Some(why) => tracing::warn!(why, path, "the collector takes nothing: check telemetry.otlp_endpoint"),
                None => tracing::info!(dropped = self.otel.dropped(), "the collector takes spans and figures again"),
            }
        }
        self.failing = why.is_some();
        why.is_none()
    }

    fn resource(&self) -> Value {
        let text = |key, text: &str| json!(KeyValue { key, value: &Attribute::from(text) });
        json!({ "attributes": [
            text("service.name", &self.otel.0.settings.service_name),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ] })
    }
}

/// The body of a request to `/v1/traces`. Spans are encoded directly: by way of a JSON tree they cost twelve times the CPU.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Traces<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Value,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Value,
    spans: &'a [Span],
}

fn scope() -> Value {
    json!({ "name": "muster", "version": env!("CARGO_PKG_VERSION") })
}

/// Statuses that OTLP over HTTP defines as retryable.
fn may_try_again(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}
