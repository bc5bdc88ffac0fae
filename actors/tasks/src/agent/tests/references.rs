use std::collections::HashMap;

use muster_engines::grammar::parse_type;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::agent::binding::Binding;
use crate::agent::parameter::Parameter;
use crate::agent::reference::{Known, Reference, Scope};

fn value(reference: &str) -> Value {
    let params: Map<String, Value> = serde_json::from_value(
        json!({ "rows": [{ "n": 1 }, { "n": 2 }, {}], "deep": { "a": [[5, 6]] }, "times": ["2026-11-21T01:00:00+02:00", "x"], "none": null }),
    )
    .unwrap();
    let tree = json!({ "files": [{ "path": "a.rs" }, { "path": "b.rs" }], "total": 2 });
    let scope = Scope {
        task: "do it",
        now: "2026-11-21T03:00:00.000Z".to_owned(),
        params: &params,
        outputs: HashMap::from([("tree", &tree)]),
    };
    Reference::parse(reference).unwrap().value(&scope)
}

#[test]
fn references_reach_into_values() {
    for (reference, wanted) in [
        ("$task", json!("do it")),
        ("$now", json!("2026-11-21T03:00:00.000Z")),
        ("$params.rows[1].n", json!(2)),
        ("$params.rows.n", json!([1, 2, null])),
        ("$params.rows[].n", json!([1, 2, null])),
        ("$params.rows[]", json!([{ "n": 1 }, { "n": 2 }, {}])),
        ("$params.deep.a[0][1]", json!(6)),
        ("$steps.tree.total", json!(2)),
        ("$steps.tree.files.path", json!(["a.rs", "b.rs"])),
        ("$steps.tree.files[0].path", json!("a.rs")),
        ("$params.rows[9]", Value::Null),
        ("$params.rows[-1].n", Value::Null),
        ("$params.deep.a[-1][-1]", json!(6)),
        ("$now.date", json!("2026-11-21")),
        ("$params.times.date", json!(["2026-11-20", null])),
        ("$params.none.x", Value::Null),
        ("$params.gone", Value::Null),
        ("$steps.skipped.total", Value::Null),
        ("$task.x", Value::Null),
    ] {
        assert_eq!(value(reference), wanted, "{reference}");
        assert_eq!(Reference::parse(reference).unwrap().to_string(), reference);
    }
}

#[test]
fn invalid_references_are_rejected() {
    for text in [
        "$",
        "$tasks",
        "$params",
        "$params.",
        "$params.X",
        "$steps.a",
        "$steps.a.",
        "$now.",
        "$params.a[",
        "$params.a[x]",
        "$params.a[-2]",
        "$params.a..b",
        "$params.a b",
        "$item",
        "task",
        "$params.a[99999999999999999999999]",
    ] {
        assert!(Reference::parse(text).is_err(), "{text}");
    }
}

#[test]
fn types_follow_the_hops() {
    let params = ["rows:array<{n=integer,at?=latlon}>:[]", "by:map<array<string>>:{}", "any:any:null"];
    let params: Vec<Parameter> = params.iter().map(|text| Parameter::parse(text).unwrap()).collect();
    let known = Known { params: &params, steps: &[] };
    for (reference, kind) in [
        ("$params.rows.n", "array<integer>"),
        ("$params.rows[0].at.lat", "number"),
        ("$params.rows.at.lon", "array<number>"),
        ("$params.by.some", "array<string>"),
        ("$params.any.x[3].y", "any"),
        ("$now", "datetime"),
    ] {
        assert_eq!(Reference::parse(reference).unwrap().kind(known), Ok(parse_type(kind).unwrap()), "{reference}");
    }
}

#[test]
fn references_work_within_literals() {
    let binding = Binding::parse(&json!({ "a": ["$params.n", 1], "b": { "c": "$task" }, "d": "cost: $5" })).unwrap();
    assert_eq!(binding.references().len(), 2);
    let params = Map::from_iter([("n".to_owned(), json!(3))]);
    let scope = Scope { task: "t", now: String::new(), params: &params, outputs: HashMap::new() };
    assert_eq!(binding.value(&scope), json!({ "a": [3, 1], "b": { "c": "t" }, "d": "cost: $5" }));
    assert!(Binding::parse(&json!(["$5"])).is_err());
    assert_eq!(Binding::parse(&json!([1, "x"])), Ok(Binding::Literal(json!([1, "x"]))));
}

#[test]
fn a_record_of_values_that_are_all_absent_is_absent() {
    let binding = Binding::parse(&json!({ "public_key": "$params.key", "signature": "$params.signature" })).unwrap();
    let value = |params: Value| {
        let params = params.as_object().unwrap().clone();
        binding.value(&Scope { task: "t", now: String::new(), params: &params, outputs: HashMap::new() })
    };
    assert_eq!(value(json!({ "key": null })), Value::Null);
    assert_eq!(value(json!({ "key": "k" })), json!({ "public_key": "k", "signature": null }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_parsed_or_rejected(text in "\\$?[a-z.\\[\\]0-9_$ é]{0,30}") {
        if let Ok(reference) = Reference::parse(&text) {
            prop_assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
        }
    }
}
