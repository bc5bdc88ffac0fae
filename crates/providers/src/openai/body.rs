//! Encodes the request body for OpenAI's API. Unset fields are not sent.

use serde::Serialize;
use serde_json::Value;

use super::dialect::{Dialect, LimitField, SeedField};
use super::messages::{WireMessage, WireTool, WireToolChoice, messages, tool_choice, tools};
use crate::http::Mode;
use crate::{Call, ResponseFormat};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    random_seed: Option<i64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<WireFormat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: WireSchema<'a> },
}

#[derive(Serialize)]
struct WireSchema<'a> {
    name: &'a str,
    schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// Encodes the body of one call. Temperature, top_p and penalties are sent only to models that accept them; the gateway
/// refuses values for others that would change the answer.
pub(super) fn encode(call: &Call, dialect: Dialect, mode: Mode) -> serde_json::Result<Vec<u8>> {
    let request = &call.request;
    let sampling = call.takes_sampling.then_some(&request.sampling);
    let seed = request.sampling.seed;
    let limit = call.max_tokens();
    let limit_field = dialect.limit_field(&call.upstream_model);
    let seed_field = dialect.seed_field();
    let streamed = mode == Mode::Streamed;
    serde_json::to_vec(&Body {
        model: &call.upstream_model,
        messages: messages(request, dialect),
        temperature: call.temperature(),
        top_p: sampling.and_then(|s| s.top_p),
        top_k: request.sampling.top_k,
        presence_penalty: sampling.and_then(|s| s.presence_penalty),
        frequency_penalty: sampling.and_then(|s| s.frequency_penalty),
        seed: seed.filter(|_| seed_field == SeedField::Seed),
        random_seed: seed.filter(|_| seed_field == SeedField::RandomSeed),
        stop: &request.sampling.stop,
        max_tokens: limit.filter(|_| limit_field == LimitField::MaxTokens),
        max_completion_tokens: limit.filter(|_| limit_field == LimitField::MaxCompletionTokens),
        reasoning_effort: request.effort.as_deref(),
        response_format: format(&request.format),
        tools: tools(request),
        tool_choice: tool_choice(request, dialect),
        parallel_tool_calls: request.parallel_tool_calls.filter(|_| !request.tools.is_empty()),
        n: Some(request.choices()).filter(|n| *n > 1),
        user: request.user.as_deref().filter(|_| dialect.takes_names()),
        stream: streamed,
        stream_options: (streamed && dialect.asks_usage()).then_some(StreamOptions { include_usage: true }),
    })
}

fn format(format: &ResponseFormat) -> Option<WireFormat<'_>> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(WireFormat::JsonObject),
        ResponseFormat::JsonSchema { name, schema, strict } => {
            Some(WireFormat::JsonSchema { json_schema: WireSchema { name, schema, strict: *strict } })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{ChatRequest, Message, Role, Sampling, Timeouts, Tool, ToolChoice};

    fn call(model: &str, request: ChatRequest) -> Call {
        let second = Duration::from_secs(1);
        Call {
            upstream_model: model.to_owned(),
            takes_sampling: true,
            reasons: false,
            max_output: None,
            request: Arc::new(request),
            timeouts: Timeouts { connect: second, headers: second, first_delta: second, between_deltas: second },
            request_id: "req_1".to_owned(),
            traceparent: None,
        }
    }

    fn full() -> ChatRequest {
        ChatRequest {
            messages: vec![
                Message::text(Role::Developer, "be brief"),
                Message { name: Some("ann".into()), ..Message::text(Role::User, "hi") },
            ],
            sampling: Sampling {
                temperature: Some(0.7),
                top_p: Some(0.9),
                presence_penalty: Some(0.5),
                frequency_penalty: Some(-0.5),
                top_k: None,
                seed: Some(7),
                stop: vec!["END".into()],
            },
            max_tokens: Some(100),
            format: ResponseFormat::JsonSchema {
                name: "answer".into(),
                schema: json!({"type": "object"}),
                strict: Some(true),
            },
            user: Some("u1".into()),
            ..ChatRequest::default()
        }
    }

    fn sent(call: &Call, dialect: Dialect, mode: Mode) -> String {
        String::from_utf8(encode(call, dialect, mode).unwrap()).unwrap()
    }

    #[test]
    fn tools_and_several_choices_are_requested() {
        let tool = Tool { name: "f".into(), description: None, parameters: json!({}), strict: None };
        let mut request = ChatRequest {
            messages: vec![Message::text(Role::User, "hi")],
            tools: vec![tool],
            tool_choice: ToolChoice::Required,
            parallel_tool_calls: Some(false),
            n: 2,
            ..ChatRequest::default()
        };
        assert_eq!(
            sent(&call("m", request.clone()), Dialect::Common, Mode::Whole),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"required","parallel_tool_calls":false,"n":2,"stream":false}"#
        );
        // Without tools there is nothing to choose and nothing to call in parallel.
        request.tools.clear();
        assert_eq!(
            sent(&call("m", request), Dialect::Common, Mode::Whole),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"n":2,"stream":false}"#
        );
    }

    #[test]
    fn unset_fields_are_not_sent() {
        let request = ChatRequest { messages: vec![Message::text(Role::User, "hi")], ..ChatRequest::default() };
        assert_eq!(
            sent(&call("m", request), Dialect::Common, Mode::Whole),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}"#
        );
    }

    #[test]
    fn every_field_is_encoded_for_openai() {
        let text = sent(&call("gpt-5.6", full()), Dialect::OpenAi, Mode::Streamed);
        // The number as the caller wrote it, not its nearest double.
        assert!(text.contains(r#""temperature":0.7,"#), "{text}");
        let mut body: Value = serde_json::from_str(&text).unwrap();
        for key in ["temperature", "top_p", "presence_penalty", "frequency_penalty"] {
            body.as_object_mut().unwrap().remove(key).unwrap();
        }
        assert_eq!(
            body,
            json!({
                "model": "gpt-5.6",
                "messages": [
                    {"role": "developer", "content": "be brief"},
                    {"role": "user", "content": "hi", "name": "ann"},
                ],
                "seed": 7,
                "stop": ["END"],
                "max_completion_tokens": 100,
                "response_format": {"type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": true}},
                "user": "u1",
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }

    #[test]
    fn fields_that_mistral_rejects_are_not_sent() {
        let text = sent(&call("mistral-small-latest", full()), Dialect::Mistral, Mode::Streamed);
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(body["random_seed"], 7);
        assert_eq!(body["max_tokens"], 100);
        assert_eq!(body["messages"][0]["role"], "system");
        for key in ["seed", "user", "stream_options", "max_completion_tokens"] {
            assert!(body.get(key).is_none(), "{key}");
        }
        assert!(body["messages"][1].get("name").is_none());
    }

    #[test]
    fn sampling_fields_are_omitted_for_models_without_sampling() {
        let mut call = call("m", full());
        call.takes_sampling = false;
        let body: Value = serde_json::from_str(&sent(&call, Dialect::Common, Mode::Whole)).unwrap();
        for key in ["temperature", "top_p", "presence_penalty", "frequency_penalty"] {
            assert!(body.get(key).is_none(), "{key}");
        }
        assert_eq!(body["seed"], 7);
        assert_eq!(body["stop"], json!(["END"]));
        assert_eq!(body["max_tokens"], 100);
    }
}
