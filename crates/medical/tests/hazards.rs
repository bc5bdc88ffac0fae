//! The hazard log is complete, and every hazard names tests that exist.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail it")]

use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    review: muster_medical::base::Review,
    hazards: Vec<Hazard>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hazard {
    id: String,
    hazard: String,
    cause: String,
    effect: String,
    severity: String,
    likelihood: String,
    controls: Vec<String>,
    tests: Vec<String>,
}

fn log() -> Log {
    toml::from_str(include_str!("../data/hazards.toml")).unwrap()
}

/// The names of all test functions in Rust sources below a directory.
fn tests_below(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                tests_below(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.extend(tests_of(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Functions that stand under a test attribute.
fn tests_of(source: &str) -> Vec<String> {
    let mut marked = false;
    let mut names = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") {
            marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else if let Some((_, rest)) = line.split_once("fn ") {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if std::mem::take(&mut marked) {
                names.push(name);
            }
        }
    }
    names
}

#[test]
fn the_hazard_log_has_all_hazards_each_complete() {
    const SEVERITIES: &[&str] = &["negligible", "minor", "serious", "critical", "catastrophic"];
    const LIKELIHOODS: &[&str] = &["improbable", "remote", "occasional", "probable", "frequent"];
    let log = log();
    let ids: Vec<_> = log.hazards.iter().map(|h| h.id.clone()).collect();
    let expected: Vec<_> = (1..=21).map(|n| format!("H{n:03}")).collect();
    assert_eq!(ids, expected);
    assert!(!log.review.due.is_empty());
    for h in &log.hazards {
        assert!([&h.hazard, &h.cause, &h.effect].iter().all(|t| !t.trim().is_empty()), "{}: a text is empty", h.id);
        assert!(SEVERITIES.contains(&h.severity.as_str()), "{}: severity {}", h.id, h.severity);
        assert!(LIKELIHOODS.contains(&h.likelihood.as_str()), "{}: likelihood {}", h.id, h.likelihood);
        assert!(!h.controls.is_empty(), "{}: no control", h.id);
    }
}

#[test]
fn every_hazard_names_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut known = BTreeSet::new();
    tests_below(&root, &mut known);
    let mut wrong = Vec::new();
    for h in log().hazards {
        if h.tests.is_empty() {
            wrong.push(format!("{} {}: no test is named", h.id, h.hazard));
        }
        wrong.extend(h.tests.iter().filter(|t| !known.contains(*t)).map(|t| format!("{}: no test {t}", h.id)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_functions_under_a_test_attribute_count_as_tests() {
    let source = "#[test]\nfn one() {}\nfn helper() {}\n#[tokio::test]\n#[ignore]\nasync fn two() {}\n// fn three()";
    assert_eq!(tests_of(source), ["one", "two"]);
}
