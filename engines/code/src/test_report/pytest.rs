//! The text of pytest, plain, `-v` or `-q`.

use std::collections::BTreeMap;

use super::{Case, Outcome, Run, seconds};

pub(super) fn read(text: &str) -> Run {
    let (mut run, mut cases) = (Run::default(), BTreeMap::<String, Case>::new());
    for line in text.lines() {
        if let Some((totals, took)) = summary(line) {
            run.totals = Some(totals);
            run.seconds = Some(took);
        } else if let Some((id, outcome, message)) = outcome(line) {
            let (suite, test) = id.split_once("::").unwrap_or(("", id));
            let case = cases.entry(id.to_owned()).or_insert_with(|| Case::new(suite, test, outcome));
            case.outcome = outcome;
            if !message.is_empty() {
                case.message = message.to_owned();
            }
        } else if let Some((took, id)) = duration(line) {
            let (suite, test) = id.split_once("::").unwrap_or(("", id));
            let case = cases.entry(id.to_owned()).or_insert_with(|| Case::new(suite, test, Outcome::Passed));
            // Set-up, call and tear-down have separate lines.
            case.seconds = Some(case.seconds.unwrap_or(0.0) + took);
        } else if let Some(id) = line.split(" RERUN").next().filter(|id| line.contains(" RERUN") && id.contains("::")) {
            let (suite, test) = id.split_once("::").unwrap_or(("", id));
            cases.entry(id.to_owned()).or_insert_with(|| Case::new(suite, test, Outcome::Passed)).retried = true;
        }
    }
    run.cases = cases.into_values().map(settled).collect();
    run
}

/// A test that still failed in its rerun is not flaky.
fn settled(case: Case) -> Case {
    Case { retried: case.retried && case.outcome == Outcome::Passed, ..case }
}

/// `=== 1 failed, 2 passed, 1 skipped in 0.12s ===`, in `-q` without the signs: passed, failed and skipped, and
/// seconds.
pub(super) fn summary(line: &str) -> Option<([u64; 3], f64)> {
    let line = line.trim().trim_matches('=').trim();
    let (counts, took) = line.rsplit_once(" in ")?;
    let took = seconds(took.split(' ').next()?.strip_suffix('s')?)?;
    let mut totals = [0_u64; 3];
    for part in counts.split(", ") {
        let (count, word) = part.split_once(' ')?;
        let count = count.parse::<u64>().ok().filter(|_| word.chars().all(|c| c.is_ascii_lowercase() || c == ' '))?;
        let [passed, failed, skipped] = &mut totals;
        match word {
            "passed" | "xpassed" => *passed = passed.saturating_add(count),
            "failed" | "error" | "errors" => *failed = failed.saturating_add(count),
            "skipped" | "xfailed" => *skipped = skipped.saturating_add(count),
            _ => {}
        }
    }
    Some((totals, took))
}

fn word(word: &str) -> Option<Outcome> {
    match word {
        "PASSED" | "XPASS" => Some(Outcome::Passed),
        "FAILED" | "ERROR" => Some(Outcome::Failed),
        "SKIPPED" | "XFAIL" => Some(Outcome::Skipped),
        _ => None,
    }
}

/// `file::test PASSED [ 50%]` of `-v`, or `FAILED file::test - message` of the short summary.
fn outcome(line: &str) -> Option<(&str, Outcome, &str)> {
    let (first, rest) = line.split_once(' ')?;
    if let Some(outcome) = word(first) {
        let (id, message) = rest.split_once(" - ").unwrap_or((rest, ""));
        return (id.contains("::") || id.ends_with(".py")).then_some((id, outcome, message));
    }
    // Parameters may contain spaces.
    let words = ["PASSED", "XPASS", "FAILED", "ERROR", "SKIPPED", "XFAIL"];
    let (id, name) = words.iter().find_map(|name| line.split_once(&format!(" {name}")).map(|(id, _)| (id, name)))?;
    id.contains("::").then_some((id, word(name)?, ""))
}

/// `0.50s call     test_a.py::test_x` of `--durations`.
fn duration(line: &str) -> Option<(f64, &str)> {
    let mut parts = line.split_whitespace();
    let took = seconds(parts.next()?.strip_suffix('s')?)?;
    let phase = parts.next().filter(|phase| matches!(*phase, "call" | "setup" | "teardown"))?;
    let id = line.split_once(phase)?.1.trim();
    id.contains("::").then_some((took, id))
}
