//! What a provider's failure means for the chain.

use std::time::Duration;

use serde::Serialize;

/// What the chain does about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    /// Connect, 408, 5xx, a time-out of any phase, a malformed answer, an error or an end before the first delta:
    /// next provider, counts against the breaker.
    Transient,
    /// 429: next provider; `retry_after` is the floor of the cool-down.
    Throttled,
    /// 401, 403, billing: next provider, a long cool-down, a loud log.
    Hard,
    /// 400, 413, 422, context too long: returned at once, no penalty.
    Client,
}

/// Where in the call it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Connect,
    Headers,
    FirstDelta,
    BetweenDeltas,
    Body,
}

/// The client's own faults that have a code of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientFault {
    ContextLengthExceeded,
    UnsupportedValue,
    InvalidRequest,
    /// Nothing is wrong with the request: this provider, as its adapter knows without asking it, cannot do what it
    /// asks for. Another one may.
    Unsupported,
}

/// One failure of one provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub class: FaultClass,
    pub phase: Phase,
    /// The provider's HTTP status, where there was one.
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
    /// Set for `FaultClass::Client`.
    pub client: Option<ClientFault>,
    /// The request field at fault, where known.
    pub param: Option<String>,
    /// For people; never holds a secret or the prompt; at most 500 characters of the provider's own words.
    pub message: String,
}

/// How much of a provider's own words a fault carries, in characters.
pub const MAX_FAULT_WORDS: usize = 500;

impl Fault {
    /// A fault with no more to say than its class, its phase and its words.
    pub fn new(class: FaultClass, phase: Phase, message: impl Into<String>) -> Self {
        Self { class, phase, status: None, retry_after: None, client: None, param: None, message: message.into() }
    }

    pub fn transient(phase: Phase, message: impl Into<String>) -> Self {
        Self::new(FaultClass::Transient, phase, message)
    }

    /// A provider that cannot do what a field asks for; told without a call.
    pub fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            client: Some(ClientFault::Unsupported),
            param: Some(param.into()),
            ..Self::new(FaultClass::Client, Phase::Connect, message)
        }
    }

    pub fn with_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.retry_after = wait.into();
        self
    }
}
