//! The format that all texts of one place are of.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::json;

/// JSON Schema's formats that are looked for, the narrower first.
const FORMATS: [&str; 8] = ["date-time", "date", "time", "uuid", "ipv4", "ipv6", "email", "uri"];

/// Which formats are still possible after each text that was seen.
#[derive(Debug, Clone, Copy)]
pub struct Possible([bool; FORMATS.len()]);

impl Default for Possible {
    fn default() -> Self {
        Self([true; FORMATS.len()])
    }
}

impl Possible {
    pub fn see(&mut self, text: &str) {
        for (at, possible) in self.0.iter_mut().enumerate() {
            *possible = *possible && is_of(at, text);
        }
    }

    /// What is possible for the texts of both.
    pub fn and(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = *mine && theirs);
    }

    pub fn first(&self) -> Option<&'static str> {
        FORMATS.into_iter().zip(self.0).find(|(_, possible)| *possible).map(|(format, _)| format)
    }
}

/// By the same crate that validates (q109), so that a schema never refuses what it was made of.
fn is_of(at: usize, text: &str) -> bool {
    static VALIDATORS: OnceLock<Vec<Option<Validator>>> = OnceLock::new();
    let build = |format: &str| {
        let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
        options.build(&json!({ "format": format })).ok()
    };
    let validators = VALIDATORS.get_or_init(|| FORMATS.into_iter().map(build).collect());
    // Any word and a colon begin a URI; people write them with an authority, or of these kinds.
    let likely = FORMATS.get(at) != Some(&"uri")
        || text.contains("://")
        || ["mailto:", "urn:", "tel:", "data:"].iter().any(|scheme| text.starts_with(scheme));
    let valid = |validator: &Validator| validator.is_valid(&json!(text));
    likely && !text.is_empty() && validators.get(at).and_then(Option::as_ref).is_some_and(valid)
}
