//! Strict objects of tokens, and bodies and queries of requests.

use std::collections::HashSet;

use muster_request::Request;
use serde_json::Value;
use strict::FLAT;

use crate::campaign::{fuzz, label};

/// The reader of claims and headers, which is private to its crate.
#[path = "../../crates/auth/src/strict.rs"]
mod strict;

const JSON: [&str; 16] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"a\"",
    "\"\\u0061\"",
    "null",
    "true",
    "1e400",
    "-0",
    "\\ud800",
    "\"",
    "{\"a\":",
    "[[[[[",
];

/// What is accepted is what serde_json reads, without a name that occurs twice, and is accepted again when written.
#[test]
fn strict_object() {
    fuzz("strict_object", &JSON, |input| {
        let plain = serde_json::from_slice::<Value>(input);
        let Some(object) = strict::object(input, FLAT) else {
            return format!("rejected {}", plain.map_or_else(label, |value| format!("{}", depth(&value).min(6))));
        };
        let object = Value::Object(object);
        assert_eq!(plain.ok().as_ref(), Some(&object), "differs from serde_json");
        assert!(depth(&object) <= usize::from(FLAT));
        let written = serde_json::to_vec(&object).unwrap();
        assert_eq!(strict::object(&written, FLAT).map(Value::Object), Some(object.clone()));
        // Twice the same members is ambiguous.
        if let (Some(inner), false) = (written.strip_prefix(b"{"), written == b"{}") {
            let twice = [&written[..written.len() - 1], b",", inner].concat();
            assert_eq!(strict::object(&twice, FLAT), None, "a duplicate was accepted");
        }
        format!("object of depth {}", depth(&object))
    });
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A resource.
#[derive(Request)]
#[request(schema = FuzzedPart)]
struct Part {
    /// A name.
    #[request(chars = 1..=8, no_nul)]
    name: String,
    /// A count.
    #[request(range = 1..=1_000, default = 1)]
    count: u32,
}

/// A body with every kind of field.
#[derive(Request)]
#[request(schema = FuzzedBody)]
struct Body {
    /// A title.
    #[request(chars = 1..=16)]
    title: String,
    /// A share.
    #[request(range = -1.0..=1.0)]
    share: Option<f64>,
    /// A flag that null clears.
    flag: Option<Option<bool>>,
    /// Tags.
    #[request(items = 0..=3)]
    tags: Option<Vec<String>>,
    /// One part.
    #[request(nested)]
    part: Option<Part>,
    /// Several.
    #[request(list, items = 0..=2)]
    parts: Option<Vec<Part>>,
}

/// Every failure names a place within the body; what is accepted is within its bounds.
#[test]
fn request_body() {
    let members =
        ["\"title\":", "\"share\":", "\"flag\":", "\"tags\":", "\"part\":", "\"parts\":", "\"name\":", "\"count\":"];
    let words = [&JSON[..], &members].concat();
    fuzz("request_body", &words, |input| {
        let Ok(value) = serde_json::from_slice::<Value>(input) else { return "no JSON".to_owned() };
        match Body::from_json(&value) {
            Ok(body) => {
                assert!((1..=16).contains(&body.title.chars().count()));
                assert!(body.share.is_none_or(|share| (-1.0..=1.0).contains(&share)));
                assert!(body.tags.is_none_or(|tags| tags.len() <= 3));
                let parts = body.parts.into_iter().flatten().chain(body.part);
                parts.for_each(|part| assert!((1..=1_000).contains(&part.count) && !part.name.contains('\0')));
                format!("accepted {:?}", body.flag)
            }
            Err(rejection) => {
                assert!(!rejection.fields.is_empty() && !rejection.message.is_empty());
                assert!(rejection.fields.iter().all(|field| field.loc.first().is_some_and(|first| first == "body")));
                let places: HashSet<_> = rejection.fields.iter().map(|field| label(field.loc.join("."))).collect();
                let mut places: Vec<_> = places.into_iter().collect();
                places.sort();
                places.join(" ")
            }
        }
    });
}
