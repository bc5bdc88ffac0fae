//! Every provider fault, over each provider's wire, in each dialect, whole and streamed: what the client receives
//! without and with a healthy provider next in the chain, what the breaker records and what is charged.

mod faults;
mod fixture;
mod matrix;
use crate::support;

use std::time::Duration;

use fixture::{ChainFixture, Fallback, FirstProvider};
use support::client::TEST_TIMEOUT;
use support::dialect::Chat;
use support::upstream::UpstreamAction;
use support::wire::Wire;

const BROKEN: &str = r#"{"error": {"message": "upstream is unwell"}}"#;
const LENIENT: &str = "breaker_min_calls = 1000\nheaders_timeout_ms = 10000\n";

/// Every wire and dialect, whole and streamed.
fn combinations() -> impl Iterator<Item = (Wire, Chat, bool)> {
    let wires = [Wire::OpenAi, Wire::Anthropic, Wire::Gemini];
    let chats = wires.into_iter().flat_map(|wire| Chat::EVERY.map(|chat| (wire, chat)));
    chats.flat_map(|(wire, chat)| [(wire, chat, false), (wire, chat, true)])
}

#[tokio::test]
async fn an_invalid_request_is_not_retried() {
    for (wire, chat, streamed) in combinations() {
        let fixture = ChainFixture::start(
            wire,
            FirstProvider::Acts(UpstreamAction::Status(400, "", wire.too_long())),
            Fallback::Healthy,
            LENIENT,
        );
        let body = if streamed { chat.streaming_request_body("alpha", "hi") } else { chat.request_body("alpha", "hi") };
        let got = fixture.client().post(chat.path(), &body).await;
        assert_eq!(got.status, 400, "{wire:?}, {chat:?}: {}", got.text);
        assert_eq!(chat.code(&got.json()), chat.expected_code("context_length_exceeded"));
        assert_eq!((fixture.first().requests(), fixture.second.requests()), (1, 0), "{wire:?}, {chat:?}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_cancels_the_upstream() {
    for (wire, chat, _) in combinations().filter(|(.., streamed)| *streamed) {
        let fixture = ChainFixture::start(wire, FirstProvider::Acts(UpstreamAction::Endless), Fallback::None, LENIENT);
        let mut events = chat.stream(&fixture.client(), "alpha").await;
        for _ in 0..5 {
            assert!(events.next().await.is_some(), "{wire:?}, {chat:?}");
        }
        drop(events);
        let left = tokio::time::timeout(TEST_TIMEOUT, fixture.first().client_disconnected()).await;
        assert!(left.is_ok(), "{wire:?}, {chat:?}: the upstream was not cancelled");
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_cancels_the_upstream() {
    for (wire, chat, streamed) in combinations() {
        let fixture =
            ChainFixture::start(wire, FirstProvider::Acts(UpstreamAction::HangBeforeHeaders), Fallback::None, LENIENT);
        let body = if streamed { chat.streaming_request_body("alpha", "hi") } else { chat.request_body("alpha", "hi") };
        let client = fixture.client();
        let pending = tokio::spawn(async move { client.post(chat.path(), &body).await });
        fixture.first().first_request().await;
        pending.abort();
        // Well before the time-out of the headers, after which the upstream is disconnected in any case.
        let left = tokio::time::timeout(Duration::from_secs(8), fixture.first().client_disconnected()).await;
        assert!(left.is_ok(), "{wire:?}, {chat:?}, streamed {streamed}: the upstream request was not cancelled");
    }
}

#[tokio::test]
async fn with_every_circuit_open_the_response_has_retry_after() {
    let breaker = "breaker_min_calls = 2\nbreaker_cooldown_ms = 30000\n";
    for (wire, chat, streamed) in combinations() {
        let fixture = ChainFixture::start(
            wire,
            FirstProvider::Acts(UpstreamAction::Status(500, "", BROKEN)),
            Fallback::Healthy,
            breaker,
        );
        fixture.second.set_action(UpstreamAction::Status(500, "", BROKEN));
        let client = fixture.client();
        let body = if streamed { chat.streaming_request_body("alpha", "hi") } else { chat.request_body("alpha", "hi") };
        let mut refused = None;
        for _ in 0..10 {
            let before = (fixture.first().requests(), fixture.second.requests());
            let got = client.post(chat.path(), &body).await;
            if chat.code(&got.json()) == chat.expected_code("service_unavailable") {
                assert_eq!(
                    (fixture.first().requests(), fixture.second.requests()),
                    before,
                    "an open circuit gets no request"
                );
                refused = Some(got);
                break;
            }
        }
        let got =
            refused.unwrap_or_else(|| panic!("{wire:?}, {chat:?}, streamed {streamed}: the circuits did not open"));
        assert_eq!(got.status, 503);
        let wait = got.number("retry-after").unwrap();
        // The cool-down, and up to a fifth of it more as jitter.
        assert!((1..=36).contains(&wait), "{wire:?}, {chat:?}: {wait}");
        let listed = client.get("/api/models").await.json();
        let alpha = listed["models"].as_array().unwrap().iter().find(|model| model["id"] == "alpha").unwrap();
        assert_eq!(alpha["status"], "open_circuit");
        assert_eq!(client.get("/api/health").await.status, 200, "the server itself is up");
    }
}
