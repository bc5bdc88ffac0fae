use serde_json::{Value, json};

use super::*;

fn run(reports: &[(&str, &str)], changed: Value, minimum: Value) -> Value {
    let reports: Vec<Value> =
        reports.iter().map(|(name, content)| json!({ "name": name, "content": content })).collect();
    let input = json!({ "reports": reports, "changed_lines": changed, "minimum_coverage": minimum });
    crate::FAMILY.run(202, input, &Context::default()).unwrap()
}

fn alone(content: &str) -> Value {
    run(&[("r", content)], json!({}), Value::Null)
}

fn totals(output: &Value) -> [u64; 3] {
    ["passed", "failed", "skipped"].map(|field| output[field].as_u64().unwrap())
}

/// TAP 14 specification, "Synopsis" and the examples of "Diagnostics" and "TODO tests": the second fails, the fourth is
/// to be done and no failure.
#[test]
fn the_example_of_tap() {
    let output = alone(
        "TAP version 14\n1..4\nok 1 - Input file opened\nnot ok 2 - First line of the input valid\n  ---\n  \
         message: 'First line invalid'\n  severity: fail\n  ...\nok 3 - Read the rest of the file\n\
         not ok 4 - Summarized correctly # TODO Not written yet\n  ---\n  message: \"Can't make summary yet\"\n  ...\n",
    );
    assert_eq!(totals(&output), [2, 1, 1]);
    assert_eq!(
        output["failures"],
        json!([{ "suite": "r", "test": "First line of the input valid", "message": "First line invalid" }])
    );
}

/// TAP 14: "Bail out!", "Plan" (missing points have failed), "Skipping tests", "Subtests" (counted by their summary).
#[test]
fn the_other_lines_of_tap() {
    assert_eq!(
        totals(&alone("1..573\nnot ok 1 - database handle\nBail out! Couldn't connect to database.\n")),
        [0, 2, 0]
    );
    assert_eq!(totals(&alone("1..3\nok 1\nok 2\n")), [2, 1, 0]);
    assert_eq!(
        totals(&alone("1..5\nok 1 # skip insufficient flogiston pressure.\nok 2\nok 3\nok 4\nok 5\n")),
        [4, 0, 1]
    );
    let sub =
        "TAP version 14\n1..2\n    # Subtest: foo.tap\n    1..2\n    not ok 1\n    ok 2 - this\nok 1 - foo.tap\nok 2\n";
    assert_eq!(totals(&alone(sub)), [2, 0, 0]);
}

/// pytest 9.2 of six tests, `-v --durations=2`, as it was printed.
const PYTEST: &str = "\
============================= test session starts ==============================
collecting ... collected 6 items

test_a.py::test_ok PASSED                                                [ 16%]
test_a.py::test_bad FAILED                                               [ 33%]
test_a.py::test_skip SKIPPED (later)                                     [ 50%]
test_a.py::test_xf XFAIL                                                 [ 66%]
test_a.py::test_err ERROR                                                [ 83%]
test_a.py::test_p[a b] PASSED                                            [100%]

=================================== FAILURES ===================================
E       assert 1 == 2
============================= slowest 2 durations ==============================
0.02s call     test_a.py::test_p[a b]

=========================== short test summary info ============================
FAILED test_a.py::test_bad - assert 1 == 2
ERROR test_a.py::test_err - RuntimeError: no
========== 1 failed, 2 passed, 1 skipped, 1 xfailed, 1 error in 0.05s ==========
";

#[test]
fn output_of_pytest() {
    let output = alone(PYTEST);
    assert_eq!(totals(&output), [2, 2, 2]);
    assert_eq!(output["duration"], 0.05);
    assert_eq!(
        output["failures"],
        json!([
            { "suite": "test_a.py", "test": "test_bad", "message": "assert 1 == 2" },
            { "suite": "test_a.py", "test": "test_err", "message": "RuntimeError: no" },
        ])
    );
    assert_eq!(output["slowest"], json!([{ "test": "test_a.py::test_p[a b]", "seconds": 0.02 }]));
    assert_eq!(output["gate"], false);
    assert_eq!(totals(&alone("....\n4 passed in 0.12s\n")), [4, 0, 0]);
}

/// `cargo test` 1.9x of four tests, as it was printed.
const CARGO: &str = "\
     Running unittests src/lib.rs (target/debug/deps/ct-c4066ebb79ee0019)

running 4 tests
test tests::later ... ignored, slow
test tests::ok ... ok
test tests::bad ... FAILED
test tests::panics - should panic ... ok

failures:

---- tests::bad stdout ----

thread 'tests::bad' (16886) panicked at src/lib.rs:4:24:
assertion `left == right` failed
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::bad

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.07s
";

#[test]
fn output_of_cargo_test() {
    let output = alone(CARGO);
    assert_eq!(totals(&output), [2, 1, 1]);
    assert_eq!(output["duration"], 0.07);
    let failure = &output["failures"][0];
    assert_eq!((&failure["suite"], &failure["test"]), (&json!("src/lib.rs"), &json!("tests::bad")));
    let message = "thread 'tests::bad' (16886) panicked at src/lib.rs:4:24:\nassertion `left == right` failed\n  left: 1\n right: 2";
    assert_eq!(failure["message"], message);
}

/// `cargo nextest run` 0.9 of four tests, as it was printed, with the paths shortened.
const NEXTEST: &str = "\
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.35s
────────────
 Nextest run ID 3c7d with nextest profile: default
    Starting 3 tests across 1 binary (1 test skipped)
        PASS [   0.004s] (1/3) ct tests::ok
        FAIL [   0.007s] (2/3) ct tests::bad
  stdout ───

    running 1 test
    test tests::bad ... FAILED

    failures:

    failures:
        tests::bad

    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s

  stderr ───

    thread 'tests::bad' (16886) panicked at src/lib.rs:4:24:
    assertion `left == right` failed
      left: 1
     right: 2
    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

        PASS [   0.006s] (3/3) ct tests::panics
────────────
     Summary [   0.012s] 3 tests run: 2 passed, 1 failed, 1 skipped
        FAIL [   0.007s] (2/3) ct tests::bad
error: test run failed
";

#[test]
fn output_of_nextest() {
    let output = alone(NEXTEST);
    assert_eq!(totals(&output), [2, 1, 1]);
    assert_eq!(output["duration"], 0.012);
    let message =
        "thread 'tests::bad' (16886) panicked at src/lib.rs:4:24:\nassertion `left == right` failed\nleft: 1\nright: 2";
    assert_eq!(output["failures"], json!([{ "suite": "ct", "test": "tests::bad", "message": message }]));
    assert_eq!(output["flaky"], json!([]));
}

#[test]
fn a_crate_that_does_not_compile_has_failed() {
    let text = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\n\
        error: could not compile `b` (lib test) due to 1 previous error\n";
    let output = alone(text);
    assert_eq!((totals(&output), &output["gate"]), ([1, 1, 0], &json!(false)));
    let input = json!({ "reports": [{ "name": "x", "content": "running 3 tests\n" }] });
    assert!(matches!(crate::FAMILY.run(202, input, &Context::default()), Err(Failure::Invalid { .. })));
}

/// Jenkins' junit-10.xsd: nested suites, `error` beside `failure`, the message in the text; surefire's `flakyFailure`.
#[test]
fn junit_with_all_its_outcomes() {
    let xml = r#"<?xml version="1.0"?><testsuites><testsuite name="outer"><testsuite name="inner" time="9">
        <testcase name="a" time="1,000.5"/><testcase name="b" classname="k"><error type="E">at &lt;x&gt;</error></testcase>
        <testcase name="c"><skipped/></testcase><testcase name="d"><flakyFailure message="once"/></testcase>
        </testsuite></testsuite></testsuites>"#;
    let output = alone(xml);
    assert_eq!(totals(&output), [2, 1, 1]);
    assert_eq!(output["duration"], 1000.5);
    assert_eq!(output["failures"], json!([{ "suite": "k", "test": "b", "message": "at <x>" }]));
    assert_eq!(output["flaky"], json!(["inner::d"]));
}

#[test]
fn a_test_of_both_outcomes_is_flaky() {
    let suite = |inner: &str| format!("<testsuite name=\"s\"><testcase name=\"a\">{inner}</testcase></testsuite>");
    let output = run(&[("1", &suite("<failure/>")), ("2", &suite(""))], json!({}), Value::Null);
    assert_eq!(output["flaky"], json!(["s::a"]));
}

/// geninfo(1), "FILES": lines and branches of two runs of one file are summed; `-` is a branch that was never reached.
/// By hand: lines 1, 2, 4 of 4 ran, branches 1 of 2.
const LCOV: &str = "TN:one\nSF:/home/me/src/lib.rs\nFN:1,main\nFNDA:1,main\nDA:1,1\nDA:2,0\nDA:3,0\n\
    BRDA:2,0,0,1\nBRDA:2,0,1,-\nBRF:2\nBRH:1\nLF:3\nLH:1\nend_of_record\n\
    TN:two\nSF:/home/me/src/lib.rs\nDA:2,4\nDA:4,1,sum\nend_of_record\n";

#[test]
fn lcov_is_merged_and_gated_by_the_changed_lines() {
    let output = run(&[("l", LCOV)], json!({ "src/lib.rs": [2, 3, 99] }), json!(60));
    assert_eq!(output["coverage"], json!({ "lines": 75.0, "branches": 50.0, "changed": 50.0 }));
    assert_eq!(output["gate"], false);
    assert_eq!(run(&[("l", LCOV)], json!({}), json!(75))["gate"], true);
    assert_eq!(run(&[("l", LCOV)], json!({ "other/lib.rs": [2] }), json!(100))["gate"], true);
}

/// Branches and changed lines that no report measures are neither covered nor uncovered.
#[test]
fn what_was_not_measured_is_no_percentage() {
    let context = Context::default();
    let input = json!({ "reports": [{ "name": "l", "content": "SF:a.c\nDA:1,1\nDA:2,0\nend_of_record\n" }] });
    let output = crate::FAMILY.run(202, input, &context).unwrap();
    assert_eq!(output["coverage"], json!({ "lines": 50.0, "branches": -1.0, "changed": -1.0 }));
    let warnings = context.into_warnings();
    assert!(warnings.iter().all(|warning| warning.starts_with("not_assessed: ")), "{warnings:?}");
    assert_eq!(warnings.len(), 3, "tests, branches and changed lines");
    let empty = run(&[("l", "SF:a.c\nend_of_record\n")], json!({}), json!(0));
    assert_eq!((&empty["coverage"]["lines"], &empty["gate"]), (&json!(-1.0), &json!(false)));
}

/// The example that the documentation of Cobertura's coverage-04.dtd describes: 3 of 4 lines, 1 of 2 branches.
#[test]
fn cobertura() {
    let xml = r#"<coverage line-rate="0.75"><packages><package name="p"><classes><class name="c" filename="a/c.py">
        <methods><method name="m"><lines><line number="1" hits="1"/></lines></method></methods>
        <lines><line number="1" hits="1"/><line number="2" hits="3" branch="true" condition-coverage="50% (1/2)"/>
        <line number="3" hits="0"/><line number="4" hits="1"/></lines></class></classes></package></packages></coverage>"#;
    let output = run(&[("c", xml)], json!({ "a/c.py": [3, 4] }), Value::Null);
    assert_eq!(output["coverage"], json!({ "lines": 75.0, "branches": 50.0, "changed": 50.0 }));
}

#[test]
fn a_malformed_report_is_rejected_with_its_location() {
    let input = json!({ "reports": [{ "name": "x", "content": "hello" }] });
    let Err(Failure::Invalid { problems }) = crate::FAMILY.run(202, input, &Context::default()) else {
        panic!("taken")
    };
    assert_eq!(problems[0].loc, ["reports", "0", "content"]);
    let broken = json!({ "reports": [{ "name": "x", "content": "<testsuite><a>", "format": "junit" }] });
    assert!(matches!(crate::FAMILY.run(202, broken, &Context::default()), Err(Failure::Invalid { .. })));
}
