use super::names;
use crate::Language;

/// Pairs of Snowball's sample vocabularies (github.com/snowballstem/snowball-data: voc.txt, output.txt).
const SAMPLES: &[(Language, &[(&str, &str)])] = &[
    (
        Language::English,
        &[
            ("consign", "consign"),
            ("consigned", "consign"),
            ("consigning", "consign"),
            ("consignment", "consign"),
            ("knightly", "knight"),
            ("knots", "knot"),
            ("knotty", "knotti"),
            ("generations", "generat"),
            ("ferried", "ferri"),
            ("childlike", "childlik"),
        ],
    ),
    (
        Language::German,
        &[
            ("aufeinanderfolgenden", "aufeinanderfolg"),
            ("anscheinend", "anschein"),
            ("beschäftigen", "beschaft"),
            ("flämmchen", "flammch"),
            ("hochzeitkammer", "hochzeitkamm"),
        ],
    ),
    (
        Language::French,
        &[
            ("continuellement", "continuel"),
            ("continuait", "continu"),
            ("constituera", "constitu"),
            ("enchanté", "enchant"),
            ("huile", "huil"),
        ],
    ),
    (
        Language::Spanish,
        &[("informaciones", "inform"), ("canciones", "cancion"), ("elegantes", "eleg"), ("chicharrones", "chicharron")],
    ),
    (Language::Italian, &[("incontrarmi", "incontr"), ("completa", "complet"), ("dinamismo", "dinam")]),
    (Language::Portuguese, &[("brandindo", "brand"), ("estimulada", "estimul"), ("conforto", "confort")]),
    (Language::Russian, &[("благодарна", "благодарн"), ("поговорила", "поговор"), ("войне", "войн")]),
    (
        Language::Finnish,
        &[("alistamiseen", "alistamis"), ("asentajaksi", "asentaj"), ("brittisotilasta", "brittisotil")],
    ),
    (Language::Norwegian, &[("betalast", "betal"), ("fleire", "fleir"), ("skalpeller", "skalpell")]),
];

#[test]
fn stems_match_the_samples_of_snowball() {
    for (language, pairs) in SAMPLES {
        for (word, stem) in *pairs {
            assert!(names(word, *language).iter().any(|term| term == stem), "{word} in {language:?}");
        }
    }
}

#[test]
fn apostrophes_do_not_change_the_terms() {
    let same = |a: &str, b: &str, language| assert_eq!(names(a, language), names(b, language), "{a} and {b}");
    same("John's", "johns'", Language::English);
    same("John’s", "John", Language::English);
    same("don't", "don’t", Language::English);
    same("l'avion", "avion", Language::French);
    same("dell’arte", "arte", Language::Italian);
}

#[test]
fn words_match_with_and_without_diacritics() {
    assert!(names("información", Language::Spanish).contains(&"informacion".to_owned()));
    assert!(names("información", Language::Spanish).contains(&"inform".to_owned()));
    assert_eq!(names("résumé naïve", Language::English), names("resume naive", Language::English));
    assert_eq!(names("Straße", Language::Other), ["strasse"]);
    assert_eq!(names("ёлка", Language::Russian), names("елка", Language::Russian));
}

#[test]
fn words_in_a_foreign_script_are_stemmed_in_its_most_common_language() {
    assert_eq!(names("поговорила", Language::English), ["поговор"]);
    assert_eq!(names("consigned", Language::Russian), ["consign"]);
    // There is no Ukrainian stemmer here.
    assert_eq!(names("поговорила", Language::Other), ["поговорила"]);
}

#[test]
fn languages_are_parsed_from_their_codes() {
    for language in Language::ALL {
        assert_eq!(Language::from_tag(language.code()), Some(language));
        assert_eq!(Language::from_number(language.number()), Some(language));
    }
    assert_eq!(Language::from_tag("pt-BR"), Some(Language::Portuguese));
    assert_eq!(Language::from_tag("nb"), Some(Language::Norwegian));
    assert_eq!(Language::from_tag("PL"), Some(Language::Other));
    assert_eq!(Language::from_tag(""), None);
    assert_eq!(Language::from_tag("e n"), None);
}
