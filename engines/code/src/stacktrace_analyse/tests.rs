use serde_json::{Value, json};

use super::*;

fn run(text: &str, own: &[&str]) -> Value {
    crate::FAMILY.run(191, json!({ "text": text, "own_prefixes": own }), &Context::default()).unwrap()
}

fn functions(output: &Value) -> Vec<&str> {
    output["frames"].as_array().unwrap().iter().map(|frame| frame["function"].as_str().unwrap()).collect()
}

/// CPython 3.11 of `raise ValueError("bad\nconfig") from e`, as it was printed.
const PYTHON: &str = r#"Traceback (most recent call last):
  File "/app/a.py", line 5, in run
    load()
  File "/app/a.py", line 2, in load
    return {}["key"]
           ~~^^^^^^^
KeyError: 'key'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/a.py", line 8, in <module>
    run()
  File "/app/a.py", line 7, in run
    raise ValueError("bad\nconfig") from e
ValueError: bad
config
"#;

#[test]
fn python_with_its_cause() {
    let output = run(PYTHON, &[]);
    assert_eq!(output["language"], "python");
    assert_eq!(output["error"], json!({ "type": "ValueError", "message": "bad\nconfig" }));
    assert_eq!(output["causes"], json!([{ "type": "KeyError", "message": "'key'" }]));
    assert_eq!(functions(&output), ["<module>", "run", "run", "load"]);
    assert_eq!(output["culprit"], "load (/app/a.py:2)");
}

/// PEP 654, "Handling Exception Groups", a group as its traceback is drawn there.
#[test]
fn python_with_a_group() {
    let text = "  + Exception Group Traceback (most recent call last):\n  |   File \"<stdin>\", line 1, in <module>\n  | \
        ExceptionGroup: eg\n  +-+---------------- 1 ----------------\n    | TypeError: 1\n    \
        +---------------- 2 ----------------\n    | Traceback (most recent call last):\n    |   File \"<stdin>\", line 3, in f\n    \
        | ValueError: 2\n    +------------------------------------\n";
    let output = run(text, &[]);
    assert_eq!(output["error"], json!({ "type": "ExceptionGroup", "message": "eg" }));
    assert_eq!(output["causes"], json!([{ "type": "ValueError", "message": "2" }]));
}

/// OpenJDK of a cause with a message of two lines and a suppressed exception, as it was printed.
const JAVA: &str = "Exception in thread \"main\" java.lang.IllegalStateException: cannot run\n\
    \tat com.acme.A.run(A.java:5)\n\tat com.acme.A.main(A.java:6)\n\tat java.base/java.lang.Thread.run(Thread.java:829)\n\
    Caused by: java.io.IOException: disk\nfull\n\tat com.acme.A.io(A.java:3)\n\tat com.acme.A.run(A.java:5)\n\t... 1 more\n\
    \tSuppressed: java.lang.IllegalArgumentException: close\n\t\tat com.acme.A$R.close(A.java:4)\n\t\tat com.acme.A.run(A.java:5)\n\
    \t\t... 1 more\n";

#[test]
fn java_with_its_cause() {
    let output = run(JAVA, &["com.acme"]);
    assert_eq!(output["language"], "java");
    assert_eq!(output["error"], json!({ "type": "java.lang.IllegalStateException", "message": "cannot run" }));
    assert_eq!(output["causes"], json!([{ "type": "java.io.IOException", "message": "disk\nfull" }]));
    assert_eq!(
        functions(&output),
        ["com.acme.A.run", "com.acme.A.main", "java.lang.Thread.run", "com.acme.A.io", "com.acme.A.run"]
    );
    assert_eq!(output["frames"][2]["own"], false);
    assert_eq!(output["culprit"], "com.acme.A.io (A.java:3)");
}

/// The frames of a pool of connections are a library's: the place to look is the call of it.
#[test]
fn frames_of_well_known_libraries_are_not_own() {
    let text = "java.lang.RuntimeException: no order\n\tat com.acme.Orders.place(Orders.java:114)\n\
        Caused by: java.sql.SQLTransientConnectionException: not available\n\
        \tat com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:696)\n\
        \tat com.acme.StockDao.reserve(StockDao.java:61)\n\t... 1 more\n";
    let output = run(text, &[]);
    assert_eq!(output["culprit"], "com.acme.StockDao.reserve (StockDao.java:61)");
}

/// Node 20 of `new Error("outer", { cause })`, as it was printed.
const NODE: &str = r#"/app/a.js:2
class A { run(){ try { inner() } catch (e) { throw new Error("outer", {cause:e}) } } }
                                             ^

Error: outer
    at A.run (/app/a.js:2:52)
    at /app/a.js:3:23
    ... 6 lines matching cause stack trace ...
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)
    at node:internal/main/run_main_module:28:49 {
  [cause]: TypeError: Cannot read properties of null (reading 'x')
      at inner (/app/a.js:1:24)
      at A.run (/app/a.js:2:24)
      at Array.map (<anonymous>)
      at Module._compile (node:internal/modules/cjs/loader:1521:14)
}

Node.js v20.20.2
"#;

#[test]
fn node_with_its_cause() {
    let output = run(NODE, &[]);
    assert_eq!(output["language"], "javascript");
    assert_eq!(output["error"], json!({ "type": "Error", "message": "outer" }));
    assert_eq!(
        output["causes"],
        json!([{ "type": "TypeError", "message": "Cannot read properties of null (reading 'x')" }])
    );
    assert_eq!(output["frames"][0], json!({ "function": "A.run", "file": "/app/a.js", "line": 2, "own": true }));
    assert_eq!(output["frames"][2]["own"], false);
    assert_eq!(output["culprit"], "inner (/app/a.js:1)");
}

/// stacktrace-parser (npm), test/fixtures/captured-errors.js: Chrome 15 and Firefox 31.
#[test]
fn browsers() {
    let chrome = "TypeError: Object #<Object> has no method 'undef'\n    at bar (http://path/to/file.js:13:17)\n    at bar \
        (http://path/to/file.js:16:5)\n    at foo (http://path/to/file.js:20:5)\n    at http://path/to/file.js:24:4";
    let output = run(chrome, &[]);
    assert_eq!(functions(&output), ["bar", "bar", "foo", "<anonymous>"]);
    assert_eq!(
        (&output["frames"][0]["file"], &output["frames"][0]["line"]),
        (&json!("http://path/to/file.js"), &json!(13))
    );
    let firefox = "foo@http://path/to/file.js:41:13\nbar@http://path/to/file.js:1:1\n.plugin/e.fn[c]/<@http://path/to/file.js:1:1\n";
    let output = run(firefox, &[]);
    assert_eq!(functions(&output), ["foo", "bar", ".plugin/e.fn[c]/<"]);
    assert_eq!(output["frames"][0]["line"], 41);
}

/// rustc 1.9x, `RUST_BACKTRACE=1`, of an index out of bounds, as it was printed.
const RUST: &str = "
thread 'main' (4338) panicked at r.rs:1:27:
index out of bounds: the len is 1 but the index is 3
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5
   1: core::panicking::panic_fmt
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/panicking.rs:80:14
   2: r::deep
             at ./r.rs:1:27
   3: r::main
             at ./r.rs:2:28
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
";

#[test]
fn rust_with_a_backtrace_and_without() {
    let output = run(RUST, &[]);
    assert_eq!(output["language"], "rust");
    assert_eq!(
        output["error"],
        json!({ "type": "panic", "message": "index out of bounds: the len is 1 but the index is 3" })
    );
    assert_eq!(output["culprit"], "r::deep (./r.rs:1)");
    let old = run("thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', src/main.rs:2:37\n", &[]);
    assert_eq!(old["error"]["message"], "called `Option::unwrap()` on a `None` value");
    assert_eq!((&old["frames"][0]["file"], &old["frames"][0]["line"]), (&json!("src/main.rs"), &json!(2)));
}

/// anyhow's documentation, "Details", the error of a `main` that fails.
#[test]
fn rust_with_a_chain_of_causes() {
    let output = run(
        "Error: Failed to read instrs from ./path/to/instrs.json\n\nCaused by:\n    No such file or directory (os error 2)\n",
        &[],
    );
    assert_eq!(output["language"], "rust");
    assert_eq!(output["causes"][0]["message"], "No such file or directory (os error 2)");
}

/// The form of the Go runtime's tracebacks, as of "Effective Go" and the documentation of runtime/debug.
#[test]
fn go() {
    let text = "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n\
        main.(*T).f(0x1400001c0a8?, {0x1, 0x2})\n\t/app/main.go:10 +0x1d\nmain.main()\n\t/app/main.go:6 +0x20\nexit status 2\n";
    let output = run(text, &[]);
    assert_eq!(output["language"], "go");
    assert_eq!(output["error"], json!({ "type": "runtime error", "message": "index out of range [5] with length 3" }));
    assert_eq!(functions(&output), ["main.(*T).f", "main.main"]);
    assert_eq!(output["culprit"], "main.(*T).f (/app/main.go:10)");
}

/// Microsoft's documentation of Exception.ToString: the inner exception's frames come first.
#[test]
fn csharp_with_an_inner_exception() {
    let text = "Unhandled exception. System.InvalidOperationException: outer\n ---> System.IO.IOException: inner\n   \
        at App.Disk.Read(String path) in /src/Disk.cs:line 12\n   --- End of inner exception stack trace ---\n   \
        at App.Program.Main(String[] args) in C:\\src\\Program.cs:line 10\n   at System.Threading.Thread.Start()\n";
    let output = run(text, &[]);
    assert_eq!(output["language"], "csharp");
    assert_eq!(output["error"], json!({ "type": "System.InvalidOperationException", "message": "outer" }));
    assert_eq!(output["causes"], json!([{ "type": "System.IO.IOException", "message": "inner" }]));
    assert_eq!(functions(&output), ["App.Program.Main", "System.Threading.Thread.Start", "App.Disk.Read"]);
    assert_eq!(output["culprit"], "App.Disk.Read (/src/Disk.cs:12)");
}

#[test]
fn traces_of_the_same_fault_have_one_fingerprint() {
    let print = |text: &str| run(text, &[])["fingerprint"].clone();
    let elsewhere = PYTHON.replace("line 2", "line 20").replace("/app/", "/srv/other/").replace("'key'", "'other'");
    assert_eq!(print(PYTHON), print(&elsewhere));
    assert_ne!(print(PYTHON), print(&PYTHON.replace("in load", "in save")));
    assert_ne!(print(PYTHON), print(&PYTHON.replace("KeyError", "IndexError")));
    let closure = |hash: &str| RUST.replace("r::deep", &format!("r::deep::h{hash}"));
    assert_eq!(print(&closure("0123456789abcdef")), print(&closure("fedcba9876543210")));
}

#[test]
fn text_without_a_trace_is_a_message() {
    let output = run("\nit broke at 10:42\n", &[]);
    assert_eq!((&output["language"], &output["error"]["message"]), (&json!("unknown"), &json!("it broke at 10:42")));
    assert_eq!(output["frames"], json!([]));
}

/// Output of pip (26), shortened: the error is not the first line.
#[test]
fn the_error_of_a_report_of_unknown_form_is_found() {
    let text = "Looking in links: /opt/wheels\nCollecting docopt==0.6.2\n  Preparing metadata: finished with status 'error'\n  \
        error: subprocess-exited-with-error\n";
    let output = crate::FAMILY.run(191, json!({ "text": text }), &Context::default()).unwrap();
    assert!(output["error"].to_string().contains("subprocess-exited-with-error"), "{output}");
    let plain = crate::FAMILY.run(191, json!({ "text": "it stopped\nagain\n" }), &Context::default()).unwrap();
    assert_eq!(plain["error"]["message"], "it stopped");
}
