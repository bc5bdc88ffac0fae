//! OpenAI's Responses API: upstream requests, answers, the exact events, the shape of every error.

use crate::support;

use reqwest::Method;
use serde_json::{Value, json};
use support::UNKNOWN_KEY;
use support::client::{Client, Event, answer};
use support::refusal::{DOWN, Dialect, INVALID, Refusal, normalised, refusal};
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

const PATH: &str = "/v1/responses";

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
    json!({ "model": "alpha", "input": "hi" })
}

fn streamed() -> Value {
    json!({ "model": "alpha", "input": "hi", "stream": true })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn message(id: &Value, status: &str, content: Value) -> Value {
    json!({ "type": "message", "id": id, "status": status, "role": "assistant", "content": content })
}

fn usage(input: u64, output: u64) -> Value {
    json!({ "input_tokens": input, "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
        "output_tokens": output, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": input + output })
}

#[tokio::test]
async fn a_response_and_the_upstream_request() {
    let (_muster, upstream, client) = server(UpstreamAction::Answer(&["hello ", "there"]));
    let format = json!({ "type": "json_schema", "name": "n", "schema": { "type": "object" }, "strict": true });
    let got = client
        .post(
            PATH,
            &json!({
                "model": "alpha", "instructions": "Be brief.", "temperature": 0.25, "max_output_tokens": 64,
                "input": [{ "role": "user", "content": [{ "type": "input_text", "text": "hi" }] }],
                "metadata": { "trip": "7" }, "store": true, "text": { "format": format }, "user": "ann",
            }),
        )
        .await;
    assert_eq!(got.status, 200, "{}", got.text);
    let got = got.json();
    let (id, created) = (got["id"].as_str().unwrap(), got["created_at"].as_u64().unwrap());
    assert!(id.starts_with("resp_"), "{id}");
    assert!(got["completed_at"].as_u64().unwrap() >= created && created > 1_700_000_000);
    let item = &got["output"][0]["id"];
    assert!(item.as_str().unwrap().starts_with("msg_"), "{item}");
    let expected = json!({
        "id": id, "object": "response", "created_at": created, "completed_at": got["completed_at"],
        "status": "completed", "error": null, "incomplete_details": null, "model": "alpha",
        "output": [message(item, "completed", json!([part("hello there")]))], "usage": usage(7, 2),
        "background": false, "store": false, "previous_response_id": null, "instructions": "Be brief.",
        "metadata": { "trip": "7" }, "parallel_tool_calls": true, "temperature": 0.25, "top_p": null,
        "max_output_tokens": 64, "tool_choice": "auto", "tools": [], "text": { "format": format }, "reasoning": null,
        "truncation": "disabled", "user": "ann",
    });
    assert_eq!(got, expected);

    let upstream_request = upstream.last_request();
    let turns = json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" }]);
    assert_eq!((&upstream_request["model"], &upstream_request["messages"]), (&json!("alpha"), &turns));
    let schema = json!({ "name": "n", "schema": { "type": "object" }, "strict": true });
    assert_eq!(upstream_request["response_format"], json!({ "type": "json_schema", "json_schema": schema }));
    let limit = upstream_request.get("max_tokens").or_else(|| upstream_request.get("max_completion_tokens"));
    assert_eq!(
        (limit, &upstream_request["temperature"], &upstream_request["user"]),
        (Some(&json!(64)), &json!(0.25), &json!("ann"))
    );
}

#[tokio::test]
async fn a_truncated_answer_is_marked() {
    let cut = r#"{"id": "up-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": "hel"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}}"#;
    let (_muster, _upstream, client) = server(UpstreamAction::Status(200, "", cut));
    let got = client.post(PATH, &request_body()).await.json();
    assert_eq!(got["status"], "incomplete");
    assert_eq!(got["incomplete_details"], json!({ "reason": "max_output_tokens" }));
    assert_eq!(got["output"], json!([message(&got["output"][0]["id"], "incomplete", json!([part("hel")]))]));
}

/// The data of each event, which is named by its type and numbered.
fn data(events: &[Event]) -> Vec<Value> {
    let numbered = events.iter().enumerate().map(|(at, event)| {
        let mut data = event.json();
        assert_eq!(event.name.as_deref(), data["type"].as_str(), "{event:?}");
        let number = data.as_object_mut().unwrap().remove("sequence_number");
        assert_eq!(number, Some(json!(at)), "{event:?}");
        data
    });
    numbered.collect()
}

fn delta(item: &Value, text: &str) -> Value {
    json!({ "type": "response.output_text.delta", "item_id": item, "output_index": 0, "content_index": 0,
        "delta": text, "logprobs": [] })
}

#[tokio::test]
async fn the_events_of_a_stream() {
    let (_muster, _upstream, client) = server(UpstreamAction::Answer(&["hello ", "there"]));
    let mut stream = client.stream(PATH, &streamed()).await;
    assert_eq!(stream.status, 200);
    assert_eq!(stream.headers["content-type"], "text/event-stream; charset=utf-8");
    let mut events = data(&stream.rest().await);
    assert!(stream.whole);
    let last = events.len() - 1;
    let [created, progress, completed] = [0, 1, last].map(|at| events[at]["response"].take());
    let item = events[2]["item"]["id"].clone();
    let place = |kind: &str, more: Value| {
        let mut event = json!({ "type": kind, "item_id": item, "output_index": 0, "content_index": 0 });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let whole = message(&item, "completed", json!([part("hello there")]));
    let expected = [
        json!({ "type": "response.created", "response": null }),
        json!({ "type": "response.in_progress", "response": null }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": message(&item, "in_progress", json!([])) }),
        place("response.content_part.added", json!({ "part": part("") })),
        delta(&item, "hello "),
        delta(&item, "there"),
        place("response.output_text.done", json!({ "text": "hello there", "logprobs": [] })),
        place("response.content_part.done", json!({ "part": part("hello there") })),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": whole }),
        json!({ "type": "response.completed", "response": null }),
    ];
    assert_eq!(events, expected);
    assert_eq!(created, progress);
    assert_eq!(
        (&created["status"], &created["output"], &created["usage"]),
        (&json!("in_progress"), &json!([]), &Value::Null)
    );
    assert_eq!((&completed["status"], &completed["output"]), (&json!("completed"), &json!([whole])));
    assert_eq!(completed["usage"], usage(7, 2));
    assert_eq!((&completed["id"], &completed["created_at"]), (&created["id"], &created["created_at"]));
}

#[tokio::test]
async fn a_failure_during_a_stream_is_reported_with_the_end() {
    for action in [UpstreamAction::CutAfter(2), UpstreamAction::ErrorAfter(2)] {
        let (_muster, _upstream, client) = server(action);
        let mut stream = client.stream(PATH, &streamed()).await;
        let events = data(&stream.rest().await);
        assert!(stream.whole);
        let [_, _, added, _, first, second, failed, error] = &events[..] else { panic!("{events:?}") };
        let item = &added["item"]["id"];
        assert_eq!([first, second], [&delta(item, "w0 "), &delta(item, "w1 ")]);
        let response = &failed["response"];
        assert_eq!((&failed["type"], &response["status"]), (&json!("response.failed"), &json!("failed")));
        assert_eq!(response["output"], json!([message(item, "incomplete", json!([part("w0 w1 ")]))]));
        let message = &response["error"]["message"];
        assert!(message.as_str().is_some_and(|message| !message.is_empty()), "{failed}");
        assert_eq!(response["error"], json!({ "code": "provider_failed", "message": message }));
        let body = json!({ "message": message, "type": "server_error", "param": null, "code": "provider_failed" });
        let expected =
            json!({ "type": "error", "code": "provider_failed", "message": message, "param": null, "error": body });
        assert_eq!(*error, expected);
    }
}

#[tokio::test]
async fn refusals_are_interface_bs() {
    let (_muster, upstream, client) =
        server_with(UpstreamAction::Answer(&["hello"]), "[server]\nmax_image_body_bytes = 2048\n");
    let post = |kind: &str, body: String| {
        answer(client.request(Method::POST, PATH).header("content-type", kind.to_owned()).body(body))
    };
    let with = |field: &str, value: Value| {
        let mut body = request_body();
        body[field] = value;
        body.to_string()
    };
    let one = |field: &'static [&'static str], message: &'static str, code| {
        let check = (field, message, Value::Null, "value_error");
        Refusal { checks: vec![check], ..refusal(400, code, INVALID, format!("{}: {message}", field.join("."))) }
    };
    let state =
        "`previous_response_id` is not supported, as nothing is stored here: send the whole conversation as input";
    let narrow = client.make_key(&json!({ "name": "narrow", "scopes": ["memory"] })).await;
    let missing = "the model \"nope\" does not exist; GET /v1/models lists those that do";
    let unset = "the model \"claude-sonnet-5-5\" needs its provider \"anthropic\", which is not configured: set [[provider]] id = \"anthropic\"";
    let json = "application/json";
    for (case, got, want) in [
        (
            "malformed JSON",
            post(json, "{oops".to_owned()).await,
            refusal(400, "invalid_json", INVALID, "the body is not JSON: key must be a string at line 1 column 2"),
        ),
        (
            "wrong type of body",
            post("text/plain", request_body().to_string()).await,
            refusal(
                415,
                "unsupported_media_type",
                INVALID,
                "the body must be sent with Content-Type: application/json, not `text/plain`",
            ),
        ),
        (
            "oversize body",
            post(json, with("input", "x".repeat(2048).into())).await,
            refusal(413, "payload_too_large", INVALID, "the body is larger than 2048 bytes, the most taken here"),
        ),
        (
            "missing field",
            post(json, json!({ "model": "alpha" }).to_string()).await,
            one(&["input"], "is required", "invalid_value"),
        ),
        (
            "out of its range",
            post(json, with("temperature", json!(3))).await,
            one(&["temperature"], "must be 0 to 2", "invalid_value"),
        ),
        (
            "an earlier response",
            post(json, with("previous_response_id", json!("resp_1"))).await,
            one(&["previous_response_id"], state, "unsupported_value"),
        ),
        (
            "a tool of theirs",
            post(json, with("tools", json!([{ "type": "web_search" }]))).await,
            one(
                &["tools", "0", "type"],
                "tools of type web_search are not supported: send functions",
                "unsupported_value",
            ),
        ),
        (
            "unknown model",
            post(json, with("model", json!("nope"))).await,
            Refusal {
                checks: vec![(&["model"], missing, json!("nope"), "value_error")],
                ..refusal(404, "model_not_found", INVALID, missing)
            },
        ),
        (
            "unconfigured model",
            post(json, with("model", json!("claude-sonnet-5-5"))).await,
            refusal(503, "model_unconfigured", DOWN, unset),
        ),
        ("wrong method", client.get(PATH).await, refusal(405, "method_not_allowed", INVALID, "this path takes POST")),
        (
            "a stored response",
            client.get("/v1/responses/resp_1").await,
            refusal(
                404,
                "not_found",
                INVALID,
                "there is nothing at /v1/responses/resp_1: /openapi.json lists every route",
            ),
        ),
        (
            "no key",
            client.without_key().post(PATH, &request_body()).await,
            refusal(401, "invalid_api_key", INVALID, "send your key as `Authorization: Bearer mst_…`"),
        ),
        (
            "a wrong key",
            client.with(UNKNOWN_KEY).post(PATH, &request_body()).await,
            refusal(401, "invalid_api_key", INVALID, "the key is unknown, expired or revoked: ask for a new one"),
        ),
        (
            "wrong scope",
            client.with(narrow).post(PATH, &request_body()).await,
            refusal(403, "insufficient_permissions", "permission_error", "this needs a key with the scope `chat`"),
        ),
    ] {
        assert_eq!(got.status, want.status, "{case}: {}", got.text);
        assert_eq!(normalised(&got), want.body(Dialect::B), "{case}");
        assert_eq!(got.header("request-id"), None, "{case}: that name is another dialect's");
    }
    assert_eq!(upstream.requests(), 0, "what cannot be read goes to no provider");
}

#[tokio::test]
async fn a_provider_that_fails() {
    let (_muster, _upstream, client) = server(UpstreamAction::Status(500, "", "{}"));
    for body in [request_body(), streamed()] {
        let got = client.post(PATH, &body).await;
        assert_eq!((got.status, &got.json()["error"]["code"]), (502, &json!("provider_failed")), "{}", got.text);
        assert!(got.number("retry-after").is_some());
    }
}

#[tokio::test]
async fn limits_are_shared_with_chat() {
    let (_muster, _upstream, client) = server(UpstreamAction::Answer(&["hello"]));
    let limits = json!({ "requests_per_minute": 2, "tokens_per_minute": 10_000 });
    let key = json!({ "name": "k", "scopes": ["chat"], "plan_b": "enterprise", "limits": limits });
    let client = client.with(client.make_key(&key).await);
    let chat = json!({ "model": "alpha", "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(client.post("/v1/chat/completions", &chat).await.status, 200);
    let got = client.post(PATH, &request_body()).await;
    assert_eq!((got.status, got.number("x-ratelimit-remaining-requests")), (200, Some(0)), "{}", got.text);
    let got = client.post(PATH, &request_body()).await;
    assert_eq!((got.status, &got.json()["error"]["type"]), (429, &json!("rate_limit_error")));
    assert!(got.number("retry-after").is_some_and(|wait| (1..=60).contains(&wait)));
}
