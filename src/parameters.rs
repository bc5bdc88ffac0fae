//! Values that many routes read from a request: page, version and idempotency key.

use actix_web::HttpRequest;
use actix_web::http::header::IF_MATCH;
use muster_core::idempotency::Idempotency;
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};
use muster_geo::BBox;
use muster_request::{Fields, Request};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The page of a list.
#[derive(Debug, Clone, Request)]
#[request(query, body)]
pub struct PageQuery {
    /// Maximum number of entries of the page.
    #[request(range = 1..=200, default = 50)]
    pub limit: usize,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

impl From<PageQuery> for PageParams {
    fn from(PageQuery { limit, cursor }: PageQuery) -> Self {
        Self { limit, after: cursor.filter(|cursor| !cursor.is_empty()) }
    }
}

/// Reads an RFC 3339 time.
pub fn time(fields: &mut Fields<'_>, name: &str) -> Option<Millis> {
    let text = fields.string(name)?;
    let time = Millis::parse_rfc3339(&text);
    if time.is_none() {
        fields.fail(name, "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z");
    }
    time
}

/// Reads a bounding box: west, south, east and north in degrees.
pub fn bbox(fields: &mut Fields<'_>, name: &str) -> Option<BBox> {
    let text = fields.string(name)?;
    BBox::parse(&text).map_err(|error| fields.fail(name, error.to_string())).ok()
}

/// Reads the expected version: `If-Match: "7"`, `If-Match: 7`, or `*` for any version.
///
/// # Errors
/// `PreconditionRequired` if the header is missing, `Invalid` if it is not a version.
pub fn if_match(request: &HttpRequest) -> Result<IfMatch, Error> {
    let Some(value) = request.headers().get(IF_MATCH) else {
        let message = "send the version that you have read as `If-Match: \"<version>\"` (the record's `version`, its \
                       ETag), or `If-Match: *` to change whatever is there";
        return Err(Error::new(Kind::PreconditionRequired, message));
    };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(IfMatch::Any);
    }
    let version = text.trim_start_matches("W/").trim_matches('"').parse();
    version.map(IfMatch::Version).map_err(|_| {
        Error::field(Kind::Invalid, &["header", "If-Match"], "must be a version, such as \"7\", or *", text.into())
    })
}

/// Reads the expected version; without `If-Match` any version matches.
///
/// # Errors
/// `Invalid` if it is not a version.
pub fn optional_if_match(request: &HttpRequest) -> Result<IfMatch, Error> {
    if request.headers().contains_key(IF_MATCH) { if_match(request) } else { Ok(IfMatch::Any) }
}

/// Reads the note of a verb, which may be sent as `note` or as `reason`.
pub fn note(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    let (note, reason) = (fields.string(name), fields.string("reason"));
    if note.is_some() && reason.is_some() && note != reason {
        fields.fail("reason", "is another name of `note`: send one of them");
    }
    note.or(reason)
}

/// The note of a verb that needs none.
#[derive(Debug, Request)]
#[allow(dead_code, reason = "the other name is only described")]
pub struct NoteFields {
    /// Why, or what was done: a note for the timeline. At most 10,000 characters.
    #[request(with = note, schema = String)]
    pub note: Option<String>,
    /// Another name of `note`.
    #[request(described, schema = String)]
    reason: (),
}

/// The note of a verb that needs one.
#[derive(Debug, Request)]
#[allow(dead_code, reason = "the other name is only described")]
pub struct RequiredNote {
    /// Why, or what was done: a note for the timeline, 1 to 10,000 characters.
    #[request(with = note, schema = String)]
    pub note: String,
    /// Another name of `note`.
    #[request(described, schema = String)]
    reason: (),
}

/// Reads the idempotency key of the request, if there is one. `sent` is the request body.
///
/// # Errors
/// `Invalid` if the header is not 1 to 255 visible ASCII characters.
pub fn idempotency(request: &HttpRequest, principal: &str, sent: &[u8]) -> Result<Option<Idempotency>, Error> {
    let Some(value) = request.headers().get("Idempotency-Key") else { return Ok(None) };
    let fit = |key: &&str| (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(key) = value.to_str().ok().filter(fit) else {
        let wrong = "must be 1 to 255 visible ASCII characters";
        return Err(Error::field(Kind::Invalid, &["header", "Idempotency-Key"], wrong, Value::Null));
    };
    let digest = Sha256::new().chain_update(request.path()).chain_update([0]).chain_update(sent).finalize();
    Ok(Some(Idempotency { principal: principal.to_owned(), key: key.to_owned(), digest: digest.into() }))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn a_version_is_read_quoted_unquoted_or_as_any() {
        let read = |text: &str| if_match(&TestRequest::default().insert_header((IF_MATCH, text)).to_http_request());
        assert_eq!(read("\"7\"").unwrap(), IfMatch::Version(7));
        assert_eq!(read("7").unwrap(), IfMatch::Version(7));
        assert_eq!(read("*").unwrap(), IfMatch::Any);
        assert_eq!(read("seven").unwrap_err().kind, Kind::Invalid);
        let none = if_match(&TestRequest::default().to_http_request());
        assert_eq!(none.unwrap_err().kind, Kind::PreconditionRequired);
    }
}
