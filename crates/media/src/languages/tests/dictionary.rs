//! Names of CLDR 48.

use super::super::{Dictionary, Named};
use super::cached;

fn small() -> Dictionary {
    let json = r#"{
        "en": {"🐈": ["cat", "pet"], "🏃": ["runner"], "🏃2": ["Runner"], "☕": ["hot beverage", "coffee"], "ñ": ["n\u0303andu"]},
        "pt": {"🐈": ["gato", "animal"], "🏃": ["corredor"], "🏃2": ["corredora"]}
    }"#;
    Dictionary::parse(json.as_bytes()).unwrap()
}

fn named(translation: &str, alternatives: &[&str]) -> Option<Named> {
    let alternatives = alternatives.iter().map(|&name| name.to_owned()).collect();
    Some(Named { translation: translation.to_owned(), alternatives })
}

#[test]
fn a_whole_name_is_translated() {
    let dictionary = small();
    assert_eq!(dictionary.translate("cat", "en", "pt"), named("gato", &[]));
    assert_eq!(dictionary.translate(" CAT ", "en", "pt"), named("Gato", &[]));
    assert_eq!(dictionary.translate("runner", "en", "pt"), named("corredor", &["corredora"]));
    assert_eq!(dictionary.translate("HOT  beverage", "en", "en"), named("Hot beverage", &[]));
    assert_eq!(dictionary.translate("ñandu", "en", "en"), named("n\u{303}andu", &[]));
}

#[test]
fn keywords_parts_and_unknown_languages_are_not() {
    let dictionary = small();
    for (text, from, to) in [("pet", "en", "pt"), ("cat cat", "en", "pt"), ("cat", "en", "ht"), ("gato", "en", "pt")] {
        assert_eq!(dictionary.translate(text, from, to), None, "{text}");
    }
    assert_eq!(dictionary.translate("hot beverage", "en", "pt"), None, "it has no name in Portuguese");
}

#[test]
fn a_damaged_file_is_refused_or_has_no_names() {
    assert!(Dictionary::parse(b"[]").is_err());
    assert!(Dictionary::parse(b"{\"en\": {").is_err());
    assert!(Dictionary::parse(b"{\"klingon\": {}}").unwrap_err().to_string().contains("klingon"));
    assert_eq!(Dictionary::parse(b"{\"en\": 7}").unwrap().translate("cat", "en", "en"), None);
}

#[test]
fn the_names_of_cldr_translate_between_any_pair() {
    let Some(json) = cached("picture-names.json") else { return };
    let dictionary = Dictionary::parse(&json).unwrap();
    // CLDR 48, common/annotations: 🐕, 🔥, 🚑.
    assert_eq!(dictionary.translate("dog", "en", "fr"), named("chien", &[]));
    assert_eq!(dictionary.translate("feu", "fr", "de"), named("Feuer", &[]));
    assert_eq!(dictionary.translate("Ambulance", "en", "sw").unwrap().translation, "Ambulansi");
    let has = super::super::languages().iter().filter(|language| dictionary.has(&language.code)).count();
    assert_eq!(has, 80);
}
