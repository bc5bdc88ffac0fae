//! Words of patients and clinicians and the concepts that they mean.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

use muster_medical::data::ENGLISH;
use muster_medical::text::{Lexicon, Status, Summary, read};

fn status(lexicon: &Lexicon, text: &str, concept: &str) -> Option<Status> {
    let mut summary = Summary::default();
    for finding in read(lexicon, text, &["en"]).findings {
        summary.add(lexicon, finding);
    }
    summary.settle();
    let id = lexicon.id(concept).unwrap();
    let lists = [&summary.present, &summary.past, &summary.absent, &summary.family, &summary.asked];
    lists.iter().find_map(|list| list.get(&id)).map(|f| f.status)
}

#[test]
fn single_words_of_a_list_of_alternatives_are_recognised() {
    let lexicon = Lexicon::parse(ENGLISH, &[]).unwrap();
    let cases = [
        ("rigors since last night", "rigors"),
        ("chills and a cough", "rigors"),
        ("she is very pale", "pallor"),
        ("raised JVP", "raised_jvp"),
        ("distended neck veins", "raised_jvp"),
        ("postpartum day 3", "postpartum"),
        ("used her EpiPen", "previous_anaphylaxis"),
        ("he is an alcoholic", "alcohol_excess"),
        ("40 pack years", "smoking"),
        ("a pack a day", "smoking"),
        ("his leg was crushed", "crush"),
        ("trapped under a wall in the rubble", "crush"),
        ("have not passed urine since noon", "retention"),
        ("it hurts when I breathe in", "pleuritic"),
        ("troponin is raised", "troponin_raised"),
        ("faint, with a rash", "syncope"),
        ("my heart beats very fast", "palpitations"),
        ("pulse is fast", "tachycardia_word"),
        ("first seizure of my life", "first_seizure"),
        ("she had a fit, she has never had one before", "first_seizure"),
    ];
    for (text, concept) in cases {
        assert_eq!(status(&lexicon, text, concept), Some(Status::Present), "{concept}: {text}");
    }
}

#[test]
fn words_that_resemble_a_concept_are_not_it() {
    let lexicon = Lexicon::parse(ENGLISH, &[]).unwrap();
    let cases = [
        ("pale stools for a week", "pallor"),
        ("crushing chest pain", "crush"),
        ("a trapped nerve and a numb foot", "crush"),
        ("rigorous training", "rigors"),
        ("troponin was not raised", "troponin_raised"),
        ("faint erythematous rash", "syncope"),
        ("heart rate of 80 beats per minute", "palpitations"),
        ("known epilepsy, another seizure", "first_seizure"),
    ];
    for (text, concept) in cases {
        assert_eq!(status(&lexicon, text, concept), None, "{concept}: {text}");
    }
}

#[test]
fn a_seizure_that_never_was_is_denied() {
    let lexicon = Lexicon::parse(ENGLISH, &[]).unwrap();
    assert_eq!(status(&lexicon, "I have never had a seizure", "seizure"), Some(Status::Absent));
    assert_eq!(status(&lexicon, "I have never had a seizure", "first_seizure"), None);
}
