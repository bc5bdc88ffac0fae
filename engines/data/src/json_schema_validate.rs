//! q109: JSON Schema validation.

use muster_engine::prelude::*;
use muster_kernel_schema::Schema;

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
    let schema =
        Schema::new(&input.schema, input.formats).map_err(|error| Failure::invalid(&["schema"], error.to_string()))?;
    let (errors, more) = schema.errors(&input.document, MAX_ERRORS);
    if more {
        context.warn(format!("only the first {MAX_ERRORS} errors are reported"));
    }
    let errors: Vec<Broken> = errors
        .into_iter()
        .map(|error| Broken {
            instance_path: error.instance_path,
            schema_path: error.schema_path,
            keyword: error.keyword,
            message: error.message,
        })
        .collect();
    Ok(Output { valid: errors.is_empty(), errors, draft: schema.draft().to_owned() })
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
