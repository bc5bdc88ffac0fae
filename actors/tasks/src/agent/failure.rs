//! How refusals of engines and providers become failures of steps.

use crate::task::{Retry, StepError, Usage};
use muster_core::{Error, Kind};

/// The contract's code for whatever has none of its own.
pub(super) const EXECUTION: &str = "AGENT_EXECUTION_ERROR";
pub(super) const PARAMS_MISSING: &str = "AGENT_PARAMS_MISSING";

/// What a journal holds that nothing here wrote, or an agent that this server does not have any more.
pub(super) fn broken(detail: impl Into<String>) -> StepError {
    StepError::new(EXECUTION, detail, Retry::Never)
}

/// Of an engine. Engines are deterministic: only what lies in their surroundings is tried again.
pub(super) fn engine(step: &str, label: &str, error: Error) -> StepError {
    let (code, retry) = match error.kind {
        Kind::Unavailable | Kind::RateLimited => ("ENGINE_BUSY", again(&error)),
        Kind::Internal => ("ENGINE_FAILED", Retry::Soon),
        Kind::TimedOut => ("ENGINE_TIMED_OUT", Retry::Never),
        Kind::TooLarge => ("ENGINE_TOO_LARGE", Retry::Never),
        Kind::Invalid => ("ENGINE_INPUT_INVALID", Retry::Never),
        Kind::Forbidden => ("ENGINE_FORBIDDEN", Retry::Never),
        _ => (EXECUTION, Retry::Never),
    };
    StepError::new(code, format!("step {step}, {label}: {}", error.message), retry)
}

/// Whether a model that called the engine is told of the failure and may go on: all but what is tried again.
pub(super) fn is_told(error: &StepError) -> bool {
    error.retry == Retry::Never
}

/// Of a provider.
pub(super) fn provider(error: Error, usage: Usage) -> StepError {
    let (code, retry) = match error.kind {
        Kind::ProviderFailed | Kind::Unavailable | Kind::RateLimited | Kind::TimedOut => {
            ("PROVIDER_FAILED", again(&error))
        }
        Kind::BudgetExhausted | Kind::QuotaExceeded => ("BUDGET_EXHAUSTED", Retry::Never),
        Kind::ContextLengthExceeded => ("CONTEXT_LENGTH_EXCEEDED", Retry::Never),
        _ => ("PROVIDER_REFUSED", Retry::Never),
    };
    StepError { usage, ..StepError::new(code, error.message, retry) }
}

fn again(error: &Error) -> Retry {
    error.retry_after.map_or(Retry::Soon, Retry::After)
}
