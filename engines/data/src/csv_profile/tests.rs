use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(105, input, &Context::default()).unwrap()
}

fn warned(output: &Value, of: &str) -> bool {
    output["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains(of))
}

/// RFC 4180, section 2, rules 5 to 7: quoted fields with line breaks, commas and doubled quotes.
#[test]
fn quoted_fields_are_parsed_by_rfc_4180() {
    let output = run(json!({ "csv": "\"aaa\",\"b CRLF\r\nbb\",\"c,c\"\r\nzzz,\"b\"\"bb\",xxx", "header": false }));
    assert_eq!(output["rows"], 2);
    assert_eq!(output["columns"][1]["top"], json!(["b CRLF\r\nbb", "b\"bb"]));
    assert_eq!(output["columns"][2]["max"], "xxx");
}

/// pandas 3.1 of the same text: dtypes int64, float64, bool, str; nunique 4, 3, 2, 3; missing 0, 1, 0, 1; the mean of b
/// 2.1666666666666665.
#[test]
fn types_and_counts_are_those_of_pandas() {
    let output = run(json!({ "csv": "a,b,c,d\n1,1.5,true,x\n2,NA,false,y\n3,3,true,NULL\n10,2e0,true,z\n" }));
    let columns = &output["columns"];
    let types: Vec<_> = (0..4).map(|at| columns[at]["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["int", "float", "bool", "string"]);
    assert_eq!(columns[1]["missing"], 1);
    assert_eq!(columns[1]["distinct"], 3);
    assert!((columns[1]["mean"].as_f64().unwrap() - 13.0 / 6.0).abs() < 1e-12);
    assert_eq!((columns[0]["min"].as_str(), columns[0]["max"].as_str()), (Some("1"), Some("10")));
    assert_eq!(columns[3]["missing"], 1);
    assert_eq!(output["candidate_keys"], json!(["a"]));
}

/// van den Burg et al. (2019), section 1: semicolons between, commas within the numbers.
#[test]
fn semicolons_are_preferred_to_decimal_commas() {
    let output = run(json!({ "csv": "day;rain;level\nMon;7,5;10,25\nTue;0,1;9,75\nWed;3,0;9,5\n" }));
    assert_eq!(output["dialect"], json!({ "delimiter": ";", "quote": "\"", "header": true }));
    assert_eq!(output["columns"].as_array().unwrap().len(), 3);
}

#[test]
fn tabs_pipes_and_single_quotes_are_found() {
    for (csv, delimiter, quote) in [
        ("a\tb\n1, 2\t3\n4, 5\t6\n", "\t", "\""),
        ("a|b|c\n1|x y|2\n2|z|3\n", "|", "\""),
        ("a,b\n'1,2',x\n'3,4',y\n'5,6',z\n", ",", "'"),
    ] {
        let output = run(json!({ "csv": csv }));
        assert_eq!((&output["dialect"]["delimiter"], &output["dialect"]["quote"]), (&json!(delimiter), &json!(quote)));
    }
}

#[test]
fn an_explicit_delimiter_is_used_and_a_long_one_rejected() {
    let output = run(json!({ "csv": "a,b;c\n1,2;3\n", "delimiter": ";" }));
    assert_eq!(output["columns"][0]["name"], "a,b");
    let refused = crate::FAMILY.run(105, json!({ "csv": "a", "delimiter": "::" }), &Context::default());
    assert!(matches!(refused, Err(Failure::Invalid { .. })));
}

#[test]
fn times_are_ordered_chronologically_and_have_a_pattern() {
    let csv = "at,day\n2026-11-21T03:00:00+02:00,2026-01-31\n2026-11-21T02:00:00Z,2025-12-31\n";
    let output = run(json!({ "csv": csv }));
    assert_eq!(output["columns"][0]["type"], "datetime");
    assert_eq!(output["columns"][0]["max"], "2026-11-21T02:00:00Z");
    assert_eq!(output["columns"][1]["type"], "date");
    assert_eq!(output["columns"][1]["min"], "2025-12-31");
    assert_eq!(output["columns"][1]["pattern"], "^[0-9]{4}\\-[0-9]{2}\\-[0-9]{2}$");
}

#[test]
fn dates_and_datetimes_merge_to_datetime_but_numbers_and_dates_to_text() {
    let output = run(json!({ "csv": "a,b\n2026-11-21,1\n2026-11-21T03:00:00,2026-11-21\n" }));
    assert_eq!(output["columns"][0]["type"], "datetime");
    assert_eq!(output["columns"][1]["type"], "string");
}

#[test]
fn table_errors_are_reported() {
    let csv = "id,id,,zip,note\n1,1,x,007, a\n2,2,x,010,b\n2,2,x,010,b\n3\n4,4,x,1,oops\n";
    let output = run(json!({ "csv": csv }));
    for of in ["more than once", "has no name", "as many fields", "repeat an earlier", "begin with 0", "spaces around"]
    {
        assert!(warned(&output, of), "{of}: {}", output["warnings"]);
    }
    assert_eq!(output["columns"][1]["name"], "id.1");
    // One in ten is missing; one in twenty is not worth a warning.
    let sparse = run(json!({ "csv": format!("a,b\n{}", "1,2\n".repeat(18) + "1,\n1,\n") }));
    assert!(warned(&sparse, "b: 2 of 20 values are missing"), "{}", sparse["warnings"]);
    let dense = run(json!({ "csv": format!("a,b\n{}", "1,2\n".repeat(19) + "1,\n") }));
    assert!(!warned(&dense, "missing"), "{}", dense["warnings"]);
    let headless = run(json!({ "csv": "name,age\nAda,36\nBob,41\n", "header": false }));
    assert!(warned(&headless, "looks like a header"));
}

#[test]
fn two_columns_together_may_be_a_key() {
    let output = run(json!({ "csv": "x,y,z\n1,1,a\n1,2,a\n2,1,a\n" }));
    assert_eq!(output["candidate_keys"], json!(["x+y"]));
}

#[test]
fn a_sample_describes_and_all_rows_are_counted() {
    let output = run(json!({ "csv": "n\n1\n2\n3\n", "sample_rows": 2 }));
    assert_eq!((&output["rows"], &output["columns"][0]["distinct"]), (&json!(3), &json!(2)));
    assert!(warned(&output, "first 2 of 3 rows"));
}
