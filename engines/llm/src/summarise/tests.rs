use muster_engine::Answered;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const TEXT: &str = "The river rose by two metres in the night. The river flooded the old town and 120 people left their homes. A choir sang on Sunday. The flooded town has no power and the river is still rising.";

fn input(use_model: bool) -> Value {
    json!({ "texts": [TEXT], "sentences": 2, "style": "paragraph", "use_model": use_model })
}

fn asked(answer: Answer) -> (Value, Vec<String>) {
    let Err(Failure::Needs { need }) = crate::FAMILY.run(161, input(true), &Context::default()) else {
        panic!("no need")
    };
    let cx = Context::default().with_answers(vec![Answered { need, answer }]);
    let output = crate::FAMILY.run(161, input(true), &cx).unwrap();
    (output, cx.into_warnings())
}

#[test]
fn central_sentences_are_taken_and_others_left() {
    let output = crate::FAMILY.run(161, input(false), &Context::default()).unwrap();
    let indices: Vec<u64> =
        output["sentences"].as_array().unwrap().iter().map(|sentence| sentence["index"].as_u64().unwrap()).collect();
    assert!(indices.len() == 2 && !indices.contains(&2), "{output}");
    assert_eq!(output["method"], "lexrank");
}

#[test]
fn a_query_draws_the_summary_to_it() {
    let mut given = input(false);
    given["query"] = json!("choir");
    given["sentences"] = json!(1);
    let output = crate::FAMILY.run(161, given, &Context::default()).unwrap();
    assert_eq!(output["sentences"][0]["index"], 2);
}

#[test]
fn a_grounded_summary_is_taken_and_no_other() {
    let good = "The river flooded the old town. 120 people left their homes.";
    let (output, warnings) = asked(Answer::Given(json!({ "text": good, "model": "m" })));
    assert_eq!((&output["summary"], &output["method"]), (&json!(good), &json!("model")));
    assert_eq!(
        output["sentences"],
        json!([{ "document": 0, "index": 1, "text": "The river flooded the old town and 120 people left their homes.", "score": output["sentences"][0]["score"] }])
    );
    assert!(warnings.is_empty(), "{warnings:?}");
    for (bad, word) in [
        ("The river flooded the old town. 450 people left their homes.", "ungrounded"),
        ("The river did not flood the old town.", "ungrounded"),
        ("The mayor resigned after a scandal about taxes.", "ungrounded"),
        ("", "unusable"),
    ] {
        let (output, warnings) = asked(Answer::Given(json!({ "text": bad })));
        assert_eq!(output["method"], "lexrank", "{bad}");
        assert!(warnings[0].starts_with(word), "{bad}: {warnings:?}");
    }
    let (output, warnings) = asked(Answer::Refused { why: "no provider is configured".to_owned() });
    assert_eq!(output["method"], "lexrank");
    assert!(warnings[0].contains("no provider"));
}

#[test]
fn repetitions_are_left_out() {
    let text = "The dam broke at noon near the mill. The dam broke at noon near the mill. Farmers moved their cattle to the hills.";
    let input = json!({ "texts": [text], "sentences": 2 });
    let output = crate::FAMILY.run(161, input, &Context::default()).unwrap();
    let texts: Vec<&str> =
        output["sentences"].as_array().unwrap().iter().map(|sentence| sentence["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["The dam broke at noon near the mill.", "Farmers moved their cattle to the hills."]);
}

/// The largest input ends within 5 s in release.
#[test]
#[ignore = "for the release build"]
fn the_largest_input_ends() {
    let text: String = (0..MAX_SENTENCES)
        .map(|at| format!("The river {} rose by {} metres near town number {}. ", at % 7, at % 90, at % 311))
        .collect();
    let begun = std::time::Instant::now();
    crate::FAMILY.run(161, json!({ "texts": [text], "sentences": 50 }), &Context::default()).unwrap();
    println!("{:?}", begun.elapsed());
    assert!(begun.elapsed().as_secs() < 5);
}

proptest! {
    /// Each sentence stands in its text, no more are given than were wanted, and the summary is no longer than the text.
    #[test]
    fn sentences_are_of_the_text(text in "(The |river |flooded |a |town|\\. |Überall |Wasser|! |12 ){0,40}", count in 1_usize..6) {
        let input = json!({ "texts": [text], "sentences": count, "style": "paragraph" });
        let output = crate::FAMILY.run(161, input, &Context::default()).unwrap();
        let sentences = output["sentences"].as_array().unwrap();
        prop_assert!(sentences.len() <= count);
        prop_assert!(sentences.iter().all(|sentence| text.contains(sentence["text"].as_str().unwrap())));
        prop_assert!(output["compression"].as_f64().unwrap() <= 1.0);
    }
}
