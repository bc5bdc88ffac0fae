//! What is sent, against the shapes of Anthropic's API documentation.

use muster_providers::{
    Adapter, AnthropicAdapter, ClientFault, Content, ContentPart, FaultClass, HttpConfig, Image, ImageSource, Message,
    ResponseFormat, Role, Sampling, Secret, Tool, ToolCall, ToolChoice,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::support::{self, KEY, Request, collect, events, http, serve};
use super::*;

const ANSWER: &str = r#"{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#;

/// A server that reports each request.
async fn recording() -> (std::net::SocketAddr, mpsc::Receiver<Request>) {
    let (report, reports) = mpsc::channel(16);
    let addr = serve(move |mut conn| {
        let report = report.clone();
        async move {
            let request = conn.request().await.unwrap();
            let streamed = request.body.contains("\"stream\":true");
            report.send(request).await.unwrap();
            let answer = if streamed {
                events(&format!("{}{}{}{}{STOP}", start(), text_block(0), delta(0, "ok"), ending("end_turn")))
            } else {
                http("200 OK", "Connection: close\r\n", ANSWER)
            };
            conn.send(&answer).await;
        }
    })
    .await;
    (addr, reports)
}

async fn sent_call(call: Call) -> Value {
    let (addr, mut requests) = recording().await;
    adapter(addr).complete(call).await.unwrap();
    serde_json::from_str(&requests.recv().await.unwrap().body).unwrap()
}

async fn sent(request: ChatRequest) -> Value {
    sent_call(asking(request)).await
}

/// Rejection of a request that is never sent.
async fn unsupported(request: ChatRequest) -> String {
    let adapter = adapter_at("http://127.0.0.1:9/v1");
    let fault = adapter.complete(asking(request.clone())).await.unwrap_err();
    assert_eq!((fault.class, fault.client), (FaultClass::Client, Some(ClientFault::Unsupported)), "{fault:?}");
    assert_eq!(refused(adapter.stream(asking(request)).await), fault);
    fault.param.unwrap()
}

fn assistant(content: &str, calls: &[(&str, &str, &str)]) -> Message {
    let call = |&(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    Message { tool_calls: calls.iter().map(call).collect(), ..Message::text(Role::Assistant, content) }
}

fn result(id: &str, text: &str) -> Message {
    Message { tool_call_id: Some(id.into()), ..Message::text(Role::Tool, text) }
}

fn weather() -> Tool {
    Tool {
        name: "get_weather".into(),
        description: Some("Get the current weather in a given location".into()),
        parameters: json!({"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}),
        strict: None,
    }
}

fn with_tools(tool_choice: ToolChoice, parallel_tool_calls: Option<bool>) -> ChatRequest {
    ChatRequest { tools: vec![weather()], tool_choice, parallel_tool_calls, ..hello() }
}

#[tokio::test]
async fn requests_carry_key_version_and_trace() {
    let (addr, mut requests) = recording().await;
    adapter(addr).complete(asking(hello())).await.unwrap();
    let request = requests.recv().await.unwrap();
    assert!(request.head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-request-id"), Some("req_01TEST"));
    assert_eq!(request.header("traceparent"), support::call().traceparent.as_deref());
    let config = HttpConfig::new("local", format!("http://{addr}/v1"));
    AnthropicAdapter::new(config).unwrap().complete(asking(hello())).await.unwrap();
    assert_eq!(requests.recv().await.unwrap().header("x-api-key"), None);
}

#[test]
fn debug_output_of_the_adapter_hides_its_key() {
    let config = HttpConfig::new("p", "http://127.0.0.1:1/v1").with_key(Secret::new(KEY));
    let debug_output = format!("{config:?} {:?}", AnthropicAdapter::new(config.clone()).unwrap());
    assert!(!debug_output.contains(KEY), "{debug_output}");
}

#[tokio::test]
async fn unset_fields_are_not_sent() {
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "stream": false,
    });
    assert_eq!(sent(hello()).await, expected);
}

#[tokio::test]
async fn streams_are_requested() {
    let (addr, mut requests) = recording().await;
    collect(adapter(addr).stream(asking(hello())).await.unwrap()).await;
    let request = requests.recv().await.unwrap();
    assert_eq!(request.header("accept"), Some("text/event-stream"));
    assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap()["stream"], true);
}

#[tokio::test]
async fn sampling_bounds_and_user_are_encoded() {
    let sampling = Sampling {
        temperature: Some(0.5),
        top_p: None,
        presence_penalty: Some(0.0),
        frequency_penalty: Some(0.0),
        top_k: None,
        seed: None,
        stop: vec!["END".into()],
    };
    let request = ChatRequest { sampling, max_tokens: Some(1024), user: Some("u-1".into()), ..hello() };
    let mut expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "temperature": 0.5,
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u-1"},
        "stream": false,
    });
    assert_eq!(sent(request.clone()).await, expected);
    let mut without = asking(request.clone());
    without.takes_sampling = false;
    expected.as_object_mut().unwrap().remove("temperature");
    assert_eq!(sent_call(without).await, expected);
    // A default gives way to what the client sent: models since Claude 4.1 reject the two together.
    let mut request = request;
    request.sampling.temperature = None;
    request.sampling.top_p = Some(0.5);
    request.defaults.temperature = Some(0.7);
    expected["top_p"] = json!(0.5);
    assert_eq!(sent(request.clone()).await, expected);
    // What the client sent goes on, and the provider decides.
    request.sampling.temperature = Some(0.25);
    expected["temperature"] = json!(0.25);
    assert_eq!(sent(request).await, expected);
}

#[tokio::test]
async fn a_model_that_thinks_gets_no_default_and_its_own_maximum() {
    let defaults = ChatDefaults { max_tokens: Some(2000), temperature: Some(0.5) };
    let call = |reasons| Call { reasons, max_output: Some(128_000), ..asking(ChatRequest { defaults, ..hello() }) };
    let bounds = |body: Value| (body["max_tokens"].as_u64(), body["temperature"].as_f64());
    assert_eq!(bounds(sent_call(call(true)).await), (Some(128_000), None));
    assert_eq!(bounds(sent_call(call(false)).await), (Some(2000), Some(0.5)));
}

#[tokio::test]
async fn what_this_api_cannot_express_is_refused_by_name() {
    for (sampling, param) in [
        (Sampling { temperature: Some(1.5), ..Sampling::default() }, "temperature"),
        (Sampling { seed: Some(7), ..Sampling::default() }, "seed"),
    ] {
        let (addr, _) = recording().await;
        let fault = adapter(addr).complete(asking(ChatRequest { sampling, ..hello() })).await.unwrap_err();
        assert_eq!(fault.param.as_deref(), Some(param));
    }
}

#[tokio::test]
async fn instructions_move_to_the_top_and_adjacent_turns_of_a_role_are_merged() {
    let request = ChatRequest {
        messages: vec![
            Message::text(Role::System, "Be brief."),
            Message::text(Role::User, "Hello there."),
            Message { name: Some("ann".into()), ..Message::text(Role::User, "Can you hear me?") },
            Message::text(Role::Assistant, "Hi, I'm Claude."),
            Message::text(Role::Assistant, " "),
            Message::text(Role::Developer, "Answer in French."),
            Message::text(Role::User, "Explain LLMs."),
        ],
        ..ChatRequest::default()
    };
    let body = sent(request).await;
    assert_eq!(body["system"], "Be brief.\n\nAnswer in French.");
    let expected = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "Hello there."},
            {"type": "text", "text": "Can you hear me?"},
        ]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi, I'm Claude."}]},
        {"role": "user", "content": [{"type": "text", "text": "Explain LLMs."}]},
    ]);
    assert_eq!(body["messages"], expected);
}

/// The documentation's rule: all results in one user turn, before anything else in it.
#[tokio::test]
async fn tool_calls_and_their_results() {
    let picture = ContentPart::Image(Image {
        source: ImageSource::Data { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() },
        detail: None,
    });
    let request = ChatRequest {
        messages: vec![
            Message::text(Role::User, "Weather in Paris and Rome?"),
            assistant(
                "Let me look.",
                &[
                    ("toolu_01", "get_weather", r#"{"location": "Paris"}"#),
                    ("functions.get_weather:1", "get_weather", ""),
                ],
            ),
            result("toolu_01", "15 degrees"),
            Message::text(Role::User, "Hurry."),
            Message { content: Content::Parts(vec![picture]), ..result("functions.get_weather:1", "") },
        ],
        tools: vec![weather()],
        ..ChatRequest::default()
    };
    let body = sent(request).await;
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "Weather in Paris and Rome?"}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_01", "name": "get_weather", "input": {"location": "Paris"}},
            // The provider takes letters, digits, `_` and `-`.
            {"type": "tool_use", "id": "functions_get_weather_1", "name": "get_weather", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01", "content": [{"type": "text", "text": "15 degrees"}]},
            {"type": "tool_result", "tool_use_id": "functions_get_weather_1", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
            ]},
            {"type": "text", "text": "Hurry."},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(
        body["tools"],
        json!([{
            "name": "get_weather",
            "description": "Get the current weather in a given location",
            "input_schema": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
        }])
    );
    assert_eq!(body.get("tool_choice"), None);
}

#[tokio::test]
async fn which_tools_are_to_be_asked_for() {
    let named = || ToolChoice::Named("get_weather".into());
    let rows = [
        (with_tools(ToolChoice::Auto, None), Value::Null),
        (with_tools(ToolChoice::Auto, Some(true)), Value::Null),
        (with_tools(ToolChoice::Auto, Some(false)), json!({"type": "auto", "disable_parallel_tool_use": true})),
        (with_tools(ToolChoice::None, Some(false)), json!({"type": "none"})),
        (with_tools(ToolChoice::Required, None), json!({"type": "any"})),
        (with_tools(ToolChoice::Required, Some(false)), json!({"type": "any", "disable_parallel_tool_use": true})),
        (with_tools(named(), None), json!({"type": "tool", "name": "get_weather"})),
        (
            with_tools(named(), Some(false)),
            json!({"type": "tool", "name": "get_weather", "disable_parallel_tool_use": true}),
        ),
        (ChatRequest { tools: Vec::new(), ..with_tools(ToolChoice::None, Some(false)) }, Value::Null),
    ];
    for (request, expected) in rows {
        assert_eq!(sent(request.clone()).await["tool_choice"], expected, "{request:?}");
    }
}

#[tokio::test]
async fn tools_bare_and_strict() {
    let bare = Tool { name: "now".into(), description: None, parameters: json!({}), strict: Some(false) };
    let strict = Tool { strict: Some(true), ..weather() };
    let body = sent(ChatRequest { tools: vec![bare, strict], ..hello() }).await;
    assert_eq!(body["tools"][0], json!({"name": "now", "input_schema": {"type": "object"}}));
    assert_eq!(body["tools"][1]["strict"], true);
    assert_eq!(
        body["tools"][1]["input_schema"],
        json!({"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"],
            "additionalProperties": false})
    );
}

#[tokio::test]
async fn images_by_address_and_by_content() {
    let image = |source| ContentPart::Image(Image { source, detail: Some("high".into()) });
    let parts = vec![
        image(ImageSource::Url("https://example.com/ant.jpg".into())),
        image(ImageSource::Data { media_type: "image/jpeg".into(), base64: "/9j/4AAQ".into() }),
        ContentPart::Text("What is in this image?".into()),
    ];
    let message = Message { content: Content::Parts(parts), ..Message::text(Role::User, "") };
    let body = sent(ChatRequest { messages: vec![message], ..ChatRequest::default() }).await;
    let expected = json!([{"role": "user", "content": [
        {"type": "image", "source": {"type": "url", "url": "https://example.com/ant.jpg"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}},
        {"type": "text", "text": "What is in this image?"},
    ]}]);
    assert_eq!(body["messages"], expected);
}

#[tokio::test]
async fn response_schemas_are_sent() {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 20}, "demo_requested": {"type": "boolean"}},
        "required": ["name", "demo_requested"],
    });
    let format = ResponseFormat::JsonSchema { name: "contact".into(), schema, strict: Some(true) };
    let body = sent(ChatRequest { format, tools: vec![weather()], ..hello() }).await;
    let expected = json!({"format": {"type": "json_schema", "schema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "{maxLength: 20}"},
            "demo_requested": {"type": "boolean"},
        },
        "required": ["name", "demo_requested"],
        "additionalProperties": false,
    }}});
    assert_eq!(body["output_config"], expected);
    assert_eq!(body.get("tool_choice"), None);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn json_of_any_shape_is_requested_by_instruction() {
    let mut request = ChatRequest { format: ResponseFormat::JsonObject, ..hello() };
    request.messages.insert(0, Message::text(Role::System, "You are a clerk."));
    let body = sent(request).await;
    let system = body["system"].as_str().unwrap();
    assert!(system.starts_with("You are a clerk.\n\n") && system.contains("JSON object"), "{system}");
    assert_eq!(body.get("output_config"), None);
}

#[tokio::test]
async fn unsupported_requests_are_rejected_without_a_call() {
    let sampling = |sampling| ChatRequest { sampling, ..hello() };
    let image = |source| ChatRequest {
        messages: vec![Message {
            content: Content::Parts(vec![ContentPart::Image(Image { source, detail: None })]),
            ..Message::text(Role::User, "")
        }],
        ..ChatRequest::default()
    };
    let png = || ImageSource::Data { media_type: "image/png".into(), base64: "aQ==".into() };
    let spoken_by = |role| {
        let mut request = image(png());
        request.messages[0].role = role;
        request
    };
    let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let rows = [
        ("n", ChatRequest { n: 2, ..hello() }),
        ("presence_penalty", sampling(Sampling { presence_penalty: Some(0.1), ..Sampling::default() })),
        ("frequency_penalty", sampling(Sampling { frequency_penalty: Some(-1.0), ..Sampling::default() })),
        ("stop", sampling(Sampling { stop: vec!["\n".into()], ..Sampling::default() })),
        ("messages", image(ImageSource::Url("http://example.com/a.png".into()))),
        ("messages", image(ImageSource::Data { media_type: "image/tiff".into(), base64: "aQ==".into() })),
        ("messages", spoken_by(Role::Assistant)),
        ("messages", spoken_by(Role::System)),
        ("messages", ChatRequest { messages: vec![assistant("", &[("c1", "f", "{\"a\": ")])], ..hello() }),
        ("messages", ChatRequest { messages: vec![assistant("", &[("c1", "f", "[1]")])], ..hello() }),
        (
            "response_format",
            ChatRequest {
                format: ResponseFormat::JsonSchema { name: "map".into(), schema: open.clone(), strict: None },
                ..hello()
            },
        ),
        ("tools", ChatRequest { tools: vec![Tool { parameters: open, strict: Some(true), ..weather() }], ..hello() }),
    ];
    for (param, request) in rows {
        assert_eq!(unsupported(request.clone()).await, param, "{request:?}");
    }
}

#[tokio::test]
async fn a_tool_result_without_its_call_is_a_client_fault() {
    let request = ChatRequest { messages: vec![Message::text(Role::Tool, "42")], ..ChatRequest::default() };
    let fault = adapter_at("http://127.0.0.1:9/v1").complete(asking(request)).await.unwrap_err();
    assert_eq!((fault.class, fault.client), (FaultClass::Client, Some(ClientFault::InvalidRequest)));
    assert_eq!(fault.param.as_deref(), Some("messages"));
}
