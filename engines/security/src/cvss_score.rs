//! q131: CVSS scoring.

use std::collections::BTreeMap;

use cvss::{Cvss, v3, v4};
use muster_engine::prelude::*;

/// Maximum length of a vector, in bytes; the longest complete one of version 4.0 has 190.
const MAX_VECTOR: usize = 512;
/// Metrics of the base group of version 3.
const BASE_3: [&str; 8] = ["AV", "AC", "PR", "UI", "S", "C", "I", "A"];
/// Metrics of the base group of version 4.0.
const BASE_4: [&str; 11] = ["AV", "AC", "AT", "PR", "UI", "VC", "VI", "VA", "SC", "SI", "SA"];

#[derive(Debug, Input)]
pub struct Input {
    vector: String,
    policy: BTreeMap<String, i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Severity {
    None,
    Low,
    Medium,
    High,
    Critical,
}

#[derive(Debug, Output)]
pub struct Output {
    version: &'static str,
    base: f64,
    temporal: f64,
    environmental: f64,
    severity: Severity,
    metrics: BTreeMap<String, String>,
    due_days: Option<i64>,
}

/// Scores of the three groups.
struct Scores {
    version: &'static str,
    base: f64,
    temporal: f64,
    environmental: f64,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let vector = input.vector.trim();
    if vector.len() > MAX_VECTOR {
        return Err(Failure::too_large(format!("vector has {} bytes, at most {MAX_VECTOR} are allowed", vector.len())));
    }
    for (name, days) in &input.policy {
        if !Severity::ALL.iter().any(|(_, word)| word == name) {
            return Err(Failure::invalid(&["policy", name], "must be none, low, medium, high or critical"));
        }
        if *days < 0 {
            return Err(Failure::invalid(&["policy", name], "must be 0 days or more"));
        }
    }
    let read: Cvss = vector.parse().map_err(|error| {
        Failure::invalid(&["vector"], format!("is no CVSS 3.0, 3.1 or 4.0 vector ({error}): check metrics and order"))
    })?;
    // The library takes vectors that are not complete.
    let base: &[&str] = if matches!(read, Cvss::CvssV40(_)) { &BASE_4 } else { &BASE_3 };
    let given: Vec<&str> = vector.split('/').filter_map(|part| part.split_once(':')).map(|(name, _)| name).collect();
    if let Some(missing) = base.iter().find(|name| !given.contains(name)) {
        return Err(Failure::invalid(&["vector"], format!("lacks the base metric {missing}")));
    }
    let scores = match &read {
        Cvss::CvssV30(vector) => scores_3("3.0", vector),
        Cvss::CvssV31(vector) => scores_3("3.1", vector),
        Cvss::CvssV40(of) => scores_4(vector, of)?,
        _ => return Err(Failure::invalid(&["vector"], "must be of version 3.0, 3.1 or 4.0")),
    };
    let metrics =
        read.metrics().map(|(kind, value)| (code(&format!("{kind:?}")), words(&format!("{value:?}")))).collect();
    let severity = severity(scores.environmental);
    cx.step("base", scores.base, "");
    cx.step("temporal", scores.temporal, "");
    cx.step("environmental", scores.environmental, "");
    cx.assume("the deadline follows the environmental score");
    Ok(Output {
        version: scores.version,
        base: scores.base,
        temporal: scores.temporal,
        environmental: scores.environmental,
        severity,
        metrics,
        due_days: input.policy.get(severity.word()).copied(),
    })
}

fn scores_3(version: &'static str, vector: &v3::Vector) -> Scores {
    Scores {
        version,
        base: vector.base_score().value(),
        temporal: vector.temporal_score().value(),
        environmental: vector.environmental_score().value(),
    }
}

/// Version 4.0 has one score for all metrics of a vector. That of the base group (CVSS-B) and of base and threat (CVSS-BT)
/// are those of the vector without the other metrics.
fn scores_4(text: &str, vector: &v4::Vector) -> Result<Scores, Failure> {
    let of = |keep: &dyn Fn(&str) -> bool| {
        let kept: Vec<&str> = text
            .split('/')
            .filter(|part| part.split_once(':').is_some_and(|(name, _)| name == "CVSS" || keep(name)))
            .collect();
        let vector: v4::Vector = kept.join("/").parse().map_err(Failure::internal)?;
        Ok::<f64, Failure>(vector.score().value())
    };
    Ok(Scores {
        version: "4.0",
        base: of(&|name| BASE_4.contains(&name))?,
        temporal: of(&|name| BASE_4.contains(&name) || name == "E")?,
        environmental: vector.score().value(),
    })
}

/// Qualitative severity rating scale of both specifications.
fn severity(score: f64) -> Severity {
    match score {
        score if score < 0.1 => Severity::None,
        score if score < 4.0 => Severity::Low,
        score if score < 7.0 => Severity::Medium,
        score if score < 9.0 => Severity::High,
        _ => Severity::Critical,
    }
}

/// The metric of `V3(AV)`.
fn code(kind: &str) -> String {
    kind.rsplit('(').next().unwrap_or(kind).trim_end_matches(')').to_owned()
}

/// `Modified(NotDefined)` as `not defined`.
fn words(value: &str) -> String {
    let inner = value.rsplit('(').next().unwrap_or(value).trim_end_matches(')');
    let mut words = String::new();
    for letter in inner.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(vector: &str) -> f64 {
        run(Input { vector: vector.to_owned(), policy: BTreeMap::new() }, &Context::default()).unwrap().base
    }

    #[test]
    fn more_impact_never_lowers_a_score() {
        for changed in ["U", "C"] {
            for vector in ["N", "A", "L", "P"] {
                let of =
                    |impact: &str| base(&format!("CVSS:3.1/AV:{vector}/AC:L/PR:L/UI:N/S:{changed}/C:{impact}/I:L/A:N"));
                assert!(of("N") <= of("L") && of("L") <= of("H"));
            }
        }
    }

    #[test]
    fn values_are_written_as_words() {
        assert_eq!(words("Modified(NotDefined)"), "not defined");
        assert_eq!(words("Network"), "network");
    }
}
