//! The text of `cargo test` (libtest) and of `cargo nextest run`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Outcome, Run, seconds};

pub(super) fn read(name: &str, text: &str) -> Run {
    let mut run = if text.lines().any(is_nextest) { nextest(text) } else { libtest(name, text) };
    // A crate that was not compiled has run no test; that is no success.
    for line in text.lines().filter(|line| line.starts_with("error: could not compile")) {
        let krate = line.split('`').nth(1).unwrap_or(name);
        run.cases.push(Case { message: line.to_owned(), ..Case::new(krate, "compilation", Outcome::Failed) });
        if let Some([_, failed, _]) = &mut run.totals {
            *failed = failed.saturating_add(1);
        }
    }
    run
}

/// Whether a line is an outcome or the summary of nextest.
pub(super) fn is_nextest(line: &str) -> bool {
    outcome(line).is_some() || line.trim_start().starts_with("Summary [")
}

/// `        PASS [   0.012s] (3/9) my-crate::binary module::test`: outcome, seconds, whether it was tried before, suite
/// and test.
fn outcome(line: &str) -> Option<(Outcome, f64, bool, &str, &str)> {
    let (word, rest) = line.trim_start().split_once('[')?;
    let (took, rest) = rest.split_once(']')?;
    let took = seconds(took.trim().trim_start_matches('>').strip_suffix('s')?)?;
    let mut words = word.split_whitespace();
    let (outcome, again) = match (words.next()?, words.next()) {
        ("PASS" | "LEAK", None) => (Outcome::Passed, false),
        ("FLAKY", Some(_)) => (Outcome::Passed, true),
        ("TRY", Some(_)) => match words.next()? {
            "PASS" => (Outcome::Passed, true),
            _ => (Outcome::Failed, true),
        },
        ("FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" | "ABORT" | "SIGKILL" | "SIGTERM" | "SIGBUS" | "SIGILL", None)
        | ("LEAK-FAIL", None)
        | ("FAIL", Some("+")) => (Outcome::Failed, false),
        _ => return None,
    };
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest).trim();
    let (suite, test) = rest.split_once(char::is_whitespace)?;
    Some((outcome, took, again, suite, test.trim()))
}

fn nextest(text: &str) -> Run {
    let mut cases: BTreeMap<(&str, &str), Case> = BTreeMap::new();
    let mut run = Run::default();
    for line in text.lines() {
        if let Some((outcome, took, again, suite, test)) = outcome(line) {
            let case = cases.entry((suite, test)).or_insert_with(|| Case::new(suite, test, outcome));
            case.seconds = Some(took);
            // Failures are printed again below the summary.
            match outcome {
                Outcome::Passed => {
                    case.retried = again;
                    case.outcome = Outcome::Passed;
                }
                outcome => case.outcome = outcome,
            }
        } else if let Some(rest) = line.trim_start().strip_prefix("Summary [") {
            run.seconds = rest.split_once("s]").and_then(|(took, _)| seconds(took));
            run.totals = summary(rest);
        }
    }
    run.cases = cases.into_values().collect();
    let messages = messages_of_nextest(text);
    for case in run.cases.iter_mut().filter(|case| case.outcome == Outcome::Failed) {
        case.message = messages.get(case.test.as_str()).cloned().unwrap_or_default();
    }
    run
}

/// `   1.2s] 9 tests run: 7 passed (1 flaky), 1 failed, 1 timed out, 2 skipped`.
fn summary(text: &str) -> Option<[u64; 3]> {
    let counts = text.split_once("run:")?.1;
    let mut totals = [0_u64; 3];
    // What is in brackets is part of the number before it.
    for part in counts.split(',') {
        let part = part.split('(').next().unwrap_or_default();
        let mut words = part.split_whitespace();
        let Some(count) = words.next().and_then(|count| count.parse::<u64>().ok()) else { continue };
        let [passed, failed, skipped] = &mut totals;
        match words.next() {
            Some("passed") => *passed = passed.saturating_add(count),
            Some("skipped") => *skipped = skipped.saturating_add(count),
            Some("failed" | "timed" | "exec") => *failed = failed.saturating_add(count),
            _ => {}
        }
    }
    Some(totals)
}

/// The panic of each test, from its section of output: nextest prints it after `stderr ───`.
fn messages_of_nextest(text: &str) -> BTreeMap<&str, String> {
    let (mut messages, mut test) = (BTreeMap::<&str, String>::new(), None);
    let mut left = 0_usize;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) =
            trimmed.strip_prefix("thread '").and_then(|rest| rest.split_once('\'')).map(|(name, _)| name)
        {
            test = trimmed.contains("panicked at").then_some(name);
            left = 12;
        } else if trimmed.starts_with("note: run with `RUST_BACKTRACE") || outcome(line).is_some() {
            test = None;
        }
        if let Some(message) = test.map(|test| messages.entry(test).or_default()).filter(|_| left > 0) {
            left -= 1;
            message.push_str(trimmed);
            message.push('\n');
        }
    }
    messages.values_mut().for_each(|message| message.truncate(message.trim_end().len()));
    messages
}

fn libtest(name: &str, text: &str) -> Run {
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
