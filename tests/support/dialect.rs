//! Chat in every dialect: requests, and a uniform view of answers and streams.

use serde_json::{Value, json};

use super::client::{Answer, Client, Event, Events};
use super::{messages, responses};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chat {
    A,
    B,
    Agent,
    /// Anthropic's Messages API.
    Messages,
    /// OpenAI's Responses API.
    Responses,
}

/// The content of a chat answer, independent of the dialect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatOutput {
    pub text: String,
    pub model: String,
    /// Only the agent dialect names it.
    pub provider: Option<String>,
    /// Only the agent dialect lists them: provider and outcome.
    pub attempts: Option<Vec<(String, String)>>,
    pub tokens: u64,
    /// Absent in interface A.
    pub finish: Option<String>,
}

/// The content of a streamed chat up to its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamedChat {
    pub deltas: Vec<String>,
    /// The complete answer; `None` if the stream did not end normally.
    pub done: Option<ChatOutput>,
    /// The body of the error event.
    pub error: Option<Value>,
}

impl Chat {
    /// The dialects of our own interfaces.
    pub const ALL: [Self; 3] = [Self::A, Self::B, Self::Agent];
    pub const EVERY: [Self; 5] = [Self::A, Self::B, Self::Agent, Self::Messages, Self::Responses];

    pub const fn path(self) -> &'static str {
        match self {
            Self::A => "/api/chat",
            Self::B => "/v1/chat/completions",
            Self::Agent => "/api/llm/chat",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// The body of a request to a model.
    pub fn request_body(self, model: &str, text: &str) -> Value {
        match self {
            Self::A => json!({ "model": model, "message": text }),
            Self::B | Self::Agent => json!({ "model": model, "messages": [{ "role": "user", "content": text }] }),
            Self::Messages => {
                json!({ "model": model, "max_tokens": 64, "messages": [{ "role": "user", "content": text }] })
            }
            Self::Responses => json!({ "model": model, "input": text }),
        }
    }

    /// The same, streamed.
    pub fn streaming_request_body(self, model: &str, text: &str) -> Value {
        let mut body = self.request_body(model, text);
        body["stream"] = true.into();
        if self == Self::B {
            body["stream_options"] = json!({ "include_usage": true });
        }
        body
    }

    pub async fn post(self, client: &Client, model: &str) -> Answer {
        client.post(self.path(), &self.request_body(model, "Say something.")).await
    }

    pub async fn stream(self, client: &Client, model: &str) -> Events {
        client.stream(self.path(), &self.streaming_request_body(model, "Say something.")).await
    }

    /// Parses a complete answer.
    pub fn output(self, body: &Value) -> ChatOutput {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
        match self {
            Self::A => ChatOutput {
                text: text(&body["response"]),
                model: text(&body["model"]),
                tokens: body["tokens"].as_u64().unwrap(),
                ..ChatOutput::default()
            },
            Self::B => ChatOutput {
                text: text(&body["choices"][0]["message"]["content"]),
                model: text(&body["model"]),
                tokens: body["usage"]["total_tokens"].as_u64().unwrap(),
                finish: Some(text(&body["choices"][0]["finish_reason"])),
                ..ChatOutput::default()
            },
            Self::Agent => {
                let attempt = |attempt: &Value| (text(&attempt["provider"]), text(&attempt["outcome"]));
                ChatOutput {
                    text: text(&body["content"]),
                    model: text(&body["model"]),
                    provider: Some(text(&body["provider"])),
                    attempts: Some(body["attempts"].as_array().unwrap().iter().map(attempt).collect()),
                    tokens: body["tokens"]["total"].as_u64().unwrap(),
                    finish: Some(text(&body["finish_reason"])),
                }
            }
            Self::Messages => messages::output(body),
            Self::Responses => responses::output(body),
        }
    }

    /// Reads a stream to its end and checks the form of its events.
    pub async fn streamed(self, events: &mut Events) -> StreamedChat {
        let all = events.rest().await;
        match self {
            Self::B => Self::parse_chunks(&all),
            Self::A | Self::Agent => self.parse_named_events(&all),
            Self::Messages => messages::streamed(&all),
            Self::Responses => responses::streamed(&all),
        }
    }

    fn parse_named_events(self, events: &[Event]) -> StreamedChat {
        let mut streamed = StreamedChat::default();
        for (at, event) in events.iter().enumerate() {
            assert!(streamed.done.is_none() && streamed.error.is_none(), "something follows the end: {events:?}");
            let data = event.json();
            match (self, event.name.as_deref()) {
                (Self::Agent, Some("start")) => {
                    assert_eq!(at, 0);
                    assert!(["model", "provider", "request_id"].iter().all(|name| data[name].is_string()), "{data}");
                }
                (_, Some("delta")) => {
                    let name = if self == Self::A { "delta" } else { "content" };
                    streamed.deltas.push(data[name].as_str().unwrap().to_owned());
                }
                (_, Some("done")) => streamed.done = Some(self.output(&data)),
                (_, Some("error")) => streamed.error = Some(data),
                (_, other) => panic!("an event {other:?}: {data}"),
            }
        }
        streamed
    }

    fn parse_chunks(events: &[Event]) -> StreamedChat {
        let (mut streamed, mut output, mut head) = (StreamedChat::default(), ChatOutput::default(), None);
        for (at, event) in events.iter().enumerate() {
            assert!(event.name.is_none(), "interface B names no events: {event:?}");
            assert!(streamed.done.is_none() && streamed.error.is_none(), "something follows the end: {events:?}");
            if event.data == "[DONE]" {
                output.text = streamed.deltas.concat();
                streamed.done = Some(output.clone());
                continue;
            }
            let chunk = event.json();
            if !chunk["error"].is_null() {
                streamed.error = Some(chunk);
                continue;
            }
            assert_eq!(chunk["object"], "chat.completion.chunk");
            let same = (chunk["id"].clone(), chunk["created"].clone(), chunk["model"].clone());
            assert_eq!(head.get_or_insert_with(|| same.clone()), &same, "id, created and model stay the same");
            output.model = chunk["model"].as_str().unwrap().to_owned();
            if let Some(total) = chunk["usage"]["total_tokens"].as_u64() {
                assert_eq!(chunk["choices"], json!([]));
                output.tokens = total;
                continue;
            }
            let choice = &chunk["choices"][0];
            if at == 0 {
                assert_eq!(choice["delta"], json!({ "role": "assistant", "content": "" }));
            } else if let Some(finish) = choice["finish_reason"].as_str() {
                assert_eq!(choice["delta"], json!({}));
                output.finish = Some(finish.to_owned());
            } else {
                streamed.deltas.push(choice["delta"]["content"].as_str().unwrap().to_owned());
            }
        }
        streamed
    }

    /// The code of an error body or error event; the Messages API has only types.
    pub fn code(self, body: &Value) -> &str {
        let code = match self {
            Self::Agent => &body["error_code"],
            Self::Messages => &body["error"]["type"],
            Self::A | Self::B | Self::Responses => &body["error"]["code"],
        };
        code.as_str().unwrap_or_else(|| panic!("no code in {body}"))
    }

    /// The spelling of an error code in this dialect.
    pub fn expected_code(self, code: &str) -> String {
        match (self, code) {
            (Self::Agent, _) => code.to_uppercase(),
            (Self::Messages, "provider_failed") => "api_error".to_owned(),
            (Self::Messages, "service_unavailable") => "overloaded_error".to_owned(),
            (Self::Messages, "model_unpriced") => "permission_error".to_owned(),
            (Self::Messages, "rate_limit_exceeded") => "rate_limit_error".to_owned(),
            (Self::Messages, "context_length_exceeded") => "invalid_request_error".to_owned(),
            (Self::Messages, other) => panic!("what do its clients know {other} as?"),
            (Self::A | Self::B | Self::Responses, _) => code.to_owned(),
        }
    }

    /// The status of a provider failure: OpenAI's and Anthropic's clients know a broken upstream as 502.
    pub const fn provider_failure_status(self) -> u16 {
        match self {
            Self::A | Self::Agent => 503,
            Self::B | Self::Messages | Self::Responses => 502,
        }
    }
}
