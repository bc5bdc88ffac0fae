//! Whole answers.

use muster_providers::{
    Adapter, ChatEvent, Choice, Delta, FaultClass, FinishReason, Phase, ToolCall, ToolDelta, Usage,
};
use serde_json::{Value, json};

use super::support::{answering, call, collect, http};
use super::{FIGURES, adapter, call_for, candidate, complete, usage};

/// One candidate of these parts.
fn one(parts: Value, reason: &str) -> Value {
    json!({"candidates": [candidate(0, parts, reason)], "usageMetadata": usage(), "modelVersion": "m-001"})
}

#[tokio::test]
async fn thinking_is_excluded_from_the_text() {
    let parts = json!([{"text": "hm", "thought": true}, {"text": "He"}, {"text": "y", "thoughtSignature": "c2ln"}]);
    let reply = complete(&one(parts, "STOP")).await.unwrap();
    assert_eq!(reply.first, Choice::text("Hey", FinishReason::Stop));
    assert_eq!((reply.more.len(), reply.usage, reply.model.as_str()), (0, FIGURES, "m-001"));
}

#[tokio::test]
async fn thinking_counts_as_output_and_tool_input_as_prompt() {
    let mut body = one(json!([{"text": "x"}]), "STOP");
    body["usageMetadata"] = json!({"promptTokenCount": 5, "toolUsePromptTokenCount": 3, "candidatesTokenCount": 2,
        "thoughtsTokenCount": 40, "totalTokenCount": 50});
    let usage = complete(&body).await.unwrap().usage;
    assert_eq!(usage, Some(Usage { prompt_tokens: 8, completion_tokens: 42, estimated: false }));
    body["usageMetadata"] = json!({"promptTokenCount": 5});
    let usage = complete(&body).await.unwrap().usage;
    assert_eq!(usage, Some(Usage { prompt_tokens: 5, completion_tokens: 0, estimated: false }));
    body["usageMetadata"] = json!({"totalTokenCount": 7});
    assert_eq!(complete(&body).await.unwrap().usage, None, "a total alone says too little");
    body.as_object_mut().unwrap().remove("usageMetadata");
    body.as_object_mut().unwrap().remove("modelVersion");
    let reply = complete(&body).await.unwrap();
    assert_eq!((reply.usage, reply.model.as_str()), (None, "m"));
}

#[tokio::test]
async fn calls_keep_their_identifiers_or_get_one() {
    let parts = json!([
        {"text": "let me see"},
        {"functionCall": {"id": "f1", "name": "weather", "args": {"city": "Rome"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "now"}},
        {"functionCall": {"name": "now", "args": {}}},
    ]);
    let reply = complete(&one(parts, "STOP")).await.unwrap();
    assert_eq!((reply.first.content.as_str(), reply.first.finish), ("let me see", FinishReason::ToolCalls));
    let [rome, now, again] = reply.first.tool_calls.as_slice() else {
        panic!("{:?}", reply.first.tool_calls);
    };
    let (id, name, arguments) = ("f1".to_owned(), "weather".to_owned(), r#"{"city":"Rome"}"#.to_owned());
    assert_eq!(*rome, ToolCall { id, name, arguments });
    for call in [now, again] {
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("now", "{}"));
        assert!(call.id.starts_with("call_"), "{}", call.id);
    }
    assert_ne!(now.id, again.id);
}

#[tokio::test]
async fn finish_reasons_are_mapped() {
    use FinishReason::{ContentFilter, Length, Stop, ToolCalls};
    let (text, silent, calls) = (json!([{"text": "x"}]), json!([]), json!([{"functionCall": {"name": "f"}}]));
    let rows = [
        (&text, "STOP", Some(Stop)),
        (&silent, "STOP", Some(Stop)),
        (&calls, "STOP", Some(ToolCalls)),
        (&text, "", Some(Stop)),
        (&calls, "FINISH_REASON_UNSPECIFIED", Some(ToolCalls)),
        (&text, "MAX_TOKENS", Some(Length)),
        (&silent, "MAX_TOKENS", Some(Length)),
        (&silent, "SAFETY", Some(ContentFilter)),
        (&text, "RECITATION", Some(ContentFilter)),
        (&silent, "BLOCKLIST", Some(ContentFilter)),
        (&silent, "PROHIBITED_CONTENT", Some(ContentFilter)),
        (&silent, "SPII", Some(ContentFilter)),
        (&silent, "LANGUAGE", Some(ContentFilter)),
        (&text, "OTHER", Some(Stop)),
        (&text, "A_REASON_OF_TOMORROW", Some(Stop)),
        (&silent, "OTHER", None),
        (&silent, "MALFORMED_FUNCTION_CALL", None),
        (&text, "MALFORMED_FUNCTION_CALL", None),
        (&text, "UNEXPECTED_TOOL_CALL", None),
        (&silent, "", None),
    ];
    for (parts, reason, expected) in rows {
        match (complete(&one(parts.clone(), reason)).await, expected) {
            (Ok(reply), Some(finish)) => assert_eq!(reply.first.finish, finish, "{reason} {parts}"),
            (Err(fault), None) => {
                assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Body), "{reason} {parts}");
            }
            (got, _) => panic!("{reason} {parts}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_an_empty_filtered_answer() {
    let body =
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 5}});
    let reply = complete(&body).await.unwrap();
    assert_eq!(reply.first, Choice::text("", FinishReason::ContentFilter));
    assert_eq!(reply.usage, Some(Usage { prompt_tokens: 5, completion_tokens: 0, estimated: false }));
}

/// Two answers, the second one first and cut short.
fn two() -> Value {
    json!({
        "candidates": [
            candidate(1, json!([{"text": "Ho"}, {"functionCall": {"id": "f1", "name": "now"}}]), "MAX_TOKENS"),
            candidate(0, json!([{"text": "Hey"}]), "STOP"),
        ],
        "usageMetadata": usage(),
    })
}

#[tokio::test]
async fn several_choices_are_returned_in_order() {
    let addr = answering(http("200 OK", "", &two().to_string())).await;
    let reply = adapter(addr).complete(call_for(2)).await.unwrap();
    assert_eq!(reply.first, Choice::text("Hey", FinishReason::Stop));
    assert_eq!(reply.more.len(), 1);
    assert_eq!((reply.more[0].content.as_str(), reply.more[0].finish), ("Ho", FinishReason::Length));
    assert_eq!(reply.more[0].tool_calls[0].id, "f1");
}

#[tokio::test]
async fn a_complete_response_becomes_a_stream() {
    let addr = answering(http("200 OK", "", &two().to_string())).await;
    let events = collect(adapter(addr).stream(call_for(2)).await.unwrap()).await;
    let (id, name) = (Some("f1".to_owned()), Some("now".to_owned()));
    let call = ToolDelta { index: 0, id, name, arguments: "{}".to_owned() };
    let expected = [
        ChatEvent::text("Hey"),
        ChatEvent::Delta(Delta::Text { choice: 1, text: "Ho".to_owned() }),
        ChatEvent::Delta(Delta::Tool { choice: 1, call }),
        ChatEvent::Delta(Delta::Finish { choice: 1, finish: FinishReason::Length }),
        ChatEvent::Done { finish: FinishReason::Stop, usage: FIGURES },
    ];
    assert_eq!(events, expected.map(Ok));
}

#[tokio::test]
async fn malformed_responses_are_transient() {
    for body in [
        "{\"candidates\": [{\"cont",
        "",
        "[]",
        "7",
        "{}",
        r#"{"candidates":[]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}"#,
        r#"{"promptFeedback":{}}"#,
    ] {
        let addr = answering(http("200 OK", "", body)).await;
        let fault = adapter(addr).complete(call()).await.unwrap_err();
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Body), "{body}");
        let fault = super::refused(&adapter(addr), call()).await;
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta), "{body}");
    }
}
