//! Tags of a request, which its usage is reported under: of the header `X-Muster-Tags`, and of the body.

use actix_web::{HttpMessage, HttpRequest};
use muster_core::{Error, Kind};
use muster_request::Fields;
use serde_json::Value;

/// Maximum number of tags of a request.
const MAX_TAGS: usize = 10;
/// Maximum number of characters of a tag.
const MAX_CHARACTERS: usize = 64;
/// Header with tags, separated by commas.
const HEADER: &str = "x-muster-tags";

/// Tags of the body of a request.
#[derive(Debug, Clone, Default)]
pub struct BodyTags(pub Vec<String>);

/// Reads `metadata.tags`: a list of texts, or one text with commas.
pub fn of_metadata(fields: &mut Fields<'_>, _: &str) -> Option<Vec<String>> {
    let tags = fields.value("metadata")?.get("tags")?;
    let tags: Option<Vec<String>> = match tags {
        Value::Array(tags) => tags.iter().map(|tag| tag.as_str().map(str::to_owned)).collect(),
        Value::String(text) => Some(split(text)),
        _ => None,
    };
    let checked = tags.ok_or_else(|| WRONG.to_owned()).and_then(checked);
    checked.map_err(|why| fields.fail("metadata.tags", why)).ok()
}

const WRONG: &str = "must be up to 10 texts of 1 to 64 characters, without commas and control characters";

fn split(text: &str) -> Vec<String> {
    text.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect()
}

fn checked(mut tags: Vec<String>) -> Result<Vec<String>, String> {
    let fits = |tag: &String| {
        (1..=MAX_CHARACTERS).contains(&tag.chars().count()) && !tag.contains(',') && !tag.chars().any(char::is_control)
    };
    tags.sort_unstable();
    tags.dedup();
    if tags.len() <= MAX_TAGS && tags.iter().all(fits) { Ok(tags) } else { Err(WRONG.to_owned()) }
}

/// Returns the tags of a request, sorted and each once.
///
/// # Errors
/// `Invalid` if there are too many, or one has a wrong form.
pub fn of(http: &HttpRequest) -> Result<Vec<String>, Error> {
    let mut tags = http.extensions().get::<BodyTags>().map(|tags| tags.0.clone()).unwrap_or_default();
    for value in http.headers().get_all(HEADER) {
        let text = std::str::from_utf8(value.as_bytes()).map_err(|_| wrong(Value::Null))?;
        tags.extend(split(text));
    }
    if tags.is_empty() { Ok(tags) } else { checked(tags).map_err(|_| wrong(Value::Null)) }
}

fn wrong(input: Value) -> Error {
    Error::field(Kind::Invalid, &["header", "X-Muster-Tags"], WRONG, input)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn header_and_body_are_read_together() {
        let http = TestRequest::default().insert_header((HEADER, "b, a ,,job:7")).to_http_request();
        http.extensions_mut().insert(BodyTags(vec!["c".to_owned(), "a".to_owned()]));
        assert_eq!(of(&http).unwrap(), ["a", "b", "c", "job:7"]);
        assert!(of(&TestRequest::default().to_http_request()).unwrap().is_empty());
    }

    #[test]
    fn too_many_and_too_long_tags_are_rejected() {
        let of = |text: &str| of(&TestRequest::default().insert_header((HEADER, text)).to_http_request());
        assert!(of(&"x".repeat(65)).is_err() && of(&"x".repeat(64)).is_ok());
        let many: Vec<_> = (0..11).map(|n| n.to_string()).collect();
        assert!(of(&many.join(",")).is_err() && of(&many[..10].join(",")).is_ok());
    }
}
