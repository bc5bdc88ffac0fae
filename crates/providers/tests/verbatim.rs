//! Requests and responses in OpenAI's form that are forwarded unchanged, and those that are not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::sync::Arc;

use bytes::Bytes;
use muster_providers::{
    Adapter, Call, ChatDefaults, ChatEvent, ChatReply, ChatRequest, Delta, FinishReason, Message, Role, Verbatim,
};
use serde_json::{Value, json};
use support::{DONE, USAGE, adapter, answering, call, collect, delta, events, finish, http, recording, text};

fn verbatim(body: impl Into<Bytes>) -> Call {
    let defaults = ChatDefaults { temperature: Some(0.7), max_tokens: Some(2000) };
    changed(|request| {
        *request = ChatRequest { defaults, verbatim: Some(body.into()), ..request.clone() };
    })
}

fn changed(change: impl FnOnce(&mut ChatRequest)) -> Call {
    let mut call = call();
    change(Arc::make_mut(&mut call.request));
    call
}

/// The body as the server got it.
async fn sent(call: Call) -> String {
    let (addr, mut requests) = recording().await;
    adapter(addr).complete(call).await.unwrap();
    requests.recv().await.unwrap().1.body
}

async fn sent_for_a_stream(call: Call) -> String {
    let (addr, mut requests) = recording().await;
    collect(adapter(addr).stream(call).await.unwrap()).await;
    requests.recv().await.unwrap().1.body
}

#[tokio::test]
async fn only_required_members_change() {
    let body = r#"{ "messages" : [ {"role":"user","content":"h\u00e9"} ], "model":"x","temperature": 1.0,"top_p":0.50,
        "stream":true,"stream_options":{"include_usage":false,"include_obfuscation" : false},"max_tokens":1e3,"seed":7,
        "max_completion_tokens":5,"logit_bias":{"model":"y","a":[1, 2.0]},"un\"known":{"model":"y"},"big":123456789012345678901234567890}"#;
    let kept = r#""messages":[ {"role":"user","content":"h\u00e9"} ],"temperature":1.0,"top_p":0.50,"seed":7,"logit_bias":{"model":"y","a":[1, 2.0]}}"#;
    let bound = r#""max_tokens":1e3,"max_completion_tokens":5"#;
    assert_eq!(sent(verbatim(body)).await, format!(r#"{{"model":"m","stream":false,{bound},{kept}"#));
    assert_eq!(
        sent_for_a_stream(verbatim(body)).await,
        format!(
            r#"{{"model":"m","stream":true,"stream_options":{{"include_usage":true,"include_obfuscation":false}},{bound},{kept}"#
        )
    );
}

#[tokio::test]
async fn a_temperature_is_added_only_where_none_was_sent() {
    let head = r#"{"model":"m","stream":false,"max_tokens":2000"#;
    for (body, expected) in [
        (r#"{"messages":[]}"#, format!(r#"{head},"temperature":0.7,"messages":[]}}"#)),
        (r#"{"temperature":null,"messages":[]}"#, format!(r#"{head},"temperature":0.7,"messages":[]}}"#)),
        (r#"{"temperature":0,"messages":[]}"#, format!(r#"{head},"temperature":0,"messages":[]}}"#)),
    ] {
        assert_eq!(sent(verbatim(body)).await, expected);
    }
}

#[tokio::test]
async fn what_the_client_sent_goes_on_also_to_models_without_sampling() {
    let body = r#"{"temperature":1,"top_p":1,"presence_penalty":1,"frequency_penalty":1,"seed":1,"stop":"END","logit_bias":{}}"#;
    let call = Call { takes_sampling: false, ..verbatim(body) };
    let head = r#"{"model":"m","stream":false,"max_tokens":2000,"#;
    assert_eq!(sent(call).await, body.replacen('{', head, 1));
    // A default does not.
    let call = Call { takes_sampling: false, ..verbatim(r#"{"stop":"END"}"#) };
    assert_eq!(sent(call).await, format!(r#"{head}"stop":"END"}}"#));
}

#[tokio::test]
async fn a_second_model_member_is_not_forwarded() {
    let body = r#"{"model":"a","messages":[],"model":"b","mod\u0065l":"c","\u006d\u006f\u0064\u0065\u006c":"d","temperature":1}"#;
    assert_eq!(
        sent(verbatim(body)).await,
        r#"{"model":"m","stream":false,"max_tokens":2000,"messages":[],"temperature":1}"#
    );
}

/// A role that the server does not know is renamed; a body that is not an object is encoded, and parsed as usual.
#[tokio::test]
async fn requests_that_cannot_be_forwarded_are_encoded_again() {
    let mut developer = verbatim(r#"{"messages":[{"role":"developer","content":"be brief"}],"unknown":1}"#);
    Arc::make_mut(&mut developer.request).messages = vec![Message::text(Role::Developer, "be brief")];
    let body: Value = serde_json::from_str(&sent(developer).await).unwrap();
    assert_eq!(body["messages"], json!([{"role": "system", "content": "be brief"}]));
    assert_eq!(body.get("unknown"), None);
    for body in ["[]", "{", "{} {}", "\"x\""] {
        let body: Value = serde_json::from_str(&sent(verbatim(body)).await).unwrap();
        assert_eq!(body["messages"][0]["content"], *call().request.messages[0].content.text());
    }
}

async fn answered(body: &str, call: Call) -> ChatReply {
    adapter(answering(http("200 OK", "", body)).await).complete(call).await.unwrap()
}

#[tokio::test]
async fn complete_responses_are_forwarded_unchanged() {
    let body = r#"{ "id":"c1", "model":"m-1", "unknown":[1], "choices":[{"index":0,"message":{"role":"assistant","content":"Hey","refusal":null},"finish_reason":"stop"}], "usage":{"prompt_tokens":5,"completion_tokens":2} }"#;
    let reply = answered(body, verbatim("{}")).await;
    assert_eq!((reply.first.content.as_str(), reply.model.as_str()), ("Hey", "m-1"));
    assert_eq!(reply.verbatim.as_deref(), Some(body.as_bytes()));
    assert_eq!(answered(body, call()).await.verbatim, None);
}

/// What only a lenient parser understands is not forwarded verbatim.
#[tokio::test]
async fn non_standard_responses_are_parsed_and_encoded() {
    let call = r#"{"type":"function","function":{"name":"f","arguments":"{}"}}"#;
    for (choice, standard_stream) in [
        (r#"{"index":0,"message":{"content":"x"},"finish_reason":"length"}"#.to_owned(), true),
        (r#"{"message":{"content":"x"},"finish_reason":"stop"}"#.to_owned(), false),
        (r#"{"index":0,"message":{"content":"x"},"finish_reason":"eos"}"#.to_owned(), false),
        (r#"{"index":0,"message":{"content":"x"}}"#.to_owned(), false),
        (r#"{"index":0,"message":{"content":[{"type":"text","text":"x"}]},"finish_reason":"stop"}"#.to_owned(), false),
        (format!(r#"{{"index":0,"message":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}"#), false),
        (
            format!(
                r#"{{"index":0,"message":{{"tool_calls":[{}]}},"finish_reason":"tool_calls"}}"#,
                call.replace("{\"type\"", "{\"id\":\"c1\",\"type\"")
            ),
            true,
        ),
        (
            format!(
                r#"{{"index":0,"message":{{"tool_calls":[{}]}},"finish_reason":"stop"}}"#,
                call.replace("{\"type\"", "{\"id\":\"c1\",\"type\"")
            ),
            false,
        ),
    ] {
        let reply = answered(&format!(r#"{{"choices":[{choice}]}}"#), verbatim("{}")).await;
        assert_eq!(reply.verbatim.is_some(), standard_stream, "{choice}");
    }
}

#[tokio::test]
async fn text_chunks_are_forwarded_and_others_parsed() {
    let choices =
        r#"[{"index":0, "delta":{"content":"a \"quoted\" é\n"},"logprobs":{"content":[]},"finish_reason":null}]"#;
    let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
    let last = r#"{"choices":[{"index":0,"delta":{"content":"!"},"finish_reason":"stop"}]}"#;
    let body = format!(
        "data: {role}\n\ndata: {{\"id\":\"c1\",\"choices\":{choices},\"usage\":null}}\n\ndata: {last}\n\n{USAGE}{DONE}"
    );
    let stream = adapter(answering(events(&body)).await).stream(verbatim("{}")).await.unwrap();
    let events = collect(stream).await;
    let chunk = Verbatim {
        choices: Bytes::copy_from_slice(choices.as_bytes()),
        escaped: Bytes::from_static(r#"a \"quoted\" é\n"#.as_bytes()),
    };
    assert_eq!(chunk.text(), "a \"quoted\" é\n");
    assert_eq!(events[..2], [Ok(ChatEvent::Delta(Delta::Verbatim(chunk))), Ok(ChatEvent::text("!"))]);
    let Ok(ChatEvent::Done { finish: FinishReason::Stop, usage: Some(usage) }) = &events[2] else {
        panic!("{events:?}")
    };
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (5, 2));
}

#[tokio::test]
async fn several_answers_pass_while_they_last() {
    let choice = |n: u32, text: &str| json!({"index": n, "delta": {"content": text}});
    let event = |choices: &Value| format!("data: {}\n\n", json!({"choices": choices}));
    let both = json!([choice(0, "a"), choice(1, "b")]);
    let end = event(&json!([{"index": 1, "delta": {}, "finish_reason": "stop"}]));
    let late = event(&json!([choice(0, "c"), choice(1, "too late")]));
    let unasked = event(&json!([choice(2, "nobody")]));
    let body = format!("{}{end}{late}{unasked}{}{DONE}", event(&both), finish("stop"));
    let mut call = verbatim("{}");
    Arc::make_mut(&mut call.request).n = 2;
    let events = collect(adapter(answering(events(&body)).await).stream(call).await.unwrap()).await;
    let chunk = Verbatim { choices: both.to_string().into(), escaped: "ab".into() };
    assert_eq!(
        events,
        [
            Ok(ChatEvent::Delta(Delta::Verbatim(chunk))),
            Ok(ChatEvent::Delta(Delta::Finish { choice: 1, finish: FinishReason::Stop })),
            Ok(ChatEvent::text("c")),
            Ok(ChatEvent::Done { finish: FinishReason::Stop, usage: None }),
        ]
    );
}

/// Without a verbatim request, the same stream yields texts.
#[tokio::test]
async fn a_stream_has_the_same_content_either_way() {
    let body = format!("{}{}{}{DONE}", delta("Hé \"you\""), delta("\u{1F600}\n"), finish("stop"));
    for call in [call(), verbatim("{}")] {
        let events = collect(adapter(answering(events(&body)).await).stream(call).await.unwrap()).await;
        assert_eq!((text(&events).as_str(), events.len()), ("Hé \"you\"\u{1F600}\n", 3));
    }
}
