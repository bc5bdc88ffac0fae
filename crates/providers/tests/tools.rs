//! Tool calls and several answers at once, whole and streamed, over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::sync::Arc;

use muster_providers::{
    Adapter, Call, ChatEvent, ChatReply, ChatRequest, Choice, Delta, Fault, FaultClass, FinishReason, Phase, ToolCall,
    ToolDelta,
};
use serde_json::{Value, json};
use support::{DONE, adapter, answering, call, collect, events, finish, http};

fn call_for(n: u32) -> Call {
    let call = call();
    Call { request: Arc::new(ChatRequest { n, ..ChatRequest::clone(&call.request) }), ..call }
}

async fn whole(body: &Value, n: u32) -> Result<ChatReply, Fault> {
    adapter(answering(http("200 OK", "", &body.to_string())).await).complete(call_for(n)).await
}

async fn streamed(body: &str, n: u32) -> Vec<Result<ChatEvent, Fault>> {
    collect(adapter(answering(events(body)).await).stream(call_for(n)).await.unwrap()).await
}

fn chunk(choices: &Value) -> String {
    format!("data: {}\n\n", json!({"id": "c", "object": "chat.completion.chunk", "choices": choices}))
}

fn piece(calls: &Value) -> String {
    chunk(&json!([{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": null}]))
}

fn wanted(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

/// The example of the API reference, "Functions", with its content of null.
#[tokio::test]
async fn a_whole_answer_that_asks_for_a_tool() {
    let body = json!({
        "id": "chatcmpl-abc123", "object": "chat.completion", "created": 1_699_896_916, "model": "gpt-4o-mini",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": null, "tool_calls": [{
                "id": "call_abc123", "type": "function",
                "function": {"name": "get_current_weather", "arguments": "{\n\"location\": \"Boston, MA\"\n}"}
            }]},
            "logprobs": null, "finish_reason": "tool_calls"
        }],
        "usage": {"prompt_tokens": 82, "completion_tokens": 17, "total_tokens": 99}
    });
    let reply = whole(&body, 1).await.unwrap();
    let tool_calls = vec![wanted("call_abc123", "get_current_weather", "{\n\"location\": \"Boston, MA\"\n}")];
    assert_eq!(reply.first, Choice { content: String::new(), tool_calls, finish: FinishReason::ToolCalls });
    assert_eq!(reply.verbatim, None, "the request was not verbatim");
}

#[tokio::test]
async fn a_stop_with_tool_calls_is_a_call_for_tools() {
    let call = json!([{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    for reason in [json!("stop"), json!("tool_calls"), json!(null)] {
        let body = json!({"choices": [{"index": 0, "message": {"tool_calls": call}, "finish_reason": reason}]});
        assert_eq!(whole(&body, 1).await.unwrap().first.finish, FinishReason::ToolCalls, "{reason}");
    }
    for end in [finish("stop"), finish("tool_calls"), String::new()] {
        let events = streamed(&format!("{}{end}{DONE}", piece(&call)), 1).await;
        assert_eq!(events.last(), Some(&Ok(ChatEvent::Done { finish: FinishReason::ToolCalls, usage: None })), "{end}");
    }
}

/// The older `function_call`; arguments that are not text; no id.
#[tokio::test]
async fn calls_in_the_variants_of_servers() {
    for message in [
        json!({"function_call": {"name": "f", "arguments": "{\"x\":1}"}}),
        json!({"tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}),
        json!({"tool_calls": [{"id": "", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]}),
    ] {
        let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "function_call"}]});
        let reply = whole(&body, 1).await.unwrap();
        let [call] = reply.first.tool_calls.try_into().unwrap();
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("f", "{\"x\":1}"), "{body}");
        assert!(call.id.starts_with("call_") && call.id.len() <= 40, "{}", call.id);
        assert_eq!(reply.first.finish, FinishReason::ToolCalls);
        let delta = chunk(&json!([{"index": 0, "delta": body["choices"][0]["message"]}]));
        let events = streamed(&format!("{delta}{}{DONE}", finish("tool_calls")), 1).await;
        let first = ToolDelta { index: 0, id: Some(call.id), name: Some("f".into()), arguments: call.arguments };
        assert_eq!(events[0], Ok(ChatEvent::Delta(Delta::Tool { choice: 0, call: first })), "{body}");
    }
}

/// By the API reference: the first fragment of each call has id and name, all fragments have the index.
#[tokio::test]
async fn interleaved_parallel_calls_are_decoded() {
    let begin = |index: u32, id: &str| {
        piece(&json!([{"index": index, "id": id, "type": "function", "function": {"name": "f", "arguments": ""}}]))
    };
    let more = |index: u32, text: &str| piece(&json!([{"index": index, "function": {"arguments": text}}]));
    let role = chunk(&json!([{"index": 0, "delta": {"role": "assistant", "content": null}}]));
    let body = [
        role,
        begin(0, "a"),
        begin(1, "b"),
        more(0, "{\"x\""),
        more(1, "{\"y\""),
        more(0, ":1}"),
        more(1, ":2}"),
        finish("tool_calls"),
        DONE.to_owned(),
    ]
    .concat();
    let delta = |index, id: Option<&str>, arguments: &str| {
        let call = ToolDelta {
            index,
            id: id.map(str::to_owned),
            name: id.map(|_| "f".to_owned()),
            arguments: arguments.into(),
        };
        Ok(ChatEvent::Delta(Delta::Tool { choice: 0, call }))
    };
    assert_eq!(
        streamed(&body, 1).await,
        [
            delta(0, Some("a"), ""),
            delta(1, Some("b"), ""),
            delta(0, None, "{\"x\""),
            delta(1, None, "{\"y\""),
            delta(0, None, ":1}"),
            delta(1, None, ":2}"),
            Ok(ChatEvent::Done { finish: FinishReason::ToolCalls, usage: None }),
        ]
    );
}

#[tokio::test]
async fn a_stream_that_breaks_in_a_tool_call_is_reported_as_broken() {
    let call = json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]);
    let events = streamed(&piece(&call), 1).await;
    assert_eq!(events.len(), 2, "{events:?}");
    let fault = events[1].clone().unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::BetweenDeltas));
}

#[tokio::test]
async fn too_many_calls_are_malformed() {
    let calls: Vec<Value> = (0..200).map(|n| json!({"index": n, "id": format!("c{n}"), "function": {}})).collect();
    let fault = whole(&json!({"choices": [{"index": 0, "message": {"tool_calls": calls}}]}), 1).await.unwrap_err();
    assert_eq!(fault.class, FaultClass::Transient);
    let events = adapter(answering(events(&piece(&json!(calls)))).await).stream(call()).await;
    assert_eq!(events.map(|_| ()).unwrap_err().class, FaultClass::Transient);
}

#[tokio::test]
async fn complete_choices_are_returned_in_order() {
    let choice = |index: u32, text: &str, reason: &str| json!({"index": index, "message": {"content": text}, "finish_reason": reason});
    let body =
        json!({"choices": [choice(1, "b", "length"), choice(0, "a", "stop"), choice(2, "never asked for", "stop")]});
    let reply = whole(&body, 2).await.unwrap();
    assert_eq!(reply.first, Choice::text("a", FinishReason::Stop));
    assert_eq!(reply.more, [Choice::text("b", FinishReason::Length)]);
    // A complete response although a stream was requested.
    let addr = answering(http("200 OK", "", &body.to_string())).await;
    let events = collect(adapter(addr).stream(call_for(2)).await.unwrap()).await;
    assert_eq!(
        events,
        [
            Ok(ChatEvent::text("a")),
            Ok(ChatEvent::Delta(Delta::Text { choice: 1, text: "b".into() })),
            Ok(ChatEvent::Delta(Delta::Finish { choice: 1, finish: FinishReason::Length })),
            Ok(ChatEvent::Done { finish: FinishReason::Stop, usage: None }),
        ]
    );
}

fn of(choice: u32, text: &str) -> String {
    chunk(&json!([{"index": choice, "delta": {"content": text}, "finish_reason": null}]))
}

fn end_of(choice: u32, reason: &str) -> String {
    chunk(&json!([{"index": choice, "delta": {}, "finish_reason": reason}]))
}

#[tokio::test]
async fn interleaved_choices_are_decoded() {
    use FinishReason::{Length, Stop};
    let text = |choice, text: &str| Ok(ChatEvent::Delta(Delta::Text { choice, text: text.into() }));
    let ended = |choice, finish| Ok(ChatEvent::Delta(Delta::Finish { choice, finish }));
    let done = |finish| Ok(ChatEvent::Done { finish, usage: None });
    let begin = [of(0, "a"), of(1, "b"), of(0, "c")].concat();
    let begun = [text(0, "a"), text(1, "b"), text(0, "c")];
    let rows = [
        ("the first ends first", [end_of(0, "stop"), of(1, "d"), end_of(1, "length"), DONE.into()], {
            vec![text(1, "d"), ended(1, Length), done(Stop)]
        }),
        ("the first ends last", [end_of(1, "stop"), of(0, "d"), end_of(0, "length"), DONE.into()], {
            vec![ended(1, Stop), text(0, "d"), done(Length)]
        }),
        ("text after its end, and of nobody", [end_of(1, "stop"), of(1, "x"), of(2, "x"), end_of(0, "stop")], {
            vec![ended(1, Stop), done(Stop)]
        }),
        ("no reasons", [DONE.into(), String::new(), String::new(), String::new()], {
            vec![ended(1, Stop), done(Stop)]
        }),
    ];
    for (name, rest, expected) in rows {
        let events = streamed(&format!("{begin}{}", rest.concat()), 2).await;
        assert_eq!(events, [begun.to_vec(), expected].concat(), "{name}");
    }
    // One is complete, the other is not, and there is no end marker.
    let events = streamed(&format!("{begin}{}", end_of(0, "stop")), 2).await;
    assert_eq!(events.last().unwrap().clone().unwrap_err().phase, Phase::BetweenDeltas);
}

#[tokio::test]
async fn two_choices_in_one_chunk_are_separated() {
    let both = chunk(&json!([{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]));
    let events = streamed(&format!("{both}{}{}{DONE}", end_of(0, "stop"), end_of(1, "stop")), 2).await;
    assert_eq!(
        events[..2],
        [Ok(ChatEvent::text("a")), Ok(ChatEvent::Delta(Delta::Text { choice: 1, text: "b".into() }))]
    );
}
