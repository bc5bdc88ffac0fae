//! Cursors of lists and searches: the start of the next page, bound to the request. A cursor of another request is
//! rejected.

use std::fmt::{Debug, Display};

use serde_json::json;
use sha2::{Digest, Sha256};

use muster_core::{Error, Kind};

/// Hash that identifies a request.
fn mark(question: &impl Debug) -> String {
    let digest = Sha256::digest(format!("{question:?}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the cursor of the page that begins at `at`.
pub(super) fn cursor(at: impl Display, question: &impl Debug) -> String {
    format!("{at}.{}", mark(question))
}

/// Parses a cursor.
///
/// # Errors
/// `Invalid`: it belongs to another request, or is not a cursor.
pub(super) fn read<T: std::str::FromStr>(cursor: &str, question: &impl Debug) -> Result<T, Error> {
    let at = cursor.rsplit_once('.').filter(|(_, marked)| *marked == mark(question));
    at.and_then(|(at, _)| at.parse().ok()).ok_or_else(|| {
        let shown: String = cursor.chars().take(64).collect();
        let msg = "is not of a list or search with these filters: begin without it";
        Error::field(Kind::Invalid, &["query", "cursor"], msg, json!(shown))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_question_only() {
        let made = cursor(7, &("tag", 1));
        assert_eq!(read::<usize>(&made, &("tag", 1)), Ok(7));
        assert_eq!(read::<usize>(&made, &("tag", 2)).unwrap_err().fields[0].loc, ["query", "cursor"]);
        for bad in ["", ".", "7", "x.0000000000000000"] {
            assert!(read::<usize>(bad, &("tag", 1)).is_err(), "{bad}");
        }
    }
}
