//! The rules that Cargo cannot check. A new one needs an entry here and a sample that breaks it in `samples.rs`.

use std::collections::BTreeSet;

use super::source::{SourceFile, Sources};

pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    check: fn(&Sources, &SourceFile) -> Vec<Finding>,
}

/// A line and its violation.
type Finding = (usize, String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: &'static str,
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) found: String,
}

/// Every violation of every rule, in the order of the table.
pub(crate) fn violations(sources: &Sources) -> Vec<Violation> {
    let of = |rule: &'static Rule, file: &SourceFile| {
        let path = file.path.clone();
        let violation = move |(line, found)| Violation { rule: rule.name, path: path.clone(), line, found };
        (rule.check)(sources, file).into_iter().map(violation).collect::<Vec<_>>()
    };
    RULES.iter().flat_map(|rule| sources.files.iter().flat_map(move |file| of(rule, file))).collect()
}

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "pure-state",
        reason: "a state machine is tested by traces: events, the time and random numbers come as arguments",
        check: |_, file| if is_pure(file) { named(file, &[RUNTIME, CLOCK, RANDOMNESS].concat()) } else { Vec::new() },
    },
    Rule {
        name: "environment-only-in-config",
        reason: "every setting is in config.toml, has one name and is checked once; all else receives typed options",
        check: |_, file| if reads_settings(&file.path) { Vec::new() } else { named(file, &["std::env"]) },
    },
    Rule {
        name: "settings-files-only-in-config",
        reason: "one place knows where the settings files are",
        check: |_, file| if reads_settings(&file.path) { Vec::new() } else { settings_paths(file) },
    },
    Rule {
        name: "handlers-do-not-use-the-store",
        reason: "an actor owns the order of its writes",
        check: |_, file| if is_edge(&file.path) { named(file, &["muster_store", "sled"]) } else { Vec::new() },
    },
    Rule {
        name: "handlers-do-not-use-models",
        reason: "models are reached through the provider actors, which bound, count and break",
        check: |_, file| if is_edge(&file.path) { named(file, &["muster_models"]) } else { Vec::new() },
    },
    Rule {
        name: "routes-are-independent",
        reason: "a route is read, changed and removed alone; what several share is beside src/http",
        check: siblings,
    },
    Rule {
        name: "sockets-do-not-use-routes",
        reason: "the socket library can be exchanged in one folder",
        check: |_, file| if in_module(&file.path, "src/ws") { named(file, &["muster::http"]) } else { Vec::new() },
    },
    Rule {
        name: "no-lock-over-domain-state",
        reason: "an actor owns its state; other actors send messages. LOCKS lists the exceptions with their reasons",
        check: |_, file| {
            let exempt = LOCKS.iter().any(|exception| exception.path == file.path);
            if file.path.starts_with("actors/") && !exempt { named(file, LOCK_TYPES) } else { Vec::new() }
        },
    },
    Rule { name: "no-foreign-state", reason: "an actor knows another by its messages", check: foreign_state },
    Rule {
        name: "pure-engines",
        reason: "an engine is a function of its input",
        check: |_, file| {
            if file.path.starts_with("engines/") { named(file, &[CLOCK, NETWORK].concat()) } else { Vec::new() }
        },
    },
    Rule {
        name: "workspace-lints",
        reason: "a crate without them is not checked; the workspace forbids unsafe code",
        check: |_, file| workspace_lints(file),
    },
    Rule { name: "short-files", reason: "a file has one subject", check: |_, file| longer_than(file, 500) },
    Rule {
        name: "short-main",
        reason: "main parses, builds and runs; what it would decide is tested elsewhere",
        check: |_, file| if file.path == "src/main.rs" { longer_than(file, 60) } else { Vec::new() },
    },
    Rule {
        name: "no-sleep-in-tests",
        reason: "a test waits for the event: a sleep is too short on a busy machine and too long on every other",
        check: |_, file| sleeps(file),
    },
];

const RUNTIME: &[&str] = &["actix", "actix_rt", "actix_web", "tokio", "tokio_util"];
const CLOCK: &[&str] = &[
    "muster_core::Clock",
    "muster_core::clock::Clock",
    "*::Instant::now",
    "*::SystemTime::now",
    "*::Timestamp::now",
    "*::Zoned::now",
];
const RANDOMNESS: &[&str] = &["getrandom", "rand", "fastrand", "*::Ulid::new", "*::Ulid::generate"];
const NETWORK: &[&str] = &["tokio", "*::TcpStream", "*::TcpListener", "*::UdpSocket", "*::ToSocketAddrs"];
const LOCK_TYPES: &[&str] = &["*::Mutex", "*::RwLock", "parking_lot", "dashmap"];

/// A file in `actors/` that may hold a lock.
pub(crate) struct LockException {
    pub(crate) path: &'static str,
    pub(crate) reason: &'static str,
}

pub(crate) const LOCKS: &[LockException] = &[
    LockException {
        path: "actors/core/src/supervise/tree.rs",
        reason: "the supervision tree is read by the status route and by exit guards on any thread",
    },
    LockException {
        path: "actors/core/src/supervise/handle.rs",
        reason: "a handle is shared by all callers and exchanges the address when its actor restarts",
    },
    LockException {
        path: "actors/tasks/src/engine/worker.rs",
        reason: "the output of an engine's process is written by its calls and by the progress of a call, which may be \
                 reported from a thread of the engine",
    },
    LockException {
        path: "actors/tasks/src/sentinel/turns.rs",
        reason: "a turn is returned by dropping the future that waits for it or holds it, which cannot wait for an actor",
    },
    LockException {
        path: "actors/tasks/src/task/slot.rs",
        reason: "a kill drops the running step's future at once, from outside the runtime that polls it",
    },
    LockException {
        path: "actors/tasks/src/task/step_output.rs",
        reason: "a step that logs at full speed writes beside the actor's mailbox, not through it",
    },
];

/// Whether a path is what a pattern names, or is inside it. `*::A::B` names any path that ends in `A::B`.
fn names(pattern: &str, path: &[String]) -> bool {
    let (pattern, from) = match pattern.strip_prefix("*::") {
        Some(end) => (end, path.len().saturating_sub(end.split("::").count())),
        None => (pattern, 0),
    };
    let mut found = path[from..].iter();
    pattern.split("::").all(|wanted| found.next().is_some_and(|segment| segment == wanted))
}

/// What product code names of `patterns`.
fn named(file: &SourceFile, patterns: &[&str]) -> Vec<Finding> {
    let paths = file.scan.product_paths();
    paths.filter(|(_, path)| patterns.iter().any(|pattern| names(pattern, path))).map(finding).collect()
}

fn finding((line, path): (usize, &[String])) -> Finding {
    (line, path.join("::"))
}

/// Whether the file is the module `src/ws`: `src/ws.rs`, or below `src/ws/`.
fn in_module(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

fn is_edge(path: &str) -> bool {
    in_module(path, "src/http") || in_module(path, "src/ws")
}

/// The configuration, programs and build scripts.
fn reads_settings(path: &str) -> bool {
    in_module(path, "src/config") || path.ends_with("build.rs") || path.contains("src/bin/")
}

/// A `state` module, or a file whose header contains the word `Pure`.
fn is_pure(file: &SourceFile) -> bool {
    let header = file.header();
    let declared = header.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Pure");
    file.path.ends_with("/state.rs") || file.path.contains("/state/") || declared
}

/// A child of `src/http` that names another child of it.
fn siblings(sources: &Sources, file: &SourceFile) -> Vec<Finding> {
    let child = |path: &str| {
        let name = path.strip_prefix("src/http/")?.split('/').next()?.trim_end_matches(".rs").to_owned();
        Some(name).filter(|name| name != "mod")
    };
    let Some(own) = child(&file.path) else { return Vec::new() };
    let all: BTreeSet<String> = sources.files.iter().filter_map(|file| child(&file.path)).collect();
    let foreign = |path: &[String]| match path {
        // A glob over the parent names all of them.
        [root, http, name, ..] if root == "muster" && http == "http" => {
            name == "*" || *name != own && all.contains(name)
        }
        _ => false,
    };
    file.scan.product_paths().filter(|(_, path)| foreign(path)).map(finding).collect()
}

/// A path into the `state` module of a feature from outside that feature.
fn foreign_state(_: &Sources, file: &SourceFile) -> Vec<Finding> {
    if !file.path.starts_with("actors/") {
        return Vec::new();
    }
    let module = file.module();
    let foreign = |path: &[String]| {
        let state = path.iter().position(|segment| segment == "state");
        let feature = state.and_then(|at| path.get(..at)).filter(|feature| !feature.is_empty());
        feature.is_some_and(|feature| feature[0].starts_with("muster_") && !module.starts_with(feature))
    };
    file.scan.product_paths().filter(|(_, path)| foreign(path)).map(finding).collect()
}

fn settings_paths(file: &SourceFile) -> Vec<Finding> {
    let product = file.scan.literals.iter().filter(|found| !file.scan.only_tests && !found.in_test);
    let is_path = |text: &str| {
        // An error message that names the file is how a user learns what to change.
        !text.contains(char::is_whitespace) && (text == "config.toml" || text.ends_with("/config.toml"))
    };
    product.filter(|found| is_path(&found.value)).map(|found| (found.line, format!("{:?}", found.value))).collect()
}

fn workspace_lints(file: &SourceFile) -> Vec<Finding> {
    if !file.path.ends_with("Cargo.toml") {
        return Vec::new();
    }
    let manifest: toml::Table = file.text.parse().unwrap_or_default();
    let at = |path: &[&str]| {
        let mut value = manifest.get(path[0]);
        for key in &path[1..] {
            value = value.and_then(|value| value.get(key));
        }
        value
    };
    let mut found = Vec::new();
    if manifest.contains_key("package") && at(&["lints", "workspace"]).and_then(toml::Value::as_bool) != Some(true) {
        found.push((1, "no `[lints] workspace = true`".to_owned()));
    }
    let unsafe_code = at(&["workspace", "lints", "rust", "unsafe_code"]).and_then(toml::Value::as_str);
    if manifest.contains_key("workspace") && unsafe_code != Some("forbid") {
        found.push((1, "no `unsafe_code = \"forbid\"` for the workspace".to_owned()));
    }
    found
}

/// Lines before the tests of the file.
fn longer_than(file: &SourceFile, most: usize) -> Vec<Finding> {
    let tests = file.scan.first_test_line.filter(|_| !file.scan.only_tests);
    let lines = tests.map_or_else(|| file.text.lines().count(), |line| line - 1);
    if file.is_rust() && lines > most { vec![(most + 1, format!("{lines} lines, {most} at most"))] } else { Vec::new() }
}

fn sleeps(file: &SourceFile) -> Vec<Finding> {
    if file.path.ends_with(".py") && file.path.contains("tests/") {
        let lines = (1..).zip(file.text.lines().map(|line| line.split('#').next().unwrap_or(line)));
        return lines
            .filter(|(_, line)| line.contains("sleep("))
            .map(|(n, line)| (n, line.trim().to_owned()))
            .collect();
    }
    let calls = file.scan.calls.iter().filter(|call| file.scan.only_tests || call.in_test);
    let sleeps = calls.filter(|call| matches!(call.value.as_str(), "sleep" | "sleep_until"));
    sleeps.map(|call| (call.line, format!("{}(", call.value))).collect()
}
