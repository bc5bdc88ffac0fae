use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(198, input, &Context::default()).unwrap()
}

const LAO: &str = "\
The Way that can be told of is not the eternal Way;
The name that can be named is not the eternal name.
The Nameless is the origin of Heaven and Earth;
The Named is the mother of all things.
Therefore let there always be non-being,
  so we may see their subtlety,
And let there always be being,
  so we may see their outcome.
The two are the same,
But after they are produced,
  they have different names.
";

const TZU: &str = "\
The Nameless is the origin of Heaven and Earth;
The named is the mother of all things.

Therefore let there always be non-being,
  so we may see their subtlety,
And let there always be being,
  so we may see their outcome.
The two are the same,
But after they are produced,
  they have different names.
They both may be called deep and profound.
Deeper and more profound,
The door of all subtleties!
";

const LAO_TO_TZU: &str = "\
--- lao\t2002-02-21 23:30:39.942229878 -0800
+++ tzu\t2002-02-21 23:30:50.442260588 -0800
@@ -1,7 +1,6 @@
-The Way that can be told of is not the eternal Way;
-The name that can be named is not the eternal name.
 The Nameless is the origin of Heaven and Earth;
-The Named is the mother of all things.
+The named is the mother of all things.
+
 Therefore let there always be non-being,
   so we may see their subtlety,
 And let there always be being,
@@ -9,3 +8,6 @@
 The two are the same,
 But after they are produced,
   they have different names.
+They both may be called deep and profound.
+Deeper and more profound,
+The door of all subtleties!
";

/// GNU diffutils manual, "An Example of Unified Format", and the two files of "Two Sample Input Files".
#[test]
fn the_example_of_diffutils_applies() {
    let output = run(json!({ "patch": LAO_TO_TZU, "files": { "lao": LAO } }));
    assert_eq!((&output["insertions"], &output["deletions"]), (&json!(5), &json!(3)));
    assert_eq!(output["files"][0]["hunks"], 2);
    assert_eq!(output["applied"], json!({ "tzu": TZU }));
    assert_eq!(output["rejects"], json!([]));
}

/// `git diff -M` 2.47 of six files; expected: its `--numstat` and `--summary`, with which unidiff 1.0.1 (pip) agrees.
const GIT: &str = "\
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 286c5f5..0000000
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/made.md b/made.md
new file mode 100644
index 0000000..c5f1b8e
--- /dev/null
+++ b/made.md
@@ -0,0 +1 @@
+made
diff --git a/old.txt b/new.txt
similarity index 73%
rename from old.txt
rename to new.txt
index 4cb29ea..f384549 100644
--- a/old.txt
+++ b/new.txt
@@ -1,3 +1,4 @@
 one
 two
 three
+four
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/src/auth/login.rs b/src/auth/login.rs
index 1c943a9..7be73ce 100644
--- a/src/auth/login.rs
+++ b/src/auth/login.rs
@@ -1,3 +1,3 @@
 a
-b
-c
\\ No newline at end of file
+B
+c
diff --git a/x.bin b/x.bin
index 8352675..1592e5c 100644
Binary files a/x.bin and b/x.bin differ
";

#[test]
fn figures_match_git_diff_stat() {
    let output = run(json!({ "patch": GIT }));
    let file = |path: &str, kind: &str, insertions: u8, deletions: u8, hunks: u8, binary: bool| {
        json!({
            "path": path, "kind": kind, "insertions": insertions, "deletions": deletions, "hunks": hunks,
            "binary": binary,
        })
    };
    assert_eq!(
        output["files"],
        json!([
            file("gone.txt", "deleted", 0, 1, 1, false),
            file("made.md", "added", 1, 0, 1, false),
            file("new.txt", "renamed", 1, 0, 1, false),
            file("run.sh", "modified", 0, 0, 0, false),
            file("src/auth/login.rs", "modified", 2, 2, 1, false),
            file("x.bin", "modified", 0, 0, 0, true),
        ])
    );
    let reasons = output["reasons"].to_string();
    for reason in ["sensitive paths: src/auth/login.rs", "deleted files: gone.txt", "files made executable: run.sh"] {
        assert!(reasons.contains(reason), "{reason} is not in {reasons}");
    }
    assert!(reasons.contains("review order: src/auth/login.rs, run.sh, x.bin, "), "{reasons}");
}

/// The same files before and after, as git had them.
#[test]
fn a_git_diff_round_trips() {
    let before = json!({
        "gone.txt": "gone\n", "old.txt": "one\ntwo\nthree\n", "run.sh": "#!/bin/sh\n", "src/auth/login.rs": "a\nb\nc",
    });
    let output = run(json!({ "patch": GIT, "files": before }));
    let after = json!({
        "made.md": "made\n", "new.txt": "one\ntwo\nthree\nfour\n", "run.sh": "#!/bin/sh\n",
        "src/auth/login.rs": "a\nB\nc\n",
    });
    assert_eq!(output["applied"], after);
    assert_eq!(output["rejects"], json!(["x.bin: is binary"]));
}

/// GNU patch applies a hunk where its context is, if the lines before have moved; and rejects what fits nowhere.
#[test]
fn a_hunk_applies_where_its_context_moved() {
    let moved = format!("A new line.\n{LAO}");
    let output = run(json!({ "patch": LAO_TO_TZU, "files": { "lao": moved } }));
    assert_eq!(output["applied"]["tzu"], format!("A new line.\n{TZU}"));
    let rejected = run(json!({ "patch": LAO_TO_TZU, "files": { "lao": "something else\n" } }));
    assert_eq!(rejected["applied"], json!({}));
    assert_eq!(rejected["rejects"].as_array().unwrap().len(), 1);
}

/// GNU patch 2.7.6 of the same files: without context the stated line decides, also where an equal one is near.
#[test]
fn a_hunk_without_context_applies_at_its_line() {
    for (hunks, after) in [
        ("@@ -5 +4,0 @@\n-x\n", "a\nb\nx\nc\nd\n"),
        ("@@ -2,0 +3 @@\n+new\n@@ -5 +5,0 @@\n-x\n", "a\nb\nnew\nx\nc\nd\n"),
    ] {
        let patch = format!("--- a/f\n+++ b/f\n{hunks}");
        let output = run(json!({ "patch": patch, "files": { "f": "a\nb\nx\nc\nx\nd\n" } }));
        assert_eq!(output["applied"]["f"], after, "{hunks}");
    }
}

/// Hassan 2009: equal shares have the entropy 1, one file 0; and 3 of 4 lines in one of two files, by hand:
/// `-(0.75 log2 0.75 + 0.25 log2 0.25) = 0.8112781...`.
#[test]
fn the_entropy_of_a_change() {
    let file = |insertions| Changed {
        path: String::new(),
        kind: "modified",
        insertions,
        deletions: 0,
        hunks: 1,
        binary: false,
        executable: false,
    };
    assert!((risk::entropy(&[file(5), file(5), file(5)]) - 1.0).abs() < 1e-12);
    assert!(risk::entropy(&[file(5)]).abs() < 1e-12);
    assert!((risk::entropy(&[file(3), file(1)]) - 0.811_278_124_459_132_8).abs() < 1e-12);
}

#[test]
fn a_malformed_patch_is_rejected() {
    for patch in
        ["", "hello", "--- a\n+++ b\n@@ -1,99999999999999999999 +1 @@\n a\n", "--- a\n+++ b\n@@ -1 +1 @@\n a\n b\n"]
    {
        let refused = crate::FAMILY.run(198, json!({ "patch": patch }), &Context::default());
        assert!(matches!(refused, Err(Failure::Invalid { .. })) || patch.ends_with(" b\n"), "{patch:?}: {refused:?}");
    }
}
