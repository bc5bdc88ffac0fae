use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn run(files: &[(&str, &str)], min_tokens: usize, normalise: bool) -> Value {
    let files: Vec<_> = files.iter().map(|(path, source)| json!({ "path": path, "source": source })).collect();
    let input = json!({ "files": files, "min_tokens": min_tokens, "normalise_identifiers": normalise });
    crate::FAMILY.run(193, input, &Context::default()).unwrap()
}

/// Returns `path:start-end` of all places, for each clone.
fn places(output: &Value) -> Vec<Vec<String>> {
    let place = |place: &Value| format!("{}:{}-{}", place["path"].as_str().unwrap(), place["start"], place["end"]);
    let clones = output["clones"].as_array().unwrap();
    clones.iter().map(|clone| clone["places"].as_array().unwrap().iter().map(place).collect()).collect()
}

/// Roy, Cordy and Koschke, Comparison and evaluation of code clone detection techniques (2009), figure 1: the original.
const ORIGINAL: &str = "\
void sumProd(int n) {
  float sum=0.0;
  float prod =1.0;
  for (int i=1; i<=n; i++)
    {sum=sum + i;
     prod = prod * i;
     foo(sum, prod); }}
";

/// There, scenario 1: changes in layout and comments only (type 1).
#[test]
fn copies_with_different_layout_and_comments_are_clones() {
    let a = "void sumProd(int n) {\n  float sum=0.0;\n  float prod =1.0;\n  for (int i=1; i<=n; i++)\n    {sum=sum + i;\n     prod = prod * i;\n     foo(sum, prod); }}\n";
    let b = "void sumProd(int n) {\n  float sum=0.0; //C1\n  float prod =1.0; // C2\n  for (int i=1; i<=n; i++) {\n    sum=sum + i;\n    prod = prod * i;\n    foo(sum, prod);\n  }\n}\n";
    for normalise in [true, false] {
        let output = run(&[("original.c", ORIGINAL), ("a.c", a), ("b.c", b)], 20, normalise);
        assert_eq!(places(&output), [["original.c:1-7", "a.c:1-7", "b.c:1-9"]]);
        assert_eq!(output["duplication"], 1.0);
    }
}

/// There, scenario 2: identifiers, types and literals are others (type 2).
#[test]
fn copies_with_different_names_and_literals_are_clones() {
    let renamed = ORIGINAL.replace("sum", "s").replace("prod", "p").replace("(int n)", "(int m)").replace("<=n", "<=m");
    let renamed = renamed.replace("0.0", "12.5").replace("sProd", "sumProd");
    assert_eq!(places(&run(&[("o.c", ORIGINAL), ("r.c", &renamed)], 20, true)), [["o.c:1-7", "r.c:1-7"]]);
    assert!(places(&run(&[("o.c", ORIGINAL), ("r.c", &renamed)], 40, false)).is_empty());
}

/// There, scenario 3: a line put in between (type 3) splits the copy.
#[test]
fn a_different_line_ends_a_clone() {
    let changed = ORIGINAL.replace("     prod = prod", "     if (i % 2) { bar(); }\n     prod = prod");
    let output = run(&[("o.c", ORIGINAL), ("c.c", &changed)], 20, false);
    assert_eq!(places(&output), [["o.c:1-5", "c.c:1-5"]]);
}

#[test]
fn copies_within_one_file_do_not_overlap() {
    let line = "alpha(beta, gamma[1]) + delta;\n";
    let output = run(&[("a.c", &line.repeat(4))], 20, false);
    assert_eq!(places(&output)[0], ["a.c:1-2", "a.c:3-4"]);
}

#[test]
fn more_occurrences_of_a_part_form_a_separate_class() {
    let part = "a(b, c); d(e, f); g(h, i); j(k, l);\n";
    let whole = format!("{part}m[n] = o; p[q] = r; s[t] = u; v[w] = x;\n");
    let output = run(&[("1", &whole), ("2", &whole), ("3", part)], 20, false);
    assert_eq!(places(&output), [vec!["1:1-2", "2:1-2"], vec!["1:1-1", "2:1-1", "3:1-1"]]);
    assert_eq!((&output["clones"][0]["tokens"], &output["clones"][1]["tokens"]), (&json!(56), &json!(28)));
}

#[test]
fn comments_and_strings_are_those_of_the_language() {
    let tokens = |path: &str, source: &str| {
        lex::Lexer::new(source, lex::Comments::of(path)).map(|token| token.text.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tokens("a.py", "x = a // b # c\n'''d\n#e'''"), ["x", "=", "a", "/", "/", "b", "'''d\n#e'''"]);
    assert_eq!(tokens("a.c", "#x /* a\n// */ 'b' // c"), ["#", "x", "'b'"]);
    assert_eq!(tokens("a.rs", "fn f<'a>(x: &'a str) {}").len(), 16);
    assert_eq!(tokens("a.sql", "a -- b\n- c"), ["a", "-", "c"]);
    assert_eq!(tokens("a.js", "`a\n${b}` + 1.5e3 .x \"\\\"\""), ["`a\n${b}`", "+", "1.5e3", ".", "x", "\"\\\"\""]);
}

/// Winnowing's guarantee (Schleimer et al. 2003, property 1): a copy of at least `min_tokens` is found wherever it is.
#[test]
fn every_planted_copy_is_found() {
    let copy = prop::collection::vec(0..1_000_u32, 20..60);
    let noise = || prop::collection::vec(1_000..1_000_000_u32, 0..80);
    let text = |parts: &[&[u32]]| parts.concat().iter().map(|id| format!("v{id}\n")).collect::<String>();
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&(copy, noise(), noise(), noise(), noise()), |(copy, a, b, c, d)| {
            let (first, second) = (text(&[&a, &copy, &b]), text(&[&c, &copy, &d]));
            let output = run(&[("a", &first), ("b", &second)], 20, false);
            let found = output["clones"].as_array().unwrap().iter().any(|clone| {
                let covers = |place: &Value, before: usize| {
                    let line = |field: &str| place[field].as_u64().unwrap() as usize;
                    line("start") <= before + 1 && line("end") >= before + copy.len()
                };
                covers(&clone["places"][0], a.len()) && covers(&clone["places"][1], c.len())
            });
            prop_assert!(found, "{output:#}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn endless_repetition_terminates() {
    let same = "1,".repeat(50_000);
    let output = run(&[("a", &same), ("b", &same)], 20, true);
    assert_eq!(places(&output)[0], ["a:1-1", "b:1-1"]);
    let lines = "f(a, b); g(c);\n".repeat(2_000);
    assert!(run(&[("a", &lines)], 20, true)["duplication"].as_f64().unwrap() > 0.9);
}
