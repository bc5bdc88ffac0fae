//! Metrics by the semantic conventions, and all metrics of the server in OTLP's JSON (opentelemetry-proto, metrics/v1).

use std::time::{Duration, SystemTime};

use muster_providers::Usage;
use prometheus::proto::{Metric, MetricFamily, MetricType};
use prometheus::{HistogramOpts, HistogramVec, Registry};
use serde_json::{Value, json};

use super::span::{Attribute, KeyValue, nanos};

/// Metrics that are only exported, with names that Prometheus accepts: `_` for `.`, as [`CONVENTIONS`] lists them.
#[derive(Debug)]
pub(super) struct Figures {
    registry: Registry,
    requests: HistogramVec,
    tokens: HistogramVec,
    operations: HistogramVec,
    begun: SystemTime,
}

/// Our metric names, those of the conventions, and their units.
const CONVENTIONS: [(&str, &str, &str); 3] = [
    ("http_server_request_duration", "http.server.request.duration", "s"),
    ("gen_ai_client_token_usage", "gen_ai.client.token.usage", "{token}"),
    ("gen_ai_client_operation_duration", "gen_ai.client.operation.duration", "s"),
];

/// Our label names and those of the conventions.
const LABELS: [(&str, &str); 10] = [
    ("http_request_method", "http.request.method"),
    ("http_route", "http.route"),
    ("http_response_status_code", "http.response.status_code"),
    ("url_scheme", "url.scheme"),
    ("gen_ai_operation_name", "gen_ai.operation.name"),
    ("gen_ai_provider_name", "gen_ai.provider.name"),
    ("gen_ai_request_model", "gen_ai.request.model"),
    ("gen_ai_response_model", "gen_ai.response.model"),
    ("gen_ai_token_type", "gen_ai.token.type"),
    ("error_type", "error.type"),
];

/// Returns the model name for a label. Clients may invent names, and each would be a time series of its own.
const OTHER: &str = "_OTHER";

impl Figures {
    pub(super) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            let made = HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?;
            registry.register(Box::new(made.clone()))?;
            Ok::<_, prometheus::Error>(made)
        };
        // The bucket bounds that the conventions recommend.
        let http = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
        let tokens: Vec<f64> = (0..14).map(|power| f64::from(4_u32.pow(power))).collect();
        let operation: Vec<f64> = (0..14).map(|power| 0.01 * f64::from(1 << power)).collect();
        let requests = histogram(
            "http_server_request_duration",
            "Duration of HTTP server requests.",
            &http,
            &["http_request_method", "http_route", "http_response_status_code", "url_scheme"],
        )?;
        let chat = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_response_model"];
        let with = |label| [chat.as_slice(), &[label]].concat();
        let tokens = histogram(
            "gen_ai_client_token_usage",
            "Number of input and output tokens used.",
            &tokens,
            &with("gen_ai_token_type"),
        )?;
        let operations = histogram(
            "gen_ai_client_operation_duration",
            "GenAI operation duration.",
            &operation,
            &with("error_type"),
        )?;
        Ok(Self { registry, requests, tokens, operations, begun: SystemTime::now() })
    }

    pub(super) fn request(&self, method: &str, route: &str, status: &str, scheme: &str, took: Duration) {
        self.requests.with_label_values(&[method, route, status, scheme]).observe(took.as_secs_f64());
    }

    #[expect(clippy::too_many_arguments, reason = "the labels of one figure")]
    pub(super) fn chat(
        &self,
        operation: &str,
        provider: Option<&str>,
        requested: &str,
        model: Option<&str>,
        usage: Usage,
        error: Option<&str>,
        took: Duration,
    ) {
        let provider = provider.unwrap_or_default();
        let requested = if model.is_some() { requested } else { OTHER };
        let model = model.unwrap_or_default();
        if usage.total() > 0 {
            for (kind, tokens) in [("input", usage.prompt_tokens), ("output", usage.completion_tokens)] {
                self.tokens.with_label_values(&[operation, provider, requested, model, kind]).observe(tokens.into());
            }
        }
        let labels = [operation, provider, requested, model, error.unwrap_or_default()];
        self.operations.with_label_values(&labels).observe(took.as_secs_f64());
    }

    /// Returns all metrics in OTLP's format: these and those of `/metrics`, cumulative since the start.
    pub(super) fn json(&self, more: &[MetricFamily]) -> Vec<Value> {
        let (begun, now) = (nanos(self.begun), nanos(SystemTime::now()));
        self.registry.gather().iter().chain(more).map(|family| metric(family, &begun, &now)).collect()
    }
}

fn metric(family: &MetricFamily, begun: &str, now: &str) -> Value {
    let known = CONVENTIONS.iter().find(|(ours, ..)| *ours == family.name());
    let (name, unit) = known.map_or((family.name(), "1"), |&(_, name, unit)| (name, unit));
    let points: Vec<_> =
        family.get_metric().iter().map(|one| point(one, family.get_field_type(), begun, now)).collect();
    let mut json_value = json!({ "name": name, "description": family.help(), "unit": unit });
    let (kind, data) = match family.get_field_type() {
        MetricType::COUNTER => {
            ("sum", json!({ "dataPoints": points, "aggregationTemporality": 2, "isMonotonic": true }))
        }
        MetricType::HISTOGRAM => ("histogram", json!({ "dataPoints": points, "aggregationTemporality": 2 })),
        _ => ("gauge", json!({ "dataPoints": points })),
    };
    if let Some(json_value) = json_value.as_object_mut() {
        json_value.insert(kind.to_owned(), data);
    }
    json_value
}

fn point(metric: &Metric, kind: MetricType, begun: &str, now: &str) -> Value {
    let labels = metric.get_label().iter().filter(|label| !label.value().is_empty());
    let attributes: Vec<_> = labels
        .map(|label| {
            let known = LABELS.iter().find(|(ours, _)| *ours == label.name());
            json!(KeyValue {
                key: known.map_or(label.name(), |&(_, name)| name),
                value: &Attribute::from(label.value())
            })
        })
        .collect();
    let mut json_value = json!({ "attributes": attributes, "startTimeUnixNano": begun, "timeUnixNano": now });
    let values = match kind {
        MetricType::COUNTER => json!({ "asDouble": metric.get_counter().get_value() }),
        MetricType::HISTOGRAM => histogram(metric.get_histogram()),
        _ => json!({ "asDouble": metric.get_gauge().get_value() }),
    };
    if let (Some(json_value), Value::Object(values)) = (json_value.as_object_mut(), values) {
        json_value.extend(values);
    }
    json_value
}

/// Prometheus counts values up to each bound; OTLP counts values between two bounds and above the last.
fn histogram(histogram: &prometheus::proto::Histogram) -> Value {
    let (mut bounds, mut counts, mut under) = (Vec::new(), Vec::new(), 0);
    for bucket in histogram.get_bucket().iter().filter(|bucket| bucket.upper_bound().is_finite()) {
        bounds.push(bucket.upper_bound());
        counts.push(bucket.cumulative_count().saturating_sub(under).to_string());
        under = bucket.cumulative_count();
    }
    let count = histogram.get_sample_count();
    counts.push(count.saturating_sub(under).to_string());
    json!({ "count": count.to_string(), "sum": histogram.get_sample_sum(), "explicitBounds": bounds, "bucketCounts": counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_one_more_count_than_bounds_and_they_add_up() {
        let figures = Figures::new().unwrap();
        for ms in [1, 20, 20, 60_000] {
            figures.request("GET", "/", "200", "http", Duration::from_millis(ms));
        }
        let json_value = figures.json(&[]);
        let http = json_value.iter().find(|metric| metric["name"] == "http.server.request.duration").unwrap();
        let point = &http["histogram"]["dataPoints"][0];
        let counts: Vec<u64> =
            point["bucketCounts"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().parse().unwrap()).collect();
        assert_eq!(counts.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
        // At most 5 ms: one; over 10 and at most 25 ms: two; beyond 10 s: one.
        assert_eq!(
            (counts[0], counts[1], counts[2], counts.last(), counts.iter().sum::<u64>()),
            (1, 0, 2, Some(&1), 4)
        );
        assert_eq!(point["count"], "4");
    }
}
