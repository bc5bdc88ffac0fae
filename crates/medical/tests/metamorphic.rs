//! Properties that hold for every rule's examples: what is added never lowers a level; how it is written does not change it;
//! what is denied, of a relative, of the past or only asked about is not present.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use muster_medical::assess::{Assessment, assess};
use muster_medical::base::Base;
use muster_medical::input::{GlucoseUnit, Input, Labs, Patient, Vitals};
use muster_medical::shared;
use muster_medical::triage::Level;
use proptest::prelude::*;
use proptest::sample::{Index, select};

fn base() -> &'static Base {
    shared().expect("the knowledge base loads")
}

fn said(text: &str) -> Input {
    Input { texts: vec![text.to_owned()], language: "en".to_owned(), ..Input::default() }
}

fn assessed(input: &Input) -> Assessment {
    assess(base(), input).expect("readable values")
}

fn level(input: &Input) -> Option<Level> {
    assessed(input).triage.level
}

/// Every positive example of every rule.
fn examples() -> Vec<&'static str> {
    base().rules.iter().flat_map(|rule| rule.positive.iter().map(String::as_str)).collect()
}

/// One plain phrase for each concept of the English lexicon that has one, with the concept's id.
fn phrases() -> Vec<(String, String)> {
    let file: toml::Table = toml::from_str(muster_medical::data::ENGLISH).unwrap();
    let concepts = file["concepts"].as_table().unwrap();
    let phrase = |id: &String, concept: &toml::Value| {
        let patterns = concept["patterns"].as_array().unwrap();
        let plain = patterns.iter().filter_map(toml::Value::as_str).flat_map(|pattern| pattern.split('|'));
        let word = |c: char| c.is_ascii_lowercase() || c == ' ';
        plain
            .map(str::trim)
            .find(|text| text.len() > 4 && text.chars().all(word))
            .map(|text| (id.clone(), text.to_owned()))
    };
    concepts.iter().filter_map(|(id, concept)| phrase(id, concept)).collect()
}

fn concept(id: &str) -> u16 {
    base().lexicon.id(id).unwrap_or_else(|| panic!("no concept {id}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn an_added_sentence_never_lowers_the_level(first in any::<Index>(), more in any::<Index>(), before in any::<bool>()) {
        let examples = examples();
        let (first, more) = (*first.get(&examples), *more.get(&examples));
        let alone = level(&said(first));
        let both = if before { format!("{more}. {first}.") } else { format!("{first}. {more}.") };
        // An age corrects what was said, and may lower the level.
        prop_assume!(assessed(&said(&both)).age == assessed(&said(first)).age);
        prop_assert!(level(&said(&both)) >= alone, "{both}");
    }

    #[test]
    fn an_added_history_never_lowers_the_level(first in any::<Index>(), more in any::<Index>()) {
        let (examples, phrases) = (examples(), phrases());
        let text: &str = first.get::<&str>(&examples);
        let plain = said(text);
        let with = Input { history: vec![more.get(&phrases).1.clone()], ..plain.clone() };
        prop_assert!(level(&with) >= level(&plain), "{with:?}");
    }

    #[test]
    fn an_added_value_never_lowers_the_level(
        first in any::<Index>(), systolic in 30.0..300.0f64, rate in 10.0..300.0f64, breaths in 2.0..120.0f64,
        temperature in 24.0..45.0f64, spo2 in 50.0..100.0f64, which in 0..5usize,
    ) {
        let examples = examples();
        let text: &str = first.get::<&str>(&examples);
        let plain = said(text);
        let mut vitals = Vitals::default();
        match which {
            0 => vitals.systolic = Some(systolic),
            1 => vitals.heart_rate = Some(rate),
            2 => vitals.respiratory_rate = Some(breaths),
            3 => vitals.temperature = Some(temperature),
            _ => vitals.spo2 = Some(spo2),
        }
        let with = Input { vitals, ..plain.clone() };
        prop_assert!(level(&with) >= level(&plain), "{with:?}");
    }

    #[test]
    fn a_second_reading_of_a_sign_never_lowers_the_level(
        first in 10.0..300.0f64, second in 10.0..300.0f64, rate in 2.0..120.0f64, more in 2.0..120.0f64,
    ) {
        let text = |heart: f64, breaths: f64| format!("HR {heart:.0}, RR {breaths:.0}");
        let one = said(&text(first, rate));
        let two = said(&format!("{}. {}.", text(first, rate), text(second, more)));
        prop_assert!(level(&two) >= level(&one), "{:?}", two.texts);
    }

    #[test]
    fn more_vital_signs_never_lower_the_level(
        systolic in 60.0..240.0f64, rate in 30.0..200.0f64, breaths in 5.0..45.0f64, spo2 in 75.0..100.0f64, age in 16.0..100.0f64,
    ) {
        let patient = Patient { age: Some(age), ..Patient::default() };
        let one = Input { vitals: Vitals { systolic: Some(systolic), ..Vitals::default() }, patient, language: "en".to_owned(), ..Input::default() };
        let mut two = one.clone();
        two.vitals.heart_rate = Some(rate);
        let mut four = two.clone();
        four.vitals.respiratory_rate = Some(breaths);
        four.vitals.spo2 = Some(spo2);
        prop_assert!(level(&two) >= level(&one));
        prop_assert!(level(&four) >= level(&two));
    }

    #[test]
    fn unrelated_sentences_change_nothing(
        first in any::<Index>(),
        other in select(vec![
            "The train was late today.", "My neighbour likes green tea.", "We live near a park.", "Thank you for reading this.",
        ]),
        before in any::<bool>(),
    ) {
        let examples = examples();
        let text = *first.get(&examples);
        let both = if before { format!("{other} {text}") } else { format!("{text}. {other}") };
        prop_assert_eq!(level(&said(&both)), level(&said(text)), "{}", both);
    }

    #[test]
    fn no_text_makes_it_fail(text in "\\PC{0,300}") {
        let _ = level(&said(&text));
    }
}

#[test]
fn case_spacing_and_invisible_characters_change_nothing() {
    for text in examples() {
        let expected = level(&said(text));
        let spaced = text.replace(' ', "  ");
        let marked = text.replace(' ', " \u{200b}\u{2060}");
        for other in [text.to_uppercase(), spaced, marked] {
            assert_eq!(level(&said(&other)), expected, "{other}");
        }
    }
}

#[test]
fn the_order_of_two_sentences_changes_nothing() {
    let examples = examples();
    for pair in examples.windows(2) {
        let forward = level(&said(&format!("{}. {}.", pair[0], pair[1])));
        let backward = level(&said(&format!("{}. {}.", pair[1], pair[0])));
        assert_eq!(forward, backward, "{pair:?}");
    }
}

#[test]
fn british_and_american_words_mean_the_same() {
    let pairs = [
        ("diarrhoea", "diarrhea"),
        ("haemorrhage", "hemorrhage"),
        ("anaemia", "anemia"),
        ("oedema", "edema"),
        ("dyspnoea", "dyspnea"),
        ("vomiting blood, haematemesis", "vomiting blood, hematemesis"),
        ("paracetamol overdose", "acetaminophen overdose"),
        (
            "I came to the casualty with chest pain and sweating",
            "I came to the emergency room with chest pain and sweating",
        ),
        ("my tummy hurts and it is rigid", "my stomach hurts and it is rigid"),
        ("swollen calf, he had haemoptysis", "swollen calf, he had hemoptysis"),
        ("paralysed on one side", "paralyzed on one side"),
        (
            "leucocytes are low after chemotherapy and he is feverish",
            "leukocytes are low after chemotherapy and he is feverish",
        ),
    ];
    for (british, american) in pairs {
        let (one, other) = (assessed(&said(british)), assessed(&said(american)));
        assert_eq!(one.triage.level, other.triage.level, "{british} / {american}");
        let present = |a: &Assessment| a.summary.present.keys().copied().collect::<Vec<_>>();
        assert_eq!(present(&one), present(&other), "{british} / {american}");
    }
}

#[test]
fn celsius_and_fahrenheit_mean_the_same() {
    for tenth in (350..=415).step_by(3) {
        let celsius = f64::from(tenth) / 10.0;
        let fahrenheit = celsius * 1.8 + 32.0;
        let with = |temperature| Input {
            vitals: Vitals { temperature: Some(temperature), ..Vitals::default() },
            ..said("chemotherapy last week")
        };
        assert_eq!(level(&with(celsius)), level(&with(fahrenheit)), "{celsius} °C, {fahrenheit} °F");
        let text =
            |value: f64, unit: &str| level(&said(&format!("chemotherapy last week, temperature {value:.1} {unit}")));
        assert_eq!(text(celsius, "°C"), text(fahrenheit, "F"), "{celsius} °C, {fahrenheit} F");
    }
}

#[test]
fn units_of_laboratory_values_mean_the_same() {
    for tenth in 15..=80 {
        let mmol = f64::from(tenth) / 10.0;
        let with = |glucose, unit| Input {
            labs: Labs { glucose: Some(glucose), glucose_unit: Some(unit), ..Labs::default() },
            ..said("confused")
        };
        let mg = mmol * 18.016;
        assert_eq!(level(&with(mmol, GlucoseUnit::MmolL)), level(&with(mg, GlucoseUnit::MgDl)), "{mmol} mmol/L");
    }
}

#[test]
fn what_is_denied_is_not_present() {
    let phrases = phrases();
    assert!(phrases.len() > 150, "{} phrases were read", phrases.len());
    for (id, phrase) in phrases {
        // A phrase that begins with a denial ("no urine") means the concept by it.
        for text in [format!("No {phrase}."), format!("The patient denies {phrase}."), format!("There is no {phrase}.")]
        {
            let a = assessed(&said(&text));
            assert!(!a.summary.present.contains_key(&concept(&id)), "{text}: {:?}", a.summary.present);
        }
    }
}

#[test]
fn what_is_asked_about_is_not_present() {
    // A question about oneself ("what if I kill myself?") is no question of knowledge.
    for (id, phrase) in phrases().into_iter().filter(|(_, phrase)| !phrase.contains("myself")) {
        for text in [format!("What is {phrase}?"), format!("What are the signs of {phrase}?")] {
            let a = assessed(&said(&text));
            assert!(!a.summary.present.contains_key(&concept(&id)), "{text}: {:?}", a.summary.present);
            assert!(a.triage.level < Some(Level::Emergency), "{text}: {:?}", a.triage);
        }
    }
}

#[test]
fn illness_of_relatives_does_not_trigger() {
    let illnesses = [
        "a stroke",
        "a heart attack",
        "meningitis",
        "breast cancer",
        "chest pain",
        "a pulmonary embolism",
        "diabetes",
        "an overdose",
    ];
    for illness in illnesses {
        for text in [
            format!("My mother had {illness}."),
            format!("My father died of {illness}."),
            format!("Family history of {illness}."),
            format!("My uncle was diagnosed with {illness} in 2010."),
        ] {
            let a = assessed(&said(&text));
            assert!(a.triage.level < Some(Level::Emergency), "{text}: {:?}", a.triage);
        }
    }
    // A child or partner who is ill now is the patient.
    for text in ["My son has a fit", "My husband has chest pain and is sweating", "My daughter is not breathing"] {
        assert!(level(&said(text)) >= Some(Level::Emergency), "{text}");
    }
}

#[test]
fn past_events_do_not_trigger() {
    for event in
        ["a seizure", "chest pain and sweating", "a head injury and vomiting", "vomiting blood", "facial droop"]
    {
        for text in
            [format!("Years ago I had {event}."), format!("In childhood he had {event}."), format!("Previous {event}.")]
        {
            let a = assessed(&said(&text));
            assert!(a.triage.level < Some(Level::Emergency), "{text}: {:?}", a.triage);
        }
    }
    for text in [
        "3-day history of chest pain and sweating",
        "Years ago I had a hernia, now I have chest pain and sweating",
        "Two years ago I had a stent and I have chest pain and sweating",
        "Last year I had the flu but today I have a seizure",
    ] {
        assert!(level(&said(text)) >= Some(Level::Emergency), "{text}");
    }
}

#[test]
fn a_history_yields_no_present_symptom() {
    for text in examples() {
        let input = Input { history: vec![text.to_owned()], language: "en".to_owned(), ..Input::default() };
        let a = assessed(&input);
        for id in a.summary.present.keys() {
            let kind = base().lexicon.kind(*id);
            assert!(
                !matches!(kind, muster_medical::text::Kind::Symptom | muster_medical::text::Kind::Sign),
                "{text}: {}",
                base().lexicon.name(*id)
            );
        }
    }
}
