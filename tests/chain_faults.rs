//! Every way a provider can break, in each dialect, whole and streamed: what the client sees where nobody else is left,
//! and where a healthy one follows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod support;

use std::time::Duration;

use futures::future::join_all;
use support::client::{Client, PATIENCE};
use support::dialect::{Chat, Said};
use support::server::Muster;
use support::upstream::{Act, Upstream, refused_provider};

/// What the first provider does.
#[derive(Clone)]
enum First {
    Does(Act),
    RefusesConnections,
}

/// Whether a healthy provider stands behind the first.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Behind {
    Nobody,
    Healthy,
}

const HEALTHY: &[&str] = &["hello ", "there"];

/// A server whose chain is the first provider, and perhaps a healthy second.
struct House {
    first: Option<Upstream>,
    second: Upstream,
    muster: Muster,
}

impl House {
    fn start(first: First, behind: Behind) -> Self {
        Self::start_with(first, behind, "breaker_min_calls = 1000\n")
    }

    fn start_with(first: First, behind: Behind, chain: &str) -> Self {
        let second = Upstream::start(Act::Answer(HEALTHY));
        let (first, provider) = match first {
            First::RefusesConnections => (None, refused_provider("one", "alpha")),
            First::Does(act) => {
                let upstream = Upstream::start(act);
                let provider = upstream.provider("one", "alpha");
                (Some(upstream), provider)
            }
        };
        let settings = match behind {
            Behind::Nobody => format!("{provider}[chain]\norder = [\"one\"]\n"),
            Behind::Healthy => {
                format!("{provider}{}[chain]\norder = [\"one\", \"two\"]\n", second.provider("two", "beta"))
            }
        };
        let times = "connect_timeout_ms = 1000\nheaders_timeout_ms = 1000\nfirst_delta_timeout_ms = 1000\n\
                     between_deltas_timeout_ms = 1000\ndeadline_ms = 10000\n";
        Self { first, second, muster: Muster::start(&format!("{settings}{times}{chain}")) }
    }

    fn client(&self) -> Client {
        self.muster.client()
    }

    fn first(&self) -> &Upstream {
        self.first.as_ref().unwrap()
    }
}

/// Six ways to ask.
fn ways() -> impl Iterator<Item = (Chat, bool)> {
    Chat::ALL.into_iter().flat_map(|chat| [(chat, false), (chat, true)])
}

/// A failure before the first content: a refusal where nobody else is left, else another's answer, as if nothing was.
async fn fails_before_the_first_delta(first: First, outcome: &str) {
    join_all(ways().map(|(chat, streamed)| alone(first.clone(), chat, streamed))).await;
    join_all(ways().map(|(chat, streamed)| replaced(first.clone(), chat, streamed, outcome))).await;
}

async fn alone(first: First, chat: Chat, streamed: bool) {
    let throttled = matches!(first, First::Does(Act::Status(429, ..)));
    let house = House::start(first, Behind::Nobody);
    let body = if streamed { chat.ask_streamed("alpha", "hi") } else { chat.ask("alpha", "hi") };
    let got = house.client().post(chat.path(), &body).await;
    // Interface B's clients know a broken upstream as 502.
    let status = if chat == Chat::B { 502 } else { 503 };
    assert_eq!(got.status, status, "{chat:?}, streamed {streamed}: {}", got.text);
    assert_eq!(chat.code(&got.json()), chat.spelled("provider_failed"), "{chat:?}, streamed {streamed}");
    let wait = got.number("retry-after").unwrap_or_else(|| panic!("{chat:?}, streamed {streamed}: no Retry-After"));
    assert!(if throttled { wait == 7 } else { wait >= 1 }, "{chat:?}, streamed {streamed}: {wait}");
    assert_eq!(house.second.requests(), 0, "it is not in the chain");
}

async fn replaced(first: First, chat: Chat, streamed: bool, outcome: &str) {
    let house = House::start(first, Behind::Healthy);
    let agent = chat == Chat::Agent;
    let expected = Said {
        text: "hello there".to_owned(),
        model: "beta".to_owned(),
        provider: agent.then(|| "two".to_owned()),
        attempts: agent.then(|| vec![("one".to_owned(), outcome.to_owned()), ("two".to_owned(), "ok".to_owned())]),
        // What the upstream said: 7 of the prompt, 2 of the answer.
        tokens: 9,
        finish: (chat != Chat::A).then(|| "stop".to_owned()),
    };
    if streamed {
        let mut events = chat.stream(&house.client(), "alpha").await;
        assert_eq!(events.status, 200, "{chat:?}");
        let said = chat.streamed(&mut events).await;
        assert_eq!(said.deltas.concat(), "hello there", "{chat:?}");
        assert_eq!((said.done, said.error), (Some(expected), None), "{chat:?}");
    } else {
        let got = chat.post(&house.client(), "alpha").await;
        assert_eq!(got.status, 200, "{chat:?}: {}", got.text);
        assert_eq!(chat.said(&got.json()), expected, "{chat:?}");
    }
    assert_eq!(house.second.requests(), 1, "{chat:?}, streamed {streamed}");
}

macro_rules! before_the_first_delta {
    ($($name:ident: $first:expr => $outcome:literal;)*) => {$(
        #[tokio::test]
        async fn $name() {
            fails_before_the_first_delta($first, $outcome).await;
        }
    )*};
}

const ERROR: &str = r#"{"error": {"message": "upstream is unwell", "type": "server_error"}}"#;
const REFUSED: &str =
    r#"{"error": {"message": "bad key", "type": "invalid_request_error", "code": "invalid_api_key"}}"#;

before_the_first_delta! {
    status_500: First::Does(Act::Status(500, "", ERROR)) => "transient";
    throttled_with_retry_after: First::Does(Act::Status(429, "retry-after: 7\r\n", ERROR)) => "throttled";
    our_key_is_refused: First::Does(Act::Status(401, "", REFUSED)) => "hard";
    connection_refused: First::RefusesConnections => "transient";
    hangs_before_headers: First::Does(Act::HangBeforeHeaders) => "transient";
    hangs_before_the_first_content: First::Does(Act::HangBeforeContent) => "transient";
    cut_before_the_first_content: First::Does(Act::CutAfter(0)) => "transient";
    malformed_json: First::Does(Act::Malformed) => "transient";
    success_and_then_an_error: First::Does(Act::ErrorAfter(0)) => "transient";
}

/// After the first delta nothing is repeated or spliced: the ten deltas, an honest error, no proper end.
async fn fails_after_ten_deltas(act: Act) {
    for (chat, behind) in Chat::ALL.into_iter().flat_map(|chat| [(chat, Behind::Nobody), (chat, Behind::Healthy)]) {
        let house = House::start(First::Does(act.clone()), behind);
        let mut events = chat.stream(&house.client(), "alpha").await;
        assert_eq!(events.status, 200);
        let said = chat.streamed(&mut events).await;
        let expected: Vec<_> = (0..10).map(|n| format!("w{n} ")).collect();
        assert_eq!(said.deltas.concat(), expected.concat(), "{chat:?}, {behind:?}");
        assert_eq!(said.done, None, "{chat:?}, {behind:?}");
        let error = said.error.unwrap_or_else(|| panic!("{chat:?}, {behind:?}: no error was told"));
        assert_eq!(chat.code(&error), chat.spelled("provider_failed"), "{chat:?}, {behind:?}");
        assert!(events.whole, "{chat:?}: after an honest error the response ends as it should");
        assert_eq!(house.second.requests(), 0, "{chat:?}, {behind:?}");
    }
}

#[tokio::test]
async fn cut_after_ten_deltas() {
    fails_after_ten_deltas(Act::CutAfter(10)).await;
}

#[tokio::test]
async fn an_error_after_ten_deltas() {
    fails_after_ten_deltas(Act::ErrorAfter(10)).await;
}

#[tokio::test]
async fn the_requests_own_fault_is_returned_at_once() {
    let too_long =
        r#"{"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}"#;
    for (chat, streamed) in ways() {
        let house = House::start(First::Does(Act::Status(400, "", too_long)), Behind::Healthy);
        let body = if streamed { chat.ask_streamed("alpha", "hi") } else { chat.ask("alpha", "hi") };
        let got = house.client().post(chat.path(), &body).await;
        assert_eq!(got.status, 400, "{chat:?}: {}", got.text);
        assert_eq!(chat.code(&got.json()), chat.spelled("context_length_exceeded"));
        assert_eq!((house.first().requests(), house.second.requests()), (1, 0), "{chat:?}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_cancels_the_upstream() {
    for chat in Chat::ALL {
        let house = House::start(First::Does(Act::Endless), Behind::Nobody);
        let mut events = chat.stream(&house.client(), "alpha").await;
        for _ in 0..3 {
            assert!(events.next().await.is_some(), "{chat:?}");
        }
        drop(events);
        let left = tokio::time::timeout(PATIENCE, house.first().client_left()).await;
        assert!(left.is_ok(), "{chat:?}: the upstream goes on and on");
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_cancels_the_upstream() {
    for (chat, streamed) in ways() {
        let house = House::start(First::Does(Act::HangBeforeHeaders), Behind::Nobody);
        let body = if streamed { chat.ask_streamed("alpha", "hi") } else { chat.ask("alpha", "hi") };
        let client = house.client();
        let asked = tokio::spawn(async move { client.post(chat.path(), &body).await });
        house.first().asked().await;
        asked.abort();
        // Well before the time-out of the headers, after which the upstream is left in any case.
        let left = tokio::time::timeout(Duration::from_millis(900), house.first().client_left()).await;
        assert!(left.is_ok(), "{chat:?}, streamed {streamed}: the upstream is still asked");
    }
}

#[tokio::test]
async fn with_every_circuit_open_the_client_is_told_when_to_come_back() {
    let breaker = "breaker_min_calls = 2\nbreaker_cooldown_ms = 30000\n";
    for (chat, streamed) in ways() {
        let house = House::start_with(First::Does(Act::Status(500, "", ERROR)), Behind::Healthy, breaker);
        house.second.now(Act::Status(500, "", ERROR));
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
        let got = refused.unwrap_or_else(|| panic!("{chat:?}, streamed {streamed}: the circuits did not open"));
        assert_eq!(got.status, 503);
        let wait = got.number("retry-after").unwrap();
        // The cool-down, and up to a fifth of it more to spread several servers.
        assert!((1..=36).contains(&wait), "{chat:?}: {wait}");
        let listed = client.get("/api/models").await.json();
        let alpha = listed["models"].as_array().unwrap().iter().find(|model| model["id"] == "alpha").unwrap();
        assert_eq!(alpha["status"], "open_circuit");
        assert_eq!(client.get("/api/health").await.status, 200, "the server itself stands");
    }
}
