use serde_json::{Value, json};

use super::*;
use crate::labelled::{Quality, rows};

fn run(text: &str) -> Value {
    crate::FAMILY.run(144, json!({ "text": text }), &Context::default()).unwrap()
}

fn fires(text: &str) -> bool {
    matches!(run(text)["verdict"].as_str(), Some("warn" | "critical"))
}

/// Precision and recall of each category, of texts that fire.
fn by_category(file: &'static str) {
    for (_, word) in Category::ALL {
        let (mut hit, mut other, mut missed) = (0, 0, 0);
        for (label, text) in rows(file) {
            let found = run(text)["categories"][*word].as_f64().unwrap() >= THRESHOLD;
            match (label == *word, found) {
                (true, true) => hit += 1,
                (false, true) => other += 1,
                (true, false) => missed += 1,
                (false, false) => {}
            }
        }
        println!("  {word}: {hit} found, {missed} missed, {other} of other labels");
    }
}

/// The half of the labelled set on which nothing was trained or tuned. It is not blind: one hand wrote the texts and then
/// the phrases. The record's `accuracy` states these figures.
#[test]
fn precision_and_recall_on_the_test_half() {
    let file = include_str!("../../data/content_safety_test.tsv");
    let quality = Quality::of(rows(file), fires);
    println!("q144 test half: {quality}");
    by_category(file);
    assert!(quality.precision() >= 0.85 && quality.recall() >= 0.6, "{quality}");
}

#[test]
fn precision_and_recall_on_the_development_half() {
    let file = include_str!("../../data/content_safety_dev.tsv");
    let quality = Quality::of(rows(file), fires);
    println!("q144 development half: {quality}");
    by_category(file);
    assert!(quality.precision() >= 0.85 && quality.recall() >= 0.7, "{quality}");
}

#[test]
fn every_phrase_is_a_pattern() {
    assert_eq!(lexicon::PHRASES.len(), lexicon::COUNT);
    assert!(lexicon::negated("i will not ") && !lexicon::negated("i will "));
}

#[test]
fn a_threat_fires_in_each_encoding() {
    use base64::Engine as _;
    let threat = "I will kill you tonight.";
    let spaced: String = threat.chars().flat_map(|letter| [letter, '\u{200b}']).collect();
    let alike = threat.replace('o', "о").replace('i', "і");
    let entities: String = threat.chars().map(|letter| format!("&#{};", u32::from(letter))).collect();
    let percent: String = threat.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let base64 = base64::engine::general_purpose::STANDARD.encode(threat);
    for text in [spaced, alike, entities, percent, base64, threat.to_uppercase(), threat.replace(' ', "  \t ")] {
        assert!(fires(&text), "{text}");
    }
}

#[test]
fn adding_a_sentence_never_lowers_the_score() {
    let threat = "I will kill you tonight.";
    let alone = run(threat)["score"].as_f64().unwrap();
    for more in ["This is only a film.", "I do not mean it.", "The shelter opens at nine.", "无关。"] {
        for text in [format!("{threat}\n{more}"), format!("{more}\n{threat}")] {
            assert!(run(&text)["score"].as_f64().unwrap() >= alone, "{text}");
        }
    }
}

#[test]
fn a_risk_of_suicide_gives_advice_with_its_source() {
    let output = run("I want to kill myself.");
    assert_eq!((&output["crisis"], &output["verdict"]), (&json!(true), &json!("critical")));
    let advice = output["findings"].to_string();
    assert!(advice.contains("988") && advice.contains("source: https://988lifeline.org"), "{advice}");
    let input = json!({ "text": "Je veux mourir.", "language": "fr" });
    let french = crate::FAMILY.run(144, input, &Context::default()).unwrap();
    assert!(french["findings"].to_string().contains("3114"), "{french}");
    assert_eq!(run("The helpline answers people who think about suicide.")["crisis"], json!(false));
}

#[test]
fn false_alarms_on_200_harmless_texts() {
    let alarms: Vec<String> = crate::labelled::harmless().into_iter().filter(|text| fires(text)).collect();
    assert!(alarms.is_empty(), "{} of 200: {alarms:#?}", alarms.len());
}
