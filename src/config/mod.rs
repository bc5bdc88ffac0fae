//! Settings: one file with a default for every setting, each overridable by `MUSTER__SECTION__KEY`.
//!
//! Only this module reads the environment and settings files; all others get typed options.

mod agents;
mod auth;
mod devices;
mod engines;
mod feed;
mod firmware;
mod incidents;
mod load;
mod memory;
mod proxies;

pub use agents::Agents;
pub use auth::{Auth, Bound};
pub use devices::Devices;
pub use engines::{Engines, Workspace};
pub use feed::Feed;
pub use firmware::Firmware;
pub use incidents::Incidents;
pub use load::{ConfigError, Flags, Source, admin_password, bootstrap_key, command_line, default_file, load, parse};
pub use memory::Memory;
pub use proxies::TrustedProxies;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use muster_limits::LimitTable;
use serde::{Deserialize, Serialize};

/// All settings. An empty file means every default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
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

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Address to listen on. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// Number of HTTP worker threads; 0 means one per core.
    pub workers: usize,
    /// Seconds that running requests may take after SIGTERM.
    pub shutdown_grace_seconds: u64,
    /// Largest request body of routes without images, in bytes.
    pub max_body_bytes: usize,
    /// Largest request body of routes with images, in bytes.
    pub max_image_body_bytes: usize,
    /// Largest number of open connections.
    pub max_connections: usize,
    /// Origins whose web pages may call the API; none by default.
    pub cors_origins: Vec<String>,
    /// Proxies whose `X-Forwarded-*` headers count; none by default.
    pub trusted_proxies: TrustedProxies,
    pub tls: Tls,
}

/// HTTPS; off if both files are empty.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// PEM file with the server's certificate, followed by its intermediate certificates.
    pub cert: PathBuf,
    /// PEM file with the private key, not encrypted.
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
            trusted_proxies: TrustedProxies::default(),
            tls: Tls::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    pub path: PathBuf,
    pub cache_mib: u64,
    /// Hours between snapshots. The newest one is restored if the store is found corrupt.
    pub snapshot_hours: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self { path: PathBuf::from("data"), cache_mib: 64, snapshot_hours: 6 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    pub format: LogFormat,
    /// A log level, or directives such as `info,muster=debug`.
    pub level: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".to_owned() }
    }
}

/// Export to an OpenTelemetry collector; off if `otlp_endpoint` is empty.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// URL of the collector for OTLP over HTTP, without `/v1/traces`.
    pub otlp_endpoint: String,
    pub service_name: String,
    pub traces: bool,
    pub metrics: bool,
    /// Seconds between exports of the metrics.
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

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Llm {
    /// `auto`, a model id (`small`, `standard`, `better`), the path of a GGUF file, or `none`.
    pub model: String,
    pub cache: PathBuf,
    /// Number of inference threads; 0 means one per core.
    pub threads: usize,
    /// Number of requests processed at the same time.
    pub slots: usize,
    /// Context size of one request, in tokens of prompt and answer together.
    pub context: u32,
    /// Largest number of waiting requests.
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

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub id: String,
    /// `openai`, `anthropic`, `gemini` or `embedded`.
    pub kind: String,
    #[serde(default)]
    pub base_url: Option<String>,
    /// Environment variable that holds the API key. The key itself is never in a file.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Models that the provider serves; `*` accepts any name.
    #[serde(default)]
    pub models: Vec<String>,
    /// Price of its models. Default: the built-in price list, otherwise unknown.
    #[serde(default)]
    pub price: Option<PriceSetting>,
    /// The API key, read from `api_key_env`.
    #[serde(skip)]
    pub api_key: Option<Secret>,
}

/// Price in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSetting {
    pub input_per_million: f64,
    pub output_per_million: f64,
}

/// Spending limits per calendar month (UTC). The budget of a key is part of its record.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Limit in USD by model, for all keys together.
    pub models: BTreeMap<String, f64>,
}

/// The embedded embedding model.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Embeddings {
    /// Number of inference threads; 0 means one per core.
    pub threads: usize,
    /// Largest number of waiting texts.
    pub queue: usize,
}

impl Default for Embeddings {
    fn default() -> Self {
        Self { threads: 0, queue: 4096 }
    }
}

/// A secret that is not printed by `Debug`.
#[derive(Clone, PartialEq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Chain {
    /// Order of the providers. Default: the order in the file, then the embedded model.
    pub order: Option<Vec<String>>,
    pub connect_timeout_ms: u64,
    pub headers_timeout_ms: u64,
    pub first_delta_timeout_ms: u64,
    pub between_deltas_timeout_ms: u64,
    /// Deadline of a request in milliseconds; for a stream, until its first content.
    pub deadline_ms: u64,
    /// Longest duration of a stream, in milliseconds.
    pub stream_limit_ms: u64,
    /// Largest number of provider calls for one request.
    pub max_attempts: usize,
    /// How often the chain is tried again after transient failures.
    pub retries: u32,
    pub breaker_failure_share: f64,
    pub breaker_min_calls: u32,
    pub breaker_window_ms: u64,
    pub breaker_cooldown_ms: u64,
    /// Cooldown after 401, 403 or a billing error, in milliseconds.
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

impl Config {
    /// Checks that the URL of the server is set where other machines reach it: links and proofs of possession are bound
    /// to it, and the name in a request can be made up.
    ///
    /// # Errors
    /// `auth.public_url` is missing.
    pub fn check_reachable(&self) -> Result<(), ConfigError> {
        let listen = self.server.listen;
        if listen.ip().is_loopback() || !self.auth.public_url.is_empty() {
            return Ok(());
        }
        let why = format!(
            "is required because other machines reach server.listen, {listen}: set it to the URL under which clients reach \
             the server, for example public_url = \"https://muster.example.org\" under [auth], or \
             MUSTER__AUTH__PUBLIC_URL=http://192.0.2.10:{}",
            listen.port()
        );
        Err(ConfigError::Bad { setting: "auth.public_url".to_owned(), why })
    }
}

impl Server {
    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.shutdown_grace_seconds)
    }
}
