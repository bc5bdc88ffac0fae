//! Faults of providers, classified by their consequence.

use std::time::Duration;

use serde::Serialize;

use crate::Billed;

/// Consequence of a fault for failover and circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    /// Connect, 408, 5xx, a time-out of any phase, a malformed answer, an error or an end before the first delta: next
    /// provider; counts against the breaker.
    Transient,
    /// 429: next provider; `retry_after` is the minimum cool-down.
    Throttled,
    /// 401, 403, billing: next provider; long cool-down and an error in the log.
    Hard,
    /// 400, 413, 422, context too long: returned at once; no penalty.
    Client,
}

/// Phase of the call in which the fault occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Establishing the connection.
    Connect,
    /// Waiting for the response headers.
    Headers,
    /// Waiting for the first delta.
    FirstDelta,
    /// Waiting for a further delta.
    BetweenDeltas,
    /// Reading the body.
    Body,
}

/// What a fault says about the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultScope {
    /// All of the provider's models are affected: connection, key, billing, a limit of the account.
    Provider,
    /// Only the called model is known to be affected: an unknown name, 5xx, a time-out, a malformed answer.
    Model,
}

/// Client faults that have their own error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientFault {
    /// The prompt and answer do not fit the model's context.
    ContextLengthExceeded,
    /// A value is not supported.
    UnsupportedValue,
    /// The request is invalid.
    InvalidRequest,
    /// The provider refuses the prompt by its rules on content.
    ContentPolicy,
    /// The request is valid, but its adapter knows that this provider does not support it. Another one may.
    Unsupported,
}

/// One failure of one provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Consequence of the fault.
    pub class: FaultClass,
    /// Phase in which it occurred.
    pub phase: Phase,
    /// Whether the provider or only the called model is affected.
    pub scope: FaultScope,
    /// Whether the provider reported an error itself, as opposed to a failure of the connection or of its answer.
    pub reported: bool,
    /// HTTP status of the provider, if there was one.
    pub status: Option<u16>,
    /// Wait requested by the provider.
    pub retry_after: Option<Duration>,
    /// Set for `FaultClass::Client`.
    pub client: Option<ClientFault>,
    /// Request field at fault, if known.
    pub param: Option<String>,
    /// What the provider bills although the call failed, if that is known: pictures that were drawn.
    pub billed: Option<Billed>,
    /// Message for people: never contains a secret or the prompt; at most 500 characters are quoted from the provider.
    pub message: String,
}

/// Maximum number of characters quoted from a provider's message.
pub const MAX_FAULT_MESSAGE_CHARS: usize = 500;

impl Fault {
    /// Creates a fault with a class, a phase and a message.
    pub fn new(class: FaultClass, phase: Phase, message: impl Into<String>) -> Self {
        let scope = match (class, phase) {
            (FaultClass::Transient, Phase::Connect) | (FaultClass::Throttled | FaultClass::Hard, _) => {
                FaultScope::Provider
            }
            (FaultClass::Transient | FaultClass::Client, _) => FaultScope::Model,
        };
        let message = message.into();
        Self {
            class,
            phase,
            scope,
            reported: false,
            status: None,
            retry_after: None,
            client: None,
            param: None,
            billed: None,
            message,
        }
    }

    /// Creates a transient fault.
    pub fn transient(phase: Phase, message: impl Into<String>) -> Self {
        Self::new(FaultClass::Transient, phase, message)
    }

    /// Creates the fault for a field that the provider does not support, known without a call.
    pub fn unsupported(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            client: Some(ClientFault::Unsupported),
            param: Some(param.into()),
            ..Self::new(FaultClass::Client, Phase::Connect, message)
        }
    }

    /// Returns whether the provider may have processed the request, and may bill for it: it was sent, and the provider
    /// did not report an error.
    pub fn may_have_run(&self) -> bool {
        let reported = self.reported || self.status.is_some();
        self.class == FaultClass::Transient && self.phase != Phase::Connect && !reported
    }

    /// Sets the wait requested by the provider.
    pub fn with_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.retry_after = wait.into();
        self
    }
}
