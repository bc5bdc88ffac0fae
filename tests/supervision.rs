//! Every actor is killed under load: callers get answers or a typed 503, never a hang, and nothing acknowledged is lost.

mod disaster;

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use muster_core::supervise::{ActorState, ActorStatus};
use serde_json::json;
use support::client::{Answer, Client, PATIENCE};
use support::dialect::Chat;
use support::server::Muster;
use support::upstream::{Act, Upstream};
use support::{EMAIL, PASSWORD};

/// What the load met so far.
#[derive(Default)]
struct Met {
    over: AtomicBool,
    /// Answers by what was asked and their status.
    answers: Mutex<BTreeMap<(&'static str, u16), usize>>,
    /// Keys that were acknowledged with 201.
    keys: Mutex<Vec<String>>,
    /// Records of the disaster network that were acknowledged, by path, in these versions.
    kept: Mutex<BTreeMap<String, Vec<u64>>>,
}

impl Met {
    fn going_on(&self) -> bool {
        !self.over.load(Ordering::Acquire)
    }

    /// An answer, or a typed 503 that says when to come back; anything else fails.
    fn note(&self, what: &'static str, got: &Answer) {
        if got.status == 503 {
            assert!(got.number("retry-after").is_some_and(|wait| wait >= 1), "{what}: no Retry-After: {}", got.text);
            let body = got.json();
            let typed = body["error_code"].is_string() || body["error"]["code"].is_string();
            assert!(typed, "{what}: {}", got.text);
        } else {
            assert!(matches!(got.status, 200 | 201), "{what}: {} {}", got.status, got.text);
        }
        *self.answers.lock().unwrap().entry((what, got.status)).or_default() += 1;
    }

    /// A record was acknowledged as it is.
    fn keep(&self, path: &str, record: &serde_json::Value) {
        // Of an image, `version` is the firmware's own.
        let version = record["record_version"]
            .as_u64()
            .or_else(|| record["version"].as_u64())
            .unwrap_or_else(|| panic!("{path}: {record}"));
        self.kept.lock().unwrap().entry(path.to_owned()).or_default().push(version);
    }
}

async fn chats(chat: Chat, client: &Client, met: &Met) {
    while met.going_on() {
        let got = chat.post(client, "alpha").await;
        met.note("chat", &got);
    }
}

/// A stream that began ends properly or with an honest error; one that did not is a refusal.
async fn streams(client: &Client, met: &Met) {
    while met.going_on() {
        let mut events = Chat::B.stream(client, "alpha").await;
        if events.status == 200 {
            let said = Chat::B.streamed(&mut events).await;
            assert!(said.done.is_some() || said.error.is_some(), "a stream just stopped: {said:?}");
        } else {
            assert_eq!(events.status, 503);
            assert!(events.headers.contains_key("retry-after"));
            events.rest().await;
        }
    }
}

async fn makes_keys(client: &Client, met: &Met) {
    while met.going_on() {
        let got =
            client.post("/api/v1/keys", &json!({ "name": "n", "scopes": ["chat"], "plan_b": "enterprise" })).await;
        met.note("keys", &got);
        if got.status == 201 {
            met.keys.lock().unwrap().push(got.json()["key"].as_str().unwrap().to_owned());
        }
    }
}

async fn asks_for_health(client: &Client, met: &Met) {
    while met.going_on() {
        met.note("health", &client.get("/api/health").await);
        met.note("status", &client.get("/api/v1/status").await);
    }
}

/// A spent limit stays spent, whatever dies.
async fn stays_refused(client: &Client, met: &Met) {
    while met.going_on() {
        let got = client.get("/v1/models").await;
        assert!(matches!(got.status, 429 | 503), "a spent limit let through: {} {}", got.status, got.text);
        *met.answers.lock().unwrap().entry(("spent", got.status)).or_default() += 1;
    }
}

/// A person whose tokens are refreshed on and on: an answer that is lost is asked for again.
async fn refreshes(client: &Client, met: &Met, mut token: String) {
    while met.going_on() {
        let got = client.post("/api/v1/auth/refresh", &json!({ "refresh_token": token })).await;
        met.note("refreshes", &got);
        if got.status == 200 {
            token = got.json()["data"]["refresh_token"].as_str().unwrap().to_owned();
        }
    }
}

fn state(muster: &Muster, path: &str) -> ActorStatus {
    muster.tree.snapshot().into_iter().find(|actor| actor.path == path).unwrap()
}

/// Kills each actor once and waits until it stands again.
async fn kills_all(muster: &Muster, met: &Met) -> BTreeSet<String> {
    let mut killed = BTreeSet::new();
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    for actor in muster.tree.snapshot() {
        // The load is at it before the next one dies.
        let seen = |met: &Met| met.answers.lock().unwrap().values().sum::<usize>();
        let (before, was) = (seen(met), state(muster, &actor.path));
        while seen(met) < before + 10 {
            looks.tick().await;
        }
        assert!(muster.tree.inject_panic(&actor.path), "{}: it was running", actor.path);
        loop {
            let now = state(muster, &actor.path);
            if now.restarts > was.restarts && now.state == ActorState::Running {
                assert_eq!(now.last_failure.unwrap().why, "panicked: injected fault", "{}", actor.path);
                break;
            }
            looks.tick().await;
        }
        killed.insert(actor.kind.to_owned());
    }
    killed
}

/// Names of all actor types in the library sources of the crates under `actors/`. Benches and tests are not included.
fn actor_types() -> BTreeSet<String> {
    let mut types = BTreeSet::new();
    for package in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("actors")).unwrap() {
        add_actor_types(&package.unwrap().path().join("src"), &mut types);
    }
    types
}

fn add_actor_types(folder: &Path, types: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().unwrap() == "tests" {
            continue;
        }
        if path.is_dir() {
            add_actor_types(&path, types);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let production = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let implementations = production.lines().filter_map(|line| line.trim().strip_prefix("impl Actor for "));
        types.extend(implementations.map(|rest| rest.split([' ', '<']).next().unwrap().to_owned()));
    }
}

#[tokio::test]
async fn every_actor_dies_under_load_and_nothing_is_lost() {
    let upstream = Upstream::start(Act::Answer(&["hello ", "there"]));
    let unlimited = "[limits]\nperson = \"unlimited\"\nlogin = \"unlimited\"\n\
                     [limits.agent]\nhealth = \"unlimited\"\nchat = \"unlimited\"\n";
    let muster = Muster::start(&(upstream.provider("one", "alpha") + unlimited));
    let client = muster.client();
    let limits = json!({ "requests_per_minute": 2, "requests_per_hour": 2 });
    let spender = json!({ "name": "spender", "scopes": ["chat"], "plan_b": "enterprise", "limits": limits });
    let spender = client.with(client.make_key(&spender).await);
    for _ in 0..2 {
        assert_eq!(spender.get("/v1/models").await.status, 200);
    }
    assert_eq!(spender.get("/v1/models").await.status, 429);

    let login = client.without_key().login(EMAIL, PASSWORD).await.1.json();
    let used = &login["data"]["refresh_token"];
    // The session's own actor stands from its first refresh.
    let refreshed = client.post("/api/v1/auth/refresh", &json!({ "refresh_token": used })).await.json();
    let token = refreshed["data"]["refresh_token"].as_str().unwrap().to_owned();

    let access = login["data"]["token"].as_str().unwrap().to_owned();
    let person = client.with(&access);
    let follower = disaster::Follower::open(&muster, &access).await;

    let met = Met::default();
    let killing = async {
        let killed = tokio::time::timeout(3 * PATIENCE, kills_all(&muster, &met)).await;
        met.over.store(true, Ordering::Release);
        killed.expect("every actor stands again")
    };
    let load = async {
        tokio::join!(
            join_all(Chat::ALL.map(|chat| chats(chat, &client, &met))),
            streams(&client, &met),
            join_all([makes_keys(&client, &met), makes_keys(&client, &met)]),
            asks_for_health(&client, &met),
            stays_refused(&spender, &met),
            refreshes(&client, &met, token),
            join_all(["a", "b"].map(|who| disaster::works(&person, &met, who))),
            disaster::reads(&person, &met),
        );
        let last = json!({ "title": "the last", "kind": "flood", "severity": "Severe" });
        assert_eq!(person.post("/api/v1/incidents", &last).await.status, 201);
    };
    let following = follower.follow(&muster, &access, "the last");
    let (killed, (), follower) = tokio::join!(killing, load, following);

    let existing = actor_types();
    assert!(existing.len() >= 4, "{existing:?}");
    assert_eq!(killed, existing, "every kind of actor that exists was killed");
    let answers = met.answers.lock().unwrap().clone();
    println!("answers by kind and status: {answers:?}");
    for (what, status) in [
        ("chat", 200),
        ("keys", 201),
        ("health", 200),
        ("status", 200),
        ("spent", 429),
        ("refreshes", 200),
        ("/api/v1/incidents", 201),
        ("/api/v1/devices", 201),
        ("/api/v1/geofences", 201),
        ("/api/v1/firmware/artifacts", 201),
        ("/api/v1/users", 201),
        ("triage", 200),
    ] {
        assert!(answers.get(&(what, status)).is_some_and(|&count| count > 0), "{what} was answered: {answers:?}");
    }

    let keys = std::mem::take(&mut *met.keys.lock().unwrap());
    let acknowledged = keys.len();
    for key in keys {
        assert_eq!(client.with(key).get("/v1/models").await.status, 200, "an acknowledged key works");
    }
    assert_eq!(spender.get("/v1/models").await.status, 429, "what was spent stays spent");
    println!("{acknowledged} keys were acknowledged, and all work");
    let kept = std::mem::take(&mut *met.kept.lock().unwrap());
    disaster::nothing_is_lost(&person, &kept, &follower).await;
    println!("{} records were acknowledged and are there, {} changes were told once", kept.len(), follower.told.len());
    let settled = muster.tree.snapshot();
    assert!(settled.iter().all(|actor| actor.state == ActorState::Running), "{settled:?}");
}
