//! Classification of this provider's errors where they differ from the common rules.

use crate::http::{ErrorBody, classify as common};
use crate::{ClientFault, FaultClass};

/// Billing failures reported as `invalid_request_error`: exhausted credit, and the operator's spending limit.
const BILLING: [&str; 2] = ["credit balance is too low", "api usage limits"];

const TOO_LONG: [&str; 2] = ["prompt is too long", "exceed context limit"];

/// A field that this model does not accept, such as `tool_choice: type "tool" and "any" are not supported for this
/// model`: another model may.
const MODEL_CANNOT: [&str; 3] = ["for this model", "with this model", "tool_choice forces tool use"];

/// Classifies as [`common`] does, plus the types of an event without a status.
pub(super) fn classify(status: Option<u16>, error_body: &ErrorBody) -> (FaultClass, Option<ClientFault>) {
    if matches!(status, None | Some(400 | 413)) {
        if error_body.message_contains(&BILLING) {
            return (FaultClass::Hard, None);
        }
        if error_body.message_contains(&TOO_LONG) {
            return (FaultClass::Client, Some(ClientFault::ContextLengthExceeded));
        }
        if error_body.labelled(&["invalid_request_error"]) && error_body.message_contains(&MODEL_CANNOT) {
            return (FaultClass::Client, Some(ClientFault::Unsupported));
        }
    }
    match status {
        None if error_body.labelled(&["not_found_error"]) => (FaultClass::Hard, None),
        None if error_body.labelled(&["request_too_large"]) => (FaultClass::Client, Some(ClientFault::InvalidRequest)),
        _ => common(status, error_body),
    }
}
