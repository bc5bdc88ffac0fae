//! Validation of JSON by JSON Schema, drafts 4 to 2020-12. References lead within the schema only.

#![warn(missing_docs)]

use std::fmt;

use jsonschema::{Draft, Validator};
use serde_json::Value;

/// A schema that was read.
#[derive(Debug)]
pub struct Schema {
    draft: Draft,
    validator: Validator,
}

/// Why a value is no schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSchema {
    draft: &'static str,
    message: String,
}

impl fmt::Display for NoSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is no JSON Schema of {}: {}", self.draft, self.message)
    }
}

impl std::error::Error for NoSchema {}

/// A place in which a document breaks its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// JSON Pointer to the value.
    pub instance_path: String,
    /// JSON Pointer to the keyword within the schema.
    pub schema_path: String,
    /// The keyword.
    pub keyword: String,
    /// What is wrong.
    pub message: String,
}

impl Schema {
    /// Reads a schema of the draft that its `$schema` names, else of 2020-12. `formats` says whether `format` is checked.
    ///
    /// # Errors
    /// [`NoSchema`] for a value that is no schema, and for references out of it.
    pub fn new(schema: &Value, formats: bool) -> Result<Self, NoSchema> {
        let draft = Draft::default().detect(schema);
        let options = jsonschema::options().with_draft(draft).should_validate_formats(formats);
        match options.build(schema) {
            Ok(validator) => Ok(Self { draft, validator }),
            Err(error) => Err(NoSchema { draft: name(draft), message: error.to_string() }),
        }
    }

    /// Returns the name of the draft.
    pub fn draft(&self) -> &'static str {
        name(self.draft)
    }

    /// Returns the first `most` errors of a document, and whether there are more.
    pub fn errors(&self, document: &Value, most: usize) -> (Vec<Broken>, bool) {
        let mut found = self.validator.iter_errors(document);
        let broken = |error: jsonschema::ValidationError<'_>| Broken {
            instance_path: error.instance_path().to_string(),
            schema_path: error.schema_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            message: error.to_string(),
        };
        let errors = found.by_ref().take(most).map(broken).collect();
        (errors, found.next().is_some())
    }
}

const fn name(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft4 => "draft-04",
        Draft::Draft6 => "draft-06",
        Draft::Draft7 => "draft-07",
        Draft::Draft201909 => "2019-09",
        _ => "2020-12",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_name_their_places() {
        let schema =
            Schema::new(&json!({ "type": "object", "properties": { "a": { "type": "integer" } } }), true).unwrap();
        let (errors, more) = schema.errors(&json!({ "a": "x" }), 10);
        assert_eq!((errors[0].instance_path.as_str(), errors[0].keyword.as_str(), more), ("/a", "type", false));
        assert_eq!(schema.draft(), "2020-12");
    }

    #[test]
    fn references_out_of_the_schema_are_refused() {
        assert!(Schema::new(&json!({ "$ref": "http://example.org/s.json" }), false).is_err());
        assert!(Schema::new(&json!({ "type": 3 }), false).is_err());
    }
}
