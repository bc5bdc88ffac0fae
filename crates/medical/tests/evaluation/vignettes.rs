//! The open vignettes as inputs: message = complaints, presentation and absent findings; age and sex; history.

use std::path::Path;

use muster_medical::input::{Input, Patient};
use muster_medical::rank::Sex;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Emergency,
    NonEmergency,
    /// Minor illness or self-care.
    Minor,
    Cancer,
}

#[derive(Debug)]
pub struct Vignette {
    pub id: String,
    pub diagnosis: String,
    pub expected: Expected,
    pub input: Input,
}

/// The vignettes, if they are there.
pub fn open() -> Option<Vec<Vignette>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/medical/open_vignettes.json");
    let text = std::fs::read_to_string(path).ok()?;
    let file: Value = serde_json::from_str(&text).expect("the vignettes are JSON");
    Some(file["cases"].as_array().expect("a list of cases").iter().map(vignette).collect())
}

fn vignette(case: &Value) -> Vignette {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let expected = match (case["set"].as_str(), case["expected_triage"].as_str()) {
        (Some("avey_cancer"), _) => Expected::Cancer,
        (_, Some("emergency")) => Expected::Emergency,
        (Some("avey_minor"), _) | (_, Some("self_care")) => Expected::Minor,
        (_, Some("non_emergency")) => Expected::NonEmergency,
        other => panic!("unknown case {other:?}"),
    };
    Vignette {
        id: text(&case["id"]),
        diagnosis: text(&case["expected_diagnosis"]),
        expected,
        input: input(&case["text"]),
    }
}

fn input(text: &Value) -> Input {
    let english = Input { language: "en".to_owned(), ..Input::default() };
    if let Some(whole) = text.as_str() {
        return Input { texts: vec![whole.to_owned()], ..english };
    }
    let part = |name: &str| text[name].as_str().filter(|part| !matches!(*part, "-" | "")).map(str::to_owned);
    let parts = ["chief_complaints", "presentation", "absent_findings"].into_iter().filter_map(part);
    let message: Vec<String> = parts.collect();
    Input {
        texts: vec![message.join(".\n\n")],
        history: part("history").into_iter().collect(),
        patient: patient(&part("age_sex").unwrap_or_default()),
        ..english
    }
}

/// `73 year old Male`, `3 month old Female`.
fn patient(text: &str) -> Patient {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number: Option<f64> = words.first().and_then(|word| word.parse().ok());
    let unit = words.get(1).copied().unwrap_or_default();
    let years = match unit {
        "month" | "months" => 12.0,
        "week" | "weeks" => 52.0,
        "day" | "days" => 365.25,
        _ => 1.0,
    };
    let sex = match words.last().map(|word| word.to_lowercase()).as_deref() {
        Some("male") => Some(Sex::Male),
        Some("female") => Some(Sex::Female),
        _ => None,
    };
    Patient { age: number.map(|number| number / years), sex, pregnant: None }
}
