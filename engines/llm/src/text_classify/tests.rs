use muster_engine::Answered;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn input(use_model: bool) -> Value {
    json!({
        "texts": ["the river burst its banks", "smoke over the houses"],
        "labels": [
            { "id": "flood", "examples": ["river flooding the town", "water over the banks"] },
            { "id": "fire", "examples": ["smoke and flames", "wildfire near houses"] },
        ],
        "use_model": use_model,
    })
}

fn labels(output: &Value) -> Vec<&str> {
    output["results"].as_array().unwrap().iter().map(|result| result["label"].as_str().unwrap()).collect()
}

/// Runs with the model's answer.
fn asked(answer: Answer) -> (Value, Vec<String>) {
    let Err(Failure::Needs { need }) = crate::FAMILY.run(160, input(true), &Context::default()) else {
        panic!("no need")
    };
    let cx = Context::default().with_answers(vec![Answered { need, answer }]);
    let output = crate::FAMILY.run(160, input(true), &cx).unwrap();
    (output, cx.into_warnings())
}

#[test]
fn examples_decide_and_words_show_why() {
    let output = crate::FAMILY.run(160, input(false), &Context::default()).unwrap();
    assert_eq!(labels(&output), ["flood", "fire"]);
    assert_eq!(output["method"], "complement_naive_bayes");
    assert_eq!(output["results"][0]["evidence"], json!(["river", "banks"]));
}

#[test]
fn descriptions_decide_without_examples() {
    let input = json!({
        "texts": ["flooded road by the river"],
        "labels": [{ "id": "flood", "description": "rivers and floods" }, { "id": "fire", "description": "smoke and flames" }],
    });
    let output = crate::FAMILY.run(160, input, &Context::default()).unwrap();
    assert_eq!((labels(&output), &output["method"]), (vec!["flood"], &json!("prototypes")));
}

#[test]
fn a_model_chooses_among_the_labels_only() {
    let (output, warnings) =
        asked(Answer::Given(json!({ "text": "```json\n{\"labels\": [\"fire\", \"fire\"]}\n```" })));
    assert_eq!((labels(&output), &output["method"]), (vec!["fire", "fire"], &json!("model")));
    assert!(warnings.is_empty());
    for text in [
        "{\"labels\": [\"fire\"]}",
        "{\"labels\": [\"fire\", \"other\"]}",
        "flood, fire",
        "{\"labels\": [\"fire\", \"fire\"], \"x\": 1}",
    ] {
        let (output, warnings) = asked(Answer::Given(json!({ "text": text })));
        assert_eq!(labels(&output), ["flood", "fire"], "{text}");
        assert!(warnings[0].starts_with("unusable"), "{warnings:?}");
    }
    let (output, warnings) = asked(Answer::Refused { why: "there is no budget".to_owned() });
    assert_eq!(output["method"], "complement_naive_bayes");
    assert!(warnings[0].starts_with("refused"), "{warnings:?}");
}

#[test]
fn labels_of_which_several_apply_have_scores_of_their_own() {
    let mut both = input(false);
    both["texts"] = json!(["river flooding, smoke and flames"]);
    both["multi_label"] = json!(true);
    let output = crate::FAMILY.run(160, both, &Context::default()).unwrap();
    let sum: f64 =
        output["results"][0]["scores"].as_object().unwrap().values().map(|score| score.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "two labels are each other's only other: {sum}");
}

#[test]
fn no_label_and_a_label_twice_are_refused() {
    for labels in [json!([]), json!([{ "id": "a" }, { "id": "a" }]), json!([{ "id": " " }])] {
        let failed = crate::FAMILY.run(160, json!({ "texts": ["x"], "labels": labels }), &Context::default());
        assert!(matches!(failed, Err(Failure::Invalid { .. })), "{failed:?}");
    }
}

proptest! {
    #[test]
    fn scores_are_probabilities_and_evidence_is_in_the_text(text in "(river|smoke|the|banks|ä|, | ){0,15}") {
        let mut given = input(false);
        given["texts"] = json!([text]);
        let output = crate::FAMILY.run(160, given, &Context::default()).unwrap();
        let result = &output["results"][0];
        let sum: f64 = result["scores"].as_object().unwrap().values().map(|score| score.as_f64().unwrap()).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9);
        prop_assert!(result["evidence"].as_array().unwrap().iter().all(|word| text.contains(word.as_str().unwrap())));
    }
}
