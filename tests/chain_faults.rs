//! Every way a provider can break, over each provider's wire, in each dialect, whole and streamed: what the client sees
//! where nobody else is left and where a healthy one follows, what the breaker learns, what is charged.

mod faults;
mod house;
mod matrix;
use crate::support;

use std::time::Duration;

use house::{Behind, First, House};
use support::client::PATIENCE;
use support::dialect::Chat;
use support::upstream::Act;
use support::wire::Wire;

const BROKEN: &str = r#"{"error": {"message": "upstream is unwell"}}"#;
const PATIENT: &str = "breaker_min_calls = 1000\nheaders_timeout_ms = 10000\n";

/// Every wire and dialect, whole and streamed.
fn ways() -> impl Iterator<Item = (Wire, Chat, bool)> {
    let wires = [Wire::OpenAi, Wire::Anthropic, Wire::Gemini];
    let chats = wires.into_iter().flat_map(|wire| Chat::EVERY.map(|chat| (wire, chat)));
    chats.flat_map(|(wire, chat)| [(wire, chat, false), (wire, chat, true)])
}

#[tokio::test]
async fn the_requests_own_fault_is_returned_at_once() {
    for (wire, chat, streamed) in ways() {
        let house = House::start(wire, First::Does(Act::Status(400, "", wire.too_long())), Behind::Healthy, PATIENT);
        let body = if streamed { chat.ask_streamed("alpha", "hi") } else { chat.ask("alpha", "hi") };
        let got = house.client().post(chat.path(), &body).await;
        assert_eq!(got.status, 400, "{wire:?}, {chat:?}: {}", got.text);
        assert_eq!(chat.code(&got.json()), chat.spelled("context_length_exceeded"));
        assert_eq!((house.first().requests(), house.second.requests()), (1, 0), "{wire:?}, {chat:?}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_cancels_the_upstream() {
    for (wire, chat, _) in ways().filter(|(.., streamed)| *streamed) {
        let house = House::start(wire, First::Does(Act::Endless), Behind::Nobody, PATIENT);
        let mut events = chat.stream(&house.client(), "alpha").await;
        for _ in 0..5 {
            assert!(events.next().await.is_some(), "{wire:?}, {chat:?}");
        }
        drop(events);
        let left = tokio::time::timeout(PATIENCE, house.first().client_left()).await;
        assert!(left.is_ok(), "{wire:?}, {chat:?}: the upstream goes on and on");
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_cancels_the_upstream() {
    for (wire, chat, streamed) in ways() {
        let house = House::start(wire, First::Does(Act::HangBeforeHeaders), Behind::Nobody, PATIENT);
        let body = if streamed { chat.ask_streamed("alpha", "hi") } else { chat.ask("alpha", "hi") };
        let client = house.client();
        let asked = tokio::spawn(async move { client.post(chat.path(), &body).await });
        house.first().asked().await;
        asked.abort();
        // Well before the time-out of the headers, after which the upstream is left in any case.
        let left = tokio::time::timeout(Duration::from_secs(8), house.first().client_left()).await;
        assert!(left.is_ok(), "{wire:?}, {chat:?}, streamed {streamed}: the upstream is still asked");
    }
}

#[tokio::test]
async fn with_every_circuit_open_the_client_is_told_when_to_come_back() {
    let breaker = "breaker_min_calls = 2\nbreaker_cooldown_ms = 30000\n";
    for (wire, chat, streamed) in ways() {
        let house = House::start(wire, First::Does(Act::Status(500, "", BROKEN)), Behind::Healthy, breaker);
        house.second.now(Act::Status(500, "", BROKEN));
        let client = house.client();
        let body = if streamed { chat.ask_streamed("alpha", "hi") } else { chat.ask("alpha", "hi") };
        let mut refused = None;
        for _ in 0..10 {
            let asked = (house.first().requests(), house.second.requests());
            let got = client.post(chat.path(), &body).await;
            if chat.code(&got.json()) == chat.spelled("service_unavailable") {
                assert_eq!((house.first().requests(), house.second.requests()), asked, "an open circuit is not asked");
                refused = Some(got);
                break;
            }
        }
        let got =
            refused.unwrap_or_else(|| panic!("{wire:?}, {chat:?}, streamed {streamed}: the circuits did not open"));
        assert_eq!(got.status, 503);
        let wait = got.number("retry-after").unwrap();
        // The cool-down, and up to a fifth of it more to spread several servers.
        assert!((1..=36).contains(&wait), "{wire:?}, {chat:?}: {wait}");
        let listed = client.get("/api/models").await.json();
        let alpha = listed["models"].as_array().unwrap().iter().find(|model| model["id"] == "alpha").unwrap();
        assert_eq!(alpha["status"], "open_circuit");
        assert_eq!(client.get("/api/health").await.status, 200, "the server itself stands");
    }
}
