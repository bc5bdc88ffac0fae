//! Calls of the server's API by devices and by the operator who registers them: paths, bodies, authorization, retries.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muster_auth::dpop::sign_proof;
use muster_auth::{PrivateKey, device};
use reqwest::{Certificate, Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use super::random::Random;
use super::retry::{Backoff, is_transient};
use super::summary::Counts;

/// Timeout of a call, without the waiting time of a long poll.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which the server holds a long poll.
pub(super) const POLL_WAIT: Duration = Duration::from_secs(30);
/// Lifetime of a device's token, in seconds. A new one is signed after half of it.
const TOKEN_SECONDS: u64 = 240;

/// An error that prevents a fleet from starting or stopping properly.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The server does not answer.
    #[error("{server} does not answer")]
    Unreachable {
        /// URL of the server.
        server: String,
        /// Error of the call.
        #[source]
        error: reqwest::Error,
    },
    /// The server rejected a registration.
    #[error("{0}")]
    Rejected(String),
    /// Something on this side is missing or cannot be used.
    #[error("{0}")]
    Setup(String),
}

/// A response of the server.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The member `data` of the body, or the whole body if there is none.
    pub(super) data: Value,
    /// The error message; empty if there is none.
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Answer {
    pub(super) fn ok(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// A client of the server, shared by all devices.
#[derive(Debug)]
pub(super) struct Api {
    http: reqwest::Client,
    base: watch::Sender<Arc<str>>,
    /// Limits the number of concurrent calls. Long polls are not counted.
    call_slots: Semaphore,
    pub(super) counts: Counts,
}

impl Api {
    /// Creates a client that trusts `authorities`, or those of this machine.
    pub(super) fn new(
        server: &str,
        concurrency: usize,
        authorities: Option<&[Certificate]>,
    ) -> Result<Self, SimulateError> {
        // Fails only if a provider is installed already, and then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            reqwest::Client::builder()
                .no_proxy()
                .tcp_nodelay(true)
                .connect_timeout(Duration::from_secs(5))
                .user_agent(concat!("muster-simulate/", env!("CARGO_PKG_VERSION")))
        };
        let http = match authorities {
            Some(authorities) => builder().tls_certs_only(authorities.to_vec()).build(),
            // A machine without a store of certificates still reaches servers without TLS.
            None => builder().build().or_else(|_| builder().tls_certs_only([]).build()),
        };
        let http = http.map_err(|error| SimulateError::Setup(error.to_string()))?;
        let base = watch::Sender::new(trimmed(server));
        Ok(Self { http, base, call_slots: Semaphore::new(concurrency.max(1)), counts: Counts::default() })
    }

    pub(super) fn base(&self) -> Arc<str> {
        Arc::clone(&self.base.borrow())
    }

    /// Sends all further calls to another address.
    pub(super) fn set_server(&self, server: &str) {
        self.base.send_replace(trimmed(server));
    }

    pub(super) fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base())).bearer_auth(token)
    }

    /// Sends a call once.
    pub(super) async fn send(&self, call: &Call<'_>, caller: &Caller) -> Result<Answer, reqwest::Error> {
        let _permit = match call.polling {
            Polling::Short => self.call_slots.acquire().await.ok(),
            Polling::Long => None,
        };
        let timeout = if call.polling == Polling::Long { POLL_WAIT + CALL_TIMEOUT } else { CALL_TIMEOUT };
        let (method, url) = (&call.method, format!("{}{}", self.base(), call.path));
        let mut request = caller.sign(self.http.request(method.clone(), &url), method, &url).timeout(timeout);
        if let Some(body) = &call.body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        if let Some(key) = call.key {
            request = request.header("idempotency-key", key);
        }
        read(request.send().await?).await
    }

    /// Sends a call until the response is final: anything but a transient failure. Waits longer after each attempt.
    pub(super) async fn send_until_final(&self, call: &Call<'_>, caller: &Caller, random: &mut Random) -> Answer {
        let mut backoff = Backoff::default();
        loop {
            let retry_after = match self.send(call, caller).await {
                Ok(answer) if !is_transient(answer.status) => return answer,
                Ok(answer) => answer.retry_after,
                Err(error) => {
                    tracing::debug!(path = call.path, %error, "a call failed");
                    None
                }
            };
            self.counts.retries.increment();
            tokio::time::sleep(backoff.next(retry_after, random)).await;
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

/// Whether the server may hold a call until it has something to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Polling {
    Short,
    Long,
}

/// A call of the API.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// Value of the header `Idempotency-Key`.
    pub(super) key: Option<&'a str>,
    pub(super) polling: Polling,
}

impl<'a> Call<'a> {
    fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), body: None, key: None, polling: Polling::Short }
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

    pub(super) fn post(path: &str, body: Value) -> Self {
        Self::new(Method::POST, path).with(body)
    }

    pub(super) fn heartbeat(id: &str, beat: Value) -> Self {
        Self::new(Method::POST, format!("/api/v1/devices/{id}/heartbeat")).with(beat)
    }

    pub(super) fn telemetry(id: &str, readings: Value) -> Self {
        Self::new(Method::POST, format!("/api/v1/devices/{id}/telemetry")).with(readings)
    }

    pub(super) fn next_job() -> Self {
        let path = format!("/api/v1/device/jobs/next?wait_s={}", POLL_WAIT.as_secs());
        Self { polling: Polling::Long, ..Self::new(Method::GET, path) }
    }

    pub(super) fn report(job: &str, report: Value) -> Self {
        Self::new(Method::PATCH, format!("/api/v1/device/jobs/{job}")).with(report)
    }

    pub(super) fn next_command(polling: Polling) -> Self {
        let seconds = if polling == Polling::Long { POLL_WAIT.as_secs() } else { 0 };
        Self { polling, ..Self::new(Method::GET, format!("/api/v1/device/commands/next?wait_s={seconds}")) }
    }

    pub(super) fn acknowledge(command: &str, answer: Value) -> Self {
        Self::new(Method::POST, format!("/api/v1/device/commands/{command}/ack")).with(answer)
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A user with the permission to register devices.
#[derive(Clone)]
pub enum Operator {
    /// A plain access token.
    Token(String),
    /// An access token that is bound to a key (DPoP, RFC 9449).
    Login {
        /// The access token.
        token: String,
        /// The key that it is bound to.
        key: Box<PrivateKey>,
    },
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Operator(…)")
    }
}

/// The identity that a call is made under.
#[allow(clippy::large_enum_variant, reason = "one for each device, made once and behind its device")]
#[derive(Debug)]
pub(super) enum Caller {
    Anonymous,
    Operator(Operator),
    Device { id: String, key: PrivateKey, signed: watch::Sender<(String, u64)> },
}

impl Caller {
    pub(super) fn device(id: String, key: PrivateKey) -> Self {
        Self::Device { id, key, signed: watch::Sender::new((String::new(), 0)) }
    }

    /// Adds the authorization to a request, with a DPoP proof if the token is bound to a key.
    fn sign(&self, request: RequestBuilder, method: &Method, url: &str) -> RequestBuilder {
        match self {
            Self::Anonymous => request,
            Self::Operator(Operator::Login { token, key }) => {
                let address = url.split('?').next().unwrap_or(url);
                let request = request.header("authorization", format!("DPoP {token}"));
                match sign_proof(key, method.as_str(), address, Some(token), None, seconds()) {
                    Ok(proof) => request.header("dpop", proof),
                    // Signing fails only without a source of randomness; the server then rejects the request.
                    Err(_) => request,
                }
            }
            Self::Operator(Operator::Token(_)) | Self::Device { .. } => request.bearer_auth(self.token()),
        }
    }

    /// Returns a token that remains valid for at least half of its lifetime.
    pub(super) fn token(&self) -> String {
        match self {
            Self::Anonymous => String::new(),
            Self::Operator(Operator::Token(token) | Operator::Login { token, .. }) => token.clone(),
            Self::Device { id, key, signed } => {
                let now = seconds();
                let (token, until) = signed.borrow().clone();
                if now < until {
                    return token;
                }
                let Ok(token) = device::sign(key, id, now, TOKEN_SECONDS) else { return token };
                signed.send_replace((token.clone(), now + TOKEN_SECONDS / 2));
                token
            }
        }
    }
}
