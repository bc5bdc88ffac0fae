use serde_json::{Value, json};

use super::*;

#[test]
fn a_type_is_formatted_as_it_is_parsed() {
    for text in [
        "number",
        "enum(a|b)",
        "array<map<integer>>",
        "{name=string,kind=enum(x|y),weight?=number[kg]}",
        "array<{time=datetime,at=latlon}>",
    ] {
        assert_eq!(parse_type(text).unwrap().to_string(), text);
    }
}

#[test]
fn fields_outside_the_grammar_are_rejected() {
    for text in
        ["", "numbers", "array<", "array<number", "enum()", "enum(a|a)", "{}", "{A=number}", "{a=number", "number "]
    {
        assert!(parse_type(text).is_err(), "{text:?}");
    }
    for text in
        ["a:number:-", "a:number::required", "A:number:-:required", "a:number:-:maybe", "a:number:m[1-2]:required"]
    {
        assert!(parse_input(text).is_err(), "{text:?}");
    }
}

fn fields(texts: &[&str]) -> Vec<Field> {
    texts.iter().map(|text| parse_input(text).unwrap()).collect()
}

#[test]
fn every_problem_is_reported_with_its_location() {
    let fields =
        fields(&["rows:array<{n=integer,s?=string}>:-:required", "k:integer:-[2..5]:=3", "day:date:-:optional"]);
    let input = json!({ "rows": [{ "n": 1.5 }, { "s": 2 }], "k": 9, "day": "2026-02-30", "x": 1 });
    let problems = accept(&fields, input).unwrap_err();
    let places: Vec<String> = problems.iter().map(|problem| problem.loc.join(".")).collect();
    assert_eq!(places, ["rows.0.n", "rows.1.n", "rows.1.s", "k", "day", "x"]);
}

#[test]
fn defaults_are_filled_in_and_nulls_of_optional_fields_left_out() {
    let fields = fields(&["a:number:-:=0.5", "b:map<number>:-:={\"x\":1}", "c:string:-:optional", "d:string:-:=utf8"]);
    let whole = accept(&fields, json!({ "c": null })).unwrap();
    assert_eq!(Value::Object(whole), json!({ "a": 0.5, "b": { "x": 1 }, "d": "utf8" }));
}

#[test]
fn a_schema_contains_units_ranges_and_defaults() {
    let fields = fields(&["lat:number:deg[-90..90]:required", "n:array<integer>:-[0..]:=[]"]);
    assert_eq!(
        input_schema(&fields),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": {
                "lat": { "type": "number", "minimum": -90, "maximum": 90, "x-unit": "deg" },
                "n": { "type": "array", "items": { "type": "integer", "minimum": 0 }, "default": [] },
            },
            "required": ["lat"], "additionalProperties": false,
        })
    );
}

#[test]
fn a_value_is_accepted_where_its_type_fits() {
    let may = |from: &str, to: &str| assignable(&parse_type(from).unwrap(), &parse_type(to).unwrap()).is_none();
    for (from, to) in [
        ("integer", "number"),
        ("enum(a)", "enum(a|b)"),
        ("enum(a)", "string"),
        ("any", "bbox"),
        ("array<{a=integer,b=string}>", "array<{a=number}>"),
        ("{lat=number,lon=number}", "latlon"),
        ("{a=integer}", "map<number>"),
    ] {
        assert!(may(from, to), "{from} for {to}");
    }
    for (from, to) in [
        ("number", "integer"),
        ("string", "enum(a)"),
        ("{a?=number}", "{a=number}"),
        ("{b=number}", "{a=number}"),
        ("array<string>", "string"),
    ] {
        assert!(!may(from, to), "{from} for {to}");
    }
}
