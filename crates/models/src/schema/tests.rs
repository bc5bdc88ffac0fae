use serde_json::{Value, json};

use super::{check, check_all};

fn refusal(schema: &Value) -> String {
    check(schema).unwrap_err()
}

#[test]
fn ordinary_schemas_are_admitted() {
    for schema in [
        json!({"type": "object"}),
        json!({}),
        json!({"type": "object", "properties": {"city": {"type": "string", "description": "where"}, "people": {"type": "integer", "minimum": 0}},
               "required": ["city"], "additionalProperties": false}),
        json!({"type": "array", "items": {"enum": ["low", "high"]}, "minItems": 1, "maxItems": 3}),
        json!({"anyOf": [{"type": "null"}, {"type": ["string", "number"]}]}),
        json!({"type": "string", "format": "date-time", "maxLength": 40}),
        json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object",
               "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["children"]}}}),
    ] {
        assert_eq!(check(&schema), Ok(()), "{schema}");
    }
}

#[test]
fn unsupported_keywords_are_rejected_by_name() {
    for (word, schema) in [
        ("pattern", json!({"type": "string", "pattern": "^a$"})),
        ("multipleOf", json!({"type": "integer", "multipleOf": 5})),
        ("minimum", json!({"type": "number", "minimum": 0})),
        ("uniqueItems", json!({"type": "array", "uniqueItems": true})),
        ("not", json!({"not": {"type": "null"}})),
        ("allOf", json!({"allOf": [{"type": "object"}]})),
        ("minProperties", json!({"type": "object", "minProperties": 1})),
        ("patternProperties", json!({"type": "object", "patternProperties": {"^a": {}}})),
        ("maxLength", json!({"anyOf": [{"type": "string"}], "maxLength": 3})),
    ] {
        let why = refusal(&schema);
        assert!(why.contains(&format!("`{word}` cannot be enforced")), "{schema}: {why}");
    }
}

#[test]
fn errors_of_invalid_schemas_name_the_place() {
    assert!(
        refusal(&json!({"type": "object", "properties": {"a": {"type": "colour"}}}))
            .starts_with("#/properties/a: unknown type")
    );
    assert!(
        refusal(&json!({"type": "object", "properties": {"a": 5}})).starts_with("#/properties/a: must be an object")
    );
    assert!(refusal(&json!({"type": "object", "properties": {}, "required": ["b"]})).contains("required \"b\""));
    assert!(refusal(&json!({"$ref": "#/$defs/none"})).contains("$ref must name"));
    assert!(refusal(&json!({"$ref": "https://example.org/schema"})).contains("$ref must name"));
    assert!(refusal(&json!({"enum": []})).contains("non-empty"));
    assert!(refusal(&json!({"type": "integer", "minimum": 5, "maximum": 4})).contains("no integer"));
    assert!(refusal(&json!({"type": "integer", "exclusiveMinimum": 4, "maximum": 4})).contains("no integer"));
    assert!(refusal(&json!({"type": "integer", "minimum": -1e300})).contains("2^53"));
    assert!(refusal(&json!({"type": "array", "minItems": 3, "maxItems": 2})).contains("minItems is above maxItems"));
    assert!(refusal(&json!("text")).contains("must be an object"));
}

#[test]
fn hostile_schemas_are_rejected_at_once() {
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "array", "items": deep});
    }
    assert!(refusal(&deep).contains("nested deeper"));

    assert!(refusal(&json!({"const": "x".repeat(1 << 20)})).contains("larger than"));
    assert!(refusal(&json!({"type": "string", "minLength": 2001})).contains("between 0 and 2000"));
    assert!(refusal(&json!({"type": "array", "items": {}, "maxItems": u64::MAX})).contains("between 0 and 2000"));

    let many: serde_json::Map<_, _> = (0..65).map(|n| (format!("p{n}"), json!({}))).collect();
    assert!(refusal(&json!({"type": "object", "properties": many})).contains("more than 64 properties"));

    let long: serde_json::Map<_, _> = [("x".repeat(65), json!({}))].into_iter().collect();
    assert!(refusal(&json!({"type": "object", "properties": long})).contains("at most 64 bytes"));

    let strings: Vec<_> = (0..3).map(|_| json!({"type": "string", "maxLength": 2000})).collect();
    assert!(refusal(&json!({"anyOf": strings})).contains("add up"));
}

/// Each definition names the next twice: 2^30 paths, all of which llama.cpp's search for left recursion would visit.
#[test]
fn references_that_grow_exponentially_are_rejected_at_once() {
    let definitions: serde_json::Map<_, _> = (0..30)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({"anyOf": [next, next]}))
        })
        .chain([("d30".to_owned(), json!({"type": "null"}))])
        .collect();
    let why = refusal(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));
    assert!(why.contains("parts") || why.contains("nested"), "{why}");
}

#[test]
fn bounds_apply_to_all_schemas_together() {
    let properties: serde_json::Map<_, _> = (0..60).map(|n| (format!("p{n}"), json!({"type": "null"}))).collect();
    let wide = json!({"type": "object", "properties": properties});
    // 61 parts each, 1000 together.
    assert_eq!(check_all(std::iter::repeat_n(&wide, 16)), Ok(()));
    let (index, why) = check_all(std::iter::repeat_n(&wide, 20)).unwrap_err();
    assert!(index == 16 && why.contains("parts"), "{index}: {why}");
}
