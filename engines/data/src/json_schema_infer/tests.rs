use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(110, input, &Context::default()).unwrap()
}

fn schema(samples: Value) -> Value {
    let mut schema = run(json!({ "samples": samples }))["schema"].take();
    schema.as_object_mut().unwrap().remove("$schema");
    schema
}

/// genson 1.4 gives the same types and required members of the same samples: `SchemaBuilder.add_object` for each.
#[test]
fn types_and_required_members_are_those_of_genson() {
    let inferred =
        schema(json!([{ "a": 1, "b": [1, 2.5], "c": null }, { "a": 7, "b": [], "c": "x", "d": { "e": true } }]));
    assert_eq!(inferred["required"], json!(["a", "b", "c"]));
    let properties = &inferred["properties"];
    assert_eq!(properties["a"], json!({ "type": "integer" }));
    assert_eq!(properties["b"]["items"]["type"], "number");
    assert_eq!(properties["c"], json!({ "type": ["null", "string"] }));
    let nested = json!({ "type": "object", "properties": { "e": { "type": "boolean" } }, "required": ["e"] });
    assert_eq!(properties["d"], nested);
}

/// genson 1.4: an empty object has no properties, an empty array no items.
#[test]
fn empty_values_have_only_a_type() {
    assert_eq!(schema(json!([{}])), json!({ "type": "object" }));
    assert_eq!(schema(json!([[]])), json!({ "type": "array" }));
    assert_eq!(schema(json!([])), json!({}));
}

/// JSON Schema Validation 2020-12, section 7.3, with RFC 3339, 9562, 5321, 3986 and 2673's own examples.
#[test]
fn a_format_is_inferred_if_every_text_matches_it() {
    for (format, texts) in [
        ("date-time", ["1985-04-12T23:20:50.52Z", "1996-12-19T16:39:57-08:00"]),
        ("date", ["1985-04-12", "1996-12-19"]),
        ("uuid", ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "00000000-0000-0000-0000-000000000000"]),
        ("ipv4", ["192.0.2.1", "10.0.0.255"]),
        ("ipv6", ["2001:db8::7", "::1"]),
        ("email", ["jones@example.org", "a.b@example.com"]),
        ("uri", ["http://www.ietf.org/rfc/rfc2396.txt", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2"]),
    ] {
        assert_eq!(schema(json!(texts)), json!({ "type": "string", "format": format }));
        assert_eq!(schema(json!([texts[0], texts[1], "plain"])), json!({ "type": "string" }));
    }
    let off = run(json!({ "samples": ["192.0.2.1"], "detect_formats": false }));
    assert_eq!(off["schema"]["format"], Value::Null);
}

/// One document is no evidence of what others hold: neither its numbers are bounds nor its texts all that there are.
#[test]
fn one_sample_bounds_nothing() {
    let context = Context::default();
    let input = json!({ "samples": [{ "price": 8.95, "count": 3, "state": "open", "tags": ["a", "a", "b", "b"] }] });
    let output = crate::FAMILY.run(110, input, &context).unwrap();
    let text = output["schema"].to_string();
    for keyword in ["minimum", "maximum", "enum"] {
        assert!(!text.contains(keyword), "{text}");
    }
    assert!(context.into_warnings()[0].starts_with("few_samples: 1 samples"), "a warning says so");
}

#[test]
fn many_repeated_texts_are_an_enumeration() {
    let ten = ["open", "shut", "open", "open", "shut", "open", "open", "shut", "open", "open"];
    assert_eq!(schema(json!(ten)), json!({ "type": "string", "enum": ["open", "shut"] }));
    assert_eq!(schema(json!(ten[..9])), json!({ "type": "string" }));
    // A text that occurs once: others may be still to come.
    let once = [&ten[..], &["ajar"]].concat();
    assert_eq!(schema(json!(once)), json!({ "type": "string" }));
    assert_eq!(run(json!({ "samples": ten, "enum_limit": 1 }))["schema"]["enum"], Value::Null);
}

#[test]
fn a_hundred_numbers_have_bounds() {
    let numbers: Vec<u32> = (1..=100).collect();
    assert_eq!(schema(json!(numbers)), json!({ "type": "integer", "minimum": 1, "maximum": 100 }));
    assert_eq!(schema(json!(numbers[1..])), json!({ "type": "integer" }));
    assert_eq!(schema(json!(vec![7; 100])), json!({ "type": "integer" }));
}

#[test]
fn conflicts_have_a_location_and_null_is_no_conflict() {
    let output = run(json!({ "samples": [{ "a/b": [1, "x"], "c": null }, { "a/b": [{}], "c": 2 }] }));
    let conflict = json!([{ "path": "/a~1b/*", "types": ["integer", "string", "object"] }]);
    assert_eq!(output["conflicts"], conflict);
    assert_eq!(output["samples"], 2);
}

#[test]
fn many_distinct_keys_are_inferred_as_a_map() {
    let keys: Value =
        (0..1_500).map(|at| (format!("k{at}"), json!({ "n": at }))).collect::<serde_json::Map<_, _>>().into();
    let inferred = schema(json!([{ "counts": keys }]));
    let n = json!({ "type": "integer", "minimum": 0, "maximum": 1499 });
    let of = json!({ "type": "object", "properties": { "n": n }, "required": ["n"] });
    assert_eq!(inferred["properties"]["counts"], json!({ "type": "object", "additionalProperties": of }));
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof!["[ab]{0,2}", Just("10.0.0.1".to_owned()), Just("2026-11-21".to_owned())].prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_sample_is_valid_against_the_schema(samples in prop::collection::vec(document(), 1..6), enum_limit in 0..5) {
        let output = run(json!({ "samples": samples, "enum_limit": enum_limit }));
        let validator = jsonschema::options().should_validate_formats(true).build(&output["schema"]).unwrap();
        for sample in &samples {
            prop_assert!(validator.is_valid(sample), "{sample} against {}", output["schema"]);
        }
    }
}
