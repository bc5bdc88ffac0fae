use serde_json::json;

use super::super::parameter::accept;
use super::*;

fn filled(parameters: &[&str], task: &str) -> Accepted {
    let parameters: Vec<Parameter> = parameters.iter().map(|text| Parameter::parse(text).unwrap()).collect();
    let mut accepted = accept(&parameters, Value::Null);
    from_text(&parameters, &mut accepted, task, Millis::parse_rfc3339("2026-11-26T10:00:00Z"));
    accepted
}

/// With units, as the check of the catalogue gives them.
fn with_units(parameters: &[(&str, &str)], task: &str) -> Value {
    let parameters: Vec<Parameter> = parameters
        .iter()
        .map(|(text, unit)| Parameter { unit: (*unit).to_owned(), ..Parameter::parse(text).unwrap() })
        .collect();
    let mut accepted = accept(&parameters, Value::Null);
    from_text(&parameters, &mut accepted, task, Millis::parse_rfc3339("2026-11-26T10:00:00Z"));
    Value::Object(accepted.params)
}

#[test]
fn a_task_that_is_an_object_provides_its_params() {
    let accepted = filled(&["a:integer:required", "b:any:required"], r#"{"params": {"a": 3, "b": [1]}}"#);
    assert_eq!(Value::Object(accepted.params), json!({ "a": 3, "b": [1] }));
    assert!(accepted.missing.is_empty());
}

#[test]
fn a_block_labelled_with_a_name_provides_that_text() {
    let task = "Review this.\n```patch\n--- a\n+++ b\n```\nand\n```source\nfn f() {}\n```\n";
    let accepted = filled(&["patch:string:required", "source:string:required"], task);
    assert_eq!(Value::Object(accepted.params), json!({ "patch": "--- a\n+++ b\n", "source": "fn f() {}\n" }));
}

#[test]
fn the_only_block_provides_the_only_missing_text() {
    let accepted = filled(&["config:string:required"], "Check it:\n```yaml\na: 1\n```");
    assert_eq!(Value::Object(accepted.params), json!({ "config": "a: 1\n" }));
}

#[test]
fn a_block_of_json_provides_the_only_param_that_it_fits() {
    let task = "Zone:\n```json\n{\"type\":\"Point\",\"coordinates\":[8,47]}\n```";
    let accepted = filled(&["zone:geometry:required", "rows:array<number>:required"], task);
    assert_eq!(Value::Object(accepted.params), json!({ "zone": { "type": "Point", "coordinates": [8, 47] } }));
    let accepted = filled(&["a:geometry:required", "b:geometry:required"], task);
    assert_eq!(accepted.missing, ["a", "b"], "two parameters fit");
}

#[test]
fn prose_and_invalid_values_provide_nothing() {
    for task in ["Check my configuration", "{\"a\": \"three\"}", "```\n{\"a\": null}\n```", "```a\nnever closed"] {
        assert_eq!(filled(&["a:integer:required"], task).missing, ["a"], "{task}");
    }
}

#[test]
fn tables_are_read_by_their_columns() {
    let parameters = [
        "teams:array<{id=string,lat?=number,skills?=array<string>}>:required",
        "tasks:array<{id=string,priority=number}>:required",
    ];
    let task = "Teams\n\n| id | skills | lat |\n|---|---|---:|\n| T1 | dive, boat | 47.1 |\n| T2 |  | |\n\n\
                ```csv\nid,priority\na,2\nb,1.5\n```\n";
    let params = filled(&parameters, task).params;
    assert_eq!(params["teams"], json!([{ "id": "T1", "skills": ["dive", "boat"], "lat": 47.1 }, { "id": "T2" }]));
    assert_eq!(params["tasks"], json!([{ "id": "a", "priority": 2.0 }, { "id": "b", "priority": 1.5 }]));
}

#[test]
fn a_column_is_converted_to_the_unit_of_its_member() {
    let track = "track:array<{id=string,wind=number[kt]}>:required";
    let task = "| id | wind (m/s) |\n|--|--|\n| a | 50 |\n";
    assert_eq!(filled(&[track], task).params["track"], json!([{ "id": "a", "wind": 97.1922246220 }]));
    let task = "| id | wind (people) |\n|--|--|\n| a | 50 |\n";
    assert_eq!(filled(&[track], task).missing, ["track"], "a unit that does not convert");
}

#[test]
fn lists_provide_texts_documents_and_numbers() {
    let messages = "messages:array<{id=string,text=string,time?=datetime}>:required";
    let task = "Sort these:\n1. Help, water in the house\n2. Road closed\n";
    let wanted = json!([{ "id": "1", "text": "Help, water in the house" }, { "id": "2", "text": "Road closed" }]);
    assert_eq!(filled(&[messages], task).params["messages"], wanted);
    assert_eq!(filled(&["notes:array<string>:required"], "- one\n- two\n").params["notes"], json!(["one", "two"]));
    let numbers = filled(&["values:array<number>:required"], "The values: 3, 4.5, -2 and more").params;
    assert_eq!(numbers["values"], json!([3, 4.5, -2]));
    let two = filled(
        &["costs:array<number>:required", "benefits:array<number>:required"],
        "Costs: 100, 20\nBenefits: 0, 150\n",
    );
    assert_eq!(Value::Object(two.params), json!({ "costs": [100, 20], "benefits": [0, 150] }));
    let two = filled(&["costs:array<number>:required", "benefits:array<number>:required"], "We have 100, 20, 30.");
    assert_eq!(two.missing, ["costs", "benefits"], "it may be either");
}

#[test]
fn numbers_are_read_beside_the_name_and_converted() {
    for (text, wanted) in [
        ("Rainfall of 80 mm on it", json!(80)),
        ("rainfall: 3 inches", json!(76.2)),
        ("rainfall_mm = 12", json!(12)),
        ("a 50 mm rainfall", json!(50)),
        ("rainfall (mm): 7.5", json!(7.5)),
    ] {
        assert_eq!(with_units(&[("rainfall_mm:number:required", "mm")], text)["rainfall_mm"], wanted, "{text}");
    }
}

/// Each of these must provide no value.
#[test]
fn what_has_two_readings_is_not_read() {
    for text in [
        "rainfall of 80",
        "rainfall of 80 mm, later rainfall of 90 mm",
        "rainfall of 80 km",
        "rainfall over 80 mm",
        "rainfall of 20 to 80 mm",
        "80 mm of snow. The rainfall is unknown",
        "rainfall 80 mm/month",
        "no rainfall. Wind 80 mm",
        "rainfall 3,5 mm",
    ] {
        let params = with_units(&[("rainfall_mm:number:required", "mm")], text);
        assert_eq!(params, json!({}), "{text}");
    }
}

#[test]
fn the_longer_name_takes_a_value() {
    let parameters = [("time:datetime:required", ""), ("target_time:datetime:required", "")];
    let text = "time 2026-11-21 03:00 UTC, target time 2026-11-21 09:00 UTC";
    let wanted = json!({ "time": "2026-11-21T03:00:00Z", "target_time": "2026-11-21T09:00:00Z" });
    assert_eq!(with_units(&parameters, text), wanted);
    let parameters = [("height:number:required", "m"), ("breach_height_m:number:required", "m")];
    assert_eq!(with_units(&parameters, "breach height 30 m"), json!({ "breach_height_m": 30 }));
}

#[test]
fn positions_days_and_words_of_an_enum_are_read() {
    let parameters = [("site:latlon:required", "deg"), ("date:date:required", "")];
    let wanted = json!({ "site": { "lat": 47.3769, "lon": 8.5417 }, "date": "2026-11-27" });
    assert_eq!(with_units(&parameters, "At 47.3769, 8.5417 tomorrow"), wanted);
    let two = [("site_a:latlon:required", ""), ("site_b:latlon:required", "")];
    let text = "site A at 47.3769, 8.5417, site B at 46.9480, 7.4474";
    let wanted = json!({ "site_a": { "lat": 47.3769, "lon": 8.5417 }, "site_b": { "lat": 46.948, "lon": 7.4474 } });
    assert_eq!(with_units(&two, text), wanted);
    assert_eq!(with_units(&two, "at 47.3769, 8.5417"), json!({}), "it may be either");
    let sex = [("sex:enum(female|male):required", ""), ("age:number:required", "yr")];
    assert_eq!(with_units(&sex, "A 54-year-old woman"), json!({ "sex": "female", "age": 54 }));
    assert_eq!(with_units(&sex, "a man, his wife is female"), json!({}));
    let pressure = [("systolic:number:required", "mmHg"), ("diastolic:number:required", "mmHg")];
    assert_eq!(with_units(&pressure, "BP 120/80, pulse 70"), json!({ "systolic": 120, "diastolic": 80 }));
}

#[test]
fn a_parameter_with_a_default_is_read_only_where_it_is_named() {
    let parameters =
        ["path:string:\".\"", "depth:integer:3", "search:string:null", "output_format:enum(tree|json):\"tree\""];
    let params = filled(&parameters, "Map src/http/ to a depth of 5 and search for `TODO`.").params;
    assert_eq!(
        Value::Object(params),
        json!({ "path": "src/http/", "depth": 5, "search": "TODO", "output_format": "tree" })
    );
    let params = filled(&parameters, "Map it; 5 people look at json and/or trees.").params;
    assert_eq!(Value::Object(params), json!({ "path": ".", "depth": 3, "search": null, "output_format": "tree" }));
}

#[test]
fn hostile_texts_end_soon() {
    let parameters =
        ["a:number:required", "b:array<{id=string,text=string}>:required", "c:date:required", "a_b:string:null"];
    for text in [
        "a ".repeat(200_000),
        "| a |\n|---|\n".repeat(50_000),
        "- a\n".repeat(100_000),
        "```\n".repeat(100_000),
        "a: 1, ".repeat(60_000),
        "1,".repeat(300_000),
        "é".repeat(300_000),
    ] {
        filled(&parameters, &text);
    }
}
