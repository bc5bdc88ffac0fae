//! What this provider's errors mean, where its words differ from the others'.

use crate::http::{ErrorBody, classify as common};
use crate::{ClientFault, FaultClass};

/// Money, told as an `invalid_request_error`: the balance, and the limit of spending set by the operator.
const BILLING: [&str; 2] = ["credit balance is too low", "api usage limits"];

const TOO_LONG: [&str; 2] = ["prompt is too long", "exceed context limit"];

/// A field that this one model does not take, such as `tool_choice: type "tool" and "any" are not supported for this
/// model`: another model may.
const MODEL_CANNOT: [&str; 3] = ["for this model", "with this model", "tool_choice forces tool use"];

/// As [`common`], with the types of an event that has no status.
pub(super) fn classify(status: Option<u16>, said: &ErrorBody) -> (FaultClass, Option<ClientFault>) {
    if matches!(status, None | Some(400 | 413)) {
        if said.says(&BILLING) {
            return (FaultClass::Hard, None);
        }
        if said.says(&TOO_LONG) {
            return (FaultClass::Client, Some(ClientFault::ContextLengthExceeded));
        }
        if said.labelled(&["invalid_request_error"]) && said.says(&MODEL_CANNOT) {
            return (FaultClass::Client, Some(ClientFault::Unsupported));
        }
    }
    match status {
        None if said.labelled(&["not_found_error"]) => (FaultClass::Hard, None),
        None if said.labelled(&["request_too_large"]) => (FaultClass::Client, Some(ClientFault::InvalidRequest)),
        _ => common(status, said),
    }
}
