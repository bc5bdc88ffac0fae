//! For every rule, a file that violates it and a similar file that is allowed.

type Files = Vec<(&'static str, String)>;

#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) rule: &'static str,
    /// The first file is the one to report.
    pub(crate) violating: Files,
    pub(crate) innocent: Files,
}

fn sample(rule: &'static str, violating: (&'static str, &str), innocent: (&'static str, &str)) -> Sample {
    let one = |(path, text): (&'static str, &str)| vec![(path, text.to_owned())];
    Sample { rule, violating: one(violating), innocent: one(innocent) }
}

pub(crate) fn samples() -> Vec<Sample> {
    [routes(), states(), locks(), engines(), settings(), forms(), sleeps()].into_iter().flatten().collect()
}

fn routes() -> Vec<Sample> {
    let beside = |text: &str| {
        vec![
            ("src/http/chat.rs", text.to_owned()),
            ("src/http/models/mod.rs", String::new()),
            ("src/http/mod.rs", String::new()),
        ]
    };
    let apart = |violating: &str, innocent: &str| Sample {
        rule: "routes-are-independent",
        violating: beside(violating),
        innocent: beside(innocent),
    };
    vec![
        apart("use crate::http::models::list;", "use crate::http::json;"),
        apart("use super::{json, models::{self, list}};", "use super::{json, error};"),
        apart("use super::*;", "mod tests {} use super::json::*;"),
        apart("fn f() { super::models::list() }", "fn f() { let s = r#\"super::models::list()\"#; }"),
        apart("fn f() { vec![super::models::list()] }", "fn f() { vec![\"super::models::list()\"] }"),
        sample(
            "sockets-do-not-use-routes",
            ("src/ws/monitor.rs", "use crate::{error::Error, http::status};"),
            ("src/ws/monitor.rs", "use crate::error::Error; use muster_core::http;"),
        ),
        sample(
            "handlers-do-not-use-models",
            ("src/http/chat.rs", "use muster_models::ChatModel;"),
            ("src/app.rs", "use muster_models::ChatModel;"),
        ),
        sample(
            "handlers-do-not-use-models",
            ("src/ws/mod.rs", "// a model\nextern crate muster_models;"),
            ("src/ws/mod.rs", "// use muster_models::ChatModel;\n/* muster_models::f() */"),
        ),
        sample(
            "handlers-do-not-use-the-store",
            ("src/http/keys.rs", "async fn f(s: &dyn muster_store::Store) {}"),
            ("src/http/keys.rs", "async fn f(keys: &muster_identity::keys::Keys) {}"),
        ),
        sample(
            "handlers-do-not-use-the-store",
            ("src/http/keys.rs", "#[derive(muster_store::Record)] struct A;"),
            ("src/http/keys.rs", "#[cfg(test)] mod tests { use muster_store::Store; }"),
        ),
    ]
}

fn states() -> Vec<Sample> {
    let (rule, state) = ("pure-state", "actors/limits/src/state.rs");
    let foreign = "no-foreign-state";
    vec![
        sample(rule, (state, "use tokio::sync::mpsc;"), (state, "use std::time::{Duration, Instant};")),
        sample(rule, (state, "use actix::Message;"), (state, "use crate::messages::Message;")),
        sample(
            rule,
            ("actors/core/src/journal/state.rs", "use crate::clock::{Clock, Millis};"),
            ("actors/core/src/journal/state.rs", "use crate::clock::Millis;"),
        ),
        sample(
            rule,
            ("actors/core/src/health/state.rs", "use super::super::Clock;"),
            ("actors/core/src/health/actor.rs", "use super::super::Clock;"),
        ),
        sample(rule, (state, "use muster_core::Clock;"), (state, "use muster_core::Millis;")),
        sample(rule, (state, "use getrandom::fill;"), (state, "fn f(random: u64) {}")),
        sample(rule, (state, "fn f() { ulid::Ulid::new(); }"), (state, "fn f(id: ulid::Ulid) {}")),
        sample(
            rule,
            (state, "fn f() { let t = std::time::Instant::now(); }"),
            (state, "#[cfg(test)]\nmod tests { fn f() { let t = std::time::Instant::now(); } }"),
        ),
        sample(
            rule,
            (state, "fn f() { assert!(Instant::now() > t); }"),
            (state, "#[cfg(test)]\nfn f() { assert!(Instant::now() > t); }"),
        ),
        sample(
            rule,
            ("actors/tasks/src/task/state/run.rs", "use tokio::sync::mpsc;"),
            ("actors/tasks/src/task/status.rs", "use tokio::sync::mpsc;"),
        ),
        sample(
            rule,
            ("actors/limits/src/window.rs", "//! A window.\n//! Pure: time is an argument.\nuse actix::Actor;"),
            ("actors/limits/src/window.rs", "//! A window around pure state machines.\nuse actix::Actor;"),
        ),
        sample(
            foreign,
            ("actors/network/src/incident/actor.rs", "use crate::device::state::Devices;"),
            ("actors/network/src/device/actor.rs", "use super::state::Devices; use crate::incident::messages::Report;"),
        ),
        sample(
            foreign,
            ("actors/tasks/src/task/actor.rs", "use muster_limits::state::Buckets;"),
            ("actors/tasks/src/task/actor.rs", "use muster_limits::Limits; use super::state::Tasks;"),
        ),
    ]
}

fn locks() -> Vec<Sample> {
    let rule = "no-lock-over-domain-state";
    vec![
        sample(
            rule,
            ("actors/identity/src/keys/actor.rs", "use std::sync::{Arc, Mutex};"),
            ("actors/identity/src/keys/actor.rs", "use std::sync::{Arc, atomic::AtomicU64}; struct Mutexes;"),
        ),
        sample(
            rule,
            ("actors/tasks/src/task/mod.rs", "struct A { s: std::sync::Arc<tokio::sync::RwLock<u8>> }"),
            ("actors/core/src/supervise/tree.rs", "use std::sync::RwLock;"),
        ),
        sample(
            rule,
            ("actors/feed/src/hub.rs", "fn f() { dashmap::DashMap::new() }"),
            ("actors/feed/src/tests/mod.rs", "#![cfg(test)] use std::sync::Mutex;"),
        ),
    ]
}

fn engines() -> Vec<Sample> {
    let (rule, path) = ("pure-engines", "engines/src/triage/mod.rs");
    vec![
        sample(rule, (path, "fn f() { std::time::SystemTime::now(); }"), (path, "fn f(now: std::time::SystemTime) {}")),
        sample(rule, (path, "fn f() { jiff::Timestamp::now(); }"), (path, "fn f(now: jiff::Timestamp) {}")),
        sample(rule, (path, "use std::net::TcpStream;"), (path, "use std::net::Ipv4Addr;")),
        sample(rule, (path, "use tokio::time::sleep;"), (path, "#[cfg(test)] use tokio::time::sleep;")),
    ]
}

fn settings() -> Vec<Sample> {
    let (env, file) = ("environment-only-in-config", "settings-files-only-in-config");
    vec![
        sample(
            env,
            ("src/http/health.rs", "fn f() { let v = std::env::var(\"A\"); }"),
            ("src/http/health.rs", "fn f() { let v = env!(\"CARGO_PKG_VERSION\"); }"),
        ),
        sample(
            env,
            ("crates/providers/src/openai/mod.rs", "use std::{collections::BTreeMap, env as surroundings};"),
            ("src/config/overrides.rs", "use std::{collections::BTreeMap, env as surroundings};"),
        ),
        sample(env, ("src/app.rs", "use std::env::args;"), ("crates/store/src/bin/burst.rs", "use std::env::args;")),
        sample(
            env,
            ("crates/models/src/helper.rs", "fn dir() { std::env::temp_dir(); }"),
            ("crates/models/tests/helper.rs", "fn dir() { std::env::temp_dir(); }"),
        ),
        sample(
            file,
            ("src/app.rs", "const AT: &str = \"/etc/muster/config.toml\";"),
            ("src/app.rs", "const HELP: &str = \"set [llm] model in config.toml\";"),
        ),
        sample(
            file,
            ("actors/limits/src/actor.rs", "/// config.toml\nfn f() { read(r#\"config.toml\"#) }"),
            ("src/config.rs", "fn f() { read(r#\"config.toml\"#) }"),
        ),
        sample(
            file,
            ("src/app.rs", "fn f() { include_str!(\"../config.toml\") }"),
            ("src/app.rs", "#[doc = \"config.toml\"]\nfn f() {}"),
        ),
    ]
}

fn forms() -> Vec<Sample> {
    let (lints, lines) = ("workspace-lints", "short-files");
    let (long, short) = ("fn f() {}\n".repeat(501), "fn f() {}\n".repeat(500));
    let tested = format!("{short}#[cfg(test)]\nmod tests {{\n{short}}}\n");
    vec![
        sample(
            lints,
            ("engines/Cargo.toml", "[package]\nname = \"muster-engines\"\n[lints.rust]\nunused = \"allow\"\n"),
            ("engines/Cargo.toml", "[package]\nname = \"muster-engines\"\n[lints]\nworkspace = true\n"),
        ),
        sample(
            lints,
            ("Cargo.toml", "[workspace]\n[workspace.lints.rust]\nunsafe_code = \"deny\"\n"),
            ("Cargo.toml", "[workspace]\n[workspace.lints.rust]\nunsafe_code = \"forbid\"\n"),
        ),
        sample(lines, ("crates/store/src/port.rs", &long), ("crates/store/src/port.rs", &tested)),
        sample(lines, ("tests/bad_input.rs", &long), ("tests/bad_input.rs", &short)),
        sample("short-main", ("src/main.rs", &short[..610]), ("src/main.rs", &short[..600])),
    ]
}

fn sleeps() -> Vec<Sample> {
    let rule = "no-sleep-in-tests";
    let in_module = |condition: &str| {
        vec![
            ("actors/core/src/samples.rs", "fn f() { sleep_until (then); }".to_owned()),
            ("actors/core/src/lib.rs", format!("#[cfg({condition})]\npub(crate) mod samples;")),
        ]
    };
    vec![
        sample(
            rule,
            ("tests/chat.rs", "async fn f() { tokio::time::sleep(WAIT).await; }"),
            ("tests/chat.rs", "async fn f() { tokio::time::advance(WAIT).await; } // sleep(\nfn sleep() {}"),
        ),
        sample(
            rule,
            ("tests/chat.rs", "async fn f() { tokio::select! { () = sleep(WAIT) => {} } }"),
            ("tests/chat.rs", "async fn f() { tokio::select! { () = done() => {} } }"),
        ),
        sample(
            rule,
            ("actors/keys/src/actor.rs", "#[cfg(test)]\nmod tests { fn f() { std::thread::sleep(WAIT); } }"),
            ("actors/keys/src/actor.rs", "fn f() { std::thread::sleep(WAIT); }\n#[cfg(test)]\nmod tests {}"),
        ),
        Sample { rule, violating: in_module("test"), innocent: in_module("not(test)") },
        Sample {
            rule,
            violating: in_module("any(test, feature = \"test-world\")"),
            innocent: in_module("any(test, feature = \"llm\")"),
        },
        sample(
            rule,
            ("tests/openai_client/test_openai.py", "import time\ntime.sleep(1)\n"),
            ("tests/openai_client/test_openai.py", "# no time.sleep(1) here\nevent.wait(5)\n"),
        ),
    ]
}
