//! Responses of both chats of the agent platform, and of the engine that calls the gateway.

use muster_core::{Clock, Error, Millis};
use muster_gateway::{Attempt, BreakerState, Chain, CompletedChat};
use muster_limits::ledger::{Ledger, nanos_of_usd};
use muster_providers::{FinishReason, Usage};
use serde::Serialize;
use utoipa::ToSchema;

use crate::chat;
use crate::live::Live;

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

impl BudgetView {
    /// Reads the state of the model's budget of this month.
    pub async fn of(live: &Live, ledger: &Ledger, model_id: &str) -> Result<Self, Error> {
        let limit = live.config.budget.models.get(model_id).copied();
        let budgets = ledger.budgets("", None, model_id, limit.map(nanos_of_usd)).await?;
        Ok(Self {
            model: model_id.to_owned(),
            spent_usd: budgets.model.spent_nanos as f64 / 1e9,
            limit_usd: limit,
            resets_at: budgets.model.resets_at,
        })
    }
}

impl GatewayReply {
    /// Adds the model's budget and the state of its provider to an answer.
    pub async fn new(live: &Live, ledger: &Ledger, answer: CompletedChat, latency_ms: u64) -> Result<Self, Error> {
        let budget = BudgetView::of(live, ledger, &answer.model_id).await?;
        let breaker = breaker(&live.chain, &answer.provider_id);
        Ok(Self { reply: ChatReplyAgent::new(answer, latency_ms), budget, breaker })
    }
}

/// Returns the state of a provider's circuit breaker.
pub fn breaker(chain: &Chain, provider: &str) -> BreakerState {
    let found = chain.status().into_iter().find(|status| status.id == provider);
    found.map_or(BreakerState::Closed, |status| status.breaker.state)
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
