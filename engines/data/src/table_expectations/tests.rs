use serde_json::{Value, json};

use super::*;

/// One rule over a column `x`: whether it passed, and the failing rows.
fn checked(values: Value, check: &str, args: Value) -> (bool, Value) {
    let rows: Vec<Value> = values.as_array().unwrap().iter().map(|value| json!({ "x": value })).collect();
    let input = json!({ "rows": rows, "rules": [{ "column": "x", "check": check, "args": args }] });
    let output = crate::FAMILY.run(116, input, &Context::default()).unwrap();
    let result = &output["results"][0];
    assert_eq!(result["failed_rows"], result["examples"].as_array().unwrap().len());
    assert_eq!(output["passed"], result["passed"]);
    (result["passed"].as_bool().unwrap(), result["examples"].clone())
}

/// Great Expectations, documentation of `expect_column_values_to_be_unique`: of [1, 2, 3, 3, 3] the three are 60 % that
/// are unexpected.
#[test]
fn every_row_of_a_duplicate_fails_the_check() {
    assert_eq!(checked(json!([1, 2, 3, 3, 3]), "unique", Value::Null), (false, json!([2, 3, 4])));
    assert_eq!(checked(json!([1, 2, 1.0, null, null]), "unique", Value::Null), (false, json!([0, 2])));
    let rows = json!([{ "x": 1, "y": 1 }, { "x": 1, "y": 2 }]);
    let rules = json!([
        { "column": "x", "check": "unique", "args": { "with": ["y"] } },
        { "column": "x", "check": "unique" },
    ]);
    let output = crate::FAMILY.run(116, json!({ "rows": rows, "rules": rules }), &Context::default()).unwrap();
    let shares: Vec<_> = output["results"].as_array().unwrap().iter().map(|result| &result["share"]).collect();
    assert_eq!(shares, [&json!(0.0), &json!(1.0)]);
}

/// Great Expectations, documentation of `expect_column_values_to_be_between`: the ends belong to the range unless they
/// are strict, either may be missing, and `mostly` is the least share that has to be good.
#[test]
fn ranges_include_their_bounds() {
    let range = |args: Value| checked(json!([1, 1.3, 0.8, 2, null, 3]), "range", args);
    assert_eq!(range(json!({ "min": 1, "max": 3 })), (false, json!([2])));
    assert_eq!(range(json!({ "min": 1, "exclusive_min": true })), (false, json!([0, 2])));
    assert_eq!(range(json!([null, 3])), (true, json!([])));
    assert_eq!(range(json!({ "min": 1, "mostly": 0.8 })), (true, json!([2])));
    assert_eq!(range(json!({ "min": 1, "mostly": 0.81 })), (false, json!([2])));
    let times = json!(["2026-01-01T00:00:00+02:00", "2026-01-01T00:00:00Z", "later"]);
    assert_eq!(checked(times, "range", json!({ "min": "2026-01-01T00:00:00Z" })).1, json!([0]));
    assert_eq!(checked(json!(["a", 2]), "range", json!([0, 5])), (false, json!([0])));
}

/// Great Expectations, `expect_column_values_to_match_regex`: its gallery's columns a and b, and the words of its
/// documentation.
#[test]
fn patterns_as_in_the_gallery() {
    let a = json!(["aaa", "abb", "acc", "add", "bee"]);
    let mostly = |mostly: f64| json!({ "pattern": "^a", "mostly": mostly });
    assert_eq!(checked(a.clone(), "regex", mostly(0.9)), (false, json!([4])));
    assert_eq!(checked(a, "regex", mostly(0.8)), (true, json!([4])));
    assert_eq!(checked(json!(["aaa", "abb", "acc", "bdd", null]), "regex", json!("^a")), (false, json!([3])));
    let words = json!(["cat", "hat", "aa", "a", "t", "fish", "dog"]);
    assert_eq!(checked(words, "regex", json!("[at]+")), (false, json!([5, 6])));
}

#[test]
fn sets_compare_numbers_by_value() {
    assert_eq!(checked(json!(["a", "b", null]), "in-set", json!(["a"])), (false, json!([1])));
    assert_eq!(checked(json!([1, 2.0, "2"]), "in-set", json!({ "values": [1.0, 2] })), (false, json!([2])));
}

#[test]
fn types_of_json_and_times() {
    let values = json!([1, 1.0, 1.5, "2026-02-29", "2024-02-29", "2024-02-29T01:00:00Z", true]);
    assert_eq!(checked(values.clone(), "type", json!("integer")).1, json!([2, 3, 4, 5, 6]));
    assert_eq!(checked(values.clone(), "type", json!("date")).1, json!([0, 1, 2, 3, 5, 6]));
    assert_eq!(checked(values.clone(), "type", json!(["number", "string"])).1, json!([6]));
    assert_eq!(checked(values, "type", json!({ "type": "datetime" })).1, json!([0, 1, 2, 3, 6]));
}

#[test]
fn references_to_a_column_a_table_and_a_list() {
    let rows = json!([{ "id": 1, "parent": null }, { "id": 2, "parent": 1 }, { "id": 3, "parent": 9 }]);
    let run = |args: Value| {
        let input = json!({ "rows": rows, "rules": [{ "column": "parent", "check": "foreign-key", "args": args }] });
        crate::FAMILY.run(116, input, &Context::default()).unwrap()["results"][0]["examples"].clone()
    };
    assert_eq!(run(json!({ "column": "id" })), json!([2]));
    assert_eq!(run(json!({ "column": "key", "rows": [{ "key": 9 }] })), json!([1]));
    assert_eq!(run(json!([1, 9])), json!([]));
}

#[test]
fn freshness_is_measured_against_an_explicit_time() {
    let times = json!(["2026-11-18T00:00:00Z", "2026-11-20T06:00:00", null]);
    let args = json!({ "reference": "2026-11-21T00:00:00Z", "max_age": "PT18H" });
    assert_eq!(checked(times.clone(), "freshness", args), (true, json!([])));
    let args = json!({ "reference": "2026-11-21T00:00:01Z", "max_age": "PT18H" });
    assert_eq!(checked(times.clone(), "freshness", args), (false, json!([0, 1])));
    let args = json!({ "reference": "2026-11-21T00:00:00Z", "max_age": "P1D", "of": "all" });
    assert_eq!(checked(times, "freshness", args), (false, json!([0])));
}

#[test]
fn the_score_is_the_mean_share_of_good_rows_and_warnings_do_not_fail() {
    let input = json!({
        "rows": [{ "a": 1 }, { "a": null }, { "a": 3 }, { "a": 3 }],
        "rules": [
            { "column": "a", "check": "not-null", "severity": "warn" },
            { "column": "a", "check": "range", "args": [0, 5] },
            { "column": "", "check": "row-count", "args": { "min": 5 }, "severity": "warn" },
            { "column": "", "check": "row-count", "args": 4 },
        ],
    });
    let output = crate::FAMILY.run(116, input, &Context::default()).unwrap();
    assert_eq!(output["passed"], true);
    // (3/4 + 1 + 0 + 1) / 4
    assert_eq!(output["score"], 0.6875);
}

#[test]
fn invalid_arguments_are_rejected_with_their_location() {
    for (check, args) in [
        ("range", json!({})),
        ("regex", json!("(")),
        ("freshness", json!({ "max_age": "P1D" })),
        ("type", json!("colour")),
        ("unique", json!({ "mostly": 2 })),
    ] {
        let input = json!({ "rows": [{ "x": 1 }], "rules": [{ "column": "x", "check": check, "args": args }] });
        let Err(Failure::Invalid { problems }) = crate::FAMILY.run(116, input, &Context::default()) else {
            panic!("{check}")
        };
        assert_eq!(problems[0].loc, ["rules", "0", "args"]);
    }
}
