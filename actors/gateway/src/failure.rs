//! From what a walk met to the one error that its caller gets. Pure.

use std::time::Duration;

use muster_providers::{Candidate, ClientFault, Fault, FaultClass, Phase, ResolveError};

use super::messages::AttemptOutcome;
use muster_core::{Error, Kind};

/// What a request met on its way through the chain, where nobody answered.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The request itself is at fault, as a provider worded it.
    pub(super) refused: Option<Fault>,
    /// The last provider that failed, and how.
    pub(super) failed: Option<(String, Fault)>,
    /// The last one in this process that was not ready, and how.
    pub(super) not_ready: Option<Fault>,
    /// The first one that cannot do what was asked.
    pub(super) unsupported: Option<Fault>,
    /// A provider that does not know the model's made-up name.
    pub(super) unknown: Option<Fault>,
    /// Nothing could be set aside for the first of those that cost something.
    pub(super) unpaid: Option<Error>,
    /// The soonest time to try again, of those that could not be asked.
    pub(super) soonest: Option<Duration>,
    /// The deadline of the whole request came first.
    pub(super) deadline: Option<Duration>,
}

/// The error that a caller gets for a provider's fault.
pub(crate) fn refusal(fault: Fault) -> Error {
    let kind = match (fault.class, fault.client) {
        (FaultClass::Client, Some(ClientFault::ContextLengthExceeded)) => Kind::ContextLengthExceeded,
        (FaultClass::Client, Some(ClientFault::UnsupportedValue | ClientFault::Unsupported)) => Kind::UnsupportedValue,
        (FaultClass::Client, _) => Kind::Invalid,
        (FaultClass::Transient | FaultClass::Throttled | FaultClass::Hard, _) => Kind::ProviderFailed,
    };
    let mut error = match &fault.param {
        Some(param) => Error::field(kind, &["body", param.as_str()], fault.message, serde_json::Value::Null),
        None => Error::new(kind, fault.message),
    };
    error.retry_after = fault.retry_after;
    error
}

/// What a fault makes of the attempt that met it.
pub(super) fn outcome_of(candidate: &Candidate, fault: &Fault) -> AttemptOutcome {
    if candidate.excuses(fault) {
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

/// A fault of something in this process, which has no HTTP status, that says when it will be ready: absent, loading or
/// full. It is not broken, so no breaker learns of it.
fn is_not_ready(fault: &Fault) -> bool {
    fault.class == FaultClass::Transient
        && fault.phase == Phase::Connect
        && fault.status.is_none()
        && fault.retry_after.is_some()
}

impl Losses {
    pub(super) fn wait_for(&mut self, wait: Duration) {
        self.soonest = Some(self.soonest.map_or(wait, |soonest| soonest.min(wait)));
    }

    pub(super) fn conclude(self, asked: Option<&str>) -> Error {
        if let Some(fault) = self.refused {
            return refusal(fault);
        }
        if let Some(deadline) = self.deadline {
            let last = self.failed.map(|(provider, fault)| format!("; last failure: {provider}: {fault}"));
            let message =
                format!("no provider answered within {} ms{}", deadline.as_millis(), last.unwrap_or_default());
            return Error::new(Kind::ProviderFailed, message);
        }
        if let Some((provider, fault)) = self.failed {
            let mut error =
                Error::new(Kind::ProviderFailed, format!("every provider failed; the last, {provider}: {fault}"));
            error.retry_after = fault.retry_after;
            return error;
        }
        if let Some(error) = self.unpaid {
            return error;
        }
        if let Some(fault) = self.not_ready {
            let mut error = Error::new(Kind::Unavailable, fault.message);
            error.retry_after = fault.retry_after.into_iter().chain(self.soonest).min();
            return error;
        }
        if let Some(soonest) = self.soonest {
            let message =
                "no provider can be asked now: each failed repeatedly or is restarting, and will be tried again";
            return Error::new(Kind::Unavailable, message).retry_in(soonest);
        }
        if let Some(fault) = self.unsupported {
            return refusal(fault);
        }
        let model = asked.unwrap_or("default").to_owned();
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

/// The settings know the provider, and this server was started without it.
pub(super) fn no_adapter(asked: Option<&str>) -> Error {
    let model = asked.unwrap_or("default");
    Error::new(Kind::ModelUnconfigured, format!("no provider of the model {model:?} is running: see `muster doctor`"))
}

/// A stream that broke after its first delta.
pub(super) fn broken(provider: &str, fault: Fault) -> Error {
    Error::new(Kind::ProviderFailed, format!("{provider} broke off its answer: {fault}"))
}
