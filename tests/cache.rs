//! The cache of answers: off by default, per key or team, bounded, and free of charge.

use crate::support;

use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Answer, Client, Event, answer};
use support::dialect::Chat;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

const WORDS: &[&str] = &["two ", "words"];

fn settings(upstream: &Upstream) -> String {
    upstream.provider("one", "alpha")
        + "price = { input_per_million = 1.0, output_per_million = 2.0 }\n[chain]\norder = [\"one\"]\n"
}

fn body(chat: Chat, text: &str) -> Value {
    let mut body = chat.request_body("alpha", text);
    body["temperature"] = json!(0);
    body
}

async fn key_with(admin: &Client, more: Value) -> Client {
    let mut body = json!({ "name": "n", "scopes": ["chat"], "plan_a": "enterprise", "plan_b": "enterprise" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    admin.with(admin.make_key(&body).await)
}

async fn with_control(client: &Client, control: &str, body: &Value) -> Answer {
    let got = answer(client.post_request("/v1/chat/completions", body).header("cache-control", control)).await;
    assert_eq!(got.status, 200, "{}", got.text);
    got
}

/// What a client sees of an answer, without identifiers and times.
fn plain(mut answer: Value) -> Value {
    for part in ["id", "created", "created_at", "timestamp", "request_id", "latency_ms", "completed_at", "attempts"] {
        answer.as_object_mut().unwrap().remove(part);
    }
    if let Some(output) = answer.get_mut("output").and_then(Value::as_array_mut) {
        output.iter_mut().for_each(|item| drop(item.as_object_mut().unwrap().remove("id")));
    }
    answer
}

#[tokio::test]
async fn an_identical_request_is_answered_from_the_cache_in_every_dialect() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&settings(&upstream));
    let client = key_with(&muster.client(), json!({ "cache_seconds": 600 })).await;
    for chat in Chat::EVERY {
        let before = upstream.requests();
        let first = client.post(chat.path(), &body(chat, "hi")).await;
        assert_eq!((first.status, first.header("x-muster-cache")), (200, Some("miss")), "{chat:?}: {}", first.text);
        let second = client.post(chat.path(), &body(chat, "hi")).await;
        assert_eq!((second.status, second.header("x-muster-cache")), (200, Some("hit")), "{chat:?}: {}", second.text);
        assert!(second.number("age").is_some_and(|age| age < 60), "{chat:?}");
        assert_eq!(first.header("age"), None);
        assert_eq!(plain(first.json()), plain(second.json()), "{chat:?}");
        let other = client.post(chat.path(), &body(chat, "ho")).await;
        assert_eq!(other.header("x-muster-cache"), Some("miss"), "{chat:?}");

        // A stream is an answer of its own, and is repeated as a stream.
        let mut streamed = body(chat, "hi");
        streamed["stream"] = true.into();
        let mut first = client.stream(chat.path(), &streamed).await;
        assert_eq!(first.headers["x-muster-cache"], "miss", "{chat:?}");
        let first = first.rest().await;
        let mut second = client.stream(chat.path(), &streamed).await;
        assert_eq!(
            (&second.headers["x-muster-cache"], second.headers.contains_key("age")),
            (&"hit".parse().unwrap(), true)
        );
        let second = second.rest().await;
        let names = |events: &[Event]| events.iter().map(|event| event.name.clone()).collect::<Vec<_>>();
        assert_eq!((first.len(), names(&first)), (second.len(), names(&second)), "{chat:?}");
        assert!(second.iter().any(|event| event.data.contains("words")), "{chat:?}: {second:?}");
        assert_eq!(upstream.requests() - before, 3, "{chat:?}");
    }
    let report = client.get("/api/v1/usage").await.json();
    let total = &report["total"];
    assert_eq!((&total["requests"], &total["cached_requests"]), (&json!(25), &json!(10)), "{report}");
    let cost = total["cost_usd"].as_f64().unwrap();
    assert!((cost - 15.0 * 11e-6).abs() < 1e-12, "what is cached costs nothing: {report}");
    assert_eq!(total["prompt_tokens"], 15 * 7, "{report}");
    let metrics = muster.client().get("/metrics").await.text;
    assert!(metrics.contains("muster_cache_requests_total{result=\"hit\"} 10"), "{metrics}");
}

#[tokio::test]
async fn nothing_is_cached_unless_key_or_team_says_so_and_never_across_keys() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&settings(&upstream));
    let admin = muster.client();
    let used = async |client: &Client| {
        let got = client.post("/v1/chat/completions", &body(Chat::B, "hi")).await;
        (got.status, got.header("x-muster-cache").map(str::to_owned))
    };
    let (miss, hit) = ((200, Some("miss".to_owned())), (200, Some("hit".to_owned())));
    let off = key_with(&admin, json!({})).await;
    assert_eq!((used(&off).await, used(&off).await), ((200, None), (200, None)));
    let (one, other) = (
        key_with(&admin, json!({ "cache_seconds": 60 })).await,
        key_with(&admin, json!({ "cache_seconds": 60 })).await,
    );
    assert_eq!((used(&one).await, used(&other).await), (miss.clone(), miss.clone()), "each key has its own");
    assert_eq!((used(&one).await, used(&other).await), (hit.clone(), hit.clone()));

    // The operator lets a team share answers; a key may have its own, or none.
    let team = admin.post("/api/v1/teams", &json!({ "name": "t", "cache_seconds": 60 })).await.json()["id"].clone();
    let first = key_with(&admin, json!({ "team": team })).await;
    let second = key_with(&admin, json!({ "team": team })).await;
    assert_eq!((used(&first).await, used(&second).await), (miss.clone(), hit.clone()));
    let alone = key_with(&admin, json!({ "team": team, "cache_seconds": 60 })).await;
    let none = key_with(&admin, json!({ "team": team, "cache_seconds": 0 })).await;
    assert_eq!((used(&alone).await, used(&none).await), (miss.clone(), (200, None)));
    // What a key may not use, it does not get from the team's cache.
    let bound = key_with(&admin, json!({ "team": team, "models": ["other"] })).await;
    assert_eq!(used(&bound).await.0, 403);

    // An edit counts at once.
    let path = format!("/api/v1/teams/{}", team.as_str().unwrap());
    let edit = admin.request(Method::PATCH, &path).header("content-type", "application/json").header("if-match", "*");
    assert_eq!(answer(edit.body("{\"cache_seconds\":null}")).await.status, 200);
    assert_eq!(used(&first).await, (200, None));
}

#[tokio::test]
async fn cache_control_of_the_request_is_honoured() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&settings(&upstream));
    let client = key_with(&muster.client(), json!({ "cache_seconds": 600 })).await;
    let body = body(Chat::B, "hi");
    assert_eq!(with_control(&client, "no-store", &body).await.header("x-muster-cache"), None);
    assert_eq!(
        with_control(&client, "max-age=60", &body).await.header("x-muster-cache"),
        Some("miss"),
        "nothing was stored"
    );
    assert_eq!(with_control(&client, "max-age=60", &body).await.header("x-muster-cache"), Some("hit"));
    assert_eq!(with_control(&client, "no-store", &body).await.header("x-muster-cache"), None);
    upstream.set_action(UpstreamAction::Answer(&["fresh"]));
    let fresh = with_control(&client, "no-cache", &body).await;
    assert!(fresh.header("x-muster-cache") == Some("miss") && fresh.text.contains("fresh"), "{}", fresh.text);
    let stored = with_control(&client, "max-age=60", &body).await;
    assert!(
        stored.header("x-muster-cache") == Some("hit") && stored.text.contains("fresh"),
        "it was stored: {}",
        stored.text
    );
}

#[tokio::test]
async fn errors_and_other_requests_are_not_answered_from_the_cache() {
    let upstream = Upstream::start(UpstreamAction::Status(400, "", "{\"error\":{\"message\":\"no\"}}"));
    let muster = Muster::start(&settings(&upstream));
    let client = key_with(&muster.client(), json!({ "cache_seconds": 600 })).await;
    let body = body(Chat::B, "hi");
    assert_eq!(client.post("/v1/chat/completions", &body).await.status, 400);
    let mut streamed = body.clone();
    streamed["stream"] = true.into();
    upstream.set_action(UpstreamAction::CutAfter(2));
    client.stream("/v1/chat/completions", &streamed).await.rest().await;
    upstream.set_action(UpstreamAction::Answer(WORDS));
    assert_eq!(client.post("/v1/chat/completions", &body).await.header("x-muster-cache"), Some("miss"));
    let events = client.stream("/v1/chat/completions", &streamed).await;
    assert_eq!(events.headers["x-muster-cache"], "miss", "a broken stream is not stored");
    for temperature in [json!(0.5), Value::Null] {
        let mut varying = body.clone();
        varying["temperature"] = temperature;
        for used in ["miss", "hit"] {
            let got = client.post("/v1/chat/completions", &varying).await;
            assert_eq!(got.header("x-muster-cache"), Some(used), "{varying}");
        }
    }
    let mut sampled = body.clone();
    sampled["seed"] = json!(1);
    assert_eq!(
        client.post("/v1/chat/completions", &sampled).await.header("x-muster-cache"),
        Some("miss"),
        "another request"
    );
    // The order of members and the tags make no difference.
    let same =
        json!({ "metadata": { "tags": ["a"] }, "temperature": 0, "messages": body["messages"], "model": "alpha" });
    assert_eq!(client.post("/v1/chat/completions", &same).await.header("x-muster-cache"), Some("hit"));
}

#[tokio::test]
async fn the_cache_is_bounded_and_can_be_turned_off() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    for (bytes, kept) in [(0, None), (64 << 10, Some(false))] {
        let muster = Muster::start(&(settings(&upstream) + &format!("[cache]\nmax_bytes = {bytes}\n")));
        let client = key_with(&muster.client(), json!({ "cache_seconds": 600 })).await;
        let used = async |n: usize| {
            let got = client.post("/v1/chat/completions", &body(Chat::B, &n.to_string())).await;
            got.header("x-muster-cache").map(|used| used == "hit")
        };
        assert_eq!(used(0).await, kept);
        for n in 1..40 {
            used(n).await;
        }
        // Of 8 KiB for this key, the last answer is there and the first is not.
        assert_eq!(used(39).await, kept.map(|_| true));
        assert_eq!(used(0).await, kept.map(|_| false));
    }
}
