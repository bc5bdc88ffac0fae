//! q159: a call of the model gateway, as `POST /api/q159/llm/chat` makes it, and counted like one.

use std::collections::BTreeMap;

use muster_core::{Error, Kind};
use muster_limits::Category;
use muster_providers::ToolCall;
use muster_tasks::engine::{EngineCaller, Provided};
use serde_json::{Value, json};

use super::{EffectParts, LIMIT, NO_PAYER, usage};
use crate::body;
use crate::chat::agent_reply::{GatewayReply, latency};
use crate::chat::agent_request::GatewayEngineBody;
use crate::guard::count;

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
        let done = self.complete(&live.chain, call).await?;
        let spent = usage(done.usage, done.cost_nanos);
        let tool_calls: Vec<Value> = done.reply.first.tool_calls.iter().map(called).collect();
        let breakers: BTreeMap<String, _> =
            live.chain.status().into_iter().map(|provider| (provider.id, provider.breaker.state)).collect();
        let reply = GatewayReply::new(&live, &self.ledger, done, latency(&self.clock, asked_at)).await?;
        let mut reply = serde_json::to_value(reply).map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        if let Some(reply) = reply.as_object_mut() {
            reply.insert("tool_calls".to_owned(), tool_calls.into());
            reply.insert("breakers".to_owned(), json!(breakers));
        }
        Ok(Provided::given(reply, spent))
    }
}

/// Returns a tool call in the form of `POST /v1/chat/completions`.
fn called(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}
