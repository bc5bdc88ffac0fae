//! What both chats of the agent platform answer.

use muster_core::{Clock, Millis};
use muster_gateway::{Attempt, BreakerState, CompletedChat};
use muster_providers::{FinishReason, Usage};
use serde::Serialize;
use utoipa::ToSchema;

use crate::chat;

#[derive(Debug, Serialize, ToSchema)]
pub struct TokensAgent {
    pub prompt: u32,
    pub completion: u32,
    pub total: u32,
}

/// A model's answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatReplyAgent {
    pub content: String,
    pub model: String,
    pub provider: String,
    pub tokens: TokensAgent,
    pub latency_ms: u64,
    /// Null where the model's price is not known.
    pub cost_usd: Option<f64>,
    /// `stop`, `length`, `tool_calls` or `content_filter`.
    #[schema(value_type = String)]
    pub finish_reason: FinishReason,
    /// Every provider that was tried, the one that answered last.
    #[schema(value_type = Vec<Object>)]
    pub attempts: Vec<Attempt>,
}

/// What is left of the model's budget of this month.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BudgetView {
    pub model: String,
    /// Of this month (UTC), by all keys.
    pub spent_usd: f64,
    /// Null where the model has no budget.
    pub limit_usd: Option<f64>,
    /// The start of the next month.
    #[schema(value_type = String, format = DateTime)]
    pub resets_at: Millis,
}

/// A model's answer, with the state of what bounded it.
#[derive(Debug, Serialize, ToSchema)]
pub struct GatewayReply {
    #[serde(flatten)]
    pub reply: ChatReplyAgent,
    pub budget: BudgetView,
    /// Of the provider that answered: `closed`, `open` or `half_open`.
    #[schema(value_type = String)]
    pub breaker: BreakerState,
}

impl ChatReplyAgent {
    pub fn new(answer: CompletedChat, latency_ms: u64) -> Self {
        Self {
            content: answer.reply.first.content,
            model: answer.model_id,
            provider: answer.provider_id,
            tokens: tokens(answer.usage),
            latency_ms,
            cost_usd: chat::cost_usd(answer.cost_nanos),
            finish_reason: answer.reply.first.finish,
            attempts: answer.attempts,
        }
    }
}

pub fn tokens(usage: Usage) -> TokensAgent {
    let (prompt, completion, total) = chat::totals(usage);
    TokensAgent { prompt, completion, total }
}

pub fn latency(clock: &Clock, since: Millis) -> u64 {
    u64::try_from(clock.now().since(since).as_millis()).unwrap_or(u64::MAX)
}
