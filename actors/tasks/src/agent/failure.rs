//! Conversion of errors of engines and providers into failures of steps.

use crate::task::{Retry, StepError, Usage};
use muster_core::{Error, Kind};

/// The contract's code for failures without a code of their own.
pub(super) const EXECUTION: &str = "AGENT_EXECUTION_ERROR";
pub(super) const PARAMS_MISSING: &str = "AGENT_PARAMS_MISSING";

/// Creates the failure for a journal with unknown content, or for an agent that no longer exists.
pub(super) fn broken(detail: impl Into<String>) -> StepError {
    StepError::new(EXECUTION, detail, Retry::Never)
}

/// Converts an engine's error, or that of a model that it needs. Engines are deterministic: only failures of their
/// environment are retried.
pub(super) fn engine(step: &str, label: &str, error: Error) -> StepError {
    let (code, retry) = match error.kind {
        Kind::Unavailable | Kind::RateLimited => ("ENGINE_BUSY", retry_of(&error)),
        Kind::ProviderFailed => ("PROVIDER_FAILED", retry_of(&error)),
        Kind::BudgetExhausted | Kind::QuotaExceeded => ("BUDGET_EXHAUSTED", Retry::Never),
        Kind::Internal => ("ENGINE_FAILED", Retry::Soon),
        Kind::TimedOut => ("ENGINE_TIMED_OUT", Retry::Never),
        Kind::TooLarge => ("ENGINE_TOO_LARGE", Retry::Never),
        Kind::Invalid => ("ENGINE_INPUT_INVALID", Retry::Never),
        Kind::NoAnswer => ("ENGINE_NO_ANSWER", Retry::Never),
        Kind::Forbidden => ("ENGINE_FORBIDDEN", Retry::Never),
        _ => (EXECUTION, Retry::Never),
    };
    StepError::new(code, format!("step {step}, {label}: {}", error.message), retry)
}

/// Returns whether a failure is reported to the model that called the engine: all failures except those that are
/// retried.
pub(super) fn is_reported(error: &StepError) -> bool {
    error.retry == Retry::Never
}

/// Attempts of a step after which the task goes on without it, where it can.
const MAX_ATTEMPTS: u32 = 3;

/// Returns whether a failed step, of which this was the attempt, is given up: another attempt is of no use, or there were
/// enough.
pub(super) fn is_given_up(error: &StepError, attempt: u32) -> bool {
    is_reported(error) || attempt >= MAX_ATTEMPTS
}

/// Converts a provider's error.
pub(super) fn provider(error: Error, usage: Usage) -> StepError {
    let (code, retry) = match error.kind {
        Kind::ProviderFailed | Kind::Unavailable | Kind::RateLimited | Kind::TimedOut => {
            ("PROVIDER_FAILED", retry_of(&error))
        }
        Kind::BudgetExhausted | Kind::QuotaExceeded => ("BUDGET_EXHAUSTED", Retry::Never),
        Kind::ContextLengthExceeded => ("CONTEXT_LENGTH_EXCEEDED", Retry::Never),
        _ => ("PROVIDER_REFUSED", Retry::Never),
    };
    StepError { usage, ..StepError::new(code, error.message, retry) }
}

fn retry_of(error: &Error) -> Retry {
    error.retry_after.map_or(Retry::Soon, Retry::After)
}
