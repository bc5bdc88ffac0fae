//! The server as a device and an operator call it: every path, every body and every retry stands here.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muster_auth::dpop::sign_proof;
use muster_auth::{PrivateKey, device};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use super::random::Random;
use super::retry::{Backoff, passes};
use super::summary::Counts;

/// What a call may take, but a long poll.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a long poll waits at the server.
pub(super) const POLL: Duration = Duration::from_secs(30);
/// How long a device's token lives; a new one is signed when half of it is over.
const TOKEN_LIFE: u64 = 240;

/// Why a fleet cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    #[error("{server} does not answer: {why}; is the server running there? (muster serve)")]
    Unreachable { server: String, why: String },
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Setup(String),
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// What stands under `data`; the whole body where nothing does.
    pub(super) data: Value,
    /// The refusal's message, where it is one.
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Answer {
    pub(super) fn ok(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// The server, and the connections to it that all devices share.
#[derive(Debug)]
pub(super) struct Api {
    http: reqwest::Client,
    base: watch::Sender<Arc<str>>,
    /// Short calls at a time. Long polls wait outside.
    gate: Semaphore,
    pub(super) counts: Counts,
}

impl Api {
    pub(super) fn new(server: &str, concurrency: usize) -> Result<Self, SimulateError> {
        // Fails only if a provider is installed already, and then that one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_secs(5))
            .user_agent(concat!("muster-simulate/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| SimulateError::Setup(error.to_string()))?;
        let base = watch::Sender::new(trimmed(server));
        Ok(Self { http, base, gate: Semaphore::new(concurrency.max(1)), counts: Counts::default() })
    }

    pub(super) fn base(&self) -> Arc<str> {
        Arc::clone(&self.base.borrow())
    }

    /// The server is at another address from now on.
    pub(super) fn moved(&self, server: &str) {
        self.base.send_replace(trimmed(server));
    }

    pub(super) fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base())).bearer_auth(token)
    }

    /// One try.
    pub(super) async fn once(&self, call: &Call<'_>, who: &Who) -> Result<Answer, reqwest::Error> {
        let _turn = match call.waits {
            Waits::Short => self.gate.acquire().await.ok(),
            Waits::Long => None,
        };
        let patience = if call.waits == Waits::Long { POLL + PATIENCE } else { PATIENCE };
        let (method, url) = (&call.method, format!("{}{}", self.base(), call.path));
        let mut request = who.sign(self.http.request(method.clone(), &url), method, &url).timeout(patience);
        if let Some(body) = &call.body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        if let Some(key) = call.key {
            request = request.header("idempotency-key", key);
        }
        read(request.send().await?).await
    }

    /// Tries until the server says something that another try would not change.
    pub(super) async fn insist(&self, call: &Call<'_>, who: &Who, random: &mut Random) -> Answer {
        let mut backoff = Backoff::default();
        loop {
            let told = match self.once(call, who).await {
                Ok(answer) if !passes(answer.status) => return answer,
                Ok(answer) => answer.retry_after,
                Err(error) => {
                    tracing::debug!(path = call.path, %error, "a call was not answered");
                    None
                }
            };
            self.counts.retries.up();
            tokio::time::sleep(backoff.next(told, random)).await;
        }
    }
}

fn trimmed(server: &str) -> Arc<str> {
    Arc::from(server.trim_end_matches('/'))
}

async fn read(response: Response) -> Result<Answer, reqwest::Error> {
    let status = response.status().as_u16();
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let body: Value = serde_json::from_str(&response.text().await?).unwrap_or(Value::Null);
    let message = body.get("message").or_else(|| body.get("detail")).and_then(Value::as_str);
    let message = message.unwrap_or_default().to_owned();
    let data = body.get("data").cloned().unwrap_or(body);
    Ok(Answer { status, data, message, retry_after: retry_after.map(Duration::from_secs) })
}

/// Whether a call waits at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Short,
    Long,
}

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// Its `Idempotency-Key`.
    pub(super) key: Option<&'a str>,
    pub(super) waits: Waits,
}

impl<'a> Call<'a> {
    fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), body: None, key: None, waits: Waits::Short }
    }

    fn with(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub(super) fn health() -> Self {
        Self::new(Method::GET, "/api/health")
    }

    pub(super) fn register(device: Value, key: &'a str) -> Self {
        Self { key: Some(key), ..Self::new(Method::POST, "/api/v1/devices").with(device) }
    }

    pub(super) fn said(path: &str, body: Value) -> Self {
        Self::new(Method::POST, path).with(body)
    }

    pub(super) fn heartbeat(id: &str, beat: Value) -> Self {
        Self::new(Method::POST, format!("/api/v1/devices/{id}/heartbeat")).with(beat)
    }

    pub(super) fn telemetry(id: &str, readings: Value) -> Self {
        Self::new(Method::POST, format!("/api/v1/devices/{id}/telemetry")).with(readings)
    }

    pub(super) fn next_job() -> Self {
        let path = format!("/api/v1/device/jobs/next?wait_s={}", POLL.as_secs());
        Self { waits: Waits::Long, ..Self::new(Method::GET, path) }
    }

    pub(super) fn report(job: &str, report: Value) -> Self {
        Self::new(Method::PATCH, format!("/api/v1/device/jobs/{job}")).with(report)
    }

    pub(super) fn next_command(waits: Waits) -> Self {
        let seconds = if waits == Waits::Long { POLL.as_secs() } else { 0 };
        Self { waits, ..Self::new(Method::GET, format!("/api/v1/device/commands/next?wait_s={seconds}")) }
    }

    pub(super) fn acknowledge(command: &str, answer: Value) -> Self {
        Self::new(Method::POST, format!("/api/v1/device/commands/{command}/ack")).with(answer)
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A person who may register devices.
#[derive(Clone)]
pub enum Operator {
    /// The token of a login.
    Token(String),
    /// That of a login which is bound to a key.
    Login { token: String, key: Box<PrivateKey> },
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Operator(…)")
    }
}

/// Who calls.
#[allow(clippy::large_enum_variant, reason = "one for each device, made once and behind its device")]
#[derive(Debug)]
pub(super) enum Who {
    Nobody,
    Operator(Operator),
    Device { id: String, key: PrivateKey, signed: watch::Sender<(String, u64)> },
}

impl Who {
    pub(super) fn device(id: String, key: PrivateKey) -> Self {
        Self::Device { id, key, signed: watch::Sender::new((String::new(), 0)) }
    }

    /// The request with who makes it; a login that is bound to a key proves the key (RFC 9449).
    fn sign(&self, request: RequestBuilder, method: &Method, url: &str) -> RequestBuilder {
        match self {
            Self::Nobody => request,
            Self::Operator(Operator::Login { token, key }) => {
                let address = url.split('?').next().unwrap_or(url);
                let request = request.header("authorization", format!("DPoP {token}"));
                match sign_proof(key, method.as_str(), address, Some(token), None, seconds()) {
                    Ok(proof) => request.header("dpop", proof),
                    // Without randomness there is none, and the server says what it lacks.
                    Err(_) => request,
                }
            }
            Self::Operator(Operator::Token(_)) | Self::Device { .. } => request.bearer_auth(self.token()),
        }
    }

    /// A token that is good for a while yet.
    pub(super) fn token(&self) -> String {
        match self {
            Self::Nobody => String::new(),
            Self::Operator(Operator::Token(token) | Operator::Login { token, .. }) => token.clone(),
            Self::Device { id, key, signed } => {
                let now = seconds();
                let (token, until) = signed.borrow().clone();
                if now < until {
                    return token;
                }
                let Ok(token) = device::sign(key, id, now, TOKEN_LIFE) else { return token };
                signed.send_replace((token.clone(), now + TOKEN_LIFE / 2));
                token
            }
        }
    }
}
