//! q159 at `/run`: the answers, limits and budgets of `POST /api/q159/llm/chat`, for callers and for agents.

use serde_json::{Value, json};

use crate::money::billing::{Act, Billing};
use crate::support::server::Muster;
use crate::support::upstream::{Upstream, UpstreamAction, refused_provider};
use crate::tasks::world;

const RUN: &str = "/api/q159/run";

fn ping() -> Value {
    json!({ "messages": [{ "role": "user", "content": "ping" }], "max_tokens": 40 })
}

#[tokio::test]
async fn it_answers_like_its_route_and_is_counted_like_it() {
    let upstream = Billing::start();
    let settings = "[chain]\norder = [\"one\"]\n[budget.models]\nalpha = 1.0\n[limits.agent]\nchat = 2\n[engines]\nsandbox = \"require\"\n";
    let muster = Muster::start(&format!("{}{settings}", upstream.provider("one", "alpha")));
    let client = muster.client();
    let routed = client.post("/api/q159/llm/chat", &ping()).await;
    assert_eq!(routed.status, 200, "{}", routed.text);
    let ran = client.post(RUN, &ping()).await;
    assert_eq!(ran.status, 200, "{}", ran.text);
    let (routed, output) = (routed.json(), ran.json()["output"].clone());
    for member in ["content", "model", "provider", "tokens", "cost_usd"] {
        assert_eq!(output[member], routed[member], "{member}: {output}");
    }
    assert_eq!(output["attempts"].as_array().unwrap().len(), 1, "{output}");
    assert_eq!(
        (&output["attempts"][0]["outcome"], &output["attempts"][0]["breaker"]),
        (&json!("ok"), &json!("closed"))
    );
    // Both are in the ledger, and what is left of the month is what both left.
    let report = client.get("/api/v1/usage").await.json();
    assert!((report["budget"]["spent_usd"].as_f64().unwrap() - upstream.billed()).abs() < 1e-9, "{report}");
    let left = output["budget_left"]["alpha"].as_f64().unwrap();
    assert!((left - (1.0 - upstream.billed())).abs() < 1e-9, "{output}");
    let metrics = client.get("/metrics").await.text;
    assert!(metrics.contains("muster_tokens_total{kind=\"prompt\",model=\"alpha\",provider=\"one\"}"), "{metrics}");
    // Two calls of the gateway are the limit, by whichever way.
    let third = client.post(RUN, &ping()).await;
    assert_eq!(third.status, 429, "{}", third.text);
    assert!(third.number("retry-after").is_some_and(|wait| wait > 0), "{}", third.text);
}

#[tokio::test]
async fn the_gateways_refusals_are_those_of_the_run() {
    let upstream = Billing::start();
    let settings = format!(
        "{}{}[chain]\nretries = 0\n[limits.agent]\nchat = \"unlimited\"\n",
        upstream.provider("one", "alpha"),
        refused_provider("two", "beta"),
    );
    let muster = Muster::start(&settings);
    let client = muster.client();
    let with = |member: &str, value: Value| {
        let mut body = ping();
        body[member] = value;
        body
    };
    let expect = [
        // The call may cost less than its prompt.
        (with("budget_usd", json!(1e-9)), 429, "budget"),
        (with("chain", json!(["beta"])), 503, "two cannot be reached"),
        (with("tools", json!([{ "type": "function", "function": { "name": "no name" } }])), 422, "tools"),
        (with("response_schema", json!([])), 422, "response_schema"),
        (with("messages", json!([])), 422, "messages"),
        (with("chain", json!(vec!["alpha"; 17])), 422, "16"),
    ];
    for (body, status, word) in expect {
        let got = client.post(RUN, &body).await;
        assert!(got.status == status && got.text.contains(word), "{status} {word}: {} {}", got.status, got.text);
    }
    assert_eq!(upstream.received(), 0, "nothing of it was sent");
    let body = json!({ "name": "engines only", "scopes": ["engines"] });
    let without = client.with(client.make_key(&body).await);
    let got = without.post(RUN, &ping()).await;
    assert!(got.status == 403 && got.text.contains("`chat`"), "{} {}", got.status, got.text);
    upstream.then([Act::Refuse]);
    let got = client.post(RUN, &ping()).await;
    assert!(got.status >= 400 && !got.text.contains("internal"), "{} {}", got.status, got.text);
}

#[tokio::test]
async fn tools_and_a_schema_reach_the_provider_and_calls_come_back() {
    let called = json!({
        "id": "x", "object": "chat.completion", "created": 1, "model": "alpha",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null,
            "tool_calls": [{ "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" } }],
        }}],
        "usage": { "prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12 },
    });
    let body = Box::leak(called.to_string().into_boxed_str());
    let upstream = Upstream::start(UpstreamAction::Status(200, "content-type: application/json\r\n", body));
    let muster = Muster::start(&format!("{}[chain]\norder = [\"one\"]\n", upstream.provider("one", "alpha")));
    let client = muster.client();
    let mut body = ping();
    let function =
        json!({ "name": "add", "parameters": { "type": "object", "properties": { "a": { "type": "number" } } } });
    body["tools"] = json!([{ "type": "function", "function": function }]);
    body["response_schema"] = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    body["stream"] = true.into();
    let got = client.post(RUN, &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let ran = got.json();
    let call = &ran["output"]["tool_calls"][0];
    assert_eq!((&call["id"], &call["function"]["name"]), (&json!("call_1"), &json!("add")), "{ran}");
    assert!(ran["warnings"][0].as_str().unwrap().starts_with("not_streamed: "), "{ran}");
    let sent = upstream.last_request();
    assert_eq!(sent["tools"][0]["function"]["name"], "add", "{sent}");
    assert_eq!(sent["response_format"]["json_schema"]["schema"], body["response_schema"], "{sent}");
}

/// The agent's call of the gateway is in the usage of its task, and paid by the key that began it.
#[tokio::test]
async fn the_model_router_asks_the_gateway() {
    let upstream = Billing::start();
    let settings = "[agents]\nplanner_model = \"none\"\n[chain]\norder = [\"one\"]\n";
    let muster = Muster::start(&format!("{}{settings}", upstream.provider("one", "gpt-5.6-luna")));
    let client = muster.client();
    let task = json!({ "task": "Which shelters are open tonight?" });
    let began = client.post("/api/v1/agents/model-router/run", &task).await;
    assert_eq!(began.status, 201, "{}", began.text);
    let id = began.json()["task_id"].as_str().unwrap().to_owned();
    let task = world::reaches(&client, &id, &["succeeded", "failed"]).await;
    assert_eq!(task["status"], "succeeded", "{task}");
    assert_eq!(upstream.received(), 1, "{task}");
    let spent = task["usage"]["cost_usd"].as_f64().unwrap_or_default();
    assert!((spent - upstream.billed()).abs() < 1e-9 && spent > 0.0, "{} {task}", upstream.billed());
}
