//! Requests of both chats of the agent platform, and of the engine that calls the gateway.

use std::time::Duration;

use muster_gateway::GatewayChatRequest;
use muster_limits::Estimate;
use muster_limits::ledger::nanos_of_usd;
use muster_providers::{ChatDefaults, ChatRequest, Message, ResponseFormat, Sampling, Tool};
use muster_request::{Fields, Request};
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat;
use crate::guard::Priced;

/// One message of the conversation.
#[derive(Debug, serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only described")]
pub struct ChatMessageAgent {
    /// Role: `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// A string, or a list of parts as in `POST /v1/chat/completions`.
    #[schema(value_type = crate::schema::TextOrParts)]
    pub content: Value,
    pub name: Option<String>,
    /// Tool calls of an assistant message, as in `POST /v1/chat/completions`.
    #[schema(value_type = Option<Vec<crate::schema::AnyObject>>)]
    pub tool_calls: Value,
    /// Identifier of the call whose result a `tool` message contains.
    pub tool_call_id: Option<String>,
}

/// A conversation that the model continues.
#[derive(Debug, Default, Request)]
#[request(takes_images, example = {
    "model": "standard", "messages": [{ "role": "user", "content": "Which shelters are open tonight?" }]
})]
pub struct ChatAgentBody {
    #[request(with = chat::messages, schema = Vec<ChatMessageAgent>)]
    #[schema(min_items = 1)]
    pub messages: Vec<Message>,
    /// Model identifier, alias or family: no other model answers, except those that the operator allows in its place. Without
    /// it, the first provider of the chain that can answer.
    pub model: Option<String>,
    /// Maximum number of completion tokens. The default is that of the settings (`chat.default_max_tokens`, 2000); models
    /// that think in tokens get none.
    #[request(range = 1..=1_000_000)]
    pub max_tokens: Option<u32>,
    #[request(range = 0.0..=2.0)]
    pub temperature: Option<f64>,
    /// Streams the response as server-sent events: `start`, `delta`, then `done` or `error`.
    #[request(default = false)]
    pub stream: bool,
}

impl ChatAgentBody {
    /// Returns the request in the internal form.
    pub fn request(&self, defaults: ChatDefaults) -> ChatRequest {
        ChatRequest {
            messages: self.messages.clone(),
            sampling: Sampling { temperature: self.temperature.map(|number| number as f32), ..Sampling::default() },
            max_tokens: self.max_tokens,
            defaults,
            ..ChatRequest::default()
        }
    }
}

impl Priced for ChatAgentBody {
    fn estimate(&self, app: &App) -> Estimate {
        let request = self.request(ChatDefaults::default());
        chat::estimate(app, &request.prompt_parts(), chat::answer_tokens(app, self.max_tokens))
    }
}

/// A chat with bounds of its own on cost, attempts and time.
#[derive(Debug, Default, Request)]
#[request(takes_images, check = one_choice_of_models)]
pub struct GatewayBody {
    #[request(flatten)]
    pub chat: ChatAgentBody,
    /// Models or families to try in this order; one whose budget is exhausted is skipped. Of two or more no others are tried; a
    /// single one is followed by what the operator allows in its place. Replaces `model`.
    #[request(items = 1..=16, message = "must hold 1 to 16 models")]
    pub models: Option<Vec<String>>,
    /// Maximum cost of this call in USD. Models whose worst case costs more are skipped.
    #[request(range = 0.0..=1_000_000.0)]
    pub budget_usd: Option<f64>,
    /// Number of times that all models are tried again after transient errors.
    #[request(range = 0..=5)]
    pub max_retries: Option<u32>,
    /// Time limit in milliseconds for the complete response, or for the first content of a stream.
    #[request(range = 1..=LONGEST_MS)]
    pub deadline_ms: Option<u64>,
    /// Delay in milliseconds after which a second provider is called if the first has not responded. The first response
    /// is returned; both calls may be billed.
    #[request(range = 1..=LONGEST_MS)]
    pub hedge_after_ms: Option<u64>,
}

/// Maximum of a time limit, in milliseconds.
const LONGEST_MS: u64 = 600_000;

fn one_choice_of_models(fields: &mut Fields<'_>) {
    if fields.value("models").is_some_and(Value::is_array) && fields.value("model").is_some() {
        fields.fail("models", "replaces `model`: send one of them");
    }
}

impl Priced for GatewayBody {
    fn estimate(&self, app: &App) -> Estimate {
        self.chat.estimate(app)
    }
}

impl GatewayBody {
    /// Adds the bounds of this call to the request to the gateway.
    pub fn bound(&self, mut call: GatewayChatRequest) -> GatewayChatRequest {
        if let Some(models) = &self.models {
            call.models.clone_from(models);
        }
        call.retries = self.max_retries;
        call.deadline = self.deadline_ms.map(Duration::from_millis);
        call.hedge_after = self.hedge_after_ms.map(Duration::from_millis);
        if let Some(spend) = &mut call.spend {
            spend.call_limit = self.budget_usd.map(nanos_of_usd);
        }
        call
    }
}

/// What q159 asks the gateway for: a call with bounds, tools that may be called and a schema of the answer.
#[derive(Debug, Default, Request)]
pub struct GatewayEngineBody {
    #[request(flatten)]
    pub call: GatewayBody,
    #[request(with = chat::tools, schema = Vec<crate::schema::AnyObject>)]
    pub tools: Option<Vec<Tool>>,
    #[request(with = answer_schema, schema = crate::schema::AnyObject)]
    pub response_schema: Option<Value>,
}

fn answer_schema(fields: &mut Fields<'_>, name: &str) -> Option<Value> {
    let schema = fields.value(name)?.clone();
    if !schema.is_object() {
        fields.fail(name, "must be a JSON Schema, an object");
    }
    Some(schema)
}

impl GatewayEngineBody {
    /// Returns the request in the internal form.
    pub fn request(&self) -> ChatRequest {
        let format = self.response_schema.clone().map_or(ResponseFormat::Text, ResponseFormat::answer);
        let tools = self.tools.clone().unwrap_or_default();
        ChatRequest { tools, format, ..self.call.chat.request(ChatDefaults::default()) }
    }
}
