use muster_engines::Engine;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::facts::Source;
use super::{Facts, check};
use crate::agent::agents::Agent;
use crate::agent::history::EngineStep;
use crate::agent::material::{Material, Use};

fn agent() -> Agent {
    Agent {
        id: "mapper".to_owned(),
        name: "Mapper".to_owned(),
        category: "code".to_owned(),
        summary: "Maps a repository.".to_owned(),
        capabilities: Vec::new(),
        parameters: Vec::new(),
        one_of: Vec::new(),
        toolbox: vec![validate()],
        system_prompt: String::new(),
        plan: Vec::new(),
        writeup: Vec::new(),
        key_points: Vec::new(),
        next_steps: Vec::new(),
    }
}

fn validate() -> &'static Engine {
    muster_engines::by_id("json-schema-validate").unwrap()
}

/// The outputs of q187 and q202 for a task with the param `minimum` of 80.
fn facts(tree: &Value, report: &Value) -> Facts {
    let used = |number: u16, engine: &'static str, output| {
        let engine_step = EngineStep {
            agent: "mapper",
            name: engine,
            engine,
            number,
            input_sha256: "",
            call: None,
            output,
            warnings: Vec::new(),
            error: None,
        };
        Use { name: engine.to_owned(), engine_step }
    };
    let uses = vec![used(187, "repo-tree", tree), used(202, "test-report", report)];
    let material = Material { uses, ..Material::empty() };
    let params = Map::from_iter([("minimum".to_owned(), json!(80))]);
    Facts::of(&agent(), &material, &params, "I think 4711 tests fail in src/given.rs")
}

fn reasons(prose: &str) -> Vec<String> {
    let tree = json!({
        "languages": [
            { "language": "Rust", "files": 12, "code": 12_345 },
            { "language": "Python", "files": 3, "code": 678 },
            { "language": "C", "files": 1, "code": 90 },
        ],
        "paths": ["src/main.rs", "src/lib.rs"], "share": 0.4237, "max_depth": 5, "version": "1.2.3", "balance": -17.5,
    });
    let report = json!({
        "passed": 131, "failed": 7, "coverage": 63.4, "valid": false, "verdict": "warn", "flaky": [],
        "failures": [
            { "test": "parser::reads_numbers", "file": "tests/parse.rs:41", "severity": "high" },
            { "test": "parser::reads_dates", "file": "tests/parse.rs:77", "severity": "high" },
            { "test": "net_timeout", "file": "tests/net.rs:9", "severity": "low" },
        ],
        "at": "2026-11-21T03:04:05Z",
    });
    let mut facts = facts(&tree, &report);
    let choices = ["clear", "notice", "warn", "critical"].map(str::to_owned).to_vec();
    facts.sources[1].choices.insert("verdict".to_owned(), choices);
    check(&facts, prose)
}

#[test]
fn prose_that_keeps_to_the_outputs_is_accepted() {
    for prose in [
        "By q187 repo-tree, there are 12 files of Rust with 12,345 lines; Python has 678.",
        "By q187 repo-tree, there are 3 languages, and three are named.",
        "repo-tree: the share is 42 %, or 42.4 percent, or 0.424, or about 0.4.",
        "repo-tree: some 12 thousand lines, about 12,000, 12.3k, ~12,300, or 12.3 thousand.",
        "q187: a balance of -17.5, so it fell by 17.5.",
        "q187: version 1.2.3, in `src/main.rs` and src/lib.rs, to a depth of 5.",
        "q202 test-report: 7 failed, 131 passed, and coverage is 63.4 %, below the minimum of 80.",
        "q202: parser::reads_numbers fails at tests/parse.rs:41, `net_timeout` at line 9.",
        "q202: two failures are high, the run was at 2026-11-21.",
        "q202: the report is not valid, its verdict is warn, no flaky tests.",
        "## Tests (q202 test-report)\n\n7 failed.\n\n131 passed.",
        "1. q202: 7 failed\n2. q187: 12 files\n\nFirst, read src/main.rs (q187).",
        "The outputs do not answer the task: nothing here tells of performance.",
        "Between 7-131 tests (q202), i.e. 7/131, and/or more.",
        "The task names src/given.rs, which q187 repo-tree does not list.",
    ] {
        assert_eq!(reasons(prose), [] as [&str; 0], "{prose}");
    }
}

#[test]
fn a_value_in_no_output_is_rejected() {
    for (prose, word) in [
        ("q187 repo-tree: 13 files of Rust.", "13 is in no output"),
        ("q187: 12,346 lines.", "12,346 is in no output"),
        ("q187: 43 % of it.", "43 is in no output"),
        ("q187: 12.4k lines.", "12.4k is in no output"),
        ("q187: about 14,000 lines.", "14,000 is in no output"),
        ("q187: seventeen languages.", "seventeen is in no output"),
        ("q187: a balance of +17.5.", "+17.5 is in no output"),
        ("q187: see src/other.rs.", "src/other.rs is in no output"),
        ("q187: see `lib.rs` and `libs.rs`.", "libs.rs is in no output"),
        ("q187: version 1.2.4.", "1.2.4 is in no output"),
        ("q202: parser::reads_times fails.", "parser::reads_times is in no output"),
        ("q202: readsNumbers fails.", "readsNumbers is in no output"),
        ("q202: tests/parse.rs:42 fails.", "tests/parse.rs:42 is in no output"),
        ("q202: it ran on 2026-11-22.", "2026-11-22 is in no output"),
        ("q202: it says \"all is well\".", "all is well is in no output"),
        ("q202: 4711 tests fail.", "4711 is in no output"),
        ("By q999, 7 failed.", "q999 is in no output"),
        ("", "the text is empty"),
    ] {
        let found = reasons(prose);
        assert!(found.iter().any(|reason| reason.contains(word)), "{prose}: {found:?}");
    }
}

#[test]
fn figures_must_name_their_engine() {
    for (prose, word) in [
        ("7 tests failed.", "the paragraph with 7 does not name the engine that it is from (q202 test-report)"),
        ("By q187 repo-tree, 131 passed.", "131 is not from the engine named beside it, but from q202 test-report"),
        ("q187 has 12 files.\n\n131 passed.", "the paragraph with 131 does not name"),
        ("By q1870, 12 files.", "q1870 is in no output"),
    ] {
        let found = reasons(prose);
        assert!(found.iter().any(|reason| reason.contains(word)), "{prose}: {found:?}");
    }
}

#[test]
fn a_statement_that_contradicts_a_field_is_rejected() {
    for (prose, word) in [
        ("q202: coverage is 80 %.", "`80` contradicts q202 test-report, whose coverage is 63.4"),
        ("q202: coverage: 80.", "whose coverage is 63.4"),
        ("q202: 131 failed.", "whose failed is 7"),
        ("q202: no failures.", "whose failures is 3"),
        ("q202: seven failures.", "whose failures is 3"),
        ("q202: 3 failed.", "whose failed is 7"),
        ("q202: the report is valid.", "whose valid is false"),
        ("q202: the verdict is clear.", "whose verdict is warn"),
        ("q187: max depth is 12.", "whose max depth is 5"),
    ] {
        let found = reasons(prose);
        assert!(found.iter().any(|reason| reason.contains(word)), "{prose}: {found:?}");
    }
}

#[test]
fn reasons_and_prose_are_bounded() {
    let wild: String = (0..500).map(|n| format!("q187: {}. ", 100_000 + n)).collect();
    assert_eq!(reasons(&wild).len(), 20);
    assert_eq!(reasons(&"word ".repeat(20_000)).len(), 1);
}

fn one(output: &Value) -> Facts {
    facts(output, &json!({}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A figure of the output is accepted in every notation.
    #[test]
    fn every_notation_of_a_fact_is_accepted(whole in 0_u32..10_000_000, cents in 0_u32..100, form in 0..5) {
        let number = f64::from(whole) + f64::from(cents) / 100.0;
        let written = match form {
            0 => number.to_string(),
            1 => format!("{number:.1}"),
            2 => format!("{number:.0}"),
            3 => grouped(number.round() as u64),
            _ => format!("{number:.2} %"),
        };
        let prose = format!("By q187 repo-tree, it is {written}.");
        prop_assert_eq!(check(&one(&json!({ "n": number })), &prose), Vec::<String>::new(), "{}", prose);
    }

    /// A figure that differs by more than its last digit from all facts is rejected.
    #[test]
    fn a_different_figure_is_rejected(fact in 100_i64..1_000_000, off in 1_i64..1_000_000) {
        let prose = format!("By q187 repo-tree, it is {}.", fact + off);
        prop_assert_eq!(check(&one(&json!({ "n": fact })), &prose).is_empty(), false, "{}", prose);
    }

    #[test]
    fn an_identifier_is_supported_only_as_a_whole_word(name in "[a-z]{3,8}_[a-z]{3,8}", more in "[a-z0-9_]{1,4}") {
        let facts = one(&json!({ "names": [name.clone()] }));
        let accepted = |name: &str| check(&facts, &format!("q187 repo-tree finds {name} there.")).is_empty();
        let longer = format!("{name}{more}");
        prop_assert!(accepted(&name));
        prop_assert!(!accepted(&longer));
    }

    #[test]
    fn any_prose_is_checked_without_panic(prose in "(?s).{0,300}", output in "(?s).{0,60}") {
        check(&one(&json!({ "text": output })), &prose);
    }

    #[test]
    fn prose_of_punctuation_is_checked_without_panic(prose in "[-`\"“”0-9.,%/:#*()\\n q187aA_+−–~k]{0,120}") {
        check(&one(&json!({ "a": [1, 2.5, "x"] })), &prose);
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn field_names_are_split_into_words() {
    let mut source = Source::default();
    source.take(&json!({ "maxDepth": 3, "nested": { "is_open": true } }));
    let mut names: Vec<&str> = source.fields.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["is open", "max depth"]);
}
