//! Cursors of lists and searches: the start of the next page, bound to the request. A cursor of another request is
//! rejected.

use std::fmt::{Debug, Display};

use serde_json::json;
use sha2::{Digest, Sha256};

use muster_core::{Error, Kind};

/// Hash that identifies a request.
fn hash(request: &impl Debug) -> String {
    let digest = Sha256::digest(format!("{request:?}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the cursor of the page that begins at `at`.
pub(super) fn cursor(at: impl Display, request: &impl Debug) -> String {
    format!("{at}.{}", hash(request))
}

/// Parses a cursor.
///
/// # Errors
/// `Invalid`: it belongs to another request, or is not a cursor.
pub(super) fn read<T: std::str::FromStr>(cursor: &str, request: &impl Debug) -> Result<T, Error> {
    let at = cursor.rsplit_once('.').filter(|(_, marked)| *marked == hash(request));
    at.and_then(|(at, _)| at.parse().ok()).ok_or_else(|| {
        let input: String = cursor.chars().take(64).collect();
        let msg = "belongs to a list or search with other filters: begin without a cursor";
        Error::field(Kind::Invalid, &["query", "cursor"], msg, json!(input))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_valid_for_their_request_only() {
        let made = cursor(7, &("tag", 1));
        assert_eq!(read::<usize>(&made, &("tag", 1)), Ok(7));
        assert_eq!(read::<usize>(&made, &("tag", 2)).unwrap_err().fields[0].loc, ["query", "cursor"]);
        for bad in ["", ".", "7", "x.0000000000000000"] {
            assert!(read::<usize>(bad, &("tag", 1)).is_err(), "{bad}");
        }
    }
}
