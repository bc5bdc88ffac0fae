//! Settings: one file, every one with a default, each overridable by `MUSTER__SECTION__KEY`.
//!
//! The only place that reads the environment and settings files; everything below gets typed options.

mod agents;
mod auth;
mod devices;
mod engines;
mod feed;
mod firmware;
mod incidents;
mod load;
mod memory;

pub use agents::Agents;
pub use auth::{Auth, Bound};
pub use devices::Devices;
pub use engines::{Engines, Workspace};
pub use feed::{Feed, Lane};
pub use firmware::Firmware;
pub use incidents::Incidents;
pub use load::{ConfigError, Flags, Source, admin_password, bootstrap_key, command_line, default_file, load, parse};
pub use memory::Memory;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use muster_limits::LimitTable;
use serde::Deserialize;

/// Everything that can be set. An empty file means every default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub server: Server,
    pub store: Store,
    pub log: Log,
    pub auth: Auth,
    pub feed: Feed,
    pub incidents: Incidents,
    pub devices: Devices,
    pub firmware: Firmware,
    pub agents: Agents,
    pub engines: Engines,
    pub memory: Memory,
    pub workspace: Workspace,
    pub telemetry: Telemetry,
    pub llm: Llm,
    pub provider: Vec<Provider>,
    pub chain: Chain,
    pub budget: Budget,
    pub embeddings: Embeddings,
    pub limits: LimitTable,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Port 0 takes a free one.
    pub listen: SocketAddr,
    /// HTTP worker threads; 0 is one for each core.
    pub workers: usize,
    /// How long requests may go on after SIGTERM.
    pub shutdown_grace_seconds: u64,
    /// Largest request body of routes without images.
    pub max_body_bytes: usize,
    /// Largest request body of routes that take images.
    pub max_image_body_bytes: usize,
    /// Connections that may be open at a time.
    pub max_connections: usize,
    /// Origins whose pages may call from a browser; none by default.
    pub cors_origins: Vec<String>,
    pub tls: Tls,
}

/// HTTPS; off while both are empty.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// PEM: the server's certificate, then those of its issuers.
    pub cert: PathBuf,
    /// PEM: the certificate's private key, without a password.
    pub key: PathBuf,
}

impl Tls {
    pub fn on(&self) -> bool {
        !self.cert.as_os_str().is_empty()
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            workers: 0,
            shutdown_grace_seconds: 30,
            max_body_bytes: 1 << 20,
            max_image_body_bytes: 24 << 20,
            max_connections: 25_000,
            cors_origins: Vec::new(),
            tls: Tls::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    pub path: PathBuf,
    pub cache_mib: u64,
    /// Hours from one snapshot to the next; the newest is restored where the store is found corrupt.
    pub snapshot_hours: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self { path: PathBuf::from("data"), cache_mib: 64, snapshot_hours: 6 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    pub format: LogFormat,
    /// A level, or directives such as `info,muster=debug`.
    pub level: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".to_owned() }
    }
}

/// Export to an OpenTelemetry collector; off while `otlp_endpoint` is empty.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// The collector's address for OTLP over HTTP, without `/v1/traces`.
    pub otlp_endpoint: String,
    pub service_name: String,
    pub traces: bool,
    pub metrics: bool,
    /// From one export of the metrics to the next.
    pub interval_seconds: u64,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            otlp_endpoint: String::new(),
            service_name: "muster".to_owned(),
            traces: true,
            metrics: true,
            interval_seconds: 60,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Llm {
    /// `auto`, an id of the manifest (`small`, `standard`, `better`), a path to a GGUF file, or `none`.
    pub model: String,
    pub cache: PathBuf,
    /// Threads of inference; 0 is one for each core.
    pub threads: usize,
    /// Requests answered at a time.
    pub slots: usize,
    /// Tokens of prompt and answer together, for one request.
    pub context: u32,
    /// Requests that may wait.
    pub queue: usize,
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            model: "auto".to_owned(),
            cache: PathBuf::from("models-cache"),
            threads: 0,
            slots: 4,
            context: 4096,
            queue: 32,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub id: String,
    /// `openai`, `anthropic`, `gemini` or `embedded`.
    pub kind: String,
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable that holds the key; the key itself never stands in a file.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// `*` takes any name.
    #[serde(default)]
    pub models: Vec<String>,
    /// What it asks for each of its models; left out: what the catalogue knows of its own models, else nothing known.
    #[serde(default)]
    pub price: Option<PriceSetting>,
    /// The key, once read from `api_key_env`.
    #[serde(skip)]
    pub api_key: Option<Secret>,
}

/// USD for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSetting {
    pub input_per_million: f64,
    pub output_per_million: f64,
}

/// Money of a calendar month (UTC); a key's own stands in its record.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// USD by model, for all keys together.
    pub models: BTreeMap<String, f64>,
}

/// The embedded embedding model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Embeddings {
    /// Threads; 0 is one for each core.
    pub threads: usize,
    /// Texts that may wait.
    pub queue: usize,
}

impl Default for Embeddings {
    fn default() -> Self {
        Self { threads: 0, queue: 4096 }
    }
}

/// A provider's key, never shown.
#[derive(Clone, PartialEq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Chain {
    /// Providers in the order they are tried; by default file order, then embedded.
    pub order: Option<Vec<String>>,
    pub connect_timeout_ms: u64,
    pub headers_timeout_ms: u64,
    pub first_delta_timeout_ms: u64,
    pub between_deltas_timeout_ms: u64,
    /// For a whole request, or a stream up to its first content.
    pub deadline_ms: u64,
    /// For a whole stream.
    pub stream_limit_ms: u64,
    /// Tries of all providers together.
    pub max_attempts: usize,
    /// Times the chain is gone through again after transient faults.
    pub retries: u32,
    pub breaker_failure_share: f64,
    pub breaker_min_calls: u32,
    pub breaker_window_ms: u64,
    pub breaker_cooldown_ms: u64,
    /// After 401, 403 or a billing refusal.
    pub breaker_hard_cooldown_ms: u64,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            order: None,
            connect_timeout_ms: 5_000,
            headers_timeout_ms: 30_000,
            first_delta_timeout_ms: 30_000,
            between_deltas_timeout_ms: 30_000,
            deadline_ms: 120_000,
            stream_limit_ms: 600_000,
            max_attempts: 6,
            retries: 1,
            breaker_failure_share: 0.5,
            breaker_min_calls: 10,
            breaker_window_ms: 60_000,
            breaker_cooldown_ms: 5_000,
            breaker_hard_cooldown_ms: 300_000,
        }
    }
}

impl Server {
    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.shutdown_grace_seconds)
    }
}
