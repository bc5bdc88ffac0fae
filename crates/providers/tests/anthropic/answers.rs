//! Whole answers.

use muster_providers::{Adapter, ChatReply, Choice, FaultClass, FinishReason, Phase, ResponseFormat, ToolCall, Usage};
use serde_json::{Value, json};

use super::support::{answering, http};
use super::*;

fn message(content: &Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5-20250929", "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {"input_tokens": 12, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000,
            "output_tokens": 6},
    })
}

async fn read(body: &Value, request: ChatRequest) -> Result<ChatReply, Fault> {
    let addr = answering(http("200 OK", "", &body.to_string())).await;
    adapter(addr).complete(asking(request)).await
}

#[tokio::test]
async fn texts_are_joined_without_thinking() {
    let content = json!([
        {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "text", "text": "Hi! My name"},
        {"type": "text", "text": " is Claude."},
    ]);
    let reply = read(&message(&content, "end_turn"), hello()).await.unwrap();
    assert_eq!(reply.first, Choice::text("Hi! My name is Claude.", FinishReason::Stop));
    assert_eq!(reply.choices().count(), 1);
    assert_eq!(reply.model, "claude-sonnet-4-5-20250929");
    // The whole prompt: tokens after the cache mark, tokens written to the cache, tokens read from it.
    assert_eq!(reply.usage, Some(Usage { prompt_tokens: 1112, completion_tokens: 6, estimated: false }));
    assert_eq!(reply.verbatim, None);
}

#[tokio::test]
async fn tool_calls_are_decoded() {
    let content = json!([
        {"type": "text", "text": "I'll check."},
        {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "get_weather",
            "input": {"location": "San Francisco, CA", "unit": "celsius"}},
        {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "x"}},
        {"type": "tool_use", "id": "toolu_02", "name": "now", "input": {}},
    ]);
    let reply = read(&message(&content, "tool_use"), hello()).await.unwrap();
    assert_eq!((reply.first.content.as_str(), reply.first.finish), ("I'll check.", FinishReason::ToolCalls));
    let [weather, now] = reply.first.tool_calls.as_slice() else { panic!("{reply:?}") };
    assert_eq!((weather.id.as_str(), weather.name.as_str()), ("toolu_01A09q90qw90lq917835lq9", "get_weather"));
    let arguments: Value = serde_json::from_str(&weather.arguments).unwrap();
    assert_eq!(arguments, json!({"location": "San Francisco, CA", "unit": "celsius"}));
    assert_eq!(now, &ToolCall { id: "toolu_02".into(), name: "now".into(), arguments: "{}".into() });
}

#[tokio::test]
async fn stop_reasons_are_mapped() {
    use FinishReason::{ContentFilter, Length, Stop, ToolCalls};
    for (reason, expected) in [
        ("end_turn", Stop),
        ("stop_sequence", Stop),
        ("pause_turn", Stop),
        ("a_reason_of_tomorrow", Stop),
        ("max_tokens", Length),
        ("model_context_window_exceeded", Length),
        ("tool_use", ToolCalls),
        ("refusal", ContentFilter),
    ] {
        // A refusal may come without any content.
        let reply = read(&message(&json!([]), reason), hello()).await.unwrap();
        assert_eq!(reply.first, Choice::text("", expected), "{reason}");
    }
}

#[tokio::test]
async fn a_fence_around_requested_json_is_removed() {
    let fenced = message(&json!([{"type": "text", "text": "```json\n{\"a\": 1}\n```"}]), "end_turn");
    let json = ChatRequest { format: ResponseFormat::JsonObject, ..hello() };
    assert_eq!(read(&fenced, json).await.unwrap().first.content, "{\"a\": 1}");
    // If no JSON was requested, the fence is part of the response.
    assert_eq!(read(&fenced, hello()).await.unwrap().first.content, "```json\n{\"a\": 1}\n```");
}

#[tokio::test]
async fn a_malformed_answer_is_transient() {
    for body in [
        "{\"content\": [{\"ty",
        "[]",
        "\"hello\"",
        "{}",
        r#"{"type":"message","content":[],"stop_reason":null}"#,
        r#"{"type":"message","content":"text","stop_reason":"end_turn"}"#,
        r#"{"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":[1]}],"stop_reason":"tool_use"}"#,
    ] {
        let addr = answering(http("200 OK", "", body)).await;
        let whole = adapter(addr).complete(asking(hello())).await.unwrap_err();
        assert_eq!((whole.class, whole.phase), (FaultClass::Transient, Phase::Body), "{body}");
        let streamed = refused(adapter(addr).stream(asking(hello())).await);
        assert_eq!((streamed.class, streamed.phase), (FaultClass::Transient, Phase::FirstDelta), "{body}");
    }
}
