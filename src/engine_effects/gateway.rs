//! q159: a call of the model gateway, as `POST /api/q159/llm/chat` makes it, and counted like one.

use std::collections::BTreeMap;

use muster_core::{Error, Kind};
use muster_gateway::BreakerState;
use muster_limits::Category;
use muster_tasks::engine::{EngineCaller, Provided};
use serde::Serialize;
use serde_json::Value;

use super::{EffectParts, LIMIT, NO_PAYER, usage};
use crate::body;
use crate::chat;
use crate::chat::agent_reply::{GatewayReply, latency};
use crate::chat::agent_request::GatewayEngineBody;
use crate::guard::count;
use crate::http::openai::chat_completions::ToolCallB;

impl EffectParts {
    /// Returns the reply of that route, and with it `tool_calls` and `breakers`, the state of each attempt's provider.
    ///
    /// # Errors
    /// Those of the route: `Forbidden` without the scope `chat`, `RateLimited`, `BudgetExhausted`, `Unavailable`, …
    pub(super) async fn gateway(&self, request: &Value, caller: EngineCaller) -> Result<Provided, Error> {
        let payer = *caller.payer.ok_or_else(|| Error::new(Kind::Forbidden, NO_PAYER))?;
        let body = body::from_json::<GatewayEngineBody>(request)?;
        let live = self.live.now();
        count(&self.limiter, &payer.key_id, Category::Chat, live.config.limits.agent.chat.per_minute()).await?;
        let mut call = body.call.bound(self.call(body.request(), payer));
        if let Some(model) = body.call.chat.model {
            call.models = vec![model];
        }
        call.deadline = Some(LIMIT);
        let asked_at = self.clock.now();
        let done = chat::complete_recorded(&live.chain, &self.metrics, call).await?;
        let spent = usage(done.usage, done.cost_nanos);
        let tool_calls = done.reply.first.tool_calls.iter().cloned().map(ToolCallB::from).collect();
        let breakers = live.chain.status().into_iter().map(|provider| (provider.id, provider.breaker.state)).collect();
        let reply = GatewayReply::new(&live, &self.ledger, done, latency(&self.clock, asked_at)).await?;
        let reply = serde_json::to_value(EngineReply { reply, tool_calls, breakers });
        let reply = reply.map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        Ok(Provided::given(reply, spent))
    }
}

/// The route's reply, with what only the engine has.
#[derive(Serialize)]
struct EngineReply {
    #[serde(flatten)]
    reply: GatewayReply,
    tool_calls: Vec<ToolCallB>,
    /// State of the circuit breaker by provider.
    breakers: BTreeMap<String, BreakerState>,
}
