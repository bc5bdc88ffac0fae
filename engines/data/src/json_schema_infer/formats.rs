//! Common format of all texts at one place.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::json;

/// Formats of JSON Schema that are detected, narrower first.
const FORMATS: [&str; 8] = ["date-time", "date", "time", "uuid", "ipv4", "ipv6", "email", "uri"];

/// Formats that all texts so far conform to.
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

    /// Intersects two sets of formats.
    pub fn and(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = *mine && theirs);
    }

    pub fn first(&self) -> Option<&'static str> {
        FORMATS.into_iter().zip(self.0).find(|(_, possible)| *possible).map(|(format, _)| format)
    }
}

/// Uses the crate that validates (q109), so that a schema never rejects its own samples.
fn is_of(at: usize, text: &str) -> bool {
    static VALIDATORS: OnceLock<Vec<Option<Validator>>> = OnceLock::new();
    let build = |format: &str| {
        let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
        options.build(&json!({ "format": format })).ok()
    };
    let validators = VALIDATORS.get_or_init(|| FORMATS.into_iter().map(build).collect());
    // Any word with a colon is a URI; only those with an authority or a common scheme are intended as such.
    let likely = FORMATS.get(at) != Some(&"uri")
        || text.contains("://")
        || ["mailto:", "urn:", "tel:", "data:"].iter().any(|scheme| text.starts_with(scheme));
    let valid = |validator: &Validator| validator.is_valid(&json!(text));
    likely && !text.is_empty() && validators.get(at).and_then(Option::as_ref).is_some_and(valid)
}
