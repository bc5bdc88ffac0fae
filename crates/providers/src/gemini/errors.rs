//! What Google's errors mean: `{"error":{code, message, status, details}}` (cloud.google.com/apis/design/errors).

use crate::http::{ErrorBody, classify as by_status};
use crate::{ClientFault, FaultClass};

/// The class of an error: what Google words in its own way, then the same rules as for every provider.
pub(super) fn classify(status: Option<u16>, said: &ErrorBody) -> (FaultClass, Option<ClientFault>) {
    let status = status.or_else(|| numbered(said));
    if operators(said) {
        return (FaultClass::Hard, None);
    }
    if matches!(status, Some(400 | 413)) {
        // «The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).»
        if said.says(&["exceeds the maximum number of tokens"]) {
            return (FaultClass::Client, Some(ClientFault::ContextLengthExceeded));
        }
        // Several candidates, penalties, or tools beside a JSON format, on a model that has no such thing.
        if said.says(&["is not enabled for", "response mime type: 'application/json' is unsupported"]) {
            return (FaultClass::Client, Some(ClientFault::Unsupported));
        }
    }
    by_status(status, said)
}

/// Only the operator can mend it: billing or the place that the server stands in (`FAILED_PRECONDITION`), a wrong or
/// expired key, spent credits, which come as a 429.
fn operators(said: &ErrorBody) -> bool {
    said.labelled(&["failed_precondition", "api_key_invalid"]) || said.says(&["prepayment credits are depleted"])
}

/// The HTTP status of a canonical code (google/rpc/code.proto), for an error that came without one.
fn numbered(said: &ErrorBody) -> Option<u16> {
    let table = [
        ("invalid_argument", 400),
        ("out_of_range", 400),
        ("unauthenticated", 401),
        ("permission_denied", 403),
        ("not_found", 404),
        ("resource_exhausted", 429),
    ];
    table.into_iter().find(|(code, _)| said.labelled(&[code])).map(|(_, status)| status)
}
