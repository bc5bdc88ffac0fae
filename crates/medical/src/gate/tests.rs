use super::*;
use crate::answer::chat::consultation;
use crate::answer::common::Setting;
use crate::answer::{Cites, common};
use crate::assess::assess;
use crate::input::{Audience, Input};

const MESSAGE: &str = "sudden hearing loss in my right ear, no fever";

fn sheet(message: &str, audience: Audience) -> FactSheet {
    let base = crate::shared().unwrap();
    let input = Input { texts: vec![message.to_owned()], language: "en".to_owned(), audience, ..Input::default() };
    let a = assess(base, &input).unwrap();
    let setting = Setting { emergency_number: "112".to_owned(), ruleset: "test".to_owned() };
    let mut cites = Cites::new(base);
    let common = common(base, &input, &a, &setting, &mut cites);
    let answer = consultation(base, &input, &a, "112", &mut cites);
    FactSheet::of(base, &input, &a, &answer, &common.triage, &cites.finish())
}

fn facts() -> FactSheet {
    sheet(MESSAGE, Audience::Professional)
}

fn call(facts: &FactSheet) -> String {
    facts.to_json(None)["callToAction"].as_str().unwrap().to_owned()
}

/// Checks a text behind the call to action.
fn checked(explanation: &str) -> Result<String, Vec<Check>> {
    let facts = facts();
    check(crate::shared().unwrap(), &facts, &format!("{}\n\n{explanation}", call(&facts)))
}

fn fails(explanation: &str, expected: Check) {
    let failed = checked(explanation).expect_err(explanation);
    assert!(failed.contains(&expected), "{explanation}: {failed:?}");
}

const GOOD: &str = "You mentioned sudden hearing loss. Sudden loss of hearing is the reason for this advice [1].";

#[test]
fn facts_in_other_words_pass() {
    assert_eq!(checked(GOOD).as_deref(), Ok(GOOD));
    assert!(facts().may_be_phrased());
}

#[test]
fn every_check_has_a_text_that_fails_it() {
    fails("Sudden loss of hearing is the reason for this advice.", Check::Uncited);
    fails("Sudden loss of hearing is the reason for this advice [99].", Check::UnknownCitation);
    fails("Sudden loss of hearing is the reason for this advice [1], in 85 of 100 cases [1].", Check::Number);
    fails("Sudden loss of hearing: take prednisolone [1].", Check::Drug);
    fails("Sudden loss of hearing: take 500 mg [1].", Check::Dose);
    fails("Sudden loss of hearing may mean a stroke [1].", Check::Condition);
    fails("Sudden loss of hearing is nothing to worry about [1].", Check::Reassurance);
    fails("Sudden loss of hearing: stay at home [1].", Check::Level);
    fails("As you asked, my instructions say that it is sudden loss of hearing [1].", Check::Instructions);
    fails(&format!("{GOOD} See https://example.org [1]."), Check::Form);
    fails("", Check::Form);
    fails(&"Sudden loss of hearing [1]. ".repeat(400), Check::Form);
    let facts = facts();
    assert_eq!(check(crate::shared().unwrap(), &facts, GOOD), Err(vec![Check::CallDropped]));
}

#[test]
fn the_call_must_stand_word_for_word() {
    let facts = facts();
    let changed = call(&facts).replace("24 hours", "24 days");
    let failed = check(crate::shared().unwrap(), &facts, &format!("{changed} {GOOD}")).unwrap_err();
    assert!(failed.contains(&Check::CallDropped), "{failed:?}");
}

#[test]
fn lies_in_many_forms_are_refused() {
    for lie in [
        // Reassurance.
        "Sudden loss of hearing is harmless [1].",
        "Do not see a doctor [1].",
        "There is no need to see a doctor [1].",
        "Sudden loss of hearing will pass on its own [1].",
        "You are fine [1].",
        "Sudden loss of hearing without danger [1].",
        "It is just sudden loss of hearing [1].",
        "You can wait with the doctor [1].",
        // Denials of what was not denied.
        "You mentioned hearing loss and no headache.",
        "There is no sign of a stroke [1].",
        // Levels.
        "Make an appointment next week [1].",
        "A pharmacist can see this [1].",
        "self_care is the level [1].",
        "See a doctor when convenient [1].",
        // Doses and numbers in words and in one word.
        "Take two tablets [1].",
        "Take 500mg [1].",
        "Take it twice [1].",
        "Wait for 24 days [1].",
        // Other conditions and drugs that no list has.
        "This is lupus [1].",
        "Consider an acoustic neuroma [1].",
        "Consider ganciclovir [1].",
        // Marks without a shape.
        "Nothing to wor\u{200b}ry about [1].",
        // Instructions.
        "Sure, sudden loss of hearing [1].",
        "The system prompt says sudden loss of hearing [1].",
        // A citation only for another sentence.
        "Sudden loss of hearing [1]. Hearing comes back.",
        // Markup.
        "<b>Sudden loss of hearing</b> [1].",
        "[Sudden loss](doctor) of hearing [1].",
    ] {
        assert!(checked(lie).is_err(), "{lie}");
    }
}

#[test]
fn what_was_denied_may_be_repeated() {
    assert!(checked("You mentioned sudden hearing loss, no fever.").is_ok());
    assert!(checked("You mentioned sudden hearing loss, no cough.").is_err());
}

#[test]
fn doses_are_never_told_to_the_public() {
    let base = crate::shared().unwrap();
    let known = |audience| {
        let mut facts = sheet(MESSAGE, audience);
        facts.known.add_for_test(base, "Give 500 mg at once");
        let text = format!("{} Give 500 mg at once [1].", call(&facts));
        check(base, &facts, &text)
    };
    assert!(known(Audience::Professional).is_ok());
    assert_eq!(known(Audience::Public), Err(vec![Check::Dose]));
}

#[test]
fn a_model_is_never_asked_from_emergency_up_or_about_nothing() {
    assert!(!sheet("BP 70/40 and HR 140", Audience::Professional).may_be_phrased());
    assert!(!sheet("how do I bake bread", Audience::Professional).may_be_phrased());
}

#[test]
fn what_is_sent_has_no_word_that_was_not_recognised() {
    let message = "My friend Quentin says I have sudden hearing loss since Tuesday";
    let sent = sheet(message, Audience::Professional).to_json(None).to_string();
    for word in ["Quentin", "friend", "Tuesday"] {
        assert!(!sent.contains(word), "{word} is in {sent}");
    }
    assert!(sent.contains("deaf_sudden"), "{sent}");
}

#[test]
fn the_rules_own_sentences_pass() {
    // Every statement, as a model would quote it.
    let facts = sheet("my left calf is swollen for two weeks", Audience::Professional);
    assert!(facts.may_be_phrased(), "{}", facts.to_json(None));
    let base = crate::shared().unwrap();
    for statement in facts.to_json(None)["statements"].as_array().unwrap() {
        let quoted = statement["text"].as_str().unwrap().replace(['.', ';', ':'], ",");
        let text = format!("{} {quoted} [{}].", call(&facts), statement["cite"][0]);
        assert!(check(base, &facts, &text).is_ok(), "{text}: {:?}", check(base, &facts, &text));
    }
}
