use serde_json::{Value, json};

use super::*;

fn run(language: &str, source: &str, pattern: &str, rewrite: Option<&str>) -> Result<Value, Failure> {
    let mut input = json!({ "source": source, "language": language, "pattern": pattern });
    if let Some(rewrite) = rewrite {
        input["rewrite"] = rewrite.into();
    }
    crate::FAMILY.run(192, input, &Context::default())
}

/// Text and bindings of each match.
fn found(language: &str, source: &str, pattern: &str) -> Vec<(String, Value)> {
    let output = run(language, source, pattern, None).unwrap();
    let matches = output["matches"].as_array().unwrap();
    matches.iter().map(|found| (found["text"].as_str().unwrap().to_owned(), found["bindings"].clone())).collect()
}

fn one(text: &str, bindings: Value) -> Vec<(String, Value)> {
    vec![(text.to_owned(), bindings)]
}

/// ast-grep's guide, "Pattern Syntax": metavariables, `$$$` for arguments, one name for the same code.
#[test]
fn patterns_of_the_guide() {
    let calls = "console.log(); console.log('hello', 'world'); console.log(123)";
    let all = found("javascript", calls, "console.log($$$ARGS)");
    assert_eq!(all.len(), 3);
    assert_eq!(all[1].1, json!({ "ARGS": "'hello', 'world'" }));
    assert_eq!(
        found("javascript", calls, "console.log($GREETING)"),
        one("console.log(123)", json!({ "GREETING": "123" }))
    );
    let same = "a = a\na = b\nobj.x == obj.x";
    assert_eq!(found("javascript", same, "$A == $A"), one("obj.x == obj.x", json!({ "A": "obj.x" })));
    assert_eq!(found("javascript", same, "$A = $A"), one("a = a", json!({ "A": "a" })));
    assert_eq!(found("javascript", same, "$_ = $_").len(), 2, "a nameless variable may be anything each time");
}

/// ast-grep-py 0.51: the same patterns over the same sources.
#[test]
fn other_languages_match_ast_grep() {
    let python = "def f(x, y=1):\n    pass\n";
    let bindings = json!({ "F": "f", "ARGS": "x, y=1", "BODY": "pass" });
    assert_eq!(found("python", python, "def $F($$$ARGS): $$$BODY"), one("def f(x, y=1):\n    pass", bindings));
    let go = "package m\nfunc main() { a := b }\n";
    assert_eq!(found("go", go, "$A := $B"), one("a := b", json!({ "A": "a", "B": "b" })));
    let java = "class A { int x = foo.bar(1); }";
    assert_eq!(found("java", java, "foo.bar($X)"), one("foo.bar(1)", json!({ "X": "1" })));
    let rust = "fn f() { x.unwrap(); y.z().unwrap() }";
    assert_eq!(found("rust", rust, "$X.unwrap()").last().unwrap().1, json!({ "X": "y.z()" }));
    let typescript = "let x: number = foo<string>(1); function g(a: string): void {}";
    let bindings = json!({ "F": "g", "A": "a: string" });
    let text = "function g(a: string): void {}";
    assert_eq!(found("typescript", typescript, "function $F($$$A): void {}"), one(text, bindings));
    assert_eq!(found("c", "int main() { int a = b * 2; }", "b * $X"), one("b * 2", json!({ "X": "2" })));
}

#[test]
fn places_are_bytes_and_lines() {
    let output = run("python", "é = 1\nprint(é)\n", "print($X)", None).unwrap();
    assert_eq!(
        output,
        json!({
            "matches": [{ "start": 7, "end": 16, "line": 2, "text": "print(é)", "bindings": { "X": "é" } }],
            "count": 1,
        })
    );
}

/// ast-grep-core's own tests (src/lib.rs): `var` to `let`, with the text after the match.
#[test]
fn rewrites_of_ast_grep() {
    let rewritten = |source: &str, pattern: &str, rewrite: &str| {
        run("typescript", source, pattern, Some(rewrite)).unwrap()["rewritten"].as_str().unwrap().to_owned()
    };
    assert_eq!(rewritten("var a = 1; let b = 2;", "var $A = $B", "let $A = $B"), "let a = 1; let b = 2;");
    assert_eq!(rewritten("c++", "$A++", "$A--"), "c--");
    assert_eq!(rewritten("var a = 1 /*haha*/;", "var $A = $B", "let $A = $B"), "let a = 1 /*haha*/;");
    let call = rewritten("return foo(1, 2,) /*haha*/;", "return foo($A, $B)", "return bar($A, $B)");
    assert_eq!(call, "return bar(1, 2) /*haha*/;");
}

#[test]
fn only_outermost_matches_are_rewritten_and_diffed() {
    let output = run("rust", "fn f() {\n    foo(foo(1));\n}\n", "foo($X)", Some("bar($X)")).unwrap();
    assert_eq!(output["count"], 2);
    assert_eq!(output["rewritten"], "fn f() {\n    bar(foo(1));\n}\n");
    let diff = "--- original\n+++ modified\n@@ -1,3 +1,3 @@\n fn f() {\n-    foo(foo(1));\n+    bar(foo(1));\n }\n";
    assert_eq!(output["diff"], diff);
    let nothing = run("rust", "fn f() {}", "foo($X)", Some("bar($X)")).unwrap();
    assert_eq!((&nothing["rewritten"], &nothing["diff"]), (&json!("fn f() {}"), &json!("")));
}

/// ast-grep's guide, "Rewrite Code", "Rewrite is Indentation Sensitive".
#[test]
fn a_rewrite_keeps_indentation() {
    let source = "def outer():\n    lambda: 1\n";
    let output = run("python", source, "lambda: $B", Some("def f():\n  return $B")).unwrap();
    assert_eq!(output["rewritten"], "def outer():\n    def f():\n      return 1\n");
}

#[test]
fn an_invalid_pattern_is_reported() {
    for (pattern, rewrite) in [("", None), ("a; b; c", None), ("$$$A", None), ("foo($X)", Some("bar($Y)"))] {
        let refused = run("javascript", "foo(1)", pattern, rewrite);
        assert!(matches!(refused, Err(Failure::Invalid { .. })), "{pattern}: {refused:?}");
    }
}

#[test]
fn deep_wide_or_long_input_terminates() {
    let deep = "(".repeat(2_000) + "1" + &")".repeat(2_000);
    assert!(matches!(run("javascript", &deep, "$A == $A", None), Err(Failure::Invalid { .. })));
    assert!(matches!(run("javascript", "1", &deep, None), Err(Failure::Invalid { .. })));
    let within = "(".repeat(900) + "1" + &")".repeat(900);
    let equal = run("javascript", &format!("{within} == {within}"), "$A == $A", None).unwrap();
    assert_eq!(equal["count"], 1);
    let wide = "f(1);\n".repeat(MAX_MATCHES + 1);
    assert!(matches!(run("javascript", &wide, "f($A)", None), Err(Failure::TooLarge { .. })));
    let long = " ".repeat(MAX_SOURCE + 1);
    assert!(matches!(run("javascript", &long, "f($A)", None), Err(Failure::TooLarge { .. })));
}

/// Random pattern fragments in every language.
#[test]
fn no_pattern_panics() {
    use proptest::prelude::*;
    let pieces = [
        "$A",
        "$$$B",
        "$_",
        "$$$",
        "$",
        "foo(",
        ")",
        "{",
        "}",
        ";",
        " ",
        "\n    ",
        "=",
        "µ",
        "\u{10000}",
        "é",
        "if ",
        "'",
        "1",
        ",",
    ];
    let languages = ["rust", "python", "javascript", "typescript", "go", "java", "c"];
    let text =
        || prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12).prop_map(|pieces| pieces.concat());
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(
            &(text(), text(), text(), prop::sample::select(languages.to_vec())),
            |(source, pattern, rewrite, language)| {
                let outcome = run(language, &source, &pattern, Some(&rewrite));
                prop_assert!(!matches!(outcome, Err(Failure::Internal { .. })), "{outcome:?}");
                Ok(())
            },
        )
        .unwrap();
}
