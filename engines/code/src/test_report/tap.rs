//! The Test Anything Protocol, version 14 and before.

use super::{Case, Outcome, Run};

/// Reads the top-level test points. A subtest is represented by the point that follows it.
pub(super) fn read(suite: &str, text: &str) -> Run {
    let mut cases: Vec<Case> = Vec::new();
    let mut planned = None;
    for line in text.lines() {
        if let Some(plan) = line.strip_prefix("1..") {
            planned = plan.split([' ', '#']).next().and_then(|count| count.parse::<usize>().ok());
        } else if let Some(rest) = point(line, "not ok") {
            cases.push(case(suite, rest, cases.len() + 1, Outcome::Failed));
        } else if let Some(rest) = point(line, "ok") {
            cases.push(case(suite, rest, cases.len() + 1, Outcome::Passed));
        } else if let Some(reason) = line.strip_prefix("Bail out!") {
            let message = format!("bailed out: {}", reason.trim());
            cases.push(Case { message, ..Case::new(suite, "the whole run", Outcome::Failed) });
        } else if let Some(last) = cases.last_mut() {
            diagnostic(last, line);
        }
    }
    // A planned point that was never reached has failed (TAP 14, "Plan").
    let bailed = text.lines().any(|line| line.starts_with("Bail out!"));
    if let Some(planned) = planned.filter(|planned| *planned > cases.len() && !bailed) {
        let message = format!("{planned} tests were planned and {} ran", cases.len());
        cases.push(Case { message, ..Case::new(suite, "the plan", Outcome::Failed) });
    }
    Run { cases, ..Run::default() }
}

/// Text after `ok` or `not ok`, which must be whole words.
fn point<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    line.strip_prefix(word).filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn case(suite: &str, rest: &str, number: usize, outcome: Outcome) -> Case {
    let (description, directive) = split(rest.trim());
    let described = description.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let described = described.strip_prefix("- ").unwrap_or(described).trim();
    let name = if described.is_empty() { number.to_string() } else { described.replace("\\#", "#") };
    let directive = directive.to_ascii_lowercase();
    // A failing TODO is not a failure.
    let outcome = match outcome {
        Outcome::Failed if directive.starts_with("todo") => Outcome::Skipped,
        _ if directive.starts_with("skip") => Outcome::Skipped,
        outcome => outcome,
    };
    Case::new(suite, &name, outcome)
}

/// Splits at the first unescaped `#` after white space.
fn split(text: &str) -> (&str, &str) {
    match text.split_once(" #") {
        Some((description, directive)) => (description, directive.trim()),
        None => (text.strip_prefix('#').map_or(text, |_| ""), text.strip_prefix('#').unwrap_or_default().trim()),
    }
}

/// The usual keys of the YAML block below a point.
fn diagnostic(case: &mut Case, line: &str) {
    let line = line.trim();
    if let Some(message) = line.strip_prefix("message:").filter(|_| case.message.is_empty()) {
        case.message = message.trim().trim_matches(['"', '\'']).to_owned();
    } else if let Some(milliseconds) = line.strip_prefix("duration_ms:") {
        case.seconds = super::seconds(milliseconds).map(|milliseconds| milliseconds / 1_000.0);
    }
}
