//! Lay words of the English lexicon: what they are read as, and what not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may fail it")]

use muster_medical::data::ENGLISH;
use muster_medical::text::{Lexicon, Status, read};

fn present(lexicon: &Lexicon, text: &str, concept: &str) -> bool {
    let id = lexicon.id(concept).unwrap_or_else(|| panic!("the concept {concept} is unknown"));
    read(lexicon, text, &["en"]).findings.iter().any(|f| f.concept == id && f.status == Status::Present)
}

fn check(rows: &[(&str, &str)], wanted: bool) {
    let lexicon = Lexicon::parse(ENGLISH, &[]).unwrap();
    let wrong: Vec<_> = rows.iter().filter(|(text, concept)| present(&lexicon, text, concept) != wanted).collect();
    assert!(wrong.is_empty(), "read wrongly: {wrong:?}");
}

#[test]
fn words_that_stand_alone_are_read() {
    check(
        &[
            ("she looks very pale", "pallor"),
            ("fever and chills", "rigors"),
            ("binge at the weekend", "alcohol_excess"),
            ("he carries an epipen", "previous_anaphylaxis"),
            ("smokes a pack a day", "smoking"),
            ("the pulse is fast", "tachycardia_word"),
            ("raised JVP", "raised_jvp"),
            ("postnatal week two", "postpartum"),
            ("trapped under rubble for six hours", "crush"),
            ("I have not peed since yesterday", "retention"),
            ("a high pitched noise on breathing in", "stridor"),
            ("a rash that does not fade", "purpura"),
        ],
        true,
    );
}

#[test]
fn lay_words_are_read() {
    check(
        &[
            ("she brought up blood", "haematemesis"),
            ("blood from my bottom", "rectal_bleeding"),
            ("stools like tar", "melaena"),
            ("my legs keep giving way", "legs_weak"),
            ("was in Mozambique last month", "tropics"),
            ("back from Sierra Leone", "tropics"),
            ("stood on a nail", "dirty_wound"),
            ("skin coming off in sheets", "blistering_skin"),
            ("my throat is swelling shut", "throat_closing"),
            ("a cough like a seal", "barking_cough"),
            ("I can't open my mouth properly", "jaw_stiffness"),
            ("a rash and a temperature", "fever"),
            ("temperature 37 earlier, high temperature tonight", "fever"),
        ],
        true,
    );
}

#[test]
fn words_of_another_meaning_are_not_read() {
    check(
        &[
            ("a trapped nerve in my neck", "crush"),
            ("crushing chest pain", "crush"),
            ("the pain does not disappear", "purpura"),
            ("JVP normal", "raised_jvp"),
            ("the baby breathes with an open mouth", "jaw_stiffness"),
            ("red eyes, sore throat and a headache", "eye_pain"),
            ("a temperature of 36.8", "fever"),
            ("with a temperature of 37.1", "fever"),
            ("palatal petechiae", "purpura"),
            ("I can't pass gas", "retention"),
        ],
        false,
    );
}

#[test]
fn a_misspelt_word_counts_and_the_finding_says_what_it_was_read_as() {
    let lexicon = Lexicon::parse(ENGLISH, &[]).unwrap();
    let found = read(&lexicon, "severe brethlessness since Monday", &["en"]).findings;
    let finding = found.iter().find(|f| Some(f.concept) == lexicon.id("dyspnoea")).unwrap();
    let corrected = finding.corrected.as_ref().map(|(word, meant)| (word.as_str(), meant.as_str()));
    assert_eq!(corrected, Some(("brethlessness", "breathless")));
    let spelt = read(&lexicon, "severe breathlessness since Monday", &["en"]).findings;
    assert!(spelt.iter().all(|finding| finding.corrected.is_none()));
}
