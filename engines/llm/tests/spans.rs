//! What stands at a place of a text is what was found there, in both normal forms of many languages.

use muster_engine::testing::spans_hold;
use muster_engines_llm::FAMILY;
use serde_json::json;
use unicode_normalization::UnicodeNormalization as _;

fn normal_forms(text: &str) -> Vec<String> {
    vec![text.nfc().collect(), text.nfd().collect()]
}

#[test]
fn chunks_stand_where_they_are_cut() {
    spans_hold(&FAMILY, 166, normal_forms, |text| json!({ "text": text, "max_tokens": 40, "overlap": 8 }));
}
