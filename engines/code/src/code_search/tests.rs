use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// Arthur Conan Doyle, "The Boscombe Valley Mystery" and others: the haystack of ripgrep's tests (tests/hay.rs).
const SHERLOCK: &str = "\
For the Doctor Watsons of this world, as opposed to the Sherlock
Holmeses, success in the province of detective work must always
be, to a very large extent, the result of luck. Sherlock Holmes
can extract a clew from a wisp of straw or a flake of cigar ash;
but Doctor Watson has to have it taken out for him and dusted,
and exhibited clearly, with a label attached.
";

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn run(folder: &Path, input: Value) -> Result<Value, Failure> {
    crate::FAMILY.run(188, input, &Context::with_workspace(folder.to_owned()))
}

/// Formats matches as grep does, path:line:column.
fn places(folder: &TempDir, input: Value) -> Vec<String> {
    let output = run(folder.path(), input).unwrap();
    let place = |found: &Value| format!("{}:{}:{}", found["path"].as_str().unwrap(), found["line"], found["column"]);
    output["matches"].as_array().unwrap().iter().map(place).collect()
}

/// ripgrep, tests/misc.rs, `columns`: lines 1 and 3, at columns 57 and 49.
#[test]
fn lines_and_columns() {
    let folder = folder(&[("sherlock", SHERLOCK.as_bytes())]);
    assert_eq!(places(&folder, json!({ "pattern": "Sherlock" })), ["sherlock:1:57", "sherlock:3:49"]);
}

/// ripgrep, tests/misc.rs, `context_line_numbers`: `-C 1 -n world|attached`.
#[test]
fn context_lines_are_those_of_grep() {
    let folder = folder(&[("sherlock", SHERLOCK.as_bytes())]);
    let output = run(folder.path(), json!({ "pattern": "world|attached", "context": 1 })).unwrap();
    let line = |number: usize| SHERLOCK.lines().nth(number - 1).unwrap();
    assert_eq!(
        output["matches"],
        json!([
            { "path": "sherlock", "line": 1, "column": 32, "text": line(1), "before": [], "after": [line(2)] },
            { "path": "sherlock", "line": 6, "column": 37, "text": line(6), "before": [line(5)], "after": [] },
        ])
    );
    assert_eq!(output["counts"], json!({ "sherlock": 2 }));
}

/// ripgrep, tests/misc.rs, `literal` and `case_insensitive`.
#[test]
fn literals_and_case() {
    let folder = folder(&[("file", b"blib\n()\nblab\n"), ("sherlock", SHERLOCK.as_bytes())]);
    assert_eq!(places(&folder, json!({ "pattern": "()", "literal": true })), ["file:2:1"]);
    let any_case = json!({ "pattern": "sherlock", "path": "sherlock", "ignore_case": true });
    assert_eq!(places(&folder, any_case), ["sherlock:1:57", "sherlock:3:49"]);
    assert!(places(&folder, json!({ "pattern": "sherlock" })).is_empty());
}

/// ripgrep, tests/misc.rs, `glob` and `glob_negate`; GUIDE.md, "Manual filtering: globs".
#[test]
fn globs_choose_files() {
    let files: [(&str, &[u8]); 4] =
        [("file.py", b"Sherlock"), ("file.rs", b"Sherlock"), ("a/b.rs", b"Sherlock"), ("x.toml", b"Sherlock")];
    let folder = folder(&files);
    let with = |globs: Value| places(&folder, json!({ "pattern": "Sherlock", "glob": globs }));
    assert_eq!(with(json!(["*.rs"])), ["a/b.rs:1:1", "file.rs:1:1"]);
    assert_eq!(with(json!(["!*.rs"])), ["file.py:1:1", "x.toml:1:1"]);
    assert_eq!(with(json!(["*.rs", "!a/**"])), ["file.rs:1:1"]);
    assert_eq!(with(json!(["/a/*"])), ["a/b.rs:1:1"]);
    assert!(matches!(
        run(folder.path(), json!({ "pattern": "x", "glob": ["[a"] })),
        Err(Failure::Invalid { problems }) if problems[0].loc == ["glob", "0"]
    ));
}

/// ripgrep, GUIDE.md, "Automatic filtering": ignored, hidden and binary files are left out, links not followed.
#[test]
fn ignored_hidden_and_binary_files_and_links_are_not_searched() {
    let files: [(&str, &[u8]); 6] = [
        (".gitignore", b"target\n"),
        ("target/a", b"needle"),
        (".hidden/a", b"needle"),
        ("binary", b"needle\0"),
        ("wide", b"\xff\xfen\0e\0e\0d\0l\0e\0"),
        ("text", b"needle \xff"),
    ];
    let folder = folder(&files);
    std::os::unix::fs::symlink("text", folder.path().join("link")).unwrap();
    assert_eq!(places(&folder, json!({ "pattern": "needle" })), ["text:1:1", "wide:1:1"]);
    assert_eq!(places(&folder, json!({ "pattern": "needle", "path": "link" })), ["text:1:1"], "requested by name");
}

#[test]
fn windows_line_endings_are_accepted() {
    let folder = folder(&[("a", b"one\r\ntwo\r\n")]);
    let output = run(folder.path(), json!({ "pattern": "e$" })).unwrap();
    assert_eq!(output["matches"][0]["text"], "one");
    assert_eq!(output["matches"][0]["after"], json!(["two"]));
}

#[test]
fn results_end_at_their_bound() {
    let folder = folder(&[("a", b"x\nx\n"), ("b", b"x\n")]);
    for (most, truncated, files) in [(1, true, 1), (2, true, 1), (3, false, 2)] {
        let output = run(folder.path(), json!({ "pattern": "x", "max_results": most })).unwrap();
        assert_eq!(output["matches"].as_array().unwrap().len(), most, "{most}");
        assert_eq!((&output["truncated"], &output["files"]), (&json!(truncated), &json!(files)), "{most}");
    }
    let long = folder_of_long_lines();
    let output = run(long.path(), json!({ "pattern": "x", "max_results": 10_000, "context": 20 })).unwrap();
    assert_eq!(output["truncated"], true);
    assert!(output.to_string().len() < 2 * MAX_TEXT);
}

fn folder_of_long_lines() -> TempDir {
    let line = format!("{}\n", "x".repeat(2 * MAX_LINE));
    folder(&[("long", line.repeat(500).as_bytes())])
}

#[test]
fn an_invalid_pattern_is_rejected() {
    let folder = folder(&[]);
    for pattern in ["(", "a\nb", r"\w{1000}{1000}", &"(".repeat(10_000)] {
        let refused = run(folder.path(), json!({ "pattern": pattern }));
        assert!(matches!(refused, Err(Failure::Invalid { .. })), "{pattern:.20}: {refused:?}");
    }
    let outside = run(folder.path(), json!({ "pattern": "root", "path": "../.." }));
    assert_eq!(outside, Err(Failure::Outside { path: "../..".to_owned() }));
}
