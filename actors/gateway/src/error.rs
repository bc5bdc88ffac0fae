//! Maps failed attempts to the one error that the caller gets. Pure.

use std::time::Duration;

use muster_providers::{Candidate, ClientFault, Fault, FaultClass, Phase, ResolveError};

use super::messages::AttemptOutcome;
use muster_core::{Error, Kind};

/// Failures collected while no provider has answered.
#[derive(Debug, Default)]
pub(super) struct FailedAttempts {
    /// Fault of the request itself, in the provider's words.
    pub(super) rejected: Option<Fault>,
    /// Id and fault of the last provider that failed.
    pub(super) last_failure: Option<(String, Fault)>,
    /// Fault of the last in-process provider that was not ready.
    pub(super) not_ready: Option<Fault>,
    /// Fault of the first provider that does not support a requested feature.
    pub(super) unsupported: Option<Fault>,
    /// Fault of a provider that does not know a model name invented by the client.
    pub(super) unknown: Option<Fault>,
    /// Error of the first reservation that failed.
    pub(super) unreserved: Option<Error>,
    /// Shortest wait until one of the unavailable providers can be called again.
    pub(super) soonest: Option<Duration>,
    /// Shortest wait announced by a provider that throttles.
    pub(super) throttled: Option<Duration>,
    /// Whether a provider failed in another way than by throttling.
    pub(super) broken: bool,
    /// Deadline of the whole request, if it passed.
    pub(super) deadline: Option<Duration>,
}

/// Converts a provider's fault to the caller's error.
pub(crate) fn refusal(fault: Fault) -> Error {
    let kind = match (fault.class, fault.client) {
        (FaultClass::Client, Some(ClientFault::ContextLengthExceeded)) => Kind::ContextLengthExceeded,
        (FaultClass::Client, Some(ClientFault::UnsupportedValue | ClientFault::Unsupported)) => Kind::UnsupportedValue,
        (FaultClass::Client, _) => Kind::Invalid,
        (FaultClass::Transient | FaultClass::Throttled | FaultClass::Hard, _) => Kind::ProviderFailed,
    };
    let refused_prompt = fault.client == Some(ClientFault::ContentPolicy);
    let mut error = match &fault.param {
        Some(param) => Error::field(kind, &["body", param.as_str()], fault.message, serde_json::Value::Null),
        None => Error::new(kind, fault.message),
    };
    if refused_prompt {
        error = error.coded("content_policy_violation");
    }
    error.retry_after = fault.retry_after;
    error
}

/// Classifies an attempt by its fault.
pub(super) fn outcome_of(candidate: &Candidate, fault: &Fault) -> AttemptOutcome {
    if candidate.is_unknown_client_model(fault) {
        return AttemptOutcome::UnknownModel;
    }
    match fault.class {
        FaultClass::Transient if is_not_ready(fault) => AttemptOutcome::NotReady,
        FaultClass::Transient => AttemptOutcome::Transient,
        FaultClass::Throttled => AttemptOutcome::Throttled,
        FaultClass::Hard => AttemptOutcome::Hard,
        FaultClass::Client if fault.client == Some(ClientFault::Unsupported) => AttemptOutcome::Unsupported,
        FaultClass::Client => AttemptOutcome::Client,
    }
}

/// Returns whether an in-process provider is absent, loading or full. Such a fault has no HTTP status and carries a
/// retry time; the provider is not broken, so the fault is not reported to its breaker.
fn is_not_ready(fault: &Fault) -> bool {
    fault.class == FaultClass::Transient
        && fault.phase == Phase::Connect
        && fault.status.is_none()
        && fault.retry_after.is_some()
}

impl FailedAttempts {
    pub(super) fn wait_for(&mut self, wait: Duration) {
        self.soonest = Some(self.soonest.map_or(wait, |soonest| soonest.min(wait)));
    }

    /// Notes that a provider throttles, and for how long.
    pub(super) fn throttled_for(&mut self, wait: Duration) {
        self.throttled = Some(self.throttled.map_or(wait, |shortest| shortest.min(wait)));
    }

    /// Returns whether no call was made that failed: providers were only not available.
    pub(super) fn only_unavailable(&self) -> bool {
        self.rejected.is_none() && self.last_failure.is_none() && self.unreserved.is_none() && self.deadline.is_none()
    }

    pub(super) fn into_error(self, requested_model: Option<&str>) -> Error {
        if let Some(fault) = self.rejected {
            return refusal(fault);
        }
        if let Some(wait) = self.throttled.filter(|_| !self.broken && self.deadline.is_none()) {
            let wait = wait.max(Duration::from_secs(1));
            let last = self.last_failure.map(|(provider, fault)| format!("; the last, {provider}: {fault}"));
            let message = format!(
                "every provider of this model limits the rate of this server: try again in {} s{}",
                wait.as_millis().div_ceil(1000),
                last.unwrap_or_default()
            );
            return Error::new(Kind::RateLimited, message).retry_in(wait);
        }
        if let Some(deadline) = self.deadline {
            let last = self.last_failure.map(|(provider, fault)| format!("; last failure: {provider}: {fault}"));
            let message =
                format!("no provider answered within {} ms{}", deadline.as_millis(), last.unwrap_or_default());
            return Error::new(Kind::ProviderFailed, message);
        }
        if let Some((provider, fault)) = self.last_failure {
            let mut error =
                Error::new(Kind::ProviderFailed, format!("every provider failed; the last, {provider}: {fault}"));
            error.retry_after = fault.retry_after;
            return error;
        }
        if let Some(error) = self.unreserved {
            return error;
        }
        if let Some(fault) = self.not_ready {
            let mut error = Error::new(Kind::Unavailable, fault.message);
            error.retry_after = fault.retry_after.into_iter().chain(self.soonest).min();
            return error;
        }
        if let Some(soonest) = self.soonest {
            let message =
                "no provider is available now: each failed repeatedly or is restarting, and will be tried again";
            return Error::new(Kind::Unavailable, message).retry_in(soonest);
        }
        if let Some(fault) = self.unsupported {
            return refusal(fault);
        }
        let model = requested_model.unwrap_or("default").to_owned();
        let error = unresolved(ResolveError::NotFound { model });
        match self.unknown {
            Some(fault) => Error { message: format!("{}: {fault}", error.message), ..error },
            None => error,
        }
    }
}

pub(super) fn unresolved(error: ResolveError) -> Error {
    let message = error.to_string();
    match error {
        ResolveError::NotFound { model } => {
            let error = Error::field(Kind::ModelNotFound, &["body", "model"], message.clone(), model.into());
            Error { message, ..error }
        }
        ResolveError::Unconfigured { .. } => Error::new(Kind::ModelUnconfigured, message),
    }
}

/// Error for a provider that is configured but not running in this process.
pub(super) fn no_adapter(requested_model: Option<&str>) -> Error {
    let model = requested_model.unwrap_or("default");
    Error::new(Kind::ModelUnconfigured, format!("no provider of the model {model:?} is running: see `muster doctor`"))
}

/// Error for a stream that broke after its first delta.
pub(super) fn broken(provider: &str, fault: Fault) -> Error {
    Error::new(Kind::ProviderFailed, format!("{provider} broke off its answer: {fault}"))
}
