//! Requests are judged by their head: whoever is refused does not send a body.

use futures::future::join_all;
use serde_json::json;

use super::raw::{JSON, Raw, Route, credential, key_with, routes};
use crate::support::KEY;
use crate::support::server::Muster;
use crate::support::upstream::{Upstream, UpstreamAction};

/// One request a minute in the categories of these tests' routes.
const ONE: &str = "[limits]\nperson = 1\n[limits.agent]\nchat = 1\nmemory = 1\n";

fn upstream() -> Upstream {
    Upstream::start(UpstreamAction::Answer(&["hello"]))
}

/// The head of a large body that is announced by its length, or not at all.
fn lengths() -> [String; 2] {
    [format!("{JSON}Content-Length: 1000000\r\n"), format!("{JSON}Transfer-Encoding: chunked\r\n")]
}

#[tokio::test]
async fn a_request_over_its_limit_is_refused_before_its_body_is_sent() {
    let limits = json!({ "requests_per_minute": 1, "requests_per_hour": 100, "requests_per_day": 100 });
    let upstream = upstream();
    let settings = upstream.provider("one", "alpha") + ONE;
    let common = Muster::start(&settings);
    for mut route in routes("alpha") {
        // There is one user, and keys are made in the category of the route for keys.
        let own = match route.path.as_str() {
            "/api/v1/keys" => Some(Muster::start(&format!("{settings}health = 1\n"))),
            _ => route.for_people.then(|| Muster::start(&settings)),
        };
        let muster = own.as_ref().unwrap_or(&common);
        if route.path == "/api/v1/keys" {
            // A key cannot make one with fewer limits than its own.
            route.good["limits"] = limits.clone();
        }
        let limits = limits.clone();
        let key = credential(muster, &route, &key_with(&muster.client(), limits).await).await;
        let client = muster.client().with(key.clone());
        let first = client.post(&route.path, &route.good).await;
        assert!(first.status < 300, "{}: {} {}", route.path, first.status, first.text);
        for length in lengths() {
            let mut raw = Raw::open(muster).await;
            raw.head("POST", &route.path, &key, &length).await;
            let refused = raw.response().await;
            assert_eq!(refused.status, 429, "{}: {}", route.path, refused.text);
            assert!(refused.number("retry-after").is_some_and(|seconds| (1..=60).contains(&seconds)), "{}", route.path);
            raw.closed().await;
        }
    }
}

#[tokio::test]
async fn a_key_without_tokens_is_refused_before_its_body_is_sent() {
    let upstream = upstream();
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    // Two answers of the upstream, which reports eight tokens for each.
    let key = key_with(&muster.client(), json!({ "tokens_per_minute": 16, "tokens_per_day": 16 })).await;
    let client = muster.client().with(key.clone());
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let small = json!({ "model": "alpha", "messages": turns, "max_tokens": 1 });
    for _ in 0..2 {
        let served = client.post("/v1/chat/completions", &small).await;
        assert_eq!(served.status, 200, "{}", served.text);
    }
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        for length in lengths() {
            let mut raw = Raw::open(&muster).await;
            raw.head("POST", path, &key, &length).await;
            let refused = raw.response().await;
            assert_eq!(refused.status, 429, "{path}: {}", refused.text);
            assert!(refused.text.contains("16 tokens per minute"), "{path}: {}", refused.text);
        }
    }
    let counted = client.post("/v1/messages/count_tokens", &json!({ "model": "alpha", "messages": turns })).await;
    assert_eq!(counted.status, 200, "counting costs no tokens: {}", counted.text);
}

#[tokio::test]
async fn tokens_of_a_body_that_comes_after_its_head_are_reserved_once() {
    let upstream = upstream();
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    let limits = json!({ "requests_per_minute": 10, "tokens_per_minute": 1000 });
    let key = key_with(&muster.client(), limits).await;
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let body = json!({ "model": "alpha", "messages": turns, "max_tokens": 5 }).to_string();
    for (left, apart) in [(9, false), (8, true), (7, true)] {
        let mut raw = Raw::open(&muster).await;
        let head = format!("{JSON}Content-Length: {}\r\n", body.len());
        raw.head("POST", "/v1/chat/completions", &key, &head).await;
        if apart {
            // The server has called the route when it answers another connection of the same thread or any other.
            for _ in 0..4 {
                assert_eq!(muster.client().get("/api/health/live").await.status, 200);
            }
        }
        assert!(raw.send(body.as_bytes()).await);
        let served = raw.response().await;
        assert_eq!(served.status, 200, "{}", served.text);
        assert_eq!(served.number("x-ratelimit-remaining-requests"), Some(left), "one request each");
        let reserved = 1000 - served.number("x-ratelimit-remaining-tokens").unwrap();
        let settled = 8 * (9 - left);
        assert!((settled + 5..settled + 30).contains(&reserved), "{reserved} after {settled}");
    }
}

#[tokio::test]
async fn what_the_head_shows_to_be_wrong_is_refused_before_the_body_is_sent() {
    let upstream = upstream();
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    join_all(routes("alpha").into_iter().map(async |route| {
        let key = credential(&muster, &route, KEY).await;
        let images = route.path.starts_with("/v1/") || route.path == "/api/llm/chat";
        let most = if images { 24 << 20 } else { 1 << 20 };
        let large = format!("{JSON}Content-Length: {}\r\n", most + 1);
        let text = "Content-Type: text/plain\r\nContent-Length: 100\r\n";
        for (key, head, status) in [(&*key, &*large, 413), (&*key, text, 415), ("mst_wrong", &*large, 401)] {
            let mut raw = Raw::open(&muster).await;
            raw.head("POST", &route.path, key, head).await;
            let refused = raw.response().await;
            assert_eq!(refused.status, status, "{}: {}", route.path, refused.text);
            if status == 413 {
                assert!(refused.text.contains(&most.to_string()), "{}: {}", route.path, refused.text);
            }
            raw.closed().await;
        }
    }))
    .await;
    // Credentials are short, and come from clients that nobody knows.
    for path in ["/api/v1/auth/login", "/api/v1/auth/refresh", "/api/v1/auth/cli/login", "/api/v1/auth/service/login"] {
        let mut raw = Raw::open(&muster).await;
        raw.head("POST", path, "", &format!("{JSON}Content-Length: 1000000\r\n")).await;
        let refused = raw.response().await;
        assert_eq!(refused.status, 413, "{path}: {}", refused.text);
        assert!(refused.text.contains("16384"), "{}", refused.text);
    }
    let token = credential(&muster, &Route { for_people: true, ..routes("alpha").remove(0) }, KEY).await;
    let mut raw = Raw::open(&muster).await;
    let xml = "Content-Type: application/cap+xml\r\nContent-Length: 1048577\r\n";
    raw.head("POST", "/api/v1/cap", &token, xml).await;
    assert_eq!(raw.response().await.status, 413);
}

#[tokio::test]
async fn a_client_that_expects_100_continue_gets_it_or_the_final_response() {
    let upstream = upstream();
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    for route in routes("alpha") {
        let key = credential(&muster, &route, KEY).await;
        let mut raw = Raw::open(&muster).await;
        let body = route.good.to_string();
        let head = format!("{JSON}Content-Length: {}\r\nExpect: 100-continue\r\n", body.len());
        raw.head("POST", &route.path, &key, &head).await;
        assert_eq!(raw.response_head().await.0, 100, "{}", route.path);
        assert!(raw.send(body.as_bytes()).await);
        let answer = raw.response().await;
        assert!(answer.status < 300, "{}: {} {}", route.path, answer.status, answer.text);

        let large = format!("{JSON}Content-Length: 99999999\r\nExpect: 100-continue\r\n");
        for (key, head, status) in [(&*key, &*large, 413), ("mst_wrong", &*head, 401)] {
            let mut raw = Raw::open(&muster).await;
            raw.head("POST", &route.path, key, head).await;
            assert_eq!(raw.response().await.status, status, "{}", route.path);
        }
    }
    let mut raw = Raw::open(&muster).await;
    raw.head("POST", "/none", KEY, &format!("{JSON}Content-Length: 2\r\nExpect: 100-continue\r\n")).await;
    assert_eq!(raw.response().await.status, 404);
    let mut raw = Raw::open(&muster).await;
    let login = json!({ "email": "nobody@example.org", "password": "x" }).to_string();
    let head = format!("{JSON}Content-Length: {}\r\nExpect: 100-continue\r\n", login.len());
    raw.head("POST", "/api/v1/auth/login", "", &head).await;
    assert_eq!(raw.response_head().await.0, 100);
    assert!(raw.send(login.as_bytes()).await);
    assert_eq!(raw.response().await.status, 401);
}

#[tokio::test]
async fn a_request_that_waits_for_100_continue_is_counted_once() {
    let muster = Muster::start("[limits.agent]\nmemory = 3\n");
    let key = key_with(&muster.client(), json!(null)).await;
    let body = json!({ "key": "k", "value": "v" }).to_string();
    let expecting = format!("{JSON}Content-Length: {}\r\nExpect: 100-continue\r\n", body.len());
    for left in [2, 1, 0] {
        let mut raw = Raw::open(&muster).await;
        raw.head("POST", "/api/memory/store", &key, &expecting).await;
        assert_eq!(raw.response_head().await.0, 100);
        assert!(raw.send(body.as_bytes()).await);
        let stored = raw.response().await;
        assert!(stored.status < 300, "{}", stored.text);
        assert_eq!(stored.number("x-ratelimit-remaining"), Some(left));
        assert!(stored.header("x-request-id").is_some());
    }
    let mut raw = Raw::open(&muster).await;
    raw.head("POST", "/api/memory/store", &key, &expecting).await;
    let refused = raw.response().await;
    assert_eq!(refused.status, 429, "and no 100 before it");
    assert!(refused.number("retry-after").is_some());
}
