//! Which model answers a request: never another one in silence, only those that the request or the settings allow, and
//! the response names what answered.

mod balance;
mod defaults;
mod keys;

use crate::support;

use serde_json::{Value, json};
use support::client::{Answer, Client, Events};
use support::dialect::Chat;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

const WORDS: &[&str] = &["hello ", "there"];
const BROKEN: &str = r#"{"error": {"message": "upstream is unwell"}}"#;
/// Failures that open no breaker within a test.
const LENIENT: &str = "breaker_min_calls = 100000\nbreaker_consecutive_failures = 100000\nretries = 0\n";

fn broken() -> Upstream {
    Upstream::start(UpstreamAction::Status(500, "", BROKEN))
}

fn healthy() -> Upstream {
    Upstream::start(UpstreamAction::Answer(WORDS))
}

/// Provider, model and fallback, as the headers name them.
fn named(headers: &reqwest::header::HeaderMap) -> [String; 3] {
    ["x-muster-provider", "x-muster-model", "x-muster-fallback"]
        .map(|name| headers.get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned()))
}

async fn post(client: &Client, chat: Chat, model: &str) -> Answer {
    client.post(chat.path(), &chat.request_body(model, "hi")).await
}

/// Who answers in every dialect, whole and streamed.
async fn answered(muster: &Muster, model: &str, expected: [&str; 3]) {
    let client = muster.client();
    for chat in Chat::EVERY {
        let got = post(&client, chat, model).await;
        assert_eq!((got.status, named(&got.headers)), (200, expected.map(str::to_owned)), "{chat:?}: {}", got.text);
        let mut events: Events = client.stream(chat.path(), &chat.streaming_request_body(model, "hi")).await;
        assert_eq!((events.status, named(&events.headers)), (200, expected.map(str::to_owned)), "{chat:?}, streamed");
        let output = chat.streamed(&mut events).await;
        assert!(output.done.is_some(), "{chat:?}: {:?}", output.error);
    }
}

#[tokio::test]
async fn a_named_model_is_never_answered_by_another_one_unasked() {
    let (one, two) = (broken(), healthy());
    let providers = one.provider("one", "alpha") + &two.provider("two", "beta");
    let muster = Muster::start(&format!("{providers}[chain]\n{LENIENT}"));
    let client = muster.client();
    for chat in Chat::EVERY {
        let got = post(&client, chat, "alpha").await;
        assert_eq!(chat.code(&got.json()), chat.expected_code("provider_failed"), "{chat:?}: {}", got.text);
        let got = client.post(chat.path(), &chat.streaming_request_body("alpha", "hi")).await;
        assert!(got.status >= 500, "{chat:?}, streamed: {}", got.text);
    }
    assert_eq!(two.requests(), 0);

    // A chain whose order the operator wrote.
    let muster = Muster::start(&format!("{providers}[chain]\norder = [\"one\", \"two\"]\n{LENIENT}"));
    answered(&muster, "alpha", ["two", "beta", "model"]).await;
    answered(&muster, "beta", ["two", "beta", "none"]).await;
    // Pinned, also against the chain.
    for pinned in ["one/alpha", "two/alpha"] {
        let got = post(&muster.client(), Chat::B, pinned).await;
        assert_eq!(got.status, if pinned == "one/alpha" { 502 } else { 404 }, "{pinned}: {}", got.text);
    }
    // Without a model the chain answers.
    let body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    let got = muster.client().post("/api/llm/chat", &body).await;
    assert_eq!((got.status, named(&got.headers)), (200, ["two", "beta", "model"].map(str::to_owned)));
}

#[tokio::test]
async fn other_providers_of_the_same_model_answer_and_are_named() {
    let (one, two) = (broken(), healthy());
    let providers = one.provider("one", "alpha") + &two.provider("two", "alpha");
    let muster = Muster::start(&format!("{providers}[chain]\n{LENIENT}"));
    answered(&muster, "alpha", ["two", "alpha", "provider"]).await;
    one.set_action(UpstreamAction::CutAfter(0));
    answered(&muster, "alpha", ["two", "alpha", "provider"]).await;
    one.set_action(UpstreamAction::Answer(WORDS));
    answered(&muster, "alpha", ["one", "alpha", "none"]).await;
}

#[tokio::test]
async fn a_stream_whose_headers_went_first_names_what_answers_in_comments() {
    for chat in Chat::EVERY {
        let (one, two) = (Upstream::start(UpstreamAction::Held(Box::new(UpstreamAction::CutAfter(0)))), healthy());
        let providers = one.provider("one", "alpha") + &two.provider("two", "alpha");
        let muster = Muster::start(&format!("{providers}[chain]\nkeep_alive_ms = 20\n{LENIENT}"));
        let mut events = muster.client().stream(chat.path(), &chat.streaming_request_body("alpha", "hi")).await;
        // It is not known yet, so that nothing is claimed.
        assert_eq!((events.status, named(&events.headers)), (200, [const { String::new() }; 3]), "{chat:?}");
        one.release_held();
        events
            .wait_for_text(": x-muster-provider: two\n: x-muster-model: alpha\n: x-muster-fallback: provider\n\n")
            .await;
        assert!(chat.streamed(&mut events).await.done.is_some(), "{chat:?}");
    }
}

#[tokio::test]
async fn aliases_fallbacks_and_equivalent_models_answer_where_the_operator_says_so() {
    let (one, two) = (broken(), healthy());
    let providers = one.provider("one", "alpha") + &two.provider("two", "beta");
    let muster = Muster::start(&format!(
        "{providers}[alias]\nshort = \"beta\"\nboth = [\"alpha\", \"beta\"]\nfirm = \"alpha\"\n[chain]\n{LENIENT}"
    ));
    answered(&muster, "short", ["two", "beta", "none"]).await;
    answered(&muster, "both", ["two", "beta", "model"]).await;
    assert_eq!(post(&muster.client(), Chat::B, "firm").await.status, 502);
    let listed = muster.client().get("/v1/models/short").await.json();
    assert_eq!((&listed["owned_by"], &listed["status"]), (&json!("two"), &json!("available")));

    let muster = Muster::start(&format!("{providers}[fallback]\nalpha = \"beta\"\n[chain]\n{LENIENT}"));
    answered(&muster, "alpha", ["two", "beta", "model"]).await;

    let groups = "[[equivalent]]\nmodels = [\"beta\", \"one/alpha\"]\n";
    let muster = Muster::start(&format!("{providers}{groups}[chain]\n{LENIENT}"));
    answered(&muster, "alpha", ["two", "beta", "model"]).await;
}

#[tokio::test]
async fn embeddings_name_their_provider_too() {
    let Some(settings) = support::server::small_model() else { return };
    let muster = Muster::start(&settings);
    let got = muster.client().post("/v1/embeddings", &json!({ "model": "muster-embed", "input": "hi" })).await;
    // The model may still be loading.
    if got.status == 200 {
        assert_eq!(named(&got.headers), ["embedded", "muster-embed", "none"].map(str::to_owned));
    } else {
        assert_eq!(got.status, 503, "{}", got.text);
    }
}

/// Keys with a budget that no call of `alpha` fits, in front of a free model.
async fn poor(muster: &Muster) -> Client {
    let admin = muster.client();
    let key = json!({ "name": "n", "scopes": ["chat"], "plan_a": "enterprise", "plan_b": "enterprise",
        "budget_usd": 0.000_001 });
    admin.with(admin.make_key(&key).await)
}

#[tokio::test]
async fn an_exhausted_budget_is_429_and_no_cheaper_answer_unless_the_request_lists_one() {
    let (dear, cheap) = (healthy(), healthy());
    let price = |usd: f64| format!("price = {{ input_per_million = {usd:.1}, output_per_million = {usd:.1} }}\n");
    let settings = dear.provider("one", "alpha") + &price(1000.0) + &cheap.provider("two", "beta") + &price(0.0);
    let muster = Muster::start(&format!("{settings}[chain]\norder = [\"one\", \"two\"]\n{LENIENT}"));
    let client = poor(&muster).await;
    for chat in Chat::EVERY {
        for model in ["alpha", "default"] {
            let got = post(&client, chat, model).await;
            assert_eq!(got.status, 429, "{chat:?}, {model}: {}", got.text);
            let streamed = client.post(chat.path(), &chat.streaming_request_body(model, "hi")).await;
            assert_eq!(streamed.status, 429, "{chat:?}, {model}: {}", streamed.text);
        }
    }
    assert_eq!((dear.requests(), cheap.requests()), (0, 0));
    let list = json!({ "models": ["alpha", "beta"], "messages": [{ "role": "user", "content": "hi" }] });
    let got = client.post("/api/q159/llm/chat", &list).await;
    assert_eq!((got.status, named(&got.headers)), (200, ["two", "beta", "model"].map(str::to_owned)), "{}", got.text);
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_as_that_or_allowed_by_the_settings() {
    let upstream = healthy();
    let key =
        json!({ "name": "n", "scopes": ["chat"], "plan_a": "enterprise", "plan_b": "enterprise", "budget_usd": 5.0 });
    for (unpriced, status) in [("refuse", 403), ("allow", 200)] {
        let settings = upstream.provider("one", "own-model") + &format!("[budget]\nunpriced = \"{unpriced}\"\n");
        let muster = Muster::start(&settings);
        let admin = muster.client();
        let client = admin.with(admin.make_key(&key).await);
        for chat in Chat::EVERY {
            let got = post(&client, chat, "own-model").await;
            assert_eq!(got.status, status, "{chat:?}, {unpriced}: {}", got.text);
            if status == 403 {
                let error: Value = got.json();
                assert_eq!(chat.code(&error), chat.expected_code("model_unpriced"), "{chat:?}: {error}");
                let remedy = ["no price", "id = \\\"one\\\"", "unpriced = \\\"allow\\\""];
                assert!(remedy.iter().all(|part| got.text.contains(part)), "{chat:?}: {}", got.text);
                assert_eq!(got.header("retry-after"), None, "waiting does not help");
            }
        }
        if status == 200 {
            let usage = client.get("/api/v1/usage").await.json();
            assert_eq!(usage["total"]["unpriced_requests"], 5, "{usage}");
        }
    }
}
