//! Responses of both chats of the agent platform.

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

/// The response of a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatReplyAgent {
    pub content: String,
    pub model: String,
    pub provider: String,
    pub tokens: TokensAgent,
    pub latency_ms: u64,
    /// Cost in USD; null if the price of the model is unknown.
    pub cost_usd: Option<f64>,
    /// Reason of the end: `stop`, `length`, `tool_calls` or `content_filter`.
    #[schema(value_type = String)]
    pub finish_reason: FinishReason,
    /// Attempts in order; the last one succeeded.
    #[schema(value_type = Vec<Object>)]
    pub attempts: Vec<Attempt>,
}

/// The state of the model's budget of this month.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BudgetView {
    pub model: String,
    /// Amount spent in this month (UTC) by all keys, in USD.
    pub spent_usd: f64,
    /// Monthly limit in USD; null if the model has no budget.
    pub limit_usd: Option<f64>,
    /// Start of the next month, when the budget is reset.
    #[schema(value_type = String, format = DateTime)]
    pub resets_at: Millis,
}

/// The response of a model, with its budget and the state of its provider.
#[derive(Debug, Serialize, ToSchema)]
pub struct GatewayReply {
    #[serde(flatten)]
    pub reply: ChatReplyAgent,
    pub budget: BudgetView,
    /// Circuit breaker of the provider that responded: `closed`, `open` or `half_open`.
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
