//! q233: screening for mental illness.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_medical::score::Inputs;

use crate::support::{Known, unreviewed, whole};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    phq9: Vec<i64>,
    gad7: Vec<i64>,
    pcptsd5: Vec<i64>,
    k6: Vec<i64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    scores: BTreeMap<&'static str, i64>,
    severity: BTreeMap<&'static str, String>,
    self_harm_flag: bool,
    probable: Vec<&'static str>,
    advice: Vec<&'static str>,
}

/// A questionnaire: id, items, most points of an item, cut-off and what it suggests.
struct Form {
    id: &'static str,
    items: usize,
    most: i64,
    cutoff: i64,
    suggests: &'static str,
}

const FORMS: [Form; 4] = [
    Form { id: "phq9", items: 9, most: 3, cutoff: 10, suggests: "depression (PHQ-9 of 10 or more)" },
    Form { id: "gad7", items: 7, most: 3, cutoff: 10, suggests: "anxiety disorder (GAD-7 of 10 or more)" },
    Form {
        id: "pcptsd5",
        items: 5,
        most: 1,
        cutoff: 4,
        suggests: "post-traumatic stress disorder (PC-PTSD-5 of 4 or more)",
    },
    Form { id: "k6", items: 6, most: 4, cutoff: 13, suggests: "serious mental illness (K6 of 13 or more)" },
];

/// Sums the questionnaires that were answered.
///
/// # Errors
/// `Invalid` for a wrong number of answers or points out of range, `NoAnswer` without any questionnaire.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let answers = [&input.phq9, &input.gad7, &input.pcptsd5, &input.k6];
    let mut output = Output {
        scores: BTreeMap::new(),
        severity: BTreeMap::new(),
        self_harm_flag: input.phq9.get(8).is_some_and(|points| *points > 0),
        probable: Vec::new(),
        advice: Vec::new(),
    };
    for (form, answers) in FORMS.iter().zip(answers) {
        if let Some((points, band)) = sum(form, answers)? {
            output.scores.insert(form.id, points);
            output.severity.insert(form.id, band);
            if points >= form.cutoff {
                output.probable.push(form.suggests);
            }
        }
    }
    if output.scores.is_empty() {
        let text = "no questionnaire was answered: give phq9, gad7, pcptsd5 or k6";
        return Err(Failure::no_answer(NoAnswer::TooFew, text));
    }
    if input.phq9.is_empty() {
        cx.warn(
            "missing: without the PHQ-9 nothing was asked about self-harm; self_harm_flag is false for that reason",
        );
    }
    if output.self_harm_flag {
        output.advice.push("PHQ-9 item 9 is above 0: a clinician assesses the risk of self-harm now, whatever the sum");
    }
    if !output.probable.is_empty() {
        output.advice.push("A screen at or above its cut-off asks for a diagnostic interview; it is no diagnosis");
    }
    if output.advice.is_empty() {
        output.advice.push("No cut-off is reached; a screen below it does not exclude an illness");
    }
    unreviewed(cx, "cut-offs and advice restate the publications of the questionnaires");
    Ok(output)
}

/// Points and band of a questionnaire; none if it was not answered.
fn sum(form: &Form, answers: &[i64]) -> Result<Option<(i64, String)>, Failure> {
    if answers.is_empty() {
        return Ok(None);
    }
    if answers.len() != form.items {
        let text = format!("has {} answers, and the questionnaire has {} items", answers.len(), form.items);
        return Err(Failure::invalid(&[form.id], text));
    }
    let mut inputs = Inputs::default();
    for (at, points) in answers.iter().enumerate() {
        if !(0..=form.most).contains(points) {
            let text = format!("must be from 0 to {}", form.most);
            return Err(Failure::invalid(&[form.id, &at.to_string()], text));
        }
        let name = format!("{}_{}", form.id, at + 1);
        match form.most {
            1 => inputs.set(&name, *points == 1),
            _ => inputs.set(&name, *points as f64),
        };
    }
    let score = Known(inputs).score(form.id)?;
    match (score.value, score.band) {
        (Some(points), Some(band)) => Ok(Some((whole(points), band))),
        _ => Err(Failure::internal(format!("{} has no value with all answers", form.id))),
    }
}
