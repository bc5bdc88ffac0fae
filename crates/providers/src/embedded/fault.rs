//! Maps the model's errors to faults.

use std::time::Duration;

use muster_models::ModelError;

use crate::{ClientFault, Fault, FaultClass, Phase};

/// Loading a model takes seconds to a minute.
pub(crate) const LOADING_RETRY: Duration = Duration::from_secs(5);
/// Nothing changes until an operator installs the files.
pub(crate) const ABSENT_RETRY: Duration = Duration::from_secs(60);

/// The engine ended without a final event.
pub(super) fn died(phase: Phase) -> Fault {
    Fault::transient(phase, "the embedded model's engine stopped in the middle of the work")
}

pub(super) fn fault(error: ModelError) -> Fault {
    let message = error.to_string();
    let transient = |wait: Option<Duration>| Fault::transient(Phase::Connect, message.clone()).with_retry_after(wait);
    let client = |kind, param: &str| Fault {
        client: Some(kind),
        param: Some(param.to_owned()),
        ..Fault::new(FaultClass::Client, Phase::Connect, message.clone())
    };
    match error {
        ModelError::Absent { .. } => transient(Some(ABSENT_RETRY)),
        ModelError::Loading { .. } => transient(Some(LOADING_RETRY)),
        ModelError::Busy { retry_after } => transient(Some(retry_after)),
        ModelError::Failed { .. } => transient(None),
        ModelError::ContextTooLong { .. } => client(ClientFault::ContextLengthExceeded, "messages"),
        ModelError::Unsupported { field, .. } => client(ClientFault::UnsupportedValue, &field),
    }
}
