//! Anthropic's Messages API: upstream requests, answers, the exact events, the shape of every error.

use crate::support;

use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Answer, Client, Event, answer};
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};
use support::{KEY, UNKNOWN_KEY};

const PATH: &str = "/v1/messages";
const COUNT: &str = "/v1/messages/count_tokens";

fn server(action: UpstreamAction) -> (Muster, Upstream, Client) {
    server_with(action, "")
}

fn server_with(action: UpstreamAction, settings: &str) -> (Muster, Upstream, Client) {
    let upstream = Upstream::start(action);
    let chain = "[chain]\norder = [\"one\"]\nbreaker_min_calls = 1000\n";
    let muster = Muster::start(&format!("{}{chain}{settings}", upstream.provider("one", "alpha")));
    let client = muster.client();
    (muster, upstream, client)
}

fn request_body() -> Value {
    json!({ "model": "alpha", "max_tokens": 64, "messages": [{ "role": "user", "content": "hi" }] })
}

fn usage(input: u64, output: u64) -> Value {
    json!({ "input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0 })
}

/// A body without its identifier, whose prefix is checked.
fn without_id(mut body: Value, prefix: &str) -> Value {
    let id = body.as_object_mut().unwrap().remove("id").unwrap();
    assert!(id.as_str().unwrap().starts_with(prefix), "{id}");
    body
}

#[tokio::test]
async fn a_message_and_the_upstream_request() {
    let (_muster, upstream, client) = server(UpstreamAction::Answer(&["hello ", "there"]));
    let mut body = request_body();
    body["system"] = json!([{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }]);
    body["temperature"] = json!(0.25);
    body["stop_sequences"] = json!(["END"]);
    body["metadata"] = json!({ "user_id": "ann" });
    let got = client.post(PATH, &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let expected = json!({ "type": "message", "role": "assistant", "model": "alpha",
        "content": [{ "type": "text", "text": "hello there" }], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": usage(7, 2) });
    assert_eq!(without_id(got.json(), "msg_"), expected);
    assert_eq!(got.header("request-id"), got.header("x-request-id"));

    let upstream_request = upstream.last_request();
    let turns = json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" }]);
    assert_eq!((&upstream_request["model"], &upstream_request["messages"]), (&json!("alpha"), &turns));
    assert_eq!((&upstream_request["temperature"], &upstream_request["stop"]), (&json!(0.25), &json!(["END"])));
    let limit = upstream_request.get("max_tokens").or_else(|| upstream_request.get("max_completion_tokens"));
    assert_eq!((limit, &upstream_request["user"]), (Some(&json!(64)), &json!("ann")));
    assert!(upstream_request.get("top_p").is_none(), "omitted parameters are left to the provider: {upstream_request}");
}

#[tokio::test]
async fn a_truncated_answer_is_marked() {
    let cut = r#"{"id": "up-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": "hel"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}}"#;
    let (_muster, _upstream, client) = server(UpstreamAction::Status(200, "", cut));
    let got = client.post(PATH, &request_body()).await.json();
    assert_eq!((&got["stop_reason"], &got["content"][0]["text"]), (&json!("max_tokens"), &json!("hel")));
}

/// The data of each event, which is named by its type.
fn data(events: &[Event]) -> Vec<Value> {
    let data: Vec<_> = events.iter().map(Event::json).collect();
    for (event, data) in events.iter().zip(&data) {
        assert_eq!(event.name.as_deref(), data["type"].as_str(), "{event:?}");
    }
    data
}

fn delta(text: &str) -> Value {
    json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } })
}

#[tokio::test]
async fn the_events_of_a_stream() {
    let (_muster, _upstream, client) = server(UpstreamAction::Answer(&["hello ", "there"]));
    let mut body = request_body();
    body["stream"] = true.into();
    let mut stream = client.stream(PATH, &body).await;
    assert_eq!(stream.status, 200);
    assert_eq!(stream.headers["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(stream.headers["request-id"], stream.headers["x-request-id"]);
    let mut events = data(&stream.rest().await);
    assert!(stream.whole);
    let message = without_id(events[0]["message"].take(), "msg_");
    let expected = [
        json!({ "type": "message_start", "message": null }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        delta("hello "),
        delta("there"),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
            "usage": usage(7, 2) }),
        json!({ "type": "message_stop" }),
    ];
    assert_eq!(events, expected);
    // An estimate of `hi`: two bytes are a token, and four more for the turn.
    assert_eq!(
        message,
        json!({ "type": "message", "role": "assistant", "model": "alpha", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage(5, 0) })
    );
}

#[tokio::test]
async fn a_failure_in_the_middle_is_an_error_event_and_the_end() {
    for action in [UpstreamAction::CutAfter(2), UpstreamAction::ErrorAfter(2)] {
        let (_muster, _upstream, client) = server(action);
        let mut body = request_body();
        body["stream"] = true.into();
        let mut stream = client.stream(PATH, &body).await;
        let id = stream.headers["request-id"].to_str().unwrap().to_owned();
        let events = data(&stream.rest().await);
        assert!(stream.whole);
        let [start, begin, first, second, error] = &events[..] else { panic!("{events:?}") };
        assert_eq!((&start["type"], &begin["type"]), (&json!("message_start"), &json!("content_block_start")));
        assert_eq!([first, second], [&delta("w0 "), &delta("w1 ")]);
        assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!("api_error")));
        assert!(error["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert_eq!(error["request_id"], id);
    }
}

/// Checks an error: its status, its type, its message where it is known, its identifier in three places.
fn check(case: &str, got: &Answer, status: u16, class: &str, message: Option<&str>) {
    assert_eq!(got.status, status, "{case}: {}", got.text);
    let body = got.json();
    let actual = body["error"]["message"].as_str().unwrap_or_default();
    assert!(!actual.is_empty(), "{case}: {body}");
    let message = message.unwrap_or(actual);
    let id = got.header("request-id").unwrap_or_else(|| panic!("{case}: no request-id"));
    let error = json!({ "type": class, "message": message });
    assert_eq!(body, json!({ "type": "error", "error": error, "request_id": id }), "{case}");
    assert_eq!(got.header("x-request-id"), Some(id), "{case}");
}

const INVALID: &str = "invalid_request_error";

#[tokio::test]
async fn bad_requests() {
    let (_muster, upstream, client) =
        server_with(UpstreamAction::Answer(&["hello"]), "[server]\nmax_image_body_bytes = 2048\n");
    for path in [PATH, COUNT] {
        let post = |kind: &str, body: String| {
            answer(client.request(Method::POST, path).header("content-type", kind.to_owned()).body(body))
        };
        let got = post("application/json", "{oops".to_owned()).await;
        check(
            "malformed JSON",
            &got,
            400,
            INVALID,
            Some("the body is not JSON: key must be a string at line 1 column 2"),
        );
        let got = post("text/plain", request_body().to_string()).await;
        check("wrong type of body", &got, 415, INVALID, None);
        let got = post("application/json", json!({ "model": "x".repeat(2048) }).to_string()).await;
        let message = "the body is larger than 2048 bytes, the most taken here";
        check("oversize body", &got, 413, "request_too_large", Some(message));
        let got = answer(client.request(Method::PUT, path)).await;
        check("wrong method", &got, 405, INVALID, Some("this path supports POST"));
        assert_eq!(got.header("allow"), Some("POST"));
        let got = client.post(path, &json!({ "model": "alpha", "max_tokens": 1 })).await;
        check("missing field", &got, 400, INVALID, Some("messages: is required"));
        let mut tools = request_body();
        tools["tools"] = json!([{ "type": "computer_20250124", "name": "computer" }]);
        let got = client.post(path, &tools).await;
        check("a tool of theirs", &got, 400, INVALID, None);
        assert!(got.json()["error"]["message"].as_str().unwrap().starts_with("tools.0.type: "), "{}", got.text);
    }
    let got = client.post(PATH, &json!({ "model": "alpha", "messages": request_body()["messages"] })).await;
    check("no length", &got, 400, INVALID, Some("max_tokens: is required"));
    let got = client.post("/v1/messages/batches", &json!({})).await;
    check("unknown path", &got, 404, "not_found_error", None);
    assert_eq!(upstream.requests(), 0, "what cannot be read goes to no provider");
}

#[tokio::test]
async fn models_and_providers_that_cannot_answer() {
    let (_muster, upstream, client) = server(UpstreamAction::Status(500, "", "{}"));
    let mut body = request_body();
    body["model"] = "nope".into();
    let got = client.post(PATH, &body).await;
    check("unknown model", &got, 404, "not_found_error", None);
    body["model"] = "claude-sonnet-5-5".into();
    let got = client.post(PATH, &body).await;
    check("unconfigured model", &got, 503, "overloaded_error", None);
    assert!(got.number("retry-after").is_some());
    for stream in [false, true] {
        let mut body = request_body();
        body["stream"] = stream.into();
        let got = client.post(PATH, &body).await;
        check("failing provider", &got, 502, "api_error", None);
        assert!(got.number("retry-after").is_some());
    }
    let too_long =
        r#"{"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}"#;
    upstream.set_action(UpstreamAction::Status(400, "", too_long));
    check("a prompt that is too long", &client.post(PATH, &request_body()).await, 400, INVALID, None);
}

#[tokio::test]
async fn callers_and_their_keys() {
    let (_muster, _upstream, client) = server(UpstreamAction::Answer(&["hello"]));
    let narrow = client.make_key(&json!({ "name": "narrow", "scopes": ["memory"] })).await;
    for (path, body) in [(PATH, request_body()), (COUNT, request_body())] {
        let by_header =
            |key: &str| answer(client.without_key().post_request(path, &body).header("x-api-key", key.to_owned()));
        assert_eq!(by_header(KEY).await.status, 200);
        assert_eq!(client.post(path, &body).await.status, 200, "a bearer too");
        assert_eq!(
            answer(client.post_request(path, &body).header("anthropic-version", "2023-06-01")).await.status,
            200
        );

        let got = client.without_key().post(path, &body).await;
        let how = "send your key as `x-api-key: mst_…` or `Authorization: Bearer mst_…`";
        check("no key", &got, 401, "authentication_error", Some(how));
        assert_eq!(got.header("www-authenticate"), Some("Bearer realm=\"muster\""));
        for got in [by_header(UNKNOWN_KEY).await, client.with(UNKNOWN_KEY).post(path, &body).await] {
            let unknown = "the key is unknown, expired or revoked: request a new one";
            check("a wrong key", &got, 401, "authentication_error", Some(unknown));
        }
        let got = by_header(&narrow).await;
        check("wrong scope", &got, 403, "permission_error", Some("this needs a key with the scope `chat`"));
    }
    // No other route of interface B accepts that header as a credential.
    let got = answer(client.without_key().request(Method::GET, "/v1/models").header("x-api-key", KEY)).await;
    assert_eq!(got.status, 401);
}

#[tokio::test]
async fn limits_are_reported_in_both_header_families() {
    let (_muster, _upstream, client) = server(UpstreamAction::Answer(&["hello"]));
    let limits = json!({ "requests_per_minute": 3, "tokens_per_minute": 1000 });
    let key = json!({ "name": "k", "scopes": ["chat"], "plan_b": "enterprise", "limits": limits });
    let client = client.with(client.make_key(&key).await);
    // Counting spends a request, and no tokens.
    let got = client.post(COUNT, &request_body()).await;
    assert_eq!(got.status, 200, "{}", got.text);
    assert_eq!((got.number("anthropic-ratelimit-requests-limit"), got.number("x-ratelimit-limit")), (Some(3), Some(3)));
    assert_eq!(got.number("anthropic-ratelimit-requests-remaining"), Some(2));
    assert_eq!(got.number("anthropic-ratelimit-tokens-limit"), Some(1000));
    assert_eq!(got.number("anthropic-ratelimit-tokens-remaining"), Some(1000));
    let got = client.post(PATH, &request_body()).await;
    // Reserved are the 5 tokens of the prompt, and the 64 of the longest answer.
    assert_eq!(got.number("anthropic-ratelimit-tokens-remaining"), Some(1000 - 69));
    for case in ["requests", "tokens"] {
        let reset = got.header(&format!("anthropic-ratelimit-{case}-reset")).unwrap();
        let shape: String = reset.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{reset}");
    }
    assert_eq!(client.post(PATH, &request_body()).await.status, 200);
    let got = client.post(PATH, &request_body()).await;
    check("spent limit", &got, 429, "rate_limit_error", None);
    assert!(got.number("retry-after").is_some_and(|wait| (1..=60).contains(&wait)));
    assert_eq!(got.number("anthropic-ratelimit-requests-remaining"), Some(0));
}

#[tokio::test]
async fn tokens_are_counted() {
    let (_muster, upstream, client) = server(UpstreamAction::Answer(&["hello"]));
    let count = async |body: &Value| {
        let got = client.post(COUNT, body).await;
        assert_eq!(got.status, 200, "{}", got.text);
        assert_eq!(got.json().as_object().unwrap().len(), 1);
        got.json()["input_tokens"].as_u64().unwrap()
    };
    // No embedded model is loaded: a token for four bytes, and four more for each turn, each call and each tool.
    let turn = |text: &str| json!({ "model": "any", "messages": [{ "role": "user", "content": text }] });
    assert_eq!(count(&turn("hi")).await, 1 + 4);
    assert_eq!(count(&turn(&"x".repeat(4000))).await, 1000 + 4);
    let mut body = turn("hi");
    body["system"] = "12345678".into();
    assert_eq!(count(&body).await, (1 + 4) + (2 + 4));
    body["tools"] = json!([{ "name": "abcd", "description": "12345678", "input_schema": {} }]);
    assert_eq!(count(&body).await, (1 + 4) + (2 + 4) + (1 + 2 + 1 + 4));
    body["messages"] = json!([{ "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "abcd", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "12345678" }] }]);
    // The call: its id, name and input; the result: its text and the id of the call.
    assert_eq!(count(&body).await, (4 + 1 + 1 + 1 + 4) + (2 + 1 + 4) + (2 + 4) + (1 + 2 + 1 + 4));
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn the_address_without_a_version_is_the_same() {
    let (_muster, _upstream, client) = server(UpstreamAction::Answer(&["hello"]));
    assert_eq!(client.post("/messages", &request_body()).await.status, 200);
    check(
        "an alias",
        &client.without_key().post("/messages", &request_body()).await,
        401,
        "authentication_error",
        None,
    );
}
