use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn run(folder: &TempDir, input: Value) -> (Value, Vec<String>) {
    let context = Context::with_workspace(folder.path().to_owned());
    let output = crate::FAMILY.run(187, input, &context).unwrap();
    (output, context.into_warnings())
}

fn project() -> TempDir {
    folder(&[
        ("README", "read\nme\n"),
        ("src/deep/x.py", "# a\n\npass\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("zoo/a", ""),
        (".hidden/b", ""),
        (".gitignore", "/target\n"),
        ("target/c", ""),
    ])
}

/// The lines of `tree -L 2` (tree 2.1.1, C locale) of such a folder, with the text after the names.
#[test]
fn a_tree_is_rendered_like_the_tree_command() {
    let (output, warnings) = run(&project(), json!({ "depth": 2 }));
    let drawn = "\
.
├── README (8 B, 2 lines)
├── src
│   ├── deep
│   └── main.rs (13 B, Rust, 1 line)
└── zoo
    └── a (0 B)

3 directories, 3 files
";
    assert_eq!(output["output"], drawn);
    assert_eq!((&output["truncated"], &output["total_size"]), (&json!(false), &json!(21)));
    assert!(warnings.is_empty());
}

/// The form of tree(1)'s `-J`: a directory with `contents`, and a report.
#[test]
fn json_is_nested_like_that_of_the_tree_command() {
    let (output, _) = run(&project(), json!({ "output_format": "json" }));
    let nested: Value = serde_json::from_str(output["output"].as_str().unwrap()).unwrap();
    let expected = json!([
        { "type": "directory", "name": ".", "contents": [
            { "type": "file", "name": "README", "size": 8, "lines": 2 },
            { "type": "directory", "name": "src", "size": 23, "contents": [
                { "type": "directory", "name": "deep", "size": 10, "contents": [
                    { "type": "file", "name": "x.py", "size": 10, "language": "Python", "lines": 3 },
                ] },
                { "type": "file", "name": "main.rs", "size": 13, "language": "Rust", "lines": 1 },
            ] },
            { "type": "directory", "name": "zoo", "size": 0, "contents": [{ "type": "file", "name": "a", "size": 0 }] },
        ] },
        { "type": "report", "directories": 3, "files": 4 },
    ]);
    assert_eq!(nested, expected);
    assert_eq!(output["languages"]["Python"], json!({ "files": 1, "code": 1, "comments": 1, "blanks": 1 }));
}

#[test]
fn markdown_is_a_list_and_a_table() {
    let (output, _) = run(&project(), json!({ "output_format": "markdown", "path": "src" }));
    let expected = "\
# `src`

- `deep/`
  - `x.py` (10 B, Python, 3 lines)
- `main.rs` (13 B, Rust, 1 line)

| Language | Files | Code | Comments | Blanks |
| --- | ---: | ---: | ---: | ---: |
| Python | 1 | 1 | 1 | 1 |
| Rust | 1 | 1 | 0 | 0 |
";
    assert_eq!(output["output"], expected);
}

/// tokei's own cases: tests/data/rust.rs, whose first line declares "39 lines 32 code 2 comments 5 blanks".
#[test]
fn lines_are_counted_as_by_tokei() {
    let text = include_str!("../../tests/data/tokei_rust.txt");
    let (output, _) = run(&folder(&[("rust.rs", text)]), json!({ "path": "rust.rs" }));
    assert_eq!(output["entries"][0]["lines"], 39);
    assert_eq!(output["languages"]["Rust"], json!({ "files": 1, "code": 32, "comments": 2, "blanks": 5 }));
}

/// By construction, after cloc's rules: a line is blank, comment or code, and code where it is both.
#[test]
fn a_line_of_code_and_comment_is_code() {
    let text = "// comment\n\nint a; /* and\n more */\nchar *b = \"// none\";\n";
    let (output, _) = run(&folder(&[("a.c", text)]), json!({}));
    assert_eq!(output["languages"]["C"], json!({ "files": 1, "code": 2, "comments": 2, "blanks": 1 }));
}

#[test]
fn a_script_language_is_detected_from_its_first_line() {
    let files = [("a", "#!/usr/bin/env -S python3.12\npass\n"), ("b", "#!/bin/sh\n"), ("c", "#!/opt/none\n")];
    let (output, _) = run(&folder(&files), json!({}));
    let languages: Vec<_> = output["entries"].as_array().unwrap().iter().map(|entry| &entry["language"]).collect();
    assert_eq!(languages, ["Python", "Shell", ""]);
    let (output, _) = run(&folder(&files), json!({ "count_lines": false }));
    assert_eq!(output["entries"][0]["language"], "", "nothing is read where nothing is counted");
}

#[test]
fn links_are_shown_and_not_followed() {
    let folder = project();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("zoo/out")).unwrap();
    let (output, _) = run(&folder, json!({ "path": "zoo" }));
    assert!(output["output"].as_str().unwrap().contains("└── out -> /etc/passwd\n"));
    assert_eq!(output["entries"][1]["kind"], "link");
    assert_eq!(output["total_size"], 0);
}

#[test]
fn a_list_is_truncated_at_its_limit() {
    let (output, warnings) = run(&project(), json!({ "max_entries": 2 }));
    assert_eq!(output["truncated"], true);
    assert_eq!(output["entries"].as_array().unwrap().len(), 2);
    assert_eq!(warnings.len(), 1);
}

#[test]
fn a_huge_file_is_listed_and_not_read() {
    let folder = project();
    fs::File::create(folder.path().join("huge.py")).unwrap().set_len(10_000_000_000).unwrap();
    let (output, warnings) = run(&folder, json!({ "depth": 1 }));
    assert_eq!(output["entries"][1]["size"], 10_000_000_000_u64);
    assert_eq!(output["entries"][1]["lines"], 0);
    assert!(warnings[0].starts_with("huge.py is larger"), "{warnings:?}");
}

#[test]
fn a_name_cannot_draw_lines_of_its_own() {
    let folder = folder(&[("a\n└── `b`\u{202e}", "")]);
    let (output, _) = run(&folder, json!({}));
    assert_eq!(output["output"], ".\n└── a\\n└── `b`\\u{202e} (0 B)\n\n0 directories, 1 file\n");
    let (output, _) = run(&folder, json!({ "output_format": "markdown" }));
    assert_eq!(output["output"], "# `.`\n\n- `` a\\n└── `b`\\u{202e} `` (0 B)\n");
}
