//! Classification of Google's errors: `{"error":{code, message, status, details}}`
//! (cloud.google.com/apis/design/errors).

use crate::http::{ErrorBody, classify as by_status};
use crate::{ClientFault, FaultClass};

/// Classifies an error: Google's own wordings first, then the common rules.
pub(super) fn classify(status: Option<u16>, error_body: &ErrorBody) -> (FaultClass, Option<ClientFault>) {
    let status = status.or_else(|| numbered(error_body));
    if operators(error_body) {
        return (FaultClass::Hard, None);
    }
    if matches!(status, Some(400 | 413)) {
        // "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."
        if error_body.message_contains(&["exceeds the maximum number of tokens"]) {
            return (FaultClass::Client, Some(ClientFault::ContextLengthExceeded));
        }
        // Several candidates, penalties, or tools together with a JSON format, on a model without that feature.
        if error_body.message_contains(&["is not enabled for", "response mime type: 'application/json' is unsupported"])
        {
            return (FaultClass::Client, Some(ClientFault::Unsupported));
        }
    }
    by_status(status, error_body)
}

/// Only the operator can fix it: billing or the server's location (`FAILED_PRECONDITION`), a wrong or expired key,
/// exhausted credits, which are reported as 429.
fn operators(error_body: &ErrorBody) -> bool {
    error_body.labelled(&["failed_precondition", "api_key_invalid"])
        || error_body.message_contains(&["prepayment credits are depleted"])
}

/// HTTP status of a canonical code (google/rpc/code.proto), for an error without a status.
fn numbered(error_body: &ErrorBody) -> Option<u16> {
    let table = [
        ("invalid_argument", 400),
        ("out_of_range", 400),
        ("unauthenticated", 401),
        ("permission_denied", 403),
        ("not_found", 404),
        ("resource_exhausted", 429),
    ];
    table.into_iter().find(|(code, _)| error_body.labelled(&[code])).map(|(_, status)| status)
}
