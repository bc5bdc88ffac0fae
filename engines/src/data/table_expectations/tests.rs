use serde_json::{Value, json};

use super::*;

/// One rule over a column `x`: whether it passed, and the failing rows.
fn checked(values: Value, check: &str, args: Value) -> (bool, Value) {
    let rows: Vec<Value> = values.as_array().unwrap().iter().map(|value| json!({ "x": value })).collect();
    let input = json!({ "rows": rows, "rules": [{ "column": "x", "check": check, "args": args }] });
    let output = ENGINE.run(input, &Context::default()).unwrap();
    let result = &output["results"][0];
    assert_eq!(result["failed_rows"], result["examples"].as_array().unwrap().len());
    assert_eq!(output["passed"], result["passed"]);
    (result["passed"].as_bool().unwrap(), result["examples"].clone())
}

/// Great Expectations' gallery, ExpectColumnValuesToBeUnique: test data [1, 2, 3] passes, [1, 1, 1] fails; every row
/// of a duplicate is unexpected.
#[test]
fn unique_as_in_the_gallery() {
    assert_eq!(checked(json!([1, 2, 3]), "unique", Value::Null), (true, json!([])));
    assert_eq!(checked(json!([1, 1, 1]), "unique", Value::Null), (false, json!([0, 1, 2])));
    assert_eq!(checked(json!([1, 2, 1.0, null, null]), "unique", Value::Null), (false, json!([0, 2])));
}

/// The gallery, ExpectColumnValuesToBeBetween: "test" is [1, 1, 1, 4, …]; min 1 and max 3 with mostly 1 fails on what
/// is over; ends belong to the range unless strict.
#[test]
fn range_as_in_the_gallery() {
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

/// The gallery, ExpectColumnValuesToMatchRegex and ExpectColumnValuesToBeInSet ("a(?!b)" aside: no lookahead here).
#[test]
fn patterns_and_sets() {
    let values = json!(["aaa", "abb", "acc", "add", "bee", null]);
    assert_eq!(checked(values.clone(), "regex", json!("^a")), (false, json!([4])));
    assert_eq!(checked(values.clone(), "regex", json!({ "pattern": "^a", "mostly": 0.8 })), (true, json!([4])));
    assert_eq!(checked(values, "in-set", json!(["aaa", "abb", "acc", "add"])), (false, json!([4])));
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
        ENGINE.run(input, &Context::default()).unwrap()["results"][0]["examples"].clone()
    };
    assert_eq!(run(json!({ "column": "id" })), json!([2]));
    assert_eq!(run(json!({ "column": "key", "rows": [{ "key": 9 }] })), json!([1]));
    assert_eq!(run(json!([1, 9])), json!([]));
}

#[test]
fn freshness_is_counted_to_a_time_that_is_told() {
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
    let output = ENGINE.run(input, &Context::default()).unwrap();
    assert_eq!(output["passed"], true);
    // (3/4 + 1 + 0 + 1) / 4
    assert_eq!(output["score"], 0.6875);
}

#[test]
fn arguments_that_are_wrong_are_refused_with_their_place() {
    for (check, args) in [
        ("range", json!({})),
        ("regex", json!("(")),
        ("freshness", json!({ "max_age": "P1D" })),
        ("type", json!("colour")),
        ("unique", json!({ "mostly": 2 })),
    ] {
        let input = json!({ "rows": [{ "x": 1 }], "rules": [{ "column": "x", "check": check, "args": args }] });
        let Err(Failure::Invalid { problems }) = ENGINE.run(input, &Context::default()) else { panic!("{check}") };
        assert_eq!(problems[0].loc, ["rules", "0", "args"]);
    }
}
