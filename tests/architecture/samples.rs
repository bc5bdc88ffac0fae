//! For every rule a made-up file that breaks it, and a twin that does what looks alike and is allowed.

type Files = Vec<(&'static str, String)>;

#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) rule: &'static str,
    /// The first is the one that is to be reported.
    pub(crate) offends: Files,
    pub(crate) innocent: Files,
}

fn sample(rule: &'static str, offends: (&'static str, &str), innocent: (&'static str, &str)) -> Sample {
    let one = |(path, text): (&'static str, &str)| vec![(path, text.to_owned())];
    Sample { rule, offends: one(offends), innocent: one(innocent) }
}

pub(crate) fn samples() -> Vec<Sample> {
    [edges(), states(), layers(), settings(), forms()].into_iter().flatten().collect()
}

fn edges() -> Vec<Sample> {
    let rule = "no-server-below-the-edge";
    let route = "src/http/chat.rs";
    let beside = |text: &str| {
        vec![(route, text.to_owned()), ("src/http/models.rs", String::new()), ("src/http/mod.rs", String::new())]
    };
    let apart = |offends: &str, innocent: &str| Sample {
        rule: "routes-do-not-know-each-other",
        offends: beside(offends),
        innocent: beside(innocent),
    };
    vec![
        sample(
            rule,
            ("actors/src/keys/actor.rs", "use actix_web::HttpResponse;"),
            ("actors/src/keys/actor.rs", "// use actix_web::HttpResponse;\nuse actix::Actor;"),
        ),
        sample(
            rule,
            ("models/src/engine/run.rs", "fn f() -> u16 { http::StatusCode::OK.as_u16() }"),
            ("models/src/engine/run.rs", "const HELP: &str = \"http::StatusCode\"; /* clap::Parser */"),
        ),
        sample(
            rule,
            ("store/Cargo.toml", "[package]\n[dependencies]\nclap.workspace = true\n"),
            ("store/Cargo.toml", "[package]\n[dependencies]\n# clap.workspace = true\nserde.workspace = true\n"),
        ),
        sample(
            rule,
            ("auth/src/token.rs", "fn f() -> actix_web::HttpResponse { g() }"),
            ("auth/src/token.rs", "fn f() -> &'static str { \"actix_web::HttpResponse\" }"),
        ),
        sample(
            rule,
            ("providers/Cargo.toml", "[dependencies.web]\npackage = \"actix-web\"\nversion = \"4\"\n"),
            ("providers/Cargo.toml", "[dev-dependencies.web]\npackage = \"actix-web\"\nversion = \"4\"\n"),
        ),
        sample(
            rule,
            ("engines/src/risk/mod.rs", "#[derive(utoipa::ToSchema)] struct A;"),
            ("engines/src/risk/mod.rs", "#[cfg(test)] mod tests { use utoipa::ToSchema; }"),
        ),
        apart("use crate::http::models::list;", "use crate::http::json;"),
        apart("use super::{json, models::{self, list}};", "use super::{json, error};"),
        apart("use super::*;", "mod tests {} use super::json::*;"),
        apart("fn f() { super::models::list() }", "fn f() { let s = r#\"super::models::list()\"#; }"),
        sample(
            "sockets-do-not-know-routes",
            ("src/ws/monitor.rs", "use crate::{error::Error, http::status};"),
            ("src/ws/monitor.rs", "use crate::error::Error; use muster_actors::http;"),
        ),
        sample(
            "the-edge-speaks-to-actors",
            ("src/http/chat.rs", "use muster_models::ChatModel;"),
            ("src/app.rs", "use muster_models::ChatModel;"),
        ),
        sample(
            "handlers-do-not-store",
            ("src/http/keys.rs", "async fn f(s: &dyn muster_store::Store) {}"),
            ("src/http/keys.rs", "async fn f(keys: &muster_identity::keys::Keys) {}"),
        ),
        sample(
            "only-the-store-knows-sled",
            ("actors/src/keys/record.rs", "extern crate sled;"),
            ("store/src/engine/open.rs", "use sled::Config;"),
        ),
        sample(
            "only-the-store-knows-sled",
            ("Cargo.toml", "[dependencies]\nsled.workspace = true"),
            ("Cargo.toml", "[workspace.dependencies]\nsled = \"=0.34.7\""),
        ),
    ]
}

fn states() -> Vec<Sample> {
    let (rule, state) = ("state-is-pure", "actors/src/limits/state.rs");
    let locks = "no-lock-over-domain-state";
    vec![
        sample(rule, (state, "use tokio::sync::mpsc;"), (state, "use std::time::{Duration, Instant};")),
        sample(rule, (state, "use crate::clock::{Clock, Millis};"), (state, "use crate::clock::Millis;")),
        sample(rule, (state, "use super::super::Clock;"), ("actors/src/limits/actor.rs", "use super::super::Clock;")),
        sample(
            rule,
            (state, "fn f() { let t = std::time::Instant::now(); }"),
            (state, "#[cfg(test)]\nmod tests { fn f() { let t = std::time::Instant::now(); } }"),
        ),
        sample(
            rule,
            ("actors/src/limits/window.rs", "//! A window.\n//! Pure: time is an argument.\nuse actix::Actor;"),
            ("actors/src/limits/window.rs", "//! A window around pure state machines.\nuse actix::Actor;"),
        ),
        sample(
            locks,
            ("actors/src/keys/actor.rs", "use std::sync::{Arc, Mutex};"),
            ("actors/src/keys/actor.rs", "use std::sync::{Arc, atomic::AtomicU64}; struct Mutexes;"),
        ),
        sample(
            locks,
            ("actors/src/task/mod.rs", "struct A { s: std::sync::Arc<tokio::sync::RwLock<u8>> }"),
            ("actors/src/supervise/tree.rs", "use std::sync::RwLock;"),
        ),
        sample(
            locks,
            ("actors/Cargo.toml", "[dependencies]\ndashmap = \"6\""),
            ("actors/Cargo.toml", "[dev-dependencies]\ndashmap = \"6\""),
        ),
        sample(
            "no-foreign-state",
            ("actors/src/task/actor.rs", "use crate::limits::state::Buckets;"),
            ("actors/src/limits/actor.rs", "use super::state::Buckets; use crate::task::messages::Run;"),
        ),
    ]
}

fn layers() -> Vec<Sample> {
    let text = |name: &str| format!("use {name}::Thing;");
    let below = |rule, file: &'static str, wrong: &str, right: &str| {
        sample(rule, (file, text(wrong).as_str()), (file, text(right).as_str()))
    };
    vec![
        below("below-the-task", "actors/src/provider/actor.rs", "crate::task", "crate::limits"),
        below("below-the-task", "actors/src/memory/mod.rs", "super::task", "self::task"),
        below("below-the-task", "actors/src/limits/shard/actor.rs", "crate::task", "crate::tasks"),
        sample(
            "below-the-task",
            ("actors/src/keys.rs", "mod inner { use super::super::task; }"),
            ("actors/src/agent.rs", "mod inner { use super::super::task; }"),
        ),
        below("feed-knows-no-feature", "actors/src/feed/hub.rs", "crate::incident", "crate::supervise"),
        below("feed-knows-no-feature", "actors/src/feed/snapshot.rs", "crate::geofence", "crate::identity"),
        below("feed-knows-no-feature", "actors/src/feed/turn.rs", "crate::firmware", "crate::ids"),
        below("feed-knows-no-feature", "actors/src/feed/rules.rs", "crate::device", "super::channel"),
        below("actors-stand-below-the-server", "actors/src/task/actor.rs", "muster::error", "muster_store"),
        below("engines-stand-alone", "engines/src/triage/mod.rs", "muster_actors", "std::collections"),
        below("store-stands-alone", "store/src/port.rs", "muster_actors", "serde"),
        below("models-stand-alone", "models/src/lib.rs", "muster_store", "tokio"),
        below("providers-stand-below-the-actors", "providers/src/chain.rs", "muster_actors", "muster_models"),
        below("auth-stands-alone", "auth/src/token.rs", "tokio::time", "crate::jws"),
        below("auth-stands-alone", "auth/src/dpop/mod.rs", "muster_actors", "muster_auth"),
        sample(
            "auth-stands-alone",
            ("auth/Cargo.toml", "[dependencies]\nmuster-store.workspace = true"),
            ("auth/Cargo.toml", "[dependencies]\nargon2.workspace = true"),
        ),
        below("cap-stands-alone", "cap/src/write.rs", "muster_geo", "quick_xml"),
        below("cap-stands-alone", "cap/src/lib.rs", "actix", "crate::read"),
        below("geo-stands-alone", "geo/src/shapes.rs", "muster_network::device", "rstar"),
        below("geo-stands-alone", "geo/src/ring.rs", "muster_cap", "crate::point"),
        below("retrieval-stands-alone", "retrieval/src/rank/fuse.rs", "muster_models::EmbedModel", "crate::text"),
        below("retrieval-stands-alone", "retrieval/src/text/index.rs", "tokio::sync", "roaring"),
        sample(
            "providers-stand-below-the-actors",
            ("providers/Cargo.toml", "[target.'cfg(unix)'.dependencies]\nmuster-actors.workspace = true"),
            ("providers/Cargo.toml", "[dependencies]\nmuster-models.workspace = true"),
        ),
    ]
}

fn settings() -> Vec<Sample> {
    let (env, file) = ("environment-is-read-in-config", "settings-are-read-in-config");
    vec![
        sample(
            env,
            ("src/http/health.rs", "fn f() { let v = std::env::var(\"A\"); }"),
            ("src/http/health.rs", "fn f() { let v = env!(\"CARGO_PKG_VERSION\"); }"),
        ),
        sample(
            env,
            ("providers/src/openai/mod.rs", "use std::{collections::BTreeMap, env as surroundings};"),
            ("src/config/overrides.rs", "use std::{collections::BTreeMap, env as surroundings};"),
        ),
        sample(env, ("src/app.rs", "use std::env::args;"), ("src/cli/mod.rs", "use std::env::args;")),
        sample(
            env,
            ("models/src/helper.rs", "fn dir() { std::env::temp_dir(); }"),
            ("models/tests/helper.rs", "fn dir() { std::env::temp_dir(); }"),
        ),
        sample(
            file,
            ("src/app.rs", "const AT: &str = \"/etc/muster/config.toml\";"),
            ("src/app.rs", "const MEND: &str = \"set [llm] model in config.toml\";"),
        ),
        sample(
            file,
            ("actors/src/limits/actor.rs", "fn f() { read(r#\"config.toml\"#) }"),
            ("src/config.rs", "fn f() { read(r#\"config.toml\"#) }"),
        ),
    ]
}

fn forms() -> Vec<Sample> {
    let keyword = "no-unsafe";
    let (lines, sleep) = ("short-files", "no-sleep-in-tests");
    let (long, short) = ("fn f() {}\n".repeat(501), "fn f() {}\n".repeat(500));
    let tested = format!("{short}#[cfg(test)]\nmod tests {{\n{short}}}\n");
    vec![
        sample(
            keyword,
            ("src/app.rs", "fn f() { unsafe { g() } }"),
            ("src/app.rs", "#![forbid(unsafe_code)]\n// unsafe\nfn f() { g(\"unsafe\", 'u', x.r#unsafe); }"),
        ),
        sample(keyword, ("store/tests/store/disk.rs", "unsafe fn f() {}"), ("store/tests/store/disk.rs", "fn f() {}")),
        sample(
            "workspace-lints",
            ("engines/Cargo.toml", "[package]\nname = \"muster-engines\"\n[lints.rust]\nunused = \"allow\"\n"),
            ("engines/Cargo.toml", "[package]\nname = \"muster-engines\"\n[lints]\nworkspace = true\n"),
        ),
        sample(lines, ("store/src/port.rs", &long), ("store/src/port.rs", &tested)),
        sample(lines, ("tests/bad_input.rs", &long), ("tests/bad_input.rs", &short)),
        sample("short-main", ("src/main.rs", &short[..610]), ("src/main.rs", &short[..600])),
        sample(
            sleep,
            ("tests/chat.rs", "async fn f() { tokio::time::sleep(WAIT).await; }"),
            ("tests/chat.rs", "async fn f() { tokio::time::advance(WAIT).await; } // sleep(\nfn sleep() {}"),
        ),
        sample(
            sleep,
            ("actors/src/keys/actor.rs", "#[cfg(test)]\nmod tests { fn f() { std::thread::sleep(WAIT); } }"),
            ("actors/src/keys/actor.rs", "fn f() { std::thread::sleep(WAIT); }\n#[cfg(test)]\nmod tests {}"),
        ),
        Sample {
            rule: sleep,
            offends: vec![
                ("actors/src/world.rs", "fn f() { sleep_until (then); }".to_owned()),
                ("actors/src/lib.rs", "#[cfg(test)]\npub(crate) mod world;".to_owned()),
            ],
            innocent: vec![
                ("actors/src/world.rs", "fn f() { sleep_until (then); }".to_owned()),
                ("actors/src/lib.rs", "#[cfg(not(test))]\npub(crate) mod world;".to_owned()),
            ],
        },
        sample(
            sleep,
            ("tests/openai_client/test_openai.py", "import time\ntime.sleep(1)\n"),
            ("tests/openai_client/test_openai.py", "# no time.sleep(1) here\nevent.wait(5)\n"),
        ),
    ]
}
