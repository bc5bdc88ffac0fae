use proptest::prelude::*;
use serde_json::json;

use muster_engine::prelude::*;

use super::repair;

fn run(input: Value) -> Value {
    crate::FAMILY.run(163, input, &Context::default()).unwrap()
}

fn status(claim: &str, source: &str) -> Value {
    let output = run(json!({ "answer": claim, "sources": [{ "id": "a", "text": source }] }));
    output["claims"][0]["status"].clone()
}

#[test]
fn claims_are_held_to_their_sources() {
    let source = "Officials said the bridge over the river closed at 14:00 on Monday. About 120 people were moved to the school.";
    for (claim, expected) in [
        ("The bridge closed at 14:00.", "supported"),
        ("The bridge closed at 15:00.", "contradicted"),
        ("The bridge was not closed at 14:00.", "contradicted"),
        ("120 people were moved to the school.", "supported"),
        ("450 people were moved to the school.", "contradicted"),
        ("The mayor resigned after the scandal.", "unsupported"),
    ] {
        assert_eq!(status(claim, source), expected, "{claim}");
    }
}

#[test]
fn units_are_converted_and_citations_are_no_numbers() {
    let source = "The convoy carried 3.5 tonnes of rice.";
    assert_eq!(status("The convoy carried 3500 kg of rice [12].", source), "supported");
    assert_eq!(status("The convoy carried 3600 kg of rice.", source), "contradicted");
}

#[test]
fn answers_without_support_are_not_accepted() {
    assert_eq!(run(json!({ "answer": "All is well." }))["accepted"], false);
    assert_eq!(run(json!({ "answer": "", "sources": [{ "id": "a", "text": "b" }] }))["accepted"], false);
    let schema = json!({ "type": "object", "required": ["a"] });
    assert_eq!(run(json!({ "answer": "{\"a\": 1}", "schema": schema }))["accepted"], true);
    assert_eq!(run(json!({ "answer": "{\"b\": 1}", "schema": schema }))["accepted"], false);
    let banned = json!({ "answer": "The bridge closed. Guaranteed!", "sources": [{ "id": "a", "text": "The bridge closed. Guaranteed." }], "banned": ["guaranteed"] });
    assert_eq!(run(banned)["accepted"], false);
}

#[test]
fn json_is_mended() {
    for (text, expected) in [
        ("Here it is:\n```json\n{\"a\": [1, 2,], }\n```", json!({ "a": [1, 2] })),
        ("{a: 'x', b: True, c: None, // note\n d: +1.5}", json!({ "a": "x", "b": true, "c": null, "d": 1.5 })),
        ("{\"a\": {\"b\": [1, {\"c\": \"cut of", json!({ "a": { "b": [1, { "c": "cut of" }] } })),
        ("[1 /* one */, “two”, three words]", json!([1, "two", "three words"])),
        ("{\"a\": \"\\ud83d\\ude00\\u00e9\"", json!({ "a": "😀é" })),
        ("{\"a\":,\"b\":1}", json!({ "a": null, "b": 1 })),
        ("[[[}", json!([[[]]])),
    ] {
        assert_eq!(repair::json(text), Some(expected), "{text}");
    }
    assert_eq!(repair::json("no json at all"), None);
    assert!(repair::json(&"[".repeat(100_000)).is_some());
    assert!(repair::json(&"{\"a\":".repeat(100_000)).is_some());
}

/// Statements about one thing that share most of their words.
#[test]
fn another_verb_is_another_statement_and_an_opposite_contradicts() {
    let status = |claim: &str, source: &str| {
        let sources = json!([{ "id": "s", "text": source }]);
        let input = json!({ "answer": claim, "sources": sources });
        let output = crate::FAMILY.run(163, input, &Context::default()).unwrap();
        output["claims"][0]["status"].as_str().unwrap().to_owned()
    };
    for (claim, source, wanted) in [
        ("The Oberau dam has broken.", "The Oberau dam is intact. The level is falling.", "contradicted"),
        ("The bridge in Dernau is open.", "The bridge in Dernau is closed since Monday.", "contradicted"),
        ("The Oberau dam was painted.", "The Oberau dam belongs to the district.", "unsupported"),
        ("The Oberau dam is intact.", "The Oberau dam is intact. The level is falling.", "supported"),
        ("The school in Dernau is a shelter.", "The school in Dernau serves as a shelter since Tuesday.", "supported"),
    ] {
        assert_eq!(status(claim, source), wanted, "{claim}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "[\\[\\]{}:,'\"\\\\/a1 \n#*-]{0,60}") {
        let _ = repair::json(&text);
    }

    #[test]
    fn valid_json_is_itself(number in any::<i32>(), text in "\\PC{0,20}") {
        let value = json!({ "n": number, "t": [text], "o": { "x": null } });
        prop_assert_eq!(repair::json(&format!("```\n{value}\n```")), Some(value));
    }
}
