//! What both chats of the agent platform are asked.

use std::time::Duration;

use muster_gateway::GatewayChatRequest;
use muster_limits::Estimate;
use muster_limits::ledger::nanos_of_usd;
use muster_providers::{ChatRequest, Message, Sampling};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{Fields, FromJson};
use crate::chat;
use crate::guard::Priced;

const DEFAULT_MAX_TOKENS: u32 = 2000;

/// One turn of the conversation.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct ChatMessageAgent {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// A string, or a list of parts as in interface B.
    #[schema(value_type = crate::schema::TextOrParts)]
    pub content: serde_json::Value,
}

/// A conversation to be continued.
#[derive(Debug, Default, ToSchema)]
pub struct ChatAgentBody {
    #[schema(value_type = Vec<ChatMessageAgent>, min_items = 1)]
    pub messages: Vec<Message>,
    /// The primary model if left out.
    pub model: Option<String>,
    /// Default 2000.
    #[schema(minimum = 1)]
    pub max_tokens: Option<u32>,
    /// 0 to 2.
    #[schema(minimum = 0, maximum = 2)]
    pub temperature: Option<f64>,
    /// True: server-sent events `start`, `delta`, then `done` or `error`.
    #[schema(value_type = Option<bool>, default = false)]
    pub stream: bool,
}

impl FromJson for ChatAgentBody {
    const TAKES_IMAGES: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            messages: chat::messages(fields),
            model: fields.string("model"),
            max_tokens: fields.integer("max_tokens", 1..=1_000_000).and_then(|count| u32::try_from(count).ok()),
            temperature: fields.number("temperature", 0.0..=2.0),
            stream: fields.bool("stream").unwrap_or(false),
        }
    }
}

impl ChatAgentBody {
    /// The request in the internal form.
    pub fn request(&self) -> ChatRequest {
        ChatRequest {
            messages: self.messages.clone(),
            sampling: Sampling { temperature: self.temperature.map(|number| number as f32), ..Sampling::default() },
            max_tokens: Some(self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS)),
            ..ChatRequest::default()
        }
    }
}

impl Priced for ChatAgentBody {
    fn estimate(&self, app: &App) -> Estimate {
        chat::estimate(app, self.messages.iter(), self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS))
    }
}

/// A chat with its own bounds of money, tries and time.
#[derive(Debug, Default, ToSchema)]
pub struct GatewayBody {
    #[serde(flatten)]
    pub chat: ChatAgentBody,
    /// Models or families, in the order to be tried, and no others; in place of `model`. At most 16.
    #[schema(min_items = 1, max_items = 16)]
    pub models: Option<Vec<String>>,
    /// The most that this call may cost, in USD: models whose worst case is dearer are passed over.
    #[schema(minimum = 0)]
    pub budget_usd: Option<f64>,
    /// Times the models are gone through again after transient faults; 0 to 5.
    #[schema(minimum = 0, maximum = 5)]
    pub max_retries: Option<u32>,
    /// Bound of the whole answer, or of a stream up to its first content; 1 to 600,000.
    #[schema(minimum = 1, maximum = 600_000)]
    pub deadline_ms: Option<u64>,
    /// A second provider is asked too where the first has not answered after this: the first answer wins, both may be
    /// billed. 1 to 600,000.
    #[schema(minimum = 1, maximum = 600_000)]
    pub hedge_after_ms: Option<u64>,
}

const MAX_MODELS: usize = 16;
const LONGEST_MS: i64 = 600_000;

impl FromJson for GatewayBody {
    const TAKES_IMAGES: bool = true;

    fn read(fields: &mut Fields<'_>) -> Self {
        let models = fields.choice::<Vec<String>>("models");
        if models.as_ref().is_some_and(|models| models.is_empty() || models.len() > MAX_MODELS) {
            fields.fail("models", format!("must hold 1 to {MAX_MODELS} models"));
        }
        if models.is_some() && fields.value("model").is_some() {
            fields.fail("models", "stands in place of `model`: send one of them");
        }
        let unsigned = |number: i64| u64::try_from(number).ok();
        Self {
            chat: ChatAgentBody::read(fields),
            models,
            budget_usd: fields.number("budget_usd", 0.0..=1_000_000.0),
            max_retries: fields.integer("max_retries", 0..=5).and_then(|number| u32::try_from(number).ok()),
            deadline_ms: fields.integer("deadline_ms", 1..=LONGEST_MS).and_then(unsigned),
            hedge_after_ms: fields.integer("hedge_after_ms", 1..=LONGEST_MS).and_then(unsigned),
        }
    }
}

impl Priced for GatewayBody {
    fn estimate(&self, app: &App) -> Estimate {
        self.chat.estimate(app)
    }
}

impl GatewayBody {
    /// Puts the call's own bounds into what the chain is asked.
    pub fn bound(&self, mut ask: GatewayChatRequest) -> GatewayChatRequest {
        if let Some(models) = &self.models {
            ask.models.clone_from(models);
        }
        ask.retries = self.max_retries;
        ask.deadline = self.deadline_ms.map(Duration::from_millis);
        ask.hedge_after = self.hedge_after_ms.map(Duration::from_millis);
        if let Some(spend) = &mut ask.spend {
            spend.call_limit = self.budget_usd.map(nanos_of_usd);
        }
        ask
    }
}
