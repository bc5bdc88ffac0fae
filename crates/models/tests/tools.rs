//! Tools: calls that the grammar enforces on a real model, and how they are reported.

#![cfg(feature = "llm")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod common;

use std::time::Instant;

use common::{Answer, answer, installed, next, options, request_of, start};
use muster_models::{
    ChatModel, ChatTurn, Finish, Format, GenerateEvent, GenerateRequest, LocalModel, ModelError, ModelOptions, Role,
    Tool, ToolCall, ToolChoice, Toolbox,
};
use serde_json::{Value, json};

fn tool(name: &str, description: &str, parameters: Value) -> Tool {
    Tool { name: name.to_owned(), description: Some(description.to_owned()), parameters }
}

fn incident() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 40},
            "severity": {"type": "string", "enum": ["low", "medium", "high"]},
        },
        "required": ["title", "severity"],
        "additionalProperties": false,
    });
    tool("create_incident", "Report an incident such as a fire, smoke or an accident", parameters)
}

fn weather() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": false,
    });
    tool("get_weather", "Get the current weather of a city", parameters)
}

const SMOKE: &str = "There is heavy smoke coming out of the server room, people are coughing!";

fn with_tools(prompt: &str, choice: ToolChoice, most: u32) -> GenerateRequest {
    let toolbox = Toolbox { tools: vec![weather(), incident()], choice, most };
    GenerateRequest { tools: Some(toolbox), ..request_of(prompt, 160) }
}

/// Fails unless each call names a tool, with arguments that conform to its schema.
fn check(got: &Answer) {
    for (name, arguments) in &got.calls {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{error}: {got:?}"));
        let fields: Vec<_> = arguments.as_object().unwrap().keys().map(String::as_str).collect();
        match name.as_str() {
            "get_weather" => {
                assert_eq!(fields, ["city"]);
                assert!(arguments["city"].as_str().unwrap().chars().count() <= 20, "{got:?}");
            }
            "create_incident" => {
                assert_eq!(fields, ["severity", "title"]);
                assert!(["low", "medium", "high"].contains(&arguments["severity"].as_str().unwrap()), "{got:?}");
            }
            other => panic!("no tool is named {other}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_required_call_has_valid_arguments() {
    for id in ["small", "standard"] {
        if !installed(id) {
            continue;
        }
        let model = start(options(id)).await;
        for prompt in [SMOKE, "Hello!"] {
            let begin = Instant::now();
            let got = answer(&model, with_tools(prompt, ToolChoice::Required, 1)).await;
            eprintln!("{id}: a required call in {:?}: {:?}, {:?}", begin.elapsed(), got.calls, got.usage);
            assert_eq!((got.text.as_str(), got.finish, got.calls.len()), ("", Finish::ToolCalls, 1), "{got:?}");
            assert!(got.deltas > 1, "arguments stream: {got:?}");
            check(&got);
        }
    }
}

#[tokio::test]
async fn a_named_tool_is_called_once_for_any_prompt() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    for name in ["get_weather", "create_incident"] {
        let got = answer(&model, with_tools(SMOKE, ToolChoice::Named(name.to_owned()), 4)).await;
        assert_eq!(got.calls.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [name]);
        assert_eq!(got.finish, Finish::ToolCalls);
        check(&got);
    }
    let unknown = model.generate(with_tools(SMOKE, ToolChoice::Named("nobody".to_owned()), 4));
    assert!(matches!(unknown, Err(ModelError::Unsupported { field, .. }) if field == "tool_choice"));
}

#[tokio::test]
async fn calls_are_bounded_and_all_of_them_valid() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let prompt = "Call get_weather for Lima, for Quito, for Bogota, for Caracas, for Santiago and for Montevideo.";
    for (most, seed) in [(1, 1), (2, 1), (4, 1), (4, 2)] {
        let wild = with_tools(prompt, ToolChoice::Required, most);
        let got = answer(&model, GenerateRequest { temperature: 1.3, seed: Some(seed), max_tokens: 400, ..wild }).await;
        assert!((1..=usize::try_from(most).unwrap()).contains(&got.calls.len()), "{got:?}");
        assert_eq!(got.finish, Finish::ToolCalls, "{got:?}");
        check(&got);
    }
}

#[tokio::test]
async fn a_plain_question_is_answered_with_text() {
    for id in ["small", "standard"] {
        if !installed(id) {
            continue;
        }
        let model = start(options(id)).await;
        let request = with_tools("What is the capital of Australia?", ToolChoice::Auto, 4);
        let got = answer(&model, GenerateRequest { max_tokens: 32, ..request }).await;
        eprintln!("{id}: {got:?}");
        assert!(!got.text.contains("tool_call>"), "{got:?}");
        check(&got);
        assert!(!got.text.is_empty() && got.calls.is_empty(), "{got:?}");
    }
}

/// The markers of a call never appear as text, whatever the model generates.
#[tokio::test]
async fn text_contains_no_call_marker() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    for seed in 0..4 {
        let request = with_tools(SMOKE, ToolChoice::Auto, 2);
        let request = GenerateRequest { temperature: 1.2, seed: Some(seed), max_tokens: 80, ..request };
        let got = answer(&model, request).await;
        assert!(!got.text.contains("tool_call>"), "{got:?}");
        if got.finish == Finish::ToolCalls {
            check(&got);
        }
    }
}

#[tokio::test]
async fn a_truncated_call_is_reported_as_truncated() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let named = || with_tools(SMOKE, ToolChoice::Named("create_incident".to_owned()), 1);
    let whole = answer(&model, named()).await;
    let arguments = &whole.calls[0].1;
    // Its last token ends the arguments: one token fewer cuts them.
    let cut = answer(&model, GenerateRequest { max_tokens: whole.usage.completion - 1, ..named() }).await;
    assert_eq!((cut.finish, cut.calls.len()), (Finish::Length, 1), "{cut:?}");
    assert!(arguments.starts_with(&cut.calls[0].1) && cut.calls[0].1.len() < arguments.len(), "{cut:?}");
    let early = answer(&model, GenerateRequest { max_tokens: 2, ..named() }).await;
    assert_eq!((early.finish, early.text.as_str()), (Finish::Length, ""), "{early:?}");

    let stopped = answer(&model, GenerateRequest { stop: vec!["severity".to_owned()], ..named() }).await;
    let before = &arguments[..arguments.find("severity").unwrap()];
    assert_eq!((stopped.finish, stopped.calls[0].1.as_str()), (Finish::Length, before));
}

#[tokio::test]
async fn a_cancelled_call_frees_its_slot() {
    if !installed("small") {
        return;
    }
    let model = start(ModelOptions { slots: 1, ..options("small") }).await;
    let endless = tool(
        "count",
        "Count",
        json!({"type": "object", "required": ["n"], "properties": {
        "n": {"type": "array", "items": {"type": "integer"}, "minItems": 1500}}}),
    );
    let toolbox = Toolbox { tools: vec![endless], choice: ToolChoice::Required, most: 1 };
    let mut running = model.generate(GenerateRequest { tools: Some(toolbox), ..request_of("Count.", 900) }).unwrap();
    assert_eq!(next(&mut running).await, Some(GenerateEvent::Call { index: 0, name: "count".to_owned() }));
    assert!(matches!(next(&mut running).await, Some(GenerateEvent::Arguments { index: 0, .. })));
    drop(running);
    assert!(answer(&model, request_of("What is the capital of Australia?", 32)).await.text.contains("Canberra"));
}

#[tokio::test]
async fn a_document_may_replace_calls() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let schema = json!({"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}},
                        "required": ["city"], "additionalProperties": false});
    let format = Format::JsonSchema(schema);
    let request = with_tools("The capital of Australia as JSON.", ToolChoice::Auto, 1);
    let got = answer(&model, GenerateRequest { format: format.clone(), ..request }).await;
    match got.finish {
        Finish::Stop => {
            let document: Value = serde_json::from_str(&got.text).unwrap_or_else(|error| panic!("{error}: {got:?}"));
            assert!(document["city"].is_string() && got.calls.is_empty(), "{got:?}");
        }
        _ => assert!(got.text.is_empty() && got.calls.len() == 1, "{got:?}"),
    }
    check(&got);
    let required = GenerateRequest { format, ..with_tools("The capital of Australia.", ToolChoice::Required, 1) };
    let got = answer(&model, required).await;
    assert_eq!((got.text.as_str(), got.finish), ("", Finish::ToolCalls));
}

#[tokio::test]
async fn unenforceable_requests_are_rejected_by_field() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let endless = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}});
    let object = |name: &str, schema: Value| json!({"type": "object", "properties": {name: schema}});
    let rows = [
        ("f", json!({"type": "string"}), "tools[1].function.parameters"),
        ("f", json!([]), "tools[1].function.parameters"),
        ("f", object("a", json!({"type": "string", "pattern": "^a$"})), "tools[1].function.parameters"),
        ("f", endless, "tools[1].function.parameters"),
        ("f\"", json!({}), "tools[1].function.name"),
        ("", json!({}), "tools[1].function.name"),
    ];
    for (name, parameters, place) in rows {
        let tools = vec![weather(), tool(name, "x", parameters.clone())];
        let toolbox = Toolbox { tools, choice: ToolChoice::Auto, most: 1 };
        let refused = model.generate(GenerateRequest { tools: Some(toolbox), ..request_of("x", 8) });
        assert!(
            matches!(&refused, Err(ModelError::Unsupported { field, .. }) if field == place),
            "{parameters}: {refused:?}"
        );
    }
}

/// No arguments, schemas with references of the same names, and earlier calls in the conversation.
#[tokio::test]
async fn tools_of_every_kind_can_be_combined() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let referring = |leaf: Value| json!({"type": "object", "required": ["x"], "properties": {"x": {"$ref": "#/$defs/leaf"}}, "$defs": {"leaf": leaf}});
    let tools = vec![
        tool("flag", "Set the flag", referring(json!({"type": "boolean"}))),
        tool("mode", "Set the mode", referring(json!({"enum": ["up", "down"]}))),
        tool("ping", "Ping", Value::Null),
        tool(
            "pong",
            "Pong",
            json!({"properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["n"]}),
        ),
    ];
    let call = ToolCall { name: "ping".to_owned(), arguments: "{}".to_owned() };
    let turns = vec![
        ChatTurn::text(Role::User, "Ping, please."),
        ChatTurn { calls: vec![call], ..ChatTurn::text(Role::Assistant, "") },
        ChatTurn::text(Role::Tool, "{\"ok\": true}"),
        ChatTurn::text(Role::User, "Now the next one."),
    ];
    for (name, holds) in [
        ("flag", (|got| got["x"].is_boolean()) as fn(&Value) -> bool),
        ("mode", |got| got["x"] == "up" || got["x"] == "down"),
        ("ping", |got| *got == json!({})),
        ("pong", |got| (1..=9).contains(&got["n"].as_i64().unwrap())),
    ] {
        let toolbox = Toolbox { tools: tools.clone(), choice: ToolChoice::Named(name.to_owned()), most: 1 };
        let request = GenerateRequest { tools: Some(toolbox), turns: turns.clone(), ..request_of("", 60) };
        let prompt = model.count(&turns, &tools).unwrap();
        let got = answer(&model, request).await;
        let arguments: Value = serde_json::from_str(&got.calls[0].1).unwrap_or_else(|error| panic!("{error}: {got:?}"));
        assert!(got.calls[0].0 == name && holds(&arguments), "{got:?}");
        assert_eq!((got.finish, got.usage.prompt), (Finish::ToolCalls, prompt));
    }
}

/// Design figures: Qwen2.5-Coder-0.5B chooses create_incident and high, with a grammar and without.
#[tokio::test]
async fn the_standard_model_reports_the_smoke() {
    if !installed("standard") {
        return;
    }
    let model: std::sync::Arc<LocalModel> = start(options("standard")).await;
    for choice in [ToolChoice::Required, ToolChoice::Auto] {
        let begin = Instant::now();
        let got = answer(&model, with_tools(SMOKE, choice.clone(), 1)).await;
        eprintln!("standard, {choice:?}: {:?} in {:?}, {:?}", got.calls, begin.elapsed(), got.usage);
        assert_eq!((got.finish, got.calls.len()), (Finish::ToolCalls, 1), "{got:?}");
        let arguments: Value = serde_json::from_str(&got.calls[0].1).unwrap();
        assert_eq!((got.calls[0].0.as_str(), &arguments["severity"]), ("create_incident", &json!("high")), "{got:?}");
    }
}
