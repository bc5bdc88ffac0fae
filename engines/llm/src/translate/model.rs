//! A translation by the engines of the server, and its way back.

use std::collections::BTreeMap;

use serde::Deserialize;
use unicode_segmentation::UnicodeSegmentation;

use muster_engine::prelude::*;

use super::chrf::chrf2;
use super::{Input, MAX_UNTRANSLATED, Method, Output, is_word};

/// What is wrong with a segment that stands in its own language.
const UNTRANSLATED: &str = "untranslated";
/// Suspect segments that are named, and characters of each.
const MAX_SUSPECTS: usize = 20;
const MAX_SHOWN: usize = 120;

/// The server's answer to a need of a translation.
#[derive(Deserialize)]
struct Translated {
    translation: String,
    method: String,
    provider: String,
    model: String,
    route: Vec<String>,
    suspects: Vec<Suspect>,
}

/// A segment that should be looked at.
#[derive(Deserialize)]
struct Suspect {
    text: String,
    reasons: Vec<String>,
}

/// Asks the server for a translation, and for one of that back into the language of the text. `None` and a warning if no
/// engine of the server translates it.
pub(super) fn translate(input: &Input, from: &str, context: &Context) -> Result<Option<Output>, Failure> {
    let need = |text: &str, from: &str, to: &str, glossary| Need::Translate {
        text: text.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        glossary,
    };
    let given = match read(context.ask(need(&input.text, from, &input.to, input.glossary.clone()))?) {
        Ok(given) => given,
        Err(why) => {
            context.warn(format!("no_model: names and glossary terms only are translated, because {why}"));
            return Ok(None);
        }
    };
    context.step("engine", format!("{} ({}, {})", given.method, given.provider, given.model), "");
    context.step("route", given.route.join(" → "), "");
    let back = context.ask(need(&given.translation, &input.to, from, BTreeMap::new()))?;
    let back_check = match read(back) {
        Ok(back) => Some(chrf2(&back.translation, &input.text)),
        Err(why) => {
            context.warn(format!("no_back_check: the translation was not translated back, because {why}"));
            None
        }
    };
    let (left, other): (Vec<&Suspect>, Vec<&Suspect>) =
        given.suspects.iter().partition(|suspect| suspect.reasons.iter().any(|reason| reason == UNTRANSLATED));
    for suspect in other.iter().take(MAX_SUSPECTS) {
        let text: String = suspect.text.chars().take(MAX_SHOWN).collect();
        context.warn(format!("suspect: have this segment checked ({}): {text}", suspect.reasons.join(", ")));
    }
    if other.len() > MAX_SUSPECTS {
        context.warn(format!("suspect: {} more segments should be checked", other.len() - MAX_SUSPECTS));
    }
    let (all, left_words) = (words(&input.text), left.iter().map(|suspect| words(&suspect.text)).sum::<usize>());
    Ok(Some(Output {
        method: if given.method == "dictionary" { Method::PhraseTable } else { Method::Model },
        translation: given.translation,
        from: from.to_owned(),
        to: input.to.clone(),
        coverage: if all == 0 { 1.0 } else { 1.0 - left_words.min(all) as f64 / all as f64 },
        untranslated: left.iter().take(MAX_UNTRANSLATED).map(|suspect| suspect.text.clone()).collect(),
        back_check,
    }))
}

/// Returns the translation, or why there is none.
fn read(answer: Answer) -> Result<Translated, String> {
    match answer {
        Answer::Refused { why } => Err(why),
        Answer::Given(value) => {
            serde_json::from_value(value).map_err(|error| format!("the answer is unusable: {error}"))
        }
    }
}

fn words(text: &str) -> usize {
    text.split_word_bounds().filter(is_word).count()
}

#[cfg(test)]
mod tests {
    use muster_engine::Answered;
    use serde_json::json;

    use super::*;

    const TEXT: &str = "The road is closed. Keep 12 litres.";

    fn asked(text: &str, from: &str, to: &str) -> Need {
        let (text, from, to) = (text.to_owned(), from.to_owned(), to.to_owned());
        Need::Translate { text, from, to, glossary: BTreeMap::new() }
    }

    fn answer(translation: &str, method: &str, suspects: Value) -> Answer {
        Answer::Given(json!({
            "translation": translation, "method": method, "provider": "embedded", "model": "en-pt",
            "route": ["en", "pt"], "suspects": suspects,
        }))
    }

    fn run(answers: Vec<Answered>) -> (Value, Vec<String>) {
        let context = Context::default().with_answers(answers).refusing("this is a test");
        let output = crate::FAMILY.run(165, json!({ "text": TEXT, "from": "en", "to": "pt" }), &context).unwrap();
        (output, context.into_warnings())
    }

    #[test]
    fn a_translation_is_checked_by_its_way_back() {
        let translation = "A estrada está fechada. Guarde 12 litros.";
        let there = answer(translation, "neural", json!([]));
        let back = answer("The road is closed. Save 12 liters.", "neural", json!([]));
        let (output, warnings) = run(vec![
            Answered { need: asked(TEXT, "en", "pt"), answer: there },
            Answered { need: asked(translation, "pt", "en"), answer: back },
        ]);
        assert_eq!((&output["translation"], &output["method"]), (&json!(translation), &json!("model")));
        assert_eq!((&output["coverage"], &output["untranslated"]), (&json!(1.0), &json!([])));
        // By sacreBLEU 2.6.
        assert!((output["back_check"].as_f64().unwrap() - 0.632_620_579_718_281).abs() < 1e-9, "{output}");
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn what_stands_in_its_own_language_is_not_covered() {
        let translation = "A estrada está fechada. Keep 12 litres.";
        let suspects = json!([
            { "text": "A estrada está fechada.", "reasons": ["length"] },
            { "text": "Keep 12 litres.", "reasons": ["language", "untranslated"] },
        ]);
        let (output, warnings) =
            run(vec![Answered { need: asked(TEXT, "en", "pt"), answer: answer(translation, "model", suspects) }]);
        assert_eq!(output["untranslated"], json!(["Keep 12 litres."]));
        // Two of the six words with letters.
        assert!((output["coverage"].as_f64().unwrap() - 4.0 / 6.0).abs() < 1e-12, "{output}");
        assert_eq!(output.get("back_check").filter(|value| !value.is_null()), None);
        assert!(
            warnings[0].starts_with("no_back_check:") && warnings[1].contains("(length): A estrada"),
            "{warnings:?}"
        );
    }

    #[test]
    fn without_an_engine_the_names_are_translated_and_a_warning_says_why() {
        let need = || asked(TEXT, "en", "pt");
        for (answer, why) in [
            (Answer::Refused { why: "no engine here translates en to pt".to_owned() }, "no engine here translates"),
            (Answer::Given(json!({ "translation": 7 })), "unusable"),
        ] {
            let (output, warnings) = run(vec![Answered { need: need(), answer }]);
            assert_eq!(output["method"], "phrase-table");
            assert!(
                warnings.iter().any(|warning| warning.starts_with("no_model:") && warning.contains(why)),
                "{warnings:?}"
            );
        }
    }
}
