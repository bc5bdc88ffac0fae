//! q109: JSON Schema validation.

use serde_json::Value;

use muster_engine::prelude::*;

/// Maximum number of errors per document; the rest is reported as omitted.
const MAX_ERRORS: usize = 1_000;

#[derive(Input)]
pub struct Input {
    schema: Value,
    document: Value,
    formats: bool,
}

#[derive(Output)]
pub struct Output {
    valid: bool,
    errors: Vec<Broken>,
    draft: String,
}

#[derive(Output)]
struct Broken {
    instance_path: String,
    schema_path: String,
    keyword: String,
    message: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let draft = jsonschema::Draft::default().detect(&input.schema);
    let options = jsonschema::options().with_draft(draft).should_validate_formats(input.formats);
    let validator = options
        .build(&input.schema)
        .map_err(|error| Failure::invalid(&["schema"], format!("is no JSON Schema of {draft:?}: {error}")))?;
    let mut found = validator.iter_errors(&input.document);
    let errors: Vec<Broken> = found
        .by_ref()
        .take(MAX_ERRORS)
        .map(|error| Broken {
            instance_path: error.instance_path().to_string(),
            schema_path: error.schema_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            message: error.to_string(),
        })
        .collect();
    if found.next().is_some() {
        context.warn(format!("only the first {MAX_ERRORS} errors are reported"));
    }
    Ok(Output { valid: errors.is_empty(), errors, draft: name(draft).to_owned() })
}

fn name(draft: jsonschema::Draft) -> &'static str {
    match draft {
        jsonschema::Draft::Draft4 => "draft-04",
        jsonschema::Draft::Draft6 => "draft-06",
        jsonschema::Draft::Draft7 => "draft-07",
        jsonschema::Draft::Draft201909 => "2019-09",
        _ => "2020-12",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn valid(schema: Value, document: Value) -> bool {
        let output =
            crate::FAMILY.run(109, json!({ "schema": schema, "document": document }), &Context::default()).unwrap();
        output["valid"] == json!(true)
    }

    /// JSON-Schema-Test-Suite, draft2020-12/unevaluatedProperties.json, "with adjacent properties".
    #[test]
    fn unevaluated_properties_beside_properties() {
        let schema = json!({
            "type": "object", "properties": { "foo": { "type": "string" } }, "unevaluatedProperties": false,
        });
        assert!(valid(schema.clone(), json!({ "foo": "foo" })));
        assert!(!valid(schema, json!({ "foo": "foo", "bar": "bar" })));
    }

    /// JSON-Schema-Test-Suite, draft2020-12/ref.json, "relative pointer ref to array".
    #[test]
    fn a_reference_by_pointer() {
        let schema = json!({ "prefixItems": [{ "type": "integer" }, { "$ref": "#/prefixItems/0" }] });
        assert!(valid(schema.clone(), json!([1, 2])));
        assert!(!valid(schema, json!([1, "foo"])));
    }

    #[test]
    fn a_remote_reference_is_rejected() {
        let input = json!({ "schema": { "$ref": "http://example.org/s.json" }, "document": 1 });
        assert!(matches!(crate::FAMILY.run(109, input, &Context::default()), Err(Failure::Invalid { .. })));
    }
}
