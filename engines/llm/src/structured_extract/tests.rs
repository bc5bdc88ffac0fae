use muster_engine::Answered;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["severity", "people", "reporter"],
        "properties": {
            "severity": { "type": "string", "enum": ["minor", "severe", "extreme"] },
            "people": { "type": "integer", "minimum": 0, "description": "number of people affected" },
            "depth_m": { "type": "number", "description": "depth of the water in metres" },
            "date": { "type": "string", "format": "date" },
            "contact": { "type": "object", "properties": { "phone": { "type": "string" }, "email": { "type": "string", "format": "email" } } },
            "position": { "type": "object", "properties": { "lat": { "type": "number" }, "lon": { "type": "number" } } },
            "needs": { "type": "array", "items": { "type": "string" } },
            "injured": { "type": "boolean" },
            "reporter": { "type": "string" },
        },
    })
}

#[test]
fn an_address_is_a_street_with_a_number_and_its_town() {
    let schema = json!({ "type": "object", "properties": { "address": { "type": "string" } } });
    for (text, wanted) in [
        ("A gas smell at Lindenstrasse 14 in Bonn. 3 people inside.", json!("Lindenstrasse 14 in Bonn")),
        ("We are on the roof at Mill Street 12, water rising.", json!("Mill Street 12")),
        ("Fire at 221B Baker Street, London, second floor", json!("221B Baker Street, London")),
        ("Accident, 15 rue de la Paix", json!("15 rue de la Paix")),
        ("From Mill Street 12 to Harbour Road 3", Value::Null),
        ("The street was flooded for 14 days.", Value::Null),
    ] {
        let input = json!({ "text": text, "schema": schema });
        let output = crate::FAMILY.run(162, input, &Context::default()).unwrap();
        assert_eq!(output["record"].get("address").cloned().unwrap_or_default(), wanted, "{text}");
    }
}

const REPORT: &str = "On 2026-03-04 the river flooded the lower town. About 120 people were moved; the water depth is 150 cm at 59.91 N, 10.75 E. \
    No injured were seen. Severe damage at the bridge. Call +47 22 33 44 55 or mail ops@example.org.\nNeeds: blankets, water and tents\n";

fn run_on(text: &str, schema: Value) -> Value {
    crate::FAMILY.run(162, json!({ "text": text, "schema": schema }), &Context::default()).unwrap()
}

#[test]
fn a_sum_of_money_is_no_speed_and_a_number_of_people_no_length() {
    let schema = json!({ "type": "object", "properties": {
        "wind_kmh": { "type": "number" }, "depth_m": { "type": "number" }, "telefon": { "type": "string" } } });
    let text = "Damage is put at CHF 120'000. Wind was 35 km/h. The depth at which 3 people stood was 80 cm. Ruf: 062 555 12 12.";
    let output = run_on(text, schema);
    // The depth is too far from its number; that of the people is not taken for it.
    assert_eq!(output["record"], json!({ "wind_kmh": 35.0, "telefon": "0625551212" }), "{output}");
}

#[test]
fn a_report_becomes_a_record() {
    let output = run_on(REPORT, schema());
    assert_eq!(
        output["record"],
        json!({
            "severity": "severe", "people": 120, "depth_m": 1.5, "date": "2026-03-04",
            "contact": { "phone": "+4722334455", "email": "ops@example.org" },
            "position": { "lat": 59.91, "lon": 10.75 }, "needs": ["blankets", "water", "tents"], "injured": false,
        })
    );
    assert_eq!(output["missing"], json!(["reporter"]));
    assert_eq!(output["errors"], json!([]));
    assert_eq!(output["evidence"]["depth_m"], "150 cm");
}

#[test]
fn what_the_schema_forbids_is_not_filled_in() {
    let schema = json!({ "type": "object", "properties": { "people": { "type": "integer", "maximum": 10 } } });
    assert_eq!(run_on("People: 40", schema)["record"], json!({}));
    let failed = crate::FAMILY.run(162, json!({ "text": "a", "schema": { "type": 3 } }), &Context::default());
    assert!(matches!(failed, Err(Failure::Invalid { .. })));
    let failed = crate::FAMILY.run(162, json!({ "text": "a", "schema": true }), &Context::default());
    assert!(matches!(failed, Err(Failure::Invalid { .. })));
}

#[test]
fn two_readings_are_none() {
    let schema = json!({ "type": "object", "properties": {
        "date": { "type": "string", "format": "date" }, "colour": { "type": "string", "enum": ["red", "blue"] },
    } });
    assert_eq!(run_on("Red or blue, 2026-01-01 or 2026-02-02", schema)["record"], json!({}));
}

/// Runs with the model's answers.
fn asked(texts: &[Value]) -> (Value, Vec<String>) {
    let input = json!({ "text": format!("{REPORT}Ola Berg saw it."), "schema": schema(), "use_model": true });
    let mut answers: Vec<Answered> = Vec::new();
    for text in texts {
        let cx = Context::default().with_answers(answers.clone());
        let Err(Failure::Needs { need }) = crate::FAMILY.run(162, input.clone(), &cx) else { break };
        let answer = match text {
            Value::Null => Answer::Refused { why: "no budget".to_owned() },
            text => Answer::Given(json!({ "text": text.to_string() })),
        };
        answers.push(Answered { need, answer });
    }
    let cx = Context::default().with_answers(answers);
    let output = crate::FAMILY.run(162, input, &cx).unwrap();
    (output, cx.into_warnings())
}

fn reporter(value: Value, quote: &str) -> Value {
    json!({ "fields": { "reporter": { "value": value, "quote": quote } } })
}

#[test]
fn a_model_fills_only_what_stands_in_the_text() {
    let (output, warnings) = asked(&[reporter(json!("Ola Berg"), "Ola Berg saw it.")]);
    assert_eq!((&output["record"]["reporter"], &output["missing"]), (&json!("Ola Berg"), &json!([])));
    assert!(warnings.is_empty(), "{warnings:?}");
    for (value, quote) in [("Kari Dahl", "Ola Berg saw it."), ("Ola Berg", "Ola Berg told us.")] {
        let wrong = reporter(json!(value), quote);
        let (output, warnings) = asked(&[wrong.clone(), wrong]);
        assert_eq!(output["missing"], json!(["reporter"]), "{value}");
        assert!(warnings[0].starts_with("unusable"), "{warnings:?}");
    }
    let (output, _) = asked(&[reporter(json!(7), "Ola Berg saw it."), reporter(json!("Ola Berg"), "Ola Berg saw it.")]);
    assert_eq!(output["record"]["reporter"], "Ola Berg", "the second round");
    let (output, warnings) = asked(&[Value::Null]);
    assert!(output["record"]["people"] == 120 && warnings[0].starts_with("refused"));
}

proptest! {
    /// Evidence stands in the text, and the record is one of its schema but for what is missing.
    #[test]
    fn evidence_is_in_the_text(text in "(people|: |120|severe|extreme|\n|2026-01-02|depth | 3 m|injured|not |needs|, | |ä){0,25}") {
        let output = run_on(&text, schema());
        prop_assert!(output["evidence"].as_object().unwrap().values().all(|evidence| text.contains(evidence.as_str().unwrap())));
        prop_assert_eq!(&output["errors"], &json!([]));
    }
}
