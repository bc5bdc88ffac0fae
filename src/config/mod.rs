//! Settings: one file with a default for every setting, each overridable by `MUSTER__SECTION__KEY`.
//!
//! Only this module reads the environment and settings files; all others get typed options.

mod agents;
mod allocator;
mod auth;
mod backup;
mod devices;
mod embeddings;
mod engines;
mod feed;
mod firmware;
mod governance;
mod images;
mod incidents;
mod llm;
mod load;
mod media;
mod medical;
mod memory;
mod models;
mod position;
mod proxies;
mod routing;
mod sentinel_responses;
mod server;
mod translate;

pub use agents::Agents;
pub use allocator::become_bounded;
pub use auth::{Auth, Bound};
pub use backup::Backup;
pub use devices::Devices;
pub use embeddings::{EmbeddingModel, Embeddings};
pub use engines::{Engines, Workspace};
pub use feed::Feed;
pub use firmware::Firmware;
pub use governance::{Governance, WitnessSetting};
pub use images::{ImageFallback, Images};
pub use incidents::Incidents;
pub use llm::Llm;
pub use load::{ConfigError, Flags, Source, admin_password, bootstrap_key, command_line, default_file, load, parse};
pub use media::Media;
pub use medical::{Medical, Phrasing, Sent};
pub use memory::Memory;
pub use models::Models;
pub use proxies::TrustedProxies;
pub use routing::{Balance, Chat, Equivalent, ModelNames, ModelTable, OrProvider, ProviderWord, Unpriced};
pub use sentinel_responses::{Gathered, ResponseAction, ResponseVerdict, SentinelResponse};
pub use translate::{Translate, TranslationEngine};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use muster_limits::LimitTable;
use serde::{Deserialize, Serialize};

/// All settings. An empty file means every default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub server: Server,
    pub store: Store,
    pub backup: Backup,
    pub log: Log,
    pub auth: Auth,
    pub feed: Feed,
    pub incidents: Incidents,
    pub devices: Devices,
    pub firmware: Firmware,
    pub governance: Governance,
    pub agents: Agents,
    pub engines: Engines,
    pub memory: Memory,
    pub medical: Medical,
    pub media: Media,
    pub translate: Translate,
    pub workspace: Workspace,
    pub telemetry: Telemetry,
    pub llm: Llm,
    pub provider: Vec<Provider>,
    pub chain: Chain,
    pub chat: Chat,
    /// Names that stand for models.
    pub alias: ModelTable,
    /// Models that answer where all providers of a model fail.
    pub fallback: ModelTable,
    /// Groups of models each of which may answer for the others.
    pub equivalent: Vec<Equivalent>,
    pub images: Images,
    pub budget: Budget,
    pub cache: Cache,
    pub embeddings: Embeddings,
    pub models: Models,
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
    /// Bytes of request bodies that are held at one time, of all requests together.
    pub max_body_bytes_in_flight: usize,
    /// Seconds over which the speed of a body is measured.
    pub body_window_seconds: u64,
    /// Least speed of a body, in bytes per second.
    pub body_min_bytes_per_second: usize,
    /// Seconds for a whole body that is kept in memory.
    pub body_seconds: u64,
    /// Largest number of open connections.
    pub max_connections: usize,
    /// Largest number of open connections from one address (IPv6: one /64 network).
    pub max_connections_per_address: usize,
    /// Networks to which `max_connections_per_address` does not apply.
    pub unlimited_networks: Vec<IpNet>,
    /// Seconds without a request after which a connection is closed.
    pub idle_seconds: u64,
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
            max_body_bytes_in_flight: 256 << 20,
            body_window_seconds: 20,
            body_min_bytes_per_second: 1_024,
            body_seconds: 300,
            max_connections: 25_000,
            max_connections_per_address: 1_000,
            unlimited_networks: server::loopback(),
            idle_seconds: 120,
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
    /// Tags of requests that have labels of their own in metrics; all others are `other`.
    pub tag_labels: Vec<String>,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            otlp_endpoint: String::new(),
            service_name: "muster".to_owned(),
            traces: true,
            metrics: true,
            interval_seconds: 60,
            tag_labels: Vec::new(),
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
    /// Time limits of its calls that differ from those of `[chain]`.
    #[serde(default)]
    pub timeouts: TimeoutSettings,
    /// The same for single models.
    #[serde(default)]
    pub model_timeouts: BTreeMap<String, TimeoutSettings>,
    /// Members of a chat completion that are forwarded to it in addition to the standard ones.
    #[serde(default)]
    pub forward: Vec<String>,
    /// Share of the requests of a model that several providers have, with `balance = "weight"`.
    #[serde(default = "routing::one")]
    pub weight: u32,
    /// The API key, read from `api_key_env`.
    #[serde(skip)]
    pub api_key: Option<Secret>,
}

/// Time limits that differ from those of `[chain]`, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutSettings {
    pub connect_ms: Option<u64>,
    pub headers_ms: Option<u64>,
    pub first_delta_ms: Option<u64>,
    pub between_deltas_ms: Option<u64>,
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
    /// Limit in USD by owner, for all keys of the owner together.
    pub owners: BTreeMap<String, f64>,
    /// Limit in USD of every owner that `owners` does not name; none by default.
    pub per_owner_usd: Option<f64>,
    /// Whether a model without a price is called where a budget bounds the call.
    pub unpriced: Unpriced,
}

impl Budget {
    /// Returns the limit of an owner in USD.
    pub fn of_owner(&self, owner: &str) -> Option<f64> {
        self.owners.get(owner).copied().or(self.per_owner_usd)
    }
}

/// The cache of answers, which keys and teams use that have a time for it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cache {
    /// Largest number of bytes of stored answers; 0 turns it off.
    pub max_bytes: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self { max_bytes: 64 << 20 }
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
    /// Who of the providers of one model is called first.
    pub balance: Balance,
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
    /// How often the chain is tried again after failures of calls that did not run.
    pub retries: u32,
    /// Whether another provider is called after one that may have run the request without answering it.
    pub failover_after_start: bool,
    /// Interval of keep-alives to the client of a stream, in milliseconds.
    pub keep_alive_ms: u64,
    pub breaker_failure_share: f64,
    pub breaker_min_calls: u32,
    /// Number of failures in a row after which a breaker opens.
    pub breaker_consecutive_failures: u32,
    pub breaker_window_ms: u64,
    pub breaker_cooldown_ms: u64,
    /// Cooldown after 401, 403 or a billing error, in milliseconds.
    pub breaker_hard_cooldown_ms: u64,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            order: None,
            balance: Balance::Order,
            connect_timeout_ms: 5_000,
            headers_timeout_ms: 600_000,
            first_delta_timeout_ms: 600_000,
            between_deltas_timeout_ms: 120_000,
            deadline_ms: 600_000,
            stream_limit_ms: 600_000,
            max_attempts: 6,
            retries: 1,
            failover_after_start: true,
            keep_alive_ms: 15_000,
            breaker_failure_share: 0.5,
            breaker_min_calls: 10,
            breaker_consecutive_failures: 5,
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

/// Longest time limit of a call, in milliseconds: an hour.
const LONGEST_CALL_MS: u64 = 3_600_000;

impl Chain {
    fn check(&self) -> Result<(), ConfigError> {
        let bad = |setting: &str, why: &str| {
            Err(ConfigError::Bad { setting: format!("chain.{setting}"), why: why.to_owned() })
        };
        for (setting, value) in [
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("headers_timeout_ms", self.headers_timeout_ms),
            ("first_delta_timeout_ms", self.first_delta_timeout_ms),
            ("between_deltas_timeout_ms", self.between_deltas_timeout_ms),
            ("deadline_ms", self.deadline_ms),
            ("stream_limit_ms", self.stream_limit_ms),
            ("keep_alive_ms", self.keep_alive_ms),
        ] {
            if !(1..=LONGEST_CALL_MS).contains(&value) {
                return bad(setting, "takes 1 to 3600000");
            }
        }
        if !(0.0..=1.0).contains(&self.breaker_failure_share) {
            return bad("breaker_failure_share", "takes 0 to 1");
        }
        if self.breaker_consecutive_failures == 0 {
            return bad("breaker_consecutive_failures", "takes 1 or more");
        }
        if self.max_attempts == 0 {
            return bad("max_attempts", "takes 1 or more");
        }
        Ok(())
    }
}

impl Provider {
    fn check(&self, chain: &Chain) -> Result<(), ConfigError> {
        let bad = |setting: &str, why: String| {
            Err(ConfigError::Bad { setting: format!("provider {}: {setting}", self.id), why })
        };
        let amounts = self.price.iter().flat_map(|price| [price.input_per_million, price.output_per_million]);
        if amounts.into_iter().any(|usd| !usd.is_finite() || usd < 0.0) {
            return bad("price", "takes USD for a million tokens, 0 or more".to_owned());
        }
        if self.kind != "embedded" && self.base_url.as_deref().is_some_and(|url| !url.starts_with("http")) {
            return bad("base_url", "takes an http or https URL, up to /v1".to_owned());
        }
        for timeouts in self.model_timeouts.values().chain([&self.timeouts]) {
            let TimeoutSettings { connect_ms, headers_ms, first_delta_ms, between_deltas_ms } = *timeouts;
            let set = [connect_ms, headers_ms, first_delta_ms, between_deltas_ms];
            if set.into_iter().flatten().any(|ms| !(1..=chain.deadline_ms).contains(&ms)) {
                let why = format!("takes 1 to {}, the deadline_ms of [chain]", chain.deadline_ms);
                return bad("timeouts", why);
            }
        }
        if self.weight > 1000 {
            return bad("weight", "takes 0 to 1000".to_owned());
        }
        if self.forward.iter().any(String::is_empty) || (!self.forward.is_empty() && self.kind != "openai") {
            return bad("forward", "takes names of members, for providers of kind \"openai\" only".to_owned());
        }
        Ok(())
    }
}
