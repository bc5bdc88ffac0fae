//! What is sent.

use std::sync::Arc;

use muster_providers::{
    Adapter, Call, ChatEvent, ChatReply, ChatRequest, ClientFault, Content, ContentPart, Delta, FaultClass, Image,
    ImageSource, Message, ResponseFormat, Role, Sampling, Tool, ToolCall, ToolChoice,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::support::{KEY, Request, call, collect, events, http, serve};
use super::{adapter, candidate, event, last, open};

/// A server that reports its first request and answers it.
async fn recording(answer: String) -> (std::net::SocketAddr, mpsc::Receiver<Request>) {
    let (report, reports) = mpsc::channel(4);
    let addr = serve(move |mut conn| {
        let (report, answer) = (report.clone(), answer.clone());
        async move {
            report.send(conn.request().await.unwrap()).await.unwrap();
            conn.send(&answer).await;
        }
    })
    .await;
    (addr, reports)
}

const ANSWER: &str = r#"{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}"#;

fn asking(request: ChatRequest) -> Call {
    Call { request: Arc::new(request), ..call() }
}

async fn sent(call: Call) -> Request {
    let (addr, mut requests) = recording(http("200 OK", "", ANSWER)).await;
    adapter(addr).complete(call).await.unwrap();
    requests.recv().await.unwrap()
}

async fn body_of(request: ChatRequest) -> Value {
    serde_json::from_str(&sent(asking(request)).await.body).unwrap()
}

fn message_of(role: Role, text: &str) -> Message {
    Message::text(role, text)
}

fn called(content: &str, calls: &[(&str, &str, &str)]) -> Message {
    let tool_calls = calls
        .iter()
        .map(|(id, name, arguments)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        })
        .collect();
    Message { tool_calls, ..message_of(Role::Assistant, content) }
}

fn answered(id: &str, content: &str) -> Message {
    Message { tool_call_id: Some(id.to_owned()), ..message_of(Role::Tool, content) }
}

fn weather() -> Tool {
    Tool {
        name: "weather".to_owned(),
        description: Some("The weather at a place".to_owned()),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        strict: None,
    }
}

fn with_image(source: ImageSource) -> ChatRequest {
    let image = ContentPart::Image(Image { source, detail: None });
    let content = Content::Parts(vec![ContentPart::Text("what is it?".to_owned()), image]);
    ChatRequest { messages: vec![Message { content, ..message_of(Role::User, "") }], ..ChatRequest::default() }
}

#[tokio::test]
async fn the_key_is_in_its_header_and_not_in_the_address() {
    let request = sent(call()).await;
    assert!(request.head.starts_with("POST /v1beta/models/m:generateContent HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("x-goog-api-key"), Some(KEY));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("x-request-id"), Some("req_01TEST"));
    assert_eq!(request.header("traceparent"), call().traceparent.as_deref());
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(
        serde_json::from_str::<Value>(&request.body).unwrap(),
        json!({"contents": [{"role": "user", "parts": [{"text": "a prompt nobody else may read"}]}]})
    );
}

#[tokio::test]
async fn a_stream_asks_for_events() {
    let (addr, mut requests) = recording(events(&last("ok", "STOP"))).await;
    let call = Call { upstream_model: "models/gemini-3.1-pro-preview".to_owned(), ..call() };
    collect(adapter(addr).stream(call).await.unwrap()).await;
    let request = requests.recv().await.unwrap();
    let line = "POST /v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse HTTP/1.1\r\n";
    assert!(request.head.starts_with(line), "{}", request.head);
    assert_eq!(request.header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn instructions_stand_apart_and_turns_of_one_role_are_one() {
    let body = body_of(ChatRequest {
        messages: vec![
            message_of(Role::System, "be brief"),
            message_of(Role::User, "hi"),
            message_of(Role::User, "there"),
            message_of(Role::Assistant, "hello"),
            message_of(Role::Developer, "in French"),
            message_of(Role::User, ""),
            message_of(Role::User, "how are you?"),
        ],
        ..ChatRequest::default()
    })
    .await;
    assert_eq!(
        body,
        json!({
            "systemInstruction": {"parts": [{"text": "be brief"}, {"text": "in French"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}, {"text": "there"}]},
                {"role": "model", "parts": [{"text": "hello"}]},
                {"role": "user", "parts": [{"text": "how are you?"}]},
            ],
        })
    );
}

#[tokio::test]
async fn an_instruction_alone_is_said_by_the_user() {
    let body =
        body_of(ChatRequest { messages: vec![message_of(Role::System, "say hi")], ..ChatRequest::default() }).await;
    assert_eq!(body, json!({"contents": [{"role": "user", "parts": [{"text": "say hi"}]}]}));
}

fn everything() -> ChatRequest {
    ChatRequest {
        messages: vec![message_of(Role::User, "hi")],
        sampling: Sampling {
            temperature: Some(0.5),
            top_p: Some(0.25),
            presence_penalty: Some(0.75),
            frequency_penalty: Some(-0.5),
            top_k: None,
            seed: Some(7),
            stop: vec!["END".to_owned()],
        },
        max_tokens: Some(100),
        format: ResponseFormat::JsonSchema {
            name: "answer".to_owned(),
            schema: json!({"type": "object", "additionalProperties": false}),
            strict: Some(true),
        },
        user: Some("u1".to_owned()),
        n: 2,
        ..ChatRequest::default()
    }
}

#[tokio::test]
async fn the_answer_is_shaped_by_the_generation_config() {
    assert_eq!(
        body_of(everything()).await,
        json!({
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {
                "temperature": 0.5,
                "topP": 0.25,
                "presencePenalty": 0.75,
                "frequencyPenalty": -0.5,
                "seed": 7,
                "maxOutputTokens": 100,
                "stopSequences": ["END"],
                "candidateCount": 2,
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "object", "additionalProperties": false},
            },
        })
    );
}

#[tokio::test]
async fn a_model_without_sampling_gets_none_but_keeps_its_bounds() {
    let format = ResponseFormat::JsonObject;
    let call = Call { takes_sampling: false, ..asking(ChatRequest { format, n: 1, ..everything() }) };
    let body: Value = serde_json::from_str(&sent(call).await.body).unwrap();
    assert_eq!(
        body["generationConfig"],
        json!({"seed": 7, "maxOutputTokens": 100, "stopSequences": ["END"], "responseMimeType": "application/json"})
    );
}

#[tokio::test]
async fn a_seed_too_long_for_the_api_is_still_a_seed() {
    let sampling = Sampling { seed: Some(i64::from(u32::MAX) + 8), ..Sampling::default() };
    let body = body_of(ChatRequest { sampling, ..everything() }).await;
    assert_eq!(body["generationConfig"]["seed"], 7);
}

#[tokio::test]
async fn an_image_goes_inline() {
    let source = ImageSource::Data { media_type: "image/png".to_owned(), base64: "iVBORw0KGgo=".to_owned() };
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    assert_eq!(
        body_of(with_image(source)).await["contents"],
        json!([{"role": "user", "parts": [{"text": "what is it?"}, image]}])
    );
}

#[tokio::test]
async fn only_a_file_of_the_providers_own_goes_by_its_address() {
    let (addr, mut requests) = recording(http("200 OK", "", ANSWER)).await;
    let file = format!("http://{addr}/v1beta/files/abc-123");
    adapter(addr).complete(asking(with_image(ImageSource::Url(file.clone())))).await.unwrap();
    let body: Value = serde_json::from_str(&requests.recv().await.unwrap().body).unwrap();
    assert_eq!(body["contents"][0]["parts"][1], json!({"fileData": {"fileUri": file}}));

    let elsewhere = with_image(ImageSource::Url("https://example.com/cat.png".to_owned()));
    let fault = adapter(addr).complete(asking(elsewhere)).await.unwrap_err();
    assert_eq!((fault.class, fault.client), (FaultClass::Client, Some(ClientFault::Unsupported)));
    assert_eq!(fault.param.as_deref(), Some("messages"));
    assert!(fault.message.contains("send the image as base64 data"), "{}", fault.message);
    assert!(requests.try_recv().is_err(), "it was called all the same");
}

#[tokio::test]
async fn tools_are_declared_in_json_schema() {
    let now = Tool {
        name: "now".to_owned(),
        description: None,
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        strict: Some(true),
    };
    let messages = vec![message_of(Role::User, "hi")];
    let body = body_of(ChatRequest { messages, tools: vec![weather(), now], ..ChatRequest::default() }).await;
    assert_eq!(
        body["tools"],
        json!([{"functionDeclarations": [
            {
                "name": "weather",
                "description": "The weather at a place",
                "parametersJsonSchema":
                    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
            {"name": "now"},
        ]}])
    );
    assert_eq!(body.get("toolConfig"), None);
}

#[tokio::test]
async fn tool_choice_is_encoded_for_google() {
    for (tool_choice, expected) in [
        (ToolChoice::None, json!({"mode": "NONE"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (ToolChoice::Named("weather".to_owned()), json!({"mode": "ANY", "allowedFunctionNames": ["weather"]})),
    ] {
        let messages = vec![message_of(Role::User, "hi")];
        let tools = vec![weather()];
        let body = body_of(ChatRequest { messages, tools, tool_choice, ..ChatRequest::default() }).await;
        assert_eq!(body["toolConfig"], json!({"functionCallingConfig": expected}));
    }
}

/// The API has no setting for it, so the calls beyond the first are left out of its answers.
#[tokio::test]
async fn of_several_calls_the_first_is_returned_where_parallel_calls_are_disabled() {
    let request = ChatRequest { parallel_tool_calls: Some(false), tools: vec![weather()], ..ChatRequest::default() };
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "weather", "args": {}}});
    let body = json!({"candidates": [
        candidate(0, json!([call("a"), {"text": "and"}, call("b")]), ""),
        candidate(1, json!([call("c"), call("d")]), "STOP"),
    ]});
    let last = json!({"candidates": [candidate(0, json!([call("e")]), "STOP")]});
    let ids = |reply: &ChatReply| -> Vec<Vec<String>> {
        reply.choices().map(|it| it.tool_calls.iter().map(|call| call.id.clone()).collect()).collect()
    };
    let asked = || asking(ChatRequest { n: 2, ..request.clone() });
    let (addr, _requests) = recording(http("200 OK", "", &body.to_string())).await;
    assert_eq!(ids(&adapter(addr).complete(asked()).await.unwrap()), [["a"], ["c"]]);
    let events = collect(open(&format!("{}{}", event(&body), event(&last)), asked()).await.unwrap()).await;
    let calls = events.iter().filter_map(|event| match event {
        Ok(ChatEvent::Delta(Delta::Tool { choice, call })) => Some((*choice, call.id.as_deref().unwrap())),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [(0, "a"), (1, "c")]);
}

/// A conversation with two calls at once and one more after their answers.
fn tool_loop() -> ChatRequest {
    ChatRequest {
        messages: vec![
            message_of(Role::User, "weather?"),
            called("let me see", &[("c1", "weather", r#"{"city":"Rome"}"#), ("c2", "weather", r#"{"city":"Oslo"}"#)]),
            answered("c1", r#"{"celsius":20}"#),
            answered("c2", "cold"),
            called("", &[("c3", "now", "")]),
            answered("c3", "[12]"),
            message_of(Role::User, "go on"),
        ],
        tools: vec![weather()],
        ..ChatRequest::default()
    }
}

#[tokio::test]
async fn calls_and_results_are_parts_of_turns() {
    let signed = "skip_thought_signature_validator";
    let body = body_of(tool_loop()).await;
    assert_eq!(
        body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "weather?"}]},
            {"role": "model", "parts": [
                {"text": "let me see"},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Rome"}}, "thoughtSignature": signed},
                {"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Oslo"}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "weather", "response": {"celsius": 20}}},
                {"functionResponse": {"id": "c2", "name": "weather", "response": {"result": "cold"}}},
            ]},
            {"role": "model", "parts": [
                {"functionCall": {"id": "c3", "name": "now", "args": {}}, "thoughtSignature": signed},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c3", "name": "now", "response": {"result": "[12]"}}},
                {"text": "go on"},
            ]},
        ])
    );
}

#[tokio::test]
async fn models_before_gemini_3_get_no_signature_placeholder() {
    for (model, signed) in [
        ("gemini-2.5-flash", false),
        ("models/gemini-2.0-flash", false),
        ("gemini-3.8-flash", true),
        ("gemini-flash-latest", true),
    ] {
        let call = Call { upstream_model: model.to_owned(), ..asking(tool_loop()) };
        assert_eq!(sent(call).await.body.contains("thoughtSignature"), signed, "{model}");
    }
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_sent_as_text() {
    let mut request = tool_loop();
    request.messages[1].tool_calls[0].arguments = "{\"city\":".to_owned();
    let body = body_of(request).await;
    assert_eq!(body["contents"][1]["parts"][1]["functionCall"]["args"], json!({"arguments": "{\"city\":"}));
}

#[tokio::test]
async fn images_of_a_tool_follow_its_result() {
    let mut request = tool_loop();
    let source = ImageSource::Data { media_type: "image/png".to_owned(), base64: "iVBORw0KGgo=".to_owned() };
    let parts = vec![ContentPart::Text("see".to_owned()), ContentPart::Image(Image { source, detail: None })];
    request.messages[5].content = Content::Parts(parts);
    assert_eq!(
        body_of(request).await["contents"][4]["parts"],
        json!([
            {"functionResponse": {"id": "c3", "name": "now", "response": {"result": "see"}}},
            {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
            {"text": "go on"},
        ])
    );
}

#[tokio::test]
async fn images_in_instructions_are_rejected() {
    let source = ImageSource::Data { media_type: "image/png".to_owned(), base64: "iVBORw0KGgo=".to_owned() };
    let mut request = with_image(source);
    request.messages[0].role = Role::System;
    let (addr, mut requests) = recording(http("200 OK", "", ANSWER)).await;
    let fault = adapter(addr).complete(asking(request)).await.unwrap_err();
    assert_eq!((fault.client, fault.param.as_deref()), (Some(ClientFault::Unsupported), Some("messages")));
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn a_result_without_a_call_is_a_client_fault() {
    let request = ChatRequest { messages: vec![answered("c9", "20")], ..ChatRequest::default() };
    let (addr, mut requests) = recording(http("200 OK", "", ANSWER)).await;
    let fault = adapter(addr).complete(asking(request)).await.unwrap_err();
    assert_eq!((fault.class, fault.client), (FaultClass::Client, Some(ClientFault::InvalidRequest)));
    assert_eq!(fault.param.as_deref(), Some("messages"));
    assert!(requests.try_recv().is_err());
}

#[test]
fn debug_output_of_the_adapter_hides_its_key() {
    let debug_output = format!("{:?}", super::adapter_at("http://127.0.0.1:1/v1beta"));
    assert!(!debug_output.contains(KEY), "{debug_output}");
}
