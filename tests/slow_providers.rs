//! Providers as they really are: slow, silent for long, throttling, broken for one model, and loose with content types.

use std::time::Instant;

use crate::support;

use serde_json::json;
use support::client::{Client, TEST_TIMEOUT};
use support::dialect::Chat;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};
use support::wire::Wire;

const WORDS: &[&str] = &["hello ", "there"];
const BROKEN: &str = r#"{"error": {"message": "upstream is unwell"}}"#;

fn held(then: UpstreamAction) -> UpstreamAction {
    UpstreamAction::Held(Box::new(then))
}

/// A server whose chain is this provider alone, with the model `alpha`.
fn alone(upstream: &Upstream, chain: &str) -> Muster {
    Muster::start(&format!("{}[chain]\norder = [\"one\"]\n{chain}", upstream.provider("one", "alpha")))
}

/// What keeps a stream of this dialect alive.
fn keep_alive(chat: Chat) -> &'static str {
    match chat {
        Chat::Messages => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        _ => ": keep-alive\n\n",
    }
}

#[tokio::test]
async fn a_silent_stream_gets_its_headers_and_keep_alives_and_then_the_answer() {
    for chat in Chat::EVERY {
        let upstream = Upstream::start(held(UpstreamAction::Answer(WORDS)));
        let muster = alone(&upstream, "keep_alive_ms = 20\n");
        let streaming = chat.streaming_request_body("alpha", "hi");
        // The headers are here although the provider has sent nothing.
        let opened = tokio::time::timeout(TEST_TIMEOUT, muster.client().stream(chat.path(), &streaming)).await;
        let mut events = opened.unwrap_or_else(|_| panic!("{chat:?}: no headers"));
        assert_eq!(events.status, 200, "{chat:?}");
        events.wait_for_text(&keep_alive(chat).repeat(2)).await;
        upstream.release_held();
        let all: Vec<_> = events.rest().await.into_iter().filter(|event| !is_ping(event.name.as_deref())).collect();
        assert!(events.whole, "{chat:?}");
        let text: String = all.iter().map(|event| event.data.as_str()).collect();
        assert!(text.contains("hello ") && text.contains("there"), "{chat:?}: {text}");
        assert_eq!(upstream.requests(), 1, "{chat:?}: it was requested once");
    }
}

fn is_ping(name: Option<&str>) -> bool {
    name == Some("ping")
}

#[tokio::test]
async fn a_failure_after_the_first_keep_alive_is_an_error_event() {
    for chat in Chat::EVERY {
        let upstream = Upstream::start(held(UpstreamAction::Status(500, "", BROKEN)));
        let muster = alone(&upstream, "keep_alive_ms = 20\nretries = 0\n");
        let streaming = chat.streaming_request_body("alpha", "hi");
        let mut events = muster.client().stream(chat.path(), &streaming).await;
        assert_eq!(events.status, 200, "{chat:?}");
        events.wait_for_text(keep_alive(chat)).await;
        upstream.release_held();
        let last = events.rest().await.pop().unwrap_or_else(|| panic!("{chat:?}: no event"));
        assert!(events.whole, "{chat:?}");
        assert_eq!(chat.code(&last.json()), chat.expected_code("provider_failed"), "{chat:?}: {last:?}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_silent_stream_cancels_the_call() {
    for chat in Chat::EVERY {
        let upstream = Upstream::start(held(UpstreamAction::Answer(WORDS)));
        let muster = alone(&upstream, "keep_alive_ms = 20\n");
        let mut events = muster.client().stream(chat.path(), &chat.streaming_request_body("alpha", "hi")).await;
        events.wait_for_text(keep_alive(chat)).await;
        drop(events);
        let left = tokio::time::timeout(TEST_TIMEOUT, upstream.client_disconnected()).await;
        assert!(left.is_ok(), "{chat:?}: the upstream was not cancelled");
    }
}

#[tokio::test]
async fn a_call_that_timed_out_is_not_made_again_at_the_same_provider() {
    for chat in Chat::EVERY {
        for streamed in [false, true] {
            let upstream = Upstream::start(UpstreamAction::HangBeforeHeaders);
            let muster = alone(&upstream, "retries = 2\nheaders_timeout_ms = 200\n");
            let body =
                if streamed { chat.streaming_request_body("alpha", "hi") } else { chat.request_body("alpha", "hi") };
            let got = muster.client().post(chat.path(), &body).await;
            assert_eq!(got.status, chat.provider_failure_status(), "{chat:?}: {}", got.text);
            assert_eq!(upstream.requests(), 1, "{chat:?}, streamed {streamed}: it may have run");
        }
    }
}

#[tokio::test]
async fn a_provider_and_a_model_have_timeouts_of_their_own() {
    let upstream = Upstream::start(UpstreamAction::HangBeforeHeaders);
    let provider = upstream.provider("one", "alpha\", \"slow")
        + "timeouts = { headers_ms = 100 }\nmodel_timeouts = { \"slow\" = { headers_ms = 500 } }\n";
    // Otherwise the provider's first model would follow.
    let chain = "[chain]\norder = [\"one\"]\nfailover_after_start = false\n";
    let muster = Muster::start(&format!("{provider}{chain}"));
    for (model, limit) in [("alpha", "100ms"), ("slow", "500ms")] {
        let got = Chat::B.post(&muster.client(), model).await;
        assert!(got.text.contains(&format!("sent no headers within {limit}")), "{model}: {}", got.text);
    }
}

#[tokio::test]
async fn where_every_provider_throttles_the_answer_is_429_with_the_soonest_time() {
    for wire in [Wire::OpenAi, Wire::Anthropic, Wire::Gemini] {
        for chat in Chat::EVERY {
            let throttled =
                |wait: &'static str| Upstream::with_wire(wire, UpstreamAction::Status(429, wait, wire.throttled()));
            let (one, two) = (throttled("retry-after: 30\r\n"), throttled("retry-after: 9\r\n"));
            let muster = Muster::start(&format!(
                "{}{}[chain]\norder = [\"one\", \"two\"]\n",
                one.provider("one", "alpha"),
                two.provider("two", "beta")
            ));
            let client = muster.client();
            // The second request finds both circuits open.
            for _ in 0..2 {
                let got = chat.post(&client, "alpha").await;
                assert_eq!(got.status, 429, "{wire:?}, {chat:?}: {}", got.text);
                assert_eq!(chat.code(&got.json()), chat.expected_code("rate_limit_exceeded"), "{wire:?}, {chat:?}");
                let wait = got.number("retry-after").unwrap();
                assert!((1..=9).contains(&wait), "{wire:?}, {chat:?}: {wait}");
            }
            let streamed = client.post(chat.path(), &chat.streaming_request_body("alpha", "hi")).await;
            assert_eq!(streamed.status, 429, "{wire:?}, {chat:?}: {}", streamed.text);
        }
    }
}

/// Waits until a model is listed with this status: breakers get their reports after the answer.
async fn until_listed(client: &Client, model: &str, status: &str) {
    let started = Instant::now();
    loop {
        let models = client.get("/api/models").await.json();
        let listed = models["models"].as_array().unwrap().iter().find(|listed| listed["id"] == model).unwrap();
        if listed["status"] == status {
            return;
        }
        assert!(started.elapsed() < TEST_TIMEOUT, "{model} is {}, not {status}", listed["status"]);
    }
}

#[tokio::test]
async fn a_broken_model_leaves_the_providers_other_models_in_service() {
    for (status, body) in
        [(500, BROKEN), (404, r#"{"error": {"message": "no such model", "code": "model_not_found"}}"#)]
    {
        let upstream = Upstream::start(UpstreamAction::Status(status, "", body));
        let provider = upstream.provider("one", "alpha\", \"beta");
        let settings = "[chain]\norder = [\"one\"]\nretries = 0\nbreaker_consecutive_failures = 3\n";
        let muster = Muster::start(&format!("{provider}{settings}"));
        let client = muster.client();
        for _ in 0..4 {
            let got = Chat::B.post(&client, "alpha").await;
            assert!(got.status >= 500, "{}", got.text);
        }
        until_listed(&client, "alpha", "open_circuit").await;
        upstream.set_action(UpstreamAction::Answer(WORDS));
        for chat in Chat::EVERY {
            assert_eq!(chat.post(&client, "beta").await.status, 200, "{chat:?}");
        }
        until_listed(&client, "beta", "available").await;
        let report = client.get("/api/v1/status").await.json();
        let breaker = &report["providers"].as_array().unwrap().iter().find(|it| it["id"] == "one").unwrap()["breaker"];
        assert_eq!(breaker["state"], "closed", "{breaker}");
        assert_eq!((&breaker["models"][0]["model"], &breaker["models"][0]["state"]), (&json!("alpha"), &json!("open")));
    }
}

#[tokio::test]
async fn the_only_provider_is_tried_in_one_call_of_ten_and_the_answer_says_so() {
    let upstream = Upstream::start(UpstreamAction::Status(500, "", BROKEN));
    let muster = alone(&upstream, "retries = 0\nbreaker_cooldown_ms = 600000\n");
    let client = muster.client();
    for _ in 0..5 {
        assert_eq!(Chat::B.post(&client, "alpha").await.status, 502);
    }
    until_listed(&client, "alpha", "open_circuit").await;
    let before = upstream.requests();
    let mut refused = 0;
    for _ in 0..20 {
        let got = Chat::B.post(&client, "alpha").await;
        refused += u32::from(got.status == 503);
        assert!(got.header("x-muster-circuit").is_none());
    }
    assert_eq!((upstream.requests() - before, refused), (2, 18));
    upstream.set_action(UpstreamAction::Answer(WORDS));
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(Chat::B.post(&client, "alpha").await);
    }
    let answered: Vec<_> = answers.iter().filter(|got| got.status == 200).collect();
    assert_eq!(answered[0].header("x-muster-circuit"), Some("open"), "the first answer passed an open circuit");
    until_listed(&client, "alpha", "available").await;
    for chat in Chat::EVERY {
        let got = chat.post(&client, "alpha").await;
        assert_eq!((got.status, got.header("x-muster-circuit")), (200, None), "{chat:?}: and closed it");
    }
}

#[tokio::test]
async fn an_answer_to_a_request_for_a_stream_is_taken_for_what_it_is() {
    for wire in [Wire::OpenAi, Wire::Anthropic, Wire::Gemini] {
        for action in [
            UpstreamAction::WholeAs("text/event-stream", WORDS),
            UpstreamAction::WholeAs("text/plain", WORDS),
            UpstreamAction::EventsAs("application/json", WORDS),
            UpstreamAction::EventsAs("text/html", WORDS),
        ] {
            for chat in Chat::EVERY {
                let upstream = Upstream::with_wire(wire, action.clone());
                let muster = alone(&upstream, "retries = 0\n");
                let mut events = chat.stream(&muster.client(), "alpha").await;
                assert_eq!(events.status, 200, "{wire:?}, {action:?}, {chat:?}");
                let streamed = chat.streamed(&mut events).await;
                assert_eq!(streamed.deltas.concat(), "hello there", "{wire:?}, {action:?}, {chat:?}");
                assert_eq!(streamed.done.unwrap().tokens, 9, "{wire:?}, {action:?}, {chat:?}");
            }
        }
    }
}
