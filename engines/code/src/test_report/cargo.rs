//! The text of `cargo test` (libtest).

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Outcome, Run, seconds};

pub(super) fn read(name: &str, text: &str) -> Run {
    let mut run = Run::default();
    let mut suite = name.to_owned();
    let messages = messages(text);
    let mut reported = BTreeSet::new();
    for line in text.lines() {
        if let Some(binary) = binary(line) {
            suite = binary;
        } else if let Some(result) = line.strip_prefix("test result:") {
            add(&mut run, result);
        } else if let Some(case) = case(&suite, line) {
            let message = messages.get(case.test.as_str()).cloned().unwrap_or_default();
            reported.insert(case.test.clone());
            run.cases.push(Case { message, ..case });
        }
    }
    // Output between a test's name and its outcome garbles the line; its output section remains readable.
    for (test, message) in messages.into_iter().filter(|(test, _)| !reported.contains(*test)) {
        run.cases.push(Case { message, ..Case::new(name, test, Outcome::Failed) });
    }
    run
}

/// Test binary of the following tests.
fn binary(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(krate) = line.strip_prefix("Doc-tests ") {
        return Some(format!("doc-tests {}", krate.trim()));
    }
    let rest = line.strip_prefix("Running ")?;
    let rest = rest.split(" (").next().unwrap_or(rest);
    Some(rest.strip_prefix("unittests ").unwrap_or(rest).trim().to_owned())
}

/// `test path::name ... ok <0.005s>`.
fn case(suite: &str, line: &str) -> Option<Case> {
    let (test, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let (word, rest) = outcome.trim().split_once([' ', ',']).unwrap_or((outcome.trim(), ""));
    let outcome = match word {
        "ok" | "bench:" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        "ignored" => Outcome::Skipped,
        _ => return None,
    };
    let took = rest.trim().strip_prefix('<').and_then(|rest| seconds(rest.strip_suffix("s>")?));
    let test = test.strip_suffix(" - should panic").unwrap_or(test);
    Some(Case { seconds: took, ..Case::new(suite, test, outcome) })
}

/// ` ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s`.
fn add(run: &mut Run, result: &str) {
    let of = |word: &str| {
        let part = result.split(['.', ';']).find(|part| part.trim_end().ends_with(word))?;
        part.trim().split(' ').next()?.parse::<u64>().ok()
    };
    let counts = ["passed", "failed", "ignored"].map(|word| of(word).unwrap_or(0));
    let [passed, failed, skipped] = run.totals.unwrap_or_default();
    let [a, b, c] = counts;
    run.totals = Some([passed.saturating_add(a), failed.saturating_add(b), skipped.saturating_add(c)]);
    if let Some(took) = result.rsplit_once("finished in ").and_then(|(_, took)| seconds(took.trim().strip_suffix('s')?))
    {
        run.seconds = Some(run.seconds.unwrap_or(0.0) + took);
    }
}

/// Output of failed tests by name: the sections `---- name stdout ----`.
fn messages(text: &str) -> BTreeMap<&str, String> {
    let (mut messages, mut open) = (BTreeMap::<&str, String>::new(), None);
    for line in text.lines() {
        let head = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(test) = head {
            open = Some(test);
            messages.entry(test).or_default();
        } else if line == "failures:" || line.starts_with("test result:") {
            open = None;
        } else if let Some(message) = open.and_then(|test| messages.get_mut(test)) {
            let note = line.starts_with("note: run with `RUST_BACKTRACE");
            let leading = message.is_empty() && line.trim().is_empty();
            if !note && !leading {
                message.push_str(line);
                message.push('\n');
            }
        }
    }
    messages.values_mut().for_each(|message| message.truncate(message.trim_end().len()));
    messages
}
