use std::path::Path;
use std::process::Output;

use super::*;
use support::process::program;

fn run(folder: &Path, args: &[&str]) -> Output {
    program(folder).arg("medical").args(args).output().unwrap()
}

#[test]
fn verify_reports_every_problem_and_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["verify", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(output.status.success(), problems.is_empty());
    assert_eq!(report["ok"], problems.is_empty());
    assert!(problems.iter().all(|problem| problem["check"] == "completeness"), "{problems:?}");
    let ruleset = report["ruleset"].as_str().unwrap();

    let other = run(folder.path(), &["verify", "--ruleset", "0000000000000000"]);
    assert_eq!(other.status.code(), Some(1));
    let text = String::from_utf8(other.stdout).unwrap();
    assert!(text.contains(&format!("the ruleset is {ruleset} instead of 0000000000000000")), "{text}");
    assert_eq!(run(folder.path(), &["verify", "--nonsense"]).status.code(), Some(2));
}

#[test]
fn a_review_changes_its_record_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let protocols = folder.path().join("data").join("protocols");
    std::fs::create_dir_all(&protocols).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/medical/data/protocols/dvt.toml");
    let before = std::fs::read_to_string(source).unwrap();
    let file = protocols.join("dvt.toml");
    std::fs::write(&file, &before).unwrap();

    let by = ["review", "dvt", "--data", "data", "--by", "Dr A. Example", "--on", "2027-01-15", "--json"];
    let output = run(folder.path(), &by);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["before"]["status"], &report["after"]["by"]), (&json!("unreviewed"), &json!("Dr A. Example")));
    let after = std::fs::read_to_string(&file).unwrap();
    let expected = before.replace(
        "[review]\nstatus = \"unreviewed\"\n",
        "[review]\nstatus = \"reviewed\"\nby = \"Dr A. Example\"\non = \"2027-01-15\"\n",
    );
    assert_eq!(after, expected);
    let parsed: toml::Value = toml::from_str(&after).unwrap();
    assert_eq!(parsed["review"]["status"].as_str(), Some("reviewed"));

    assert!(run(folder.path(), &["review", "dvt", "--data", "data", "--withdraw"]).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_review_of_nothing_or_without_a_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    let refused = |args: &[&str]| {
        let output = run(folder.path(), args);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = refused(&["review", "none", "--data", "data", "--by", "Dr A"]);
    assert!(code == Some(1) && text.contains("no record"), "{text}");
    let (code, text) = refused(&["review", "none", "--by", "Dr A"]);
    assert!(code == Some(1) && text.contains("--data"), "{text}");
    let (code, text) = refused(&["review", "none", "--data", "data", "--by", "Dr A", "--on", "yesterday"]);
    assert!(code == Some(1) && text.contains("2027-01-31"), "{text}");
    assert_eq!(refused(&["review", "none", "--data", "data"]).0, Some(2), "somebody has to have reviewed it");
}
