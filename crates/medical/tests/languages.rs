//! Emergencies that are told in the twelve languages are found; what is
//! denied, past, asked about or of a relative is not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may fail it")]

use muster_medical::assess::{Assessment, assess};
use muster_medical::base::{Base, shared};
use muster_medical::data::ENGLISH;
use muster_medical::input::Input;
use muster_medical::languages::{SPOKEN, guess};
use muster_medical::text::{Lexicon, Status, read};
use muster_medical::triage::{Basis, Level};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lay {
    language: String,
    emergencies: Vec<[String; 2]>,
    /// Denials with `{}` for what is denied.
    frames: Vec<String>,
    nouns: Vec<String>,
    denials: Vec<String>,
    /// Past, hypothetical, of a relative.
    not_now: Vec<String>,
}

const LAY: &[&str] = &[
    include_str!("lay/ar.toml"),
    include_str!("lay/de.toml"),
    include_str!("lay/en.toml"),
    include_str!("lay/es.toml"),
    include_str!("lay/fr.toml"),
    include_str!("lay/it.toml"),
    include_str!("lay/nl.toml"),
    include_str!("lay/pl.toml"),
    include_str!("lay/pt.toml"),
    include_str!("lay/ru.toml"),
    include_str!("lay/tr.toml"),
    include_str!("lay/zh.toml"),
];

fn lay() -> Vec<Lay> {
    LAY.iter().map(|text| toml::from_str(text).unwrap()).collect()
}

fn assessed(base: &Base, text: &str, language: &str) -> Assessment {
    let input = Input { texts: vec![text.to_owned()], language: language.to_owned(), ..Input::default() };
    assess(base, &input).unwrap()
}

fn present(base: &Base, a: &Assessment) -> Vec<String> {
    a.summary.present.keys().map(|&id| base.lexicon.name(id).to_owned()).collect()
}

fn english() -> Lexicon {
    Lexicon::parse(ENGLISH, &[]).unwrap()
}

fn report(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each emergency with the language that the request names.
fn emergencies(named: impl Fn(&str) -> String) {
    let base = shared().unwrap();
    let mut wrong = Vec::new();
    for lay in lay() {
        for [text, concept] in &lay.emergencies {
            let a = assessed(base, text, &named(&lay.language));
            let found = present(base, &a);
            let urgent = a.triage.level.is_some_and(|level| level >= Level::Emergency);
            if !urgent || !found.contains(concept) || !a.understood {
                wrong.push(format!("{} {text}: {:?}, wanted {concept}, found {found:?}", lay.language, a.triage.level));
            }
        }
    }
    report(&wrong);
}

#[test]
fn emergencies_in_the_language_of_the_request_are_found() {
    emergencies(str::to_owned);
}

#[test]
fn emergencies_are_found_when_the_request_names_english() {
    emergencies(|_| "en".to_owned());
}

#[test]
fn emergencies_are_found_when_the_request_names_another_language() {
    emergencies(|own| if own == "tr" { "zh".to_owned() } else { "tr".to_owned() });
}

#[test]
fn denied_symptoms_are_not_present() {
    let base = shared().unwrap();
    let mut wrong = Vec::new();
    for lay in lay() {
        let framed = lay.frames.iter().flat_map(|f| lay.nouns.iter().map(move |n| f.replace("{}", n)));
        for text in framed.chain(lay.denials.iter().cloned()) {
            for named in [lay.language.as_str(), "en"] {
                let a = assessed(base, &text, named);
                let found = present(base, &a);
                if !found.is_empty() {
                    wrong.push(format!("{} as {named}: {text}: {found:?}", lay.language));
                }
            }
        }
    }
    report(&wrong);
}

#[test]
fn framed_denials_are_recorded_as_absent() {
    let base = shared().unwrap();
    let mut wrong = Vec::new();
    for lay in lay() {
        for text in lay.frames.iter().flat_map(|f| lay.nouns.iter().map(move |n| f.replace("{}", n))) {
            if assessed(base, &text, &lay.language).summary.absent.is_empty() {
                wrong.push(format!("{}: {text}", lay.language));
            }
        }
    }
    report(&wrong);
}

#[test]
fn past_supposed_and_relatives_findings_are_no_emergency() {
    let base = shared().unwrap();
    let mut wrong = Vec::new();
    for lay in lay() {
        for text in &lay.not_now {
            for named in [lay.language.as_str(), "en"] {
                let a = assessed(base, text, named);
                if a.triage.level.is_some_and(|level| level >= Level::Consultation24) {
                    wrong.push(format!("{} as {named}: {text}: {:?}", lay.language, present(base, &a)));
                }
            }
        }
    }
    report(&wrong);
}

#[test]
fn the_language_of_a_sentence_is_among_those_guessed() {
    for lay in lay().iter().filter(|lay| lay.language != "en") {
        for [text, _] in &lay.emergencies {
            assert!(guess(text).contains(&lay.language.as_str()), "{}: {text}: {:?}", lay.language, guess(text));
        }
    }
}

#[test]
fn each_language_has_twenty_five_emergencies_and_denials() {
    let lays = lay();
    for code in SPOKEN {
        let lay = lays.iter().find(|lay| lay.language == *code).unwrap_or_else(|| panic!("{code} has no sentences"));
        assert!(lay.emergencies.len() >= 25, "{code}: {}", lay.emergencies.len());
        assert!(lay.frames.len() * lay.nouns.len() + lay.denials.len() >= 20, "{code}");
        assert!(lay.not_now.len() >= 4, "{code}");
    }
}

/// A second sentence in any language never lowers what the first one raised.
#[test]
fn a_sentence_of_another_language_lowers_nothing() {
    let base = shared().unwrap();
    let lays = lay();
    for (i, lay) in lays.iter().enumerate() {
        let other = &lays[(i + 1) % lays.len()];
        for ([text, _], [added, _]) in lay.emergencies.iter().zip(other.emergencies.iter().rev()) {
            let (one, both) = (assessed(base, text, "en"), assessed(base, &format!("{text}. {added}."), "en"));
            assert!(both.triage.level >= one.triage.level, "{text} / {added}");
        }
    }
}

/// Common English words that resemble words of the other lexicons.
#[test]
fn ordinary_english_sentences_hold_no_finding_of_another_language() {
    let base = shared().unwrap();
    let texts = [
        "I am looking for a dentist near the station.",
        "Please send the form to my man at the office.",
        "Can I travel in a plane with my dog?",
        "Thank you, see you later.",
        "Opening hours on Monday?",
        "The data of the region are in the annex.",
        "My car is in the sale, the rat ran along the wall.",
        "A slim person with a warm hand and an arm band.",
        "We had a bad day, pale ale and a bit of fun.",
    ];
    for text in texts {
        let (all, english) = (assessed(base, text, "en"), read(&english(), text, &["en"]));
        let alone = english.findings.iter().filter(|f| f.status == Status::Present).count();
        let found = present(base, &all);
        assert!(found.len() <= alone, "{text}: {found:?}");
        assert!(all.triage.level.is_none_or(|level| level < Level::Consultation24), "{text}: {found:?}");
    }
}

#[test]
fn a_text_of_an_unknown_language_is_not_understood() {
    let base = shared().unwrap();
    let texts = [
        "Minulla on kova kipu rinnassa ja hengitys on vaikeaa",
        "Saya mengalami sakit dada yang teruk",
        "Mellkasi fájdalmam van és nehezen lélegzem",
        "가슴이 아프고 숨을 쉴 수 없어요",
        "Έχω έντονο πόνο στο στήθος",
    ];
    for text in texts {
        let a = assessed(base, text, "en");
        assert!(!a.understood, "{text}: {:?}", present(base, &a));
        assert_eq!(a.triage.level, None, "{text}: {:?}", present(base, &a));
        assert_eq!(a.triage.basis, Basis::NotAssessed, "{text}");
    }
}

#[test]
fn the_fixed_sentences_of_each_language_are_complete() {
    let phrases = &shared().unwrap().phrases;
    let levels =
        [Level::SelfCare, Level::Consultation, Level::Consultation24, Level::Emergency, Level::EmergencyAmbulance];
    for code in SPOKEN {
        let spoken = phrases.of(code).unwrap_or_else(|| panic!("{code} has no phrases"));
        let labels: std::collections::BTreeSet<_> = levels.iter().map(|&l| spoken.label(l)).collect();
        let calls: std::collections::BTreeSet<_> =
            levels.iter().map(|&l| spoken.call(Some(l), Basis::RedFlags, "115")).collect();
        assert_eq!((labels.len(), calls.len()), (5, 5), "{code}");
        for call in &calls {
            assert!(call.contains("115") && !call.contains("{number}"), "{code}: {call}");
        }
        assert!(spoken.safety_net("115").contains("115"), "{code}");
        assert!(spoken.signs().len() >= 10, "{code}");
    }
}

/// The response begins with the call to action, so a call of fewer than 200
/// characters stands within its first 200.
#[test]
fn the_call_to_action_of_an_emergency_fits_two_hundred_characters() {
    let phrases = &shared().unwrap().phrases;
    for code in SPOKEN {
        for level in [Level::Emergency, Level::EmergencyAmbulance] {
            let call = phrases.of(code).unwrap().call(Some(level), Basis::RedFlags, "112");
            assert!(call.chars().count() < 200, "{code}: {call}");
        }
    }
}
