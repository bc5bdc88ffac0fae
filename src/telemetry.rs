//! Logs as text or JSON, and metrics in Prometheus' text format.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use muster_gateway::{Attempt, CacheUse, Spend};
use muster_medical::gate::Check;
use muster_providers::Usage;
use muster_tasks::task::KillLatency;
use prometheus::{
    CounterVec, Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts,
    Registry, TextEncoder,
};
use tracing_subscriber::{EnvFilter, reload};

use crate::config::{Log, LogFormat};
use crate::log_writer::LogWriter;

/// Starts logging to standard error. The returned writer must be flushed at the end of the process.
///
/// # Errors
/// The level or a directive is invalid.
pub fn start_logs(log: &Log) -> Result<LogWriter, String> {
    let filter = filter(log)?;
    let writer = LogWriter::start().map_err(|error| format!("the log's thread: {error}"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer.clone());
    // Only tests start logging twice in a process; the first call wins.
    match log.format {
        LogFormat::Text => {
            let ansi = std::io::stderr().is_terminal();
            let builder = builder.with_target(false).with_ansi(ansi).with_filter_reloading();
            remember(builder.reload_handle());
            let _ = builder.try_init();
        }
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true).with_filter_reloading();
            remember(builder.reload_handle());
            let _ = builder.try_init();
        }
    }
    Ok(writer)
}

/// Changes the log level.
///
/// # Errors
/// Those of [`start_logs`].
pub fn set_level(log: &Log) -> Result<(), String> {
    let filter = filter(log)?;
    LEVEL.get().map_or(Ok(()), |set| set(filter))
}

/// The handle that changes the level of the log.
static LEVEL: OnceLock<SetFilter> = OnceLock::new();

type SetFilter = Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>;

fn remember<S: 'static>(handle: reload::Handle<EnvFilter, S>) {
    let _ = LEVEL.set(Box::new(move |filter| handle.reload(filter).map_err(|error| error.to_string())));
}

/// Checks the log level.
///
/// # Errors
/// It is no level and no list of directives.
pub fn check_level(log: &Log) -> Result<(), String> {
    filter(log).map(drop)
}

fn filter(log: &Log) -> Result<EnvFilter, String> {
    // The filter reads a bare word as a target, so a misspelt level would silence everything.
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    if let Some(word) = log.level.split(',').map(str::trim).find(|part| !part.contains('=') && !levels.contains(part)) {
        return Err(format!("`{word}` is none of {}", levels.join(", ")));
    }
    // llama.cpp logs a page about each model it loads.
    EnvFilter::try_new(format!("llama-cpp-2=warn,{}", log.level)).map_err(|error| error.to_string())
}

/// Largest number of teams with labels of their own.
const MAX_TEAM_LABELS: usize = 500;
/// Label of teams and tags without one of their own.
const OTHER: &str = "other";

/// Whom the cost of an answer is counted under in metrics.
#[derive(Debug, Clone, Default)]
pub struct Spent {
    team: Option<String>,
    tags: Vec<String>,
}

impl Spent {
    pub fn by(spend: Option<&Spend>) -> Self {
        let team = spend.and_then(|spend| spend.team.as_ref()).map(|team| team.id.clone());
        Self { team, tags: spend.map(|spend| spend.tags.clone()).unwrap_or_default() }
    }
}

/// The server's own counters. Values that actors hold are read when metrics are requested.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    tokens: IntCounterVec,
    kills: Histogram,
    memory_searches: HistogramVec,
    memory_writes: IntCounterVec,
    cost: CounterVec,
    team_cost: CounterVec,
    tag_cost: CounterVec,
    tag_requests: IntCounterVec,
    attempts: IntCounterVec,
    cached: IntCounterVec,
    images: IntCounterVec,
    image_requests: IntCounterVec,
    translated_words: IntCounterVec,
    medical_requests: IntCounterVec,
    medical_durations: HistogramVec,
    phrasing_rejected: IntCounterVec,
    self_test_failures: IntCounter,
    translations: IntCounterVec,
    vision_requests: IntCounterVec,
    media_fetches: IntCounterVec,
    /// Teams that have labels of their own.
    teams: Arc<Mutex<HashSet<String>>>,
    /// Tags that have labels of their own.
    tags: Arc<[String]>,
    pub(crate) gauges: IntGaugeVec,
}

impl Metrics {
    /// # Errors
    /// A metric is defined twice, which is a mistake in this file.
    pub fn new(tags: &[String]) -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let requests = IntCounterVec::new(
            Opts::new("muster_http_requests_total", "Requests by route and status."),
            &["method", "route", "status"],
        )?;
        let buckets = vec![0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
        let durations = HistogramVec::new(
            HistogramOpts::new("muster_http_request_seconds", "Time to the response's headers.").buckets(buckets),
            &["route"],
        )?;
        let tokens = IntCounterVec::new(
            Opts::new("muster_tokens_total", "Tokens by provider, model and kind (prompt, completion)."),
            &["provider", "model", "kind"],
        )?;
        let buckets = vec![0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
        let kills = Histogram::with_opts(
            HistogramOpts::new("muster_task_kill_seconds", "From a kill's coming in to the drop of its task's step.")
                .buckets(buckets),
        )?;
        let buckets = vec![0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];
        let memory_searches = HistogramVec::new(
            HistogramOpts::new("muster_memory_search_seconds", "Time of a search in memory by its ranking.")
                .buckets(buckets),
            &["mode"],
        )?;
        let memory_writes = IntCounterVec::new(
            Opts::new("muster_memory_writes_total", "Writes to memory by act (store, delete, forget)."),
            &["act"],
        )?;
        let gauges =
            IntGaugeVec::new(Opts::new("muster_state", "What the parts of the server report."), &["part", "name"])?;
        let counter = |name, help, labels: &[&str]| CounterVec::new(Opts::new(name, help), labels);
        let count = |name, help, labels: &[&str]| IntCounterVec::new(Opts::new(name, help), labels);
        let cost = counter("muster_cost_usd_total", "Cost of answers in USD.", &["provider", "model"])?;
        let team_cost = counter("muster_team_cost_usd_total", "Cost of answers in USD by team.", &["team"])?;
        let tag_cost = counter("muster_tag_cost_usd_total", "Cost of answers in USD by tag of the request.", &["tag"])?;
        let tag_requests = count("muster_tag_requests_total", "Answered requests by tag.", &["tag"])?;
        let attempts = count(
            "muster_provider_attempts_total",
            "Calls of providers by outcome, and those that were not made, such as of open circuits.",
            &["provider", "model", "outcome"],
        )?;
        let cached = count("muster_cache_requests_total", "Requests that used the response cache.", &["result"])?;
        let translations = count(
            "muster_translations_total",
            "Translations by method and outcome (translated, suspect, failed).",
            &["method", "outcome"],
        )?;
        let images = count(
            "muster_images_total",
            "Pictures drawn from text and stored, by provider and method (model, sketch, sketch+llm).",
            &["provider", "method"],
        )?;
        let image_requests = count(
            "muster_image_requests_total",
            "Requests of pictures from text by outcome (stored, refused, failed).",
            &["outcome"],
        )?;
        let translated_words =
            count("muster_translated_words_total", "Words of texts that were translated, by method.", &["method"])?;
        let vision_requests = count(
            "muster_vision_requests_total",
            "Requests of vision by task, provider, method and outcome (served, refused, failed, left).",
            &["task", "provider", "method", "outcome"],
        )?;
        let media_fetches = count(
            "muster_media_fetches_total",
            "Pictures fetched by URL, by outcome: fetched, not_allowed, busy, or the word of the failure.",
            &["outcome"],
        )?;
        for counter in [&vision_requests, &media_fetches, &image_requests, &translated_words] {
            registry.register(Box::new(counter.clone()))?;
        }
        for counter in [&cost, &team_cost, &tag_cost] {
            registry.register(Box::new(counter.clone()))?;
        }
        let medical_requests = count(
            "muster_medical_requests_total",
            "Requests to the medical interface by endpoint and outcome (ok, rejected, denied, limited, failed).",
            &["endpoint", "outcome"],
        )?;
        let buckets = vec![0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0];
        let medical_durations = HistogramVec::new(
            HistogramOpts::new("muster_medical_request_seconds", "Time to the headers of a medical response.")
                .buckets(buckets),
            &["endpoint"],
        )?;
        let phrasing_rejected = count(
            "muster_medical_phrasing_rejected_total",
            "Texts of models that failed a check, by check.",
            &["check"],
        )?;
        let self_test_failures = IntCounter::new(
            "muster_medical_self_test_failures_total",
            "Self-tests of the medical knowledge base that failed.",
        )?;
        registry.register(Box::new(self_test_failures.clone()))?;
        registry.register(Box::new(medical_durations.clone()))?;
        for counter in
            [&tag_requests, &attempts, &cached, &images, &medical_requests, &phrasing_rejected, &translations]
        {
            registry.register(Box::new(counter.clone()))?;
        }
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(durations.clone()))?;
        registry.register(Box::new(tokens.clone()))?;
        registry.register(Box::new(kills.clone()))?;
        registry.register(Box::new(memory_searches.clone()))?;
        registry.register(Box::new(memory_writes.clone()))?;
        registry.register(Box::new(gauges.clone()))?;
        Ok(Self {
            registry,
            requests,
            durations,
            tokens,
            kills,
            memory_searches,
            memory_writes,
            cost,
            team_cost,
            tag_cost,
            tag_requests,
            attempts,
            cached,
            images,
            image_requests,
            translated_words,
            medical_requests,
            medical_durations,
            phrasing_rejected,
            self_test_failures,
            translations,
            vision_requests,
            media_fetches,
            teams: Arc::default(),
            tags: tags.into(),
            gauges,
        })
    }

    pub fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        self.requests.with_label_values(&[method, route, status.to_string().as_str()]).inc();
        self.durations.with_label_values(&[route]).observe(took.as_secs_f64());
    }

    /// Counts a translation.
    pub fn translation(&self, method: &str, outcome: &str, words: u64) {
        self.translations.with_label_values(&[method, outcome]).inc();
        self.translated_words.with_label_values(&[method]).inc_by(words);
    }

    /// Counts a request of pictures from text.
    pub fn image_request(&self, outcome: &str) {
        self.image_requests.with_label_values(&[outcome]).inc();
    }

    /// Counts a request of vision. Providers are those of the settings.
    pub fn vision(&self, task: &str, provider: &str, method: &str, outcome: &str) {
        self.vision_requests.with_label_values(&[task, provider, method, outcome]).inc();
    }

    /// Counts a picture that was to be fetched.
    pub fn media_fetch(&self, outcome: &str) {
        self.media_fetches.with_label_values(&[outcome]).inc();
    }

    pub fn tokens(&self, provider: &str, model: &str, usage: Usage) {
        self.tokens.with_label_values(&[provider, model, "prompt"]).inc_by(usage.prompt_tokens.into());
        self.tokens.with_label_values(&[provider, model, "completion"]).inc_by(usage.completion_tokens.into());
    }

    /// Counts the cost of an answer; 0 if its price is unknown.
    pub fn spent(&self, spent: &Spent, provider: &str, model: &str, cost_nanos: Option<u64>) {
        let usd = cost_nanos.unwrap_or(0) as f64 / 1e9;
        self.cost.with_label_values(&[provider, model]).inc_by(usd);
        if let Some(team) = &spent.team {
            self.team_cost.with_label_values(&[self.team_label(team)]).inc_by(usd);
        }
        // Several tags without a label of their own count once.
        let labels = |tag: &String| self.tags.iter().find(|known| *known == tag).map_or(OTHER, String::as_str);
        let labels: HashSet<&str> = spent.tags.iter().map(labels).collect();
        for tag in labels {
            self.tag_cost.with_label_values(&[tag]).inc_by(usd);
            self.tag_requests.with_label_values(&[tag]).inc();
        }
    }

    /// Returns the label of a team: the first ones have one of their own.
    fn team_label<'a>(&self, team: &'a str) -> &'a str {
        let mut teams = self.teams.lock().unwrap_or_else(PoisonError::into_inner);
        if teams.contains(team) || (teams.len() < MAX_TEAM_LABELS && teams.insert(team.to_owned())) {
            team
        } else {
            OTHER
        }
    }

    /// Counts calls of providers by how they ended.
    pub fn attempts<'a>(&self, attempts: &'a [Attempt], label: impl Fn(&'a str) -> &'a str) {
        for Attempt { provider, model, outcome, .. } in attempts {
            self.attempts.with_label_values(&[provider.as_str(), label(model), outcome.name()]).inc();
        }
    }

    /// Counts pictures that were drawn from a text and stored.
    pub fn images(&self, provider: &str, method: &str, count: u64) {
        self.images.with_label_values(&[provider, method]).inc_by(count);
    }

    /// Counts how a request used the response cache.
    pub fn cache(&self, used: CacheUse) {
        match used {
            CacheUse::Off => {}
            CacheUse::Miss => self.cached.with_label_values(&["miss"]).inc(),
            CacheUse::Hit { .. } => self.cached.with_label_values(&["hit"]).inc(),
        }
    }

    /// Counts a request to the medical interface. Nothing clinical is counted: no level, no concept.
    pub fn medical_request(&self, route: &str, method: &str, status: u16, took: Duration) {
        let endpoint = match (route, method) {
            ("/api/medical/chat", _) => "chat",
            ("/api/medical/clinical-protocols", "POST") => "clinical-protocols",
            ("/api/medical/clinical-protocols", _) => "status",
            ("/api/medical/cancer-diagnosis", _) => "cancer-diagnosis",
            ("/api/medical/conversations/{id}", _) => "conversations",
            _ => OTHER,
        };
        let outcome = match status {
            200..=399 => "ok",
            401 | 403 => "denied",
            429 => "limited",
            400..=499 => "rejected",
            _ => "failed",
        };
        self.medical_requests.with_label_values(&[endpoint, outcome]).inc();
        self.medical_durations.with_label_values(&[endpoint]).observe(took.as_secs_f64());
    }

    /// Counts the checks that a model's medical text failed.
    pub fn phrasing_rejected(&self, checks: &[Check]) {
        for check in checks {
            self.phrasing_rejected.with_label_values(&[check.name()]).inc();
        }
    }

    /// Counts a failed self-test of the medical knowledge base.
    pub fn self_test_failed(&self) {
        self.self_test_failures.inc();
    }

    /// Records the time from a kill to the stop of the task's step.
    pub(crate) fn kill_latency(&self) -> KillLatency {
        let kills = self.kills.clone();
        KillLatency::new(move |took| kills.observe(took.as_secs_f64()))
    }

    /// Counts a search of memory by the ranking that was used: `hybrid`, `text` or `semantic`.
    pub fn memory_search(&self, mode: &str, took: Duration) {
        self.memory_searches.with_label_values(&[mode]).observe(took.as_secs_f64());
    }

    /// Counts stored and deleted entries, and erased owners.
    pub fn memory_writes(&self, act: &str, count: u64) {
        self.memory_writes.with_label_values(&[act]).inc_by(count);
    }

    /// Returns all metrics, to be written in another format.
    pub(crate) fn families(&self) -> Vec<prometheus::proto::MetricFamily> {
        self.registry.gather()
    }

    /// Returns all metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        // Writing to memory fails only for an invalid metric, which is omitted.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Returns the number of responses and of server errors among them, for the health of the HTTP module.
    pub fn totals(&self) -> (u64, u64) {
        let families = self.registry.gather();
        let counted = families.iter().find(|family| family.name() == "muster_http_requests_total");
        let mut totals = (0, 0);
        for metric in counted.map(|family| family.get_metric()).unwrap_or_default() {
            let count = metric.get_counter().get_value() as u64;
            totals.0 += count;
            let status = metric.get_label().iter().find(|label| label.name() == "status").map(|label| label.value());
            // 502 and 503 mean that something behind the server is down, which other modules report.
            if status == Some("500") {
                totals.1 += count;
            }
        }
        totals
    }
}
