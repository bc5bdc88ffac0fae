//! The same answers as py3langid 0.4.0, held to the same languages (`scripts/language_parity.py` writes the file).

use serde::Deserialize;

use super::table;

#[derive(Deserialize)]
struct Case {
    text: String,
    language: String,
    confidence: f64,
    second: String,
}

#[test]
fn languages_and_confidences_are_those_of_py3langid() {
    let Some(table) = table() else { return };
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../../data/py3langid.json")).unwrap();
    assert!(cases.len() >= 200);
    for case in cases {
        let ranked = table.rank(&case.text, &[]).unwrap();
        let confidence = ranked[0].confidence;
        assert_eq!(ranked[0].language.code, case.language, "{}", case.text);
        assert!((confidence - case.confidence).abs() < 1e-4, "{}: {confidence}, not {}", case.text, case.confidence);
        assert_eq!(ranked[1].language.code, case.second, "{}", case.text);
    }
}

#[test]
fn candidates_share_the_whole_probability() {
    let Some(table) = table() else { return };
    let ranked = table.rank("Der Fluss ist über die Ufer getreten.", &["nl", "sv"]).unwrap();
    assert_eq!(ranked.len(), 2);
    assert!((ranked[0].confidence + ranked[1].confidence - 1.0).abs() < 1e-9);
}
