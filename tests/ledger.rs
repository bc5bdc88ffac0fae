//! The ledger and its budgets, over HTTP: one line per request in every dialect, exact under races and kills.

use crate::support;

use futures::future::join_all;
use serde_json::{Value, json};
use support::KEY;
use support::client::{Answer, Client};
use support::dialect::Chat;
use support::process::Launch;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

/// A model of the catalogue: 0.20 USD per million prompt tokens, 1.20 per million of the answer.
const MODEL: &str = "gpt-5.6-luna";
/// The upstream counts 7 tokens of prompt and one for each word.
const WORDS: &[&str] = &["two ", "words"];
/// 7 × 200 + 2 × 1200 billionths of a dollar.
const COST_USD: f64 = 3_800e-9;

fn priced(upstream: &Upstream) -> String {
    upstream.provider("openai", MODEL).replace("[[provider]]\n", "[[provider]]\napi_key_env = \"\"\n")
}

async fn usage(client: &Client, query: &str) -> Value {
    let got = client.get(&format!("/api/v1/usage{query}")).await;
    assert_eq!(got.status, 200, "{}", got.text);
    got.json()
}

fn close(figure: &Value, expected: f64) {
    let figure = figure.as_f64().unwrap();
    assert!((figure - expected).abs() < 1e-12, "{figure}, not {expected}");
}

async fn post_chat(client: &Client, max_tokens: u32) -> Answer {
    let turns = json!([{ "role": "user", "content": "say two words" }]);
    let body = json!({ "model": MODEL, "messages": turns, "max_tokens": max_tokens });
    client.post("/v1/chat/completions", &body).await
}

#[tokio::test]
async fn every_endpoint_settles_in_one_ledger() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&priced(&upstream));
    let admin = muster.client();
    let client = admin.with(admin.make_key(&json!({ "name": "n", "scopes": ["chat"], "plan_b": "pro" })).await);
    let mut calls = 0;
    for chat in Chat::ALL {
        assert_eq!(chat.post(&client, MODEL).await.status, 200);
        chat.stream(&client, MODEL).await.rest().await;
        calls += 2;
    }
    let turns = json!([{ "role": "user", "content": "say two words" }]);
    for (path, body) in [
        ("/api/q159/llm/chat", json!({ "models": [MODEL, "muster-core"], "messages": turns })),
        ("/v1/messages", json!({ "model": MODEL, "max_tokens": 9, "messages": turns })),
        ("/v1/responses", json!({ "model": MODEL, "input": "say two words" })),
        ("/chat/completions", json!({ "model": MODEL, "messages": turns })),
    ] {
        assert_eq!(client.post(path, &body).await.status, 200, "{path}");
        calls += 1;
    }
    let report = usage(&client, "").await;
    let rows = report["usage"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "one key, one model, one day: {report}");
    for sums in [&report["total"], &rows[0]] {
        assert_eq!((&sums["requests"], &sums["failed"], &sums["cancelled"]), (&json!(calls), &json!(0), &json!(0)));
        assert_eq!((&sums["prompt_tokens"], &sums["completion_tokens"]), (&json!(7 * calls), &json!(2 * calls)));
        assert_eq!((&sums["estimated_requests"], &sums["unpriced_requests"]), (&json!(0), &json!(0)));
        close(&sums["cost_usd"], COST_USD * f64::from(calls));
    }
    assert_eq!((&rows[0]["model"], rows[0]["day"].as_str().unwrap().len()), (&json!(MODEL), 10));
    assert!(report["budget"]["limit_usd"].is_null());

    // A failure has a line too, and costs nothing.
    upstream.set_action(UpstreamAction::Status(500, "", "{}"));
    assert_eq!(post_chat(&client, 9).await.status, 502);
    let after = usage(&client, "").await;
    assert_eq!((&after["total"]["requests"], &after["total"]["failed"]), (&json!(calls + 1), &json!(1)));
    close(&after["total"]["cost_usd"], COST_USD * f64::from(calls));
}

#[tokio::test]
async fn a_key_sees_its_own_and_an_admin_all() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&priced(&upstream));
    let admin = muster.client();
    let made = admin.post("/api/v1/keys", &json!({ "name": "n", "scopes": ["chat"] })).await.json();
    let client = admin.with(made["key"].as_str().unwrap());
    assert_eq!((post_chat(&client, 9).await.status, post_chat(&admin, 9).await.status), (200, 200));
    let id = made["id"].as_str().unwrap();
    assert_eq!(usage(&client, "").await["usage"][0]["key_id"], made["id"]);
    assert_eq!(usage(&admin, &format!("?key={id}")).await["usage"], usage(&client, "").await["usage"]);
    assert_eq!(usage(&admin, "?key=all").await["total"]["requests"], 2);
    assert_eq!(usage(&admin, "?key=all&model=other").await["total"]["requests"], 0);
    assert_eq!(usage(&client, "?from=2020-01-01&to=2020-01-31").await["usage"], json!([]));
    assert_eq!(client.get("/api/v1/usage?key=all").await.status, 403);
    for bad in
        ["?from=yesterday", "?from=2026-02-30", "?from=2026-02-02&to=2026-02-01", "?from=2020-01-01&to=2026-01-01"]
    {
        let got = client.get(&format!("/api/v1/usage{bad}")).await;
        assert_eq!(got.status, 422, "{bad}: {}", got.text);
    }
}

#[tokio::test]
async fn a_keys_budget_holds_under_a_race_and_is_then_spent_to_the_last_call() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&(priced(&upstream) + "[chain]\norder = [\"openai\"]\n"));
    let admin = muster.client();
    let limit = 200_000e-9;
    let key = json!({ "name": "n", "scopes": ["chat"], "plan_b": "enterprise", "budget_usd": limit });
    let client = admin.with(admin.make_key(&key).await);
    let mut answered = 0;
    // Each may cost 10 × 1200 and its prompt: the race is for some sixteen places.
    for got in join_all((0..64).map(|_| post_chat(&client, 10))).await {
        match got.status {
            200 => answered += 1,
            429 => {
                let error = &got.json()["error"];
                assert_eq!(
                    (&error["code"], &error["type"]),
                    (&json!("insufficient_quota"), &json!("rate_limit_error"))
                );
                // The end of the month is far away: clients that would sleep until then are sent no Retry-After.
                let wait = got.number("retry-after").unwrap();
                assert!(wait <= 31 * 24 * 3600, "{wait}");
                assert_eq!(got.header("x-should-retry"), (wait > 120).then_some("false"));
            }
            other => panic!("{other}: {}", got.text),
        }
    }
    assert!(answered > 0);
    // A hold that was not spent is released: further requests are admitted one by one until the budget is exhausted.
    while post_chat(&client, 10).await.status == 200 {
        answered += 1;
    }
    let budget = usage(&client, "").await["budget"].clone();
    let spent = budget["spent_usd"].as_f64().unwrap();
    close(&budget["spent_usd"], COST_USD * f64::from(answered));
    assert_eq!(budget["held_usd"].as_f64(), Some(0.0));
    assert!(spent <= limit && spent + 20_000e-9 > limit, "{spent} of {limit}");

    let muster = Muster::start_in(muster.stop(), &priced(&upstream));
    let client = client.at(format!("http://{}", muster.address));
    assert_eq!(usage(&client, "").await["budget"]["spent_usd"].as_f64(), Some(spent), "it outlives a restart");
}

#[tokio::test]
async fn a_model_without_room_is_passed_over() {
    let (cheap, dear) =
        (Upstream::start(UpstreamAction::Answer(WORDS)), Upstream::start(UpstreamAction::Answer(WORDS)));
    let settings = dear.provider("openai", "gpt-5.6").replace("[[provider]]\n", "[[provider]]\napi_key_env = \"\"\n")
        + &cheap.provider("other", "local")
        + "price = { input_per_million = 0.0, output_per_million = 0.0 }\n"
        + "[budget]\nmodels = { \"gpt-5.6\" = 0.0005 }\n";
    let muster = Muster::start(&settings);
    let client = muster.client();
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let body = |models: Value, more: Value| {
        let mut body = json!({ "models": models, "messages": turns, "max_tokens": 20 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    // 20 USD per million: 20 tokens may cost 0.0004, so one fits at a time and one was spent: 7 × 4 + 2 × 20 = 68 µUSD.
    let first = client.post("/api/q159/llm/chat", &body(json!(["gpt-5.6", "local"]), json!({}))).await.json();
    assert_eq!((&first["provider"], &first["model"]), (&json!("openai"), &json!("gpt-5.6")));
    close(&first["budget"]["spent_usd"], 68e-6);
    assert_eq!((&first["budget"]["model"], &first["budget"]["limit_usd"]), (&json!("gpt-5.6"), &json!(0.0005)));
    assert_eq!((&first["breaker"], &first["finish_reason"]), (&json!("closed"), &json!("stop")));
    assert!(first["budget"]["resets_at"].as_str().unwrap().ends_with("-01T00:00:00.000Z"));
    let second =
        client.post("/api/q159/llm/chat", &body(json!(["gpt-5.6", "local"]), json!({ "max_tokens": 30 }))).await;
    let second = second.json();
    assert_eq!(second["provider"], "other", "0.0006 has no room: {second}");
    let tried: Vec<_> = second["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(tried, ["budget_exhausted", "ok"]);

    let alone = client.post("/api/q159/llm/chat", &body(json!(["gpt-5.6"]), json!({ "budget_usd": 0.0001 }))).await;
    assert_eq!(alone.status, 429, "no other model was asked for: {}", alone.text);
    let bound = json!({ "budget_usd": 0.0001 });
    let refused = client.post("/api/q159/llm/chat", &body(json!(["gpt-5.6", "openai/gpt-5.6"]), bound)).await;
    assert_eq!((refused.status, &refused.json()["error_code"]), (429, &json!("BUDGET_EXHAUSTED")), "{}", refused.text);
    assert_eq!(dear.requests(), 1, "what has no room is not called");
}

#[tokio::test]
async fn what_has_no_known_price_is_not_for_keys_with_a_budget() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let order = "[chain]\norder = [\"one\"]\n";
    let muster = Muster::start(&(upstream.provider("one", "own-model") + order));
    let admin = muster.client();
    let key = json!({ "name": "n", "scopes": ["chat"], "budget_usd": 5.0 });
    let body = json!({ "model": "own-model", "messages": [{ "role": "user", "content": "hi" }] });
    let refused = admin.with(admin.make_key(&key).await).post("/v1/chat/completions", &body).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("model_unpriced")), "{}", refused.text);
    assert!(refused.text.contains("price"), "it explains the remedy: {}", refused.text);
    assert_eq!(admin.post("/v1/chat/completions", &body).await.status, 200, "without a budget it is only unpriced");
    assert_eq!(usage(&admin, "").await["total"]["unpriced_requests"], 1);

    let price = "price = { input_per_million = 1.0, output_per_million = 10.0 }\n";
    let muster = Muster::start(&(upstream.provider("one", "own-model") + price + order));
    let admin = muster.client();
    let client = admin.with(admin.make_key(&key).await);
    assert_eq!(client.post("/v1/chat/completions", &body).await.status, 200);
    close(&usage(&client, "").await["total"]["cost_usd"], 27e-6);
    let model = admin.get("/v1/models/own-model").await.json();
    let listed = json!({ "input_per_million": 1.0, "output_per_million": 10.0 });
    assert_eq!(model["pricing"], listed, "the list has the price charged");
}

#[tokio::test]
async fn the_gateways_own_bounds() {
    let (slow, quick) =
        (Upstream::start(UpstreamAction::HangBeforeHeaders), Upstream::start(UpstreamAction::Answer(WORDS)));
    let muster = Muster::start(&(slow.provider("slow", "a") + &quick.provider("quick", "b")));
    let client = muster.client();
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let hedged = json!({ "models": ["a", "b"], "messages": turns, "hedge_after_ms": 50 });
    let got = client.post("/api/q159/llm/chat", &hedged).await.json();
    let tried: Vec<_> = got["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!((&got["provider"], tried), (&json!("quick"), vec![&json!("cancelled"), &json!("ok")]));
    slow.client_disconnected().await;
    let late = json!({ "models": ["slow/a", "a"], "messages": turns, "deadline_ms": 200 });
    let got = client.post("/api/q159/llm/chat", &late).await;
    assert_eq!((got.status, &got.json()["error_code"]), (503, &json!("PROVIDER_FAILED")), "{}", got.text);
    slow.set_action(UpstreamAction::Status(500, "", "{}"));
    let before = slow.requests();
    let tries = json!({ "models": ["slow/a", "a"], "messages": turns, "max_retries": 0 });
    assert_eq!(client.post("/api/q159/llm/chat", &tries).await.status, 503);
    assert_eq!(slow.requests(), before + 1);
    for (field, bad) in [
        ("models", json!([])),
        ("models", json!("a")),
        ("budget_usd", json!(-1)),
        ("max_retries", json!(6)),
        ("deadline_ms", json!(0)),
        ("hedge_after_ms", json!(600_001)),
    ] {
        let mut body = json!({ "messages": turns });
        body[field] = bad;
        let got = client.post("/api/q159/llm/chat", &body).await;
        assert_eq!((got.status, &got.json()["detail"][0]["loc"]), (422, &json!(["body", field])), "{}", got.text);
    }
    let unknown = json!({ "models": ["b", "no-such-model"], "messages": turns });
    assert_eq!(client.post("/api/q159/llm/chat", &unknown).await.status, 404, "a misspelt name is not hidden");
    let streamed = json!({ "models": ["b", "a"], "messages": turns, "stream": true });
    let events = client.stream("/api/q159/llm/chat", &streamed).await.rest().await;
    let done: Value = serde_json::from_str(&events.last().unwrap().data).unwrap();
    assert_eq!((&done["content"], &done["budget"]["model"]), (&json!("two words"), &json!("b")));
}

/// Answered requests are in the ledger whenever the server is killed; holds of calls in flight are charged.
#[tokio::test]
async fn kill_9_loses_no_line_and_frees_no_budget() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), priced(&upstream)).unwrap();
    let mut process = Launch::new(folder.path()).start();
    let admin = Client::new(&process.url).with(KEY);
    let made = json!({ "name": "n", "scopes": ["chat"], "plan_b": "enterprise", "budget_usd": 1.0 });
    let mut client = admin.with(admin.make_key(&made).await);
    let mut answered = 0;
    for round in 1..=5 {
        for got in join_all((0..20).map(|_| post_chat(&client, 10))).await {
            assert_eq!(got.status, 200, "{}", got.text);
            answered += 1;
        }
        // One more call is in flight at the kill.
        upstream.set_action(UpstreamAction::Endless);
        let turns = json!([{ "role": "user", "content": "hi" }]);
        let body = json!({ "model": MODEL, "messages": turns, "max_tokens": 10, "stream": true });
        let mut held = client.stream("/v1/chat/completions", &body).await;
        held.next().await.unwrap();
        process.kill();
        upstream.set_action(UpstreamAction::Answer(WORDS));
        process = Launch::new(folder.path()).start();
        client = client.at(&process.url);
        let report = usage(&client, "").await;
        assert_eq!(report["total"]["requests"], answered, "round {round}: {report}");
        close(&report["total"]["cost_usd"], COST_USD * f64::from(answered));
        let unsettled = report["total"]["unsettled_usd"].as_f64().unwrap();
        assert!(unsettled >= 12_000e-9 * f64::from(round), "what was set aside is charged: {report}");
        close(&report["budget"]["spent_usd"], COST_USD * f64::from(answered) + unsettled);
    }
}
