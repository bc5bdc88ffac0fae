//! Accuracy over the open cases of media, as the design's acceptance table asks for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use super::super::{Detection, detect, detect_sentences, languages};
use super::table;

#[derive(Deserialize)]
struct Case {
    lang: String,
    source: String,
    length: String,
    text: String,
}

fn best(detection: &Detection) -> &str {
    detection.best().map_or("und", |guess| guess.language.code.as_str())
}

/// Mean over the languages of the share of right answers.
fn macro_accuracy(cases: &[(Case, String)], holds: impl Fn(&Case) -> bool) -> f64 {
    let mut by_language: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (case, answer) in cases.iter().filter(|(case, _)| holds(case)) {
        let (right, all) = by_language.entry(&case.lang).or_default();
        *right += f64::from(u8::from(*answer == case.lang));
        *all += 1.0;
    }
    by_language.values().map(|(right, all)| right / all).sum::<f64>() / by_language.len() as f64
}

#[test]
fn open_cases_are_recognised_as_well_as_accepted() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/media/languages.jsonl");
    let Ok(lines) = fs::read_to_string(&path) else {
        println!("skipped: {} does not exist", path.display());
        return;
    };
    let Some(table) = table() else { return };
    let cases: Vec<(Case, String)> = lines
        .lines()
        .map(|line| {
            let case: Case = serde_json::from_str(line).unwrap();
            let answer = best(&detect(table, &case.text, &[]).unwrap()).to_owned();
            (case, answer)
        })
        .collect();
    let from_30 = macro_accuracy(&cases, |case| case.text.chars().count() >= 30);
    let declaration = macro_accuracy(&cases, |case| case.source == "udhr" && case.length == "long");
    let labels = macro_accuracy(&cases, |case| case.source == "django" && case.length == "short");
    println!("from 30 characters {from_30:.4}, declaration {declaration:.4}, labels {labels:.4}");
    assert!(from_30 >= 0.95 && declaration >= 0.97 && labels >= 0.84);
    assert_eq!(macro_accuracy(&cases, |case| case.lang == "mi"), 1.0);
    assert!(cases.iter().all(|(case, answer)| answer != "mi" || case.lang == "mi"));
}

#[test]
fn a_text_without_letters_has_no_language() {
    let Some(table) = table() else { return };
    for text in ["", "123 456", "?! …", "😀😀"] {
        let detection = detect(table, text, &[]).unwrap();
        assert_eq!((detection.best(), detection.determined()), (None, None), "{text}");
        assert_eq!(detection.script, "Zyyy");
    }
}

#[test]
fn sentences_are_detected_apart() {
    let Some(table) = table() else { return };
    let text = "Der Fluss ist über die Ufer getreten. The road to the harbour is closed tonight. 12. 日本語の文です。";
    let found = detect_sentences(table, text, &[]).unwrap();
    let found: Vec<(&str, &str)> = found.iter().map(|(_, detection)| (best(detection), detection.script)).collect();
    assert_eq!(found, [("de", "Latn"), ("en", "Latn"), ("ja", "Jpan")]);
}

#[test]
fn candidates_restrict_rules_too() {
    let Some(table) = table() else { return };
    let detection = detect(table, "Ko te reo Māori te reo taketake o Aotearoa", &["en", "fr"]).unwrap();
    assert!(["en", "fr"].contains(&best(&detection)));
    assert_eq!(best(&detect(table, "γεια σου", &["en", "fr"]).unwrap()), detection_of(table, "γεια σου"));
}

fn detection_of(table: &super::LanguageTable, text: &str) -> &'static str {
    let best = table.rank(text, &["en", "fr"]).unwrap().first().unwrap().language;
    &best.code
}

#[test]
fn there_are_84_languages_sorted_by_code() {
    assert_eq!(languages().len(), 84);
    assert!(languages().is_sorted_by(|a, b| a.code < b.code));
    let rtl: Vec<&str> = languages().iter().filter(|language| language.rtl).map(|l| l.code.as_str()).collect();
    assert_eq!(rtl, ["ar", "fa", "he", "ps", "ur"]);
}
