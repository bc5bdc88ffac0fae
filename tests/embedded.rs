//! The embedded model behind the server: each dialect, limits, failure. Needs the small model's file.

#![cfg(feature = "llm")]
use crate::support;

use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use support::client::{Client, TEST_TIMEOUT};
use support::dialect::Chat;
use support::server::{Muster, small_model};

/// Waits, bounded, until the condition holds for the status.
async fn wait_until(client: &Client, description: &str, condition: impl Fn(&Value) -> bool) -> Value {
    let mut interval = tokio::time::interval(Duration::from_millis(50));
    let waiting = async {
        loop {
            interval.tick().await;
            let status = client.get("/api/v1/status").await.json();
            if condition(&status["embedded_model"]) {
                return status["embedded_model"].clone();
            }
        }
    };
    tokio::time::timeout(3 * TEST_TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{description} did not come"))
}

/// Starts a server and waits until its model is loaded; until then readiness reports it.
async fn ready() -> Option<(Muster, Client)> {
    let unlimited = "slots = 2\nthreads = 1\n[limits.agent]\nhealth = \"unlimited\"\nchat = \"unlimited\"\n";
    let muster = Muster::start(&(small_model()? + unlimited));
    let client = muster.client();
    let mut interval = tokio::time::interval(Duration::from_millis(50));
    let loading = async {
        loop {
            let got = client.without_key().get("/api/health/ready").await;
            if got.status == 200 {
                assert_eq!((&got.json()["ready"], &got.json()["model"]["state"]), (&json!(true), &json!("ready")));
                return;
            }
            assert_eq!(got.status, 503, "{}", got.text);
            assert!(got.number("retry-after").is_some() && got.text.contains("loading"), "{}", got.text);
            assert_eq!(client.get("/api/health/live").await.status, 200, "it is live while the model loads");
            interval.tick().await;
        }
    };
    tokio::time::timeout(3 * TEST_TIMEOUT, loading).await.expect("the model is loaded");
    Some((muster, client))
}

#[tokio::test]
async fn it_answers_in_each_dialect_whole_and_streamed() {
    let Some((_muster, client)) = ready().await else { return };
    for chat in Chat::ALL {
        // Greedy decoding, and a question whose published answer is short: interface A has no token limit.
        let mut body = chat.request_body("default", "What is the capital of Australia?");
        body["temperature"] = 0.into();
        let got = client.post(chat.path(), &body).await;
        assert_eq!(got.status, 200, "{chat:?}: {}", got.text);
        let output = chat.output(&got.json());
        assert!(output.text.contains("Canberra") && output.tokens > 5, "{output:?}");
        assert_eq!(output.model, "muster-core");
        assert!(output.provider.is_none_or(|provider| provider == "embedded"));

        body["stream"] = true.into();
        if chat == Chat::B {
            body["stream_options"] = json!({ "include_usage": true });
        }
        let mut events = client.stream(chat.path(), &body).await;
        assert_eq!(events.status, 200);
        let output = chat.streamed(&mut events).await;
        assert!(output.error.is_none() && output.deltas.len() > 1, "{chat:?} streams: {output:?}");
        let done = output.done.unwrap_or_else(|| panic!("{chat:?}: no proper end"));
        assert_eq!((done.text, done.model.as_str()), (output.deltas.concat(), "muster-core"), "{chat:?}");
        assert!(done.tokens > 5);
    }
}

#[tokio::test]
async fn it_keeps_to_a_schema_to_a_length_and_to_a_seed() {
    let Some((_muster, client)) = ready().await else { return };
    let path = Chat::B.path();
    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["city", "people"],
        "properties": { "city": { "enum": ["Paris", "Rome"] }, "people": { "type": "integer", "minimum": 0, "maximum": 9 } } });
    let mut body = Chat::B.request_body("default", "Name a city and how many people live there.");
    body["response_format"] =
        json!({ "type": "json_schema", "json_schema": { "name": "city", "schema": schema, "strict": true } });
    body["max_tokens"] = 64.into();
    let got = client.post(path, &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let city: Value = serde_json::from_str(&Chat::B.output(&got.json()).text).unwrap();
    assert!(["Paris", "Rome"].contains(&city["city"].as_str().unwrap()), "{city}");
    assert!((0..=9).contains(&city["people"].as_i64().unwrap()) && city.as_object().unwrap().len() == 2, "{city}");

    let mut body = Chat::B.request_body("default", "Write a long story about a ship.");
    body["max_tokens"] = 8.into();
    let got = client.post(path, &body).await.json();
    assert_eq!(got["choices"][0]["finish_reason"], "length");
    assert_eq!(got["usage"]["completion_tokens"], 8, "{got}");

    body["seed"] = 7.into();
    body["temperature"] = json!(1.0);
    let twice = [client.post(path, &body).await, client.post(path, &body).await];
    let [one, two] = twice.map(|got| Chat::B.output(&got.json()).text);
    assert_eq!(one, two, "the same seed, the same words");

    let long = "word ".repeat(20_000);
    let got = client.post(path, &Chat::B.request_body("default", &long)).await;
    assert_eq!((got.status, Chat::B.code(&got.json())), (400, "context_length_exceeded"), "{}", got.text);
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place() {
    let Some((_muster, client)) = ready().await else { return };
    let mut body = Chat::B.streaming_request_body("default", "Count from one to a thousand, in words.");
    body["max_tokens"] = 3000.into();
    let mut streams = join_all((0..2).map(|_| client.stream(Chat::B.path(), &body))).await;
    for events in &mut streams {
        assert_eq!(events.status, 200);
        assert!(events.next().await.is_some());
    }
    wait_until(&client, "both places in use", |model| model["stats"]["active"] == 2).await;
    drop(streams);
    let model = wait_until(&client, "free places", |model| model["stats"]["active"] == 0).await;
    assert_eq!(model["stats"]["waiting"], 0);
}

#[tokio::test]
async fn it_fails_under_load_and_serves_again() {
    let Some((muster, client)) = ready().await else { return };
    let load_chat = |chat: Chat| {
        let client = client.clone();
        async move {
            let mut body = chat.streaming_request_body("default", "Write a long story about a ship.");
            body["max_tokens"] = 64.into();
            let mut events = client.stream(chat.path(), &body).await;
            match events.status {
                200 => {
                    let output = chat.streamed(&mut events).await;
                    assert!(
                        output.done.is_some() != output.error.is_some(),
                        "{chat:?}: a normal end or an error event: {output:?}"
                    );
                    output.error.is_some()
                }
                502 | 503 => {
                    assert!(events.headers.contains_key("retry-after"));
                    true
                }
                other => panic!("{chat:?}: {other}"),
            }
        }
    };
    let load = join_all([Chat::B, Chat::Agent, Chat::B, Chat::Agent].map(load_chat));
    let killing = async {
        wait_until(&client, "both places in use", |model| model["stats"]["active"] == 2).await;
        muster.kill_model();
    };
    let (broken, ()) = tokio::join!(load, killing);
    assert!(broken.iter().any(|broken| *broken), "those in flight got an error");
    let model =
        wait_until(&client, "the model again", |model| model["state"] == "ready" && model["stats"]["restarts"] == 1)
            .await;
    assert_eq!(model["stats"]["active"], 0);
    let mut body = Chat::B.request_body("default", "Say hello.");
    body["max_tokens"] = 8.into();
    let mut interval = tokio::time::interval(Duration::from_millis(100));
    let serving = async {
        while client.post(Chat::B.path(), &body).await.status != 200 {
            interval.tick().await;
        }
    };
    tokio::time::timeout(3 * TEST_TIMEOUT, serving).await.expect("it serves again");
}

#[tokio::test]
async fn without_its_file_the_server_runs_and_explains_the_remedy() {
    let cache = tempfile::tempdir().unwrap();
    let muster = Muster::start(&format!("[llm]\nmodel = \"small\"\ncache = \"{}\"\n", cache.path().display()));
    let client = muster.client();
    wait_until(&client, "the look at the files", |model| model["state"] == "absent").await;
    assert_eq!(client.get("/api/health/live").await.status, 200);
    let ready = client.get("/api/health/ready").await;
    assert!(ready.status == 503 && ready.text.contains("muster models pull small"), "{}", ready.text);
    for chat in Chat::ALL {
        let got = chat.post(&client, "default").await;
        assert_eq!(got.status, 503, "{chat:?}: {}", got.text);
        assert!(
            got.text.contains("muster models pull small") && got.number("retry-after").is_some(),
            "{chat:?}: {}",
            got.text
        );
    }
    let mut interval = tokio::time::interval(Duration::from_millis(50));
    let polling = async {
        loop {
            interval.tick().await;
            let health = client.get("/api/health").await.json();
            if health["problems"]["llm-gateway"].as_str().is_some_and(|why| why.contains("muster models pull small")) {
                return;
            }
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, polling).await.expect("health reports it");
}
