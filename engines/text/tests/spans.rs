//! What stands at a place of a text is what was found there, in both normal forms of many languages.

use muster_engine::testing::spans_hold;
use muster_engines_text::FAMILY;
use serde_json::json;
use unicode_normalization::UnicodeNormalization as _;

fn normal_forms(text: &str) -> Vec<String> {
    vec![text.nfc().collect(), text.nfd().collect()]
}

#[test]
fn entities_stand_where_they_are_found() {
    spans_hold(&FAMILY, 174, normal_forms, |text| json!({ "text": text, "reference_time": "2026-03-03T12:00:00Z" }));
}

#[test]
fn places_stand_where_they_are_found() {
    spans_hold(&FAMILY, 175, normal_forms, |text| json!({ "text": text }));
}

#[test]
fn matches_stand_where_they_are_found() {
    spans_hold(&FAMILY, 176, normal_forms, |text| json!({ "text": text, "pattern": r"\w+" }));
}

#[test]
fn issues_stand_where_they_are_found() {
    spans_hold(&FAMILY, 178, normal_forms, |text| json!({ "text": text, "max_sentence_words": 5 }));
}
