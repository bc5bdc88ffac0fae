//! Counts and latencies over all responses.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::exchange::Received;
use crate::processes::{TICKS, Usage};

/// Times in microseconds, to three digits, up to two minutes.
struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, 120_000_000, 3).expect("the bounds are valid"))
    }
}

impl Times {
    fn record(&mut self, time: Duration) {
        self.0.saturating_record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("the bounds are the same");
    }

    fn quantile(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }
}

#[derive(Default)]
pub struct Tally {
    responses: u64,
    events: u64,
    bytes: u64,
    errors: BTreeMap<String, u64>,
    latency: Times,
    first_byte: Times,
    first_token: Times,
    between_tokens: Times,
}

impl Tally {
    pub fn response(&mut self, received: &Received, latency: Duration) {
        if received.status != 200 {
            return self.error(&received.status.to_string());
        }
        self.responses += 1;
        self.events += received.events;
        self.bytes += received.bytes;
        self.latency.record(latency);
        self.first_byte.record(received.first_byte);
        if let Some(time) = received.first_token {
            self.first_token.record(time);
        }
        for gap in &received.gaps {
            self.between_tokens.record(*gap);
        }
    }

    pub fn error(&mut self, what: &str) {
        *self.errors.entry(what.to_owned()).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        self.responses += other.responses;
        self.events += other.events;
        self.bytes += other.bytes;
        for (what, count) in &other.errors {
            *self.errors.entry(what.clone()).or_default() += count;
        }
        self.latency.add(&other.latency);
        self.first_byte.add(&other.first_byte);
        self.first_token.add(&other.first_token);
        self.between_tokens.add(&other.between_tokens);
    }

    pub fn report(&self, secs: f64, before: &Usage, after: &Usage) -> Value {
        let cpu_secs = (after.ticks - before.ticks) as f64 / TICKS as f64;
        let each = |figure: f64, count: u64| if count == 0 { 0.0 } else { figure / count as f64 };
        json!({
            "secs": secs,
            "ok": self.responses,
            "rps": self.responses as f64 / secs,
            "p50": self.latency.quantile(0.5),
            "p90": self.latency.quantile(0.9),
            "p99": self.latency.quantile(0.99),
            "p999": self.latency.quantile(0.999),
            "max": self.latency.0.max(),
            "ttfb_p50": self.first_byte.quantile(0.5),
            "ttfb_p99": self.first_byte.quantile(0.99),
            "ttft_p50": self.first_token.quantile(0.5),
            "ttft_p99": self.first_token.quantile(0.99),
            "itl_p50": self.between_tokens.quantile(0.5),
            "itl_p99": self.between_tokens.quantile(0.99),
            "events_s": self.events as f64 / secs,
            "mb_s": self.bytes as f64 / secs / 1e6,
            "cpu_us_req": each(cpu_secs * 1e6, self.responses),
            "cpu_us_event": each(cpu_secs * 1e6, self.events),
            "cpu_pct": cpu_secs / secs * 100.0,
            "rss_mb": after.resident_kib as f64 / 1024.0,
            "errors": self.errors,
        })
    }
}
