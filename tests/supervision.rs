//! Every actor is killed under load: callers get answers or a typed 503, never a hang, and no acknowledged write is
//! lost.

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
use support::client::{Answer, Client, TEST_TIMEOUT};
use support::dialect::Chat;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};
use support::{EMAIL, PASSWORD};

/// Results of the load so far.
#[derive(Default)]
struct LoadResults {
    finished: AtomicBool,
    /// Number of responses by request and status.
    answers: Mutex<BTreeMap<(&'static str, u16), usize>>,
    /// Keys that were acknowledged with 201.
    keys: Mutex<Vec<String>>,
    /// Acknowledged versions of the disaster network's records, by path.
    acknowledged: Mutex<BTreeMap<String, Vec<u64>>>,
}

impl LoadResults {
    fn is_running(&self) -> bool {
        !self.finished.load(Ordering::Acquire)
    }

    /// Counts a response: a success or a typed 503 with Retry-After; anything else fails the test.
    fn record_response(&self, request: &'static str, got: &Answer) {
        if got.status == 503 {
            assert!(got.number("retry-after").is_some_and(|wait| wait >= 1), "{request}: no Retry-After: {}", got.text);
            let body = got.json();
            let typed = body["error_code"].is_string() || body["error"]["code"].is_string();
            assert!(typed, "{request}: {}", got.text);
        } else {
            assert!(matches!(got.status, 200 | 201), "{request}: {} {}", got.status, got.text);
        }
        *self.answers.lock().unwrap().entry((request, got.status)).or_default() += 1;
    }

    /// Records an acknowledged version.
    fn record_acknowledged(&self, path: &str, record: &serde_json::Value) {
        // The `version` of an image is the firmware's.
        let version = record["record_version"]
            .as_u64()
            .or_else(|| record["version"].as_u64())
            .unwrap_or_else(|| panic!("{path}: {record}"));
        self.acknowledged.lock().unwrap().entry(path.to_owned()).or_default().push(version);
    }
}

async fn chats(chat: Chat, client: &Client, results: &LoadResults) {
    while results.is_running() {
        let got = chat.post(client, "alpha").await;
        results.record_response("chat", &got);
    }
}

/// A started stream ends normally or with an error event; otherwise the request is rejected with 503.
async fn streams(client: &Client, results: &LoadResults) {
    while results.is_running() {
        let mut events = Chat::B.stream(client, "alpha").await;
        if events.status == 200 {
            let chat = Chat::B.streamed(&mut events).await;
            assert!(chat.done.is_some() || chat.error.is_some(), "a stream just stopped: {chat:?}");
        } else {
            assert_eq!(events.status, 503);
            assert!(events.headers.contains_key("retry-after"));
            events.rest().await;
        }
    }
}

async fn create_keys(client: &Client, results: &LoadResults) {
    while results.is_running() {
        let got =
            client.post("/api/v1/keys", &json!({ "name": "n", "scopes": ["chat"], "plan_b": "enterprise" })).await;
        results.record_response("keys", &got);
        if got.status == 201 {
            results.keys.lock().unwrap().push(got.json()["key"].as_str().unwrap().to_owned());
        }
    }
}

async fn poll_health(client: &Client, results: &LoadResults) {
    while results.is_running() {
        results.record_response("health", &client.get("/api/health").await);
        results.record_response("status", &client.get("/api/v1/status").await);
    }
}

/// An exhausted limit stays exhausted, whichever actor fails.
async fn call_over_limit(client: &Client, results: &LoadResults) {
    while results.is_running() {
        let got = client.get("/v1/models").await;
        assert!(matches!(got.status, 429 | 503), "a spent limit let through: {} {}", got.status, got.text);
        *results.answers.lock().unwrap().entry(("spent", got.status)).or_default() += 1;
    }
}

/// Refreshes a person's tokens continuously; a lost response is requested again with the same token.
async fn refreshes(client: &Client, results: &LoadResults, mut token: String) {
    while results.is_running() {
        let got = client.post("/api/v1/auth/refresh", &json!({ "refresh_token": token })).await;
        results.record_response("refreshes", &got);
        if got.status == 200 {
            token = got.json()["data"]["refresh_token"].as_str().unwrap().to_owned();
        }
    }
}

fn state(muster: &Muster, path: &str) -> ActorStatus {
    muster.tree.snapshot().into_iter().find(|actor| actor.path == path).unwrap()
}

/// Kills each actor once and waits until it is running again.
async fn kill_all(muster: &Muster, results: &LoadResults) -> BTreeSet<String> {
    let mut killed = BTreeSet::new();
    let mut interval = tokio::time::interval(Duration::from_millis(10));
    for actor in muster.tree.snapshot() {
        // Requests are in progress before the next actor is killed.
        let response_count = |results: &LoadResults| results.answers.lock().unwrap().values().sum::<usize>();
        let (before, was) = (response_count(results), state(muster, &actor.path));
        while response_count(results) < before + 10 {
            interval.tick().await;
        }
        assert!(muster.tree.inject_panic(&actor.path), "{}: it was running", actor.path);
        loop {
            let now = state(muster, &actor.path);
            if now.restarts > was.restarts && now.state == ActorState::Running {
                assert_eq!(now.last_failure.unwrap().why, "panicked: injected fault", "{}", actor.path);
                break;
            }
            interval.tick().await;
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
async fn every_actor_is_killed_under_load_and_nothing_is_lost() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello ", "there"]));
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
    // The session's actor exists from its first refresh.
    let refreshed = client.post("/api/v1/auth/refresh", &json!({ "refresh_token": used })).await.json();
    let token = refreshed["data"]["refresh_token"].as_str().unwrap().to_owned();

    let access = login["data"]["token"].as_str().unwrap().to_owned();
    let person = client.with(&access);
    let follower = disaster::Follower::open(&muster, &access).await;

    let results = LoadResults::default();
    let killing = async {
        let killed = tokio::time::timeout(3 * TEST_TIMEOUT, kill_all(&muster, &results)).await;
        results.finished.store(true, Ordering::Release);
        killed.expect("every actor is running again")
    };
    let load = async {
        tokio::join!(
            join_all(Chat::ALL.map(|chat| chats(chat, &client, &results))),
            streams(&client, &results),
            join_all([create_keys(&client, &results), create_keys(&client, &results)]),
            poll_health(&client, &results),
            call_over_limit(&spender, &results),
            refreshes(&client, &results, token),
            join_all(["a", "b"].map(|prefix| disaster::run_writes(&person, &results, prefix))),
            disaster::run_reads(&person, &results),
        );
        let last = json!({ "title": "the last", "kind": "flood", "severity": "Severe" });
        assert_eq!(person.post("/api/v1/incidents", &last).await.status, 201);
    };
    let following = follower.follow(&muster, &access, "the last");
    let (killed, (), follower) = tokio::join!(killing, load, following);

    let existing = actor_types();
    assert!(existing.len() >= 4, "{existing:?}");
    assert_eq!(killed, existing, "every kind of actor that exists was killed");
    let answers = results.answers.lock().unwrap().clone();
    println!("answers by kind and status: {answers:?}");
    for (request, status) in [
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
        assert!(answers.get(&(request, status)).is_some_and(|&count| count > 0), "{request} was answered: {answers:?}");
    }

    let keys = std::mem::take(&mut *results.keys.lock().unwrap());
    let acknowledged = keys.len();
    for key in keys {
        assert_eq!(client.with(key).get("/v1/models").await.status, 200, "an acknowledged key works");
    }
    assert_eq!(spender.get("/v1/models").await.status, 429, "what was spent stays spent");
    println!("{acknowledged} keys were acknowledged, and all work");
    let acknowledged = std::mem::take(&mut *results.acknowledged.lock().unwrap());
    disaster::assert_nothing_lost(&person, &acknowledged, &follower).await;
    println!(
        "{} acknowledged records exist, {} changes were published once",
        acknowledged.len(),
        follower.notifications.len()
    );
    let settled = muster.tree.snapshot();
    assert!(settled.iter().all(|actor| actor.state == ActorState::Running), "{settled:?}");
}
