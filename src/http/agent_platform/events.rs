//! Server-sent events of a streamed reply of the agent platform.

use bytes::BytesMut;
use muster_core::{Clock, Error, Millis};
use muster_gateway::{AnswerStream, Attempt, Chain};
use muster_providers::{Delta, FinishReason, Price, Usage};
use serde_json::json;

use crate::chat;
use crate::chat::agent_reply::{BudgetView, ChatReplyAgent, GatewayReply, breaker, latency, tokens};
use crate::error::{Dialect, body};
use crate::sse::{Frames, frame};

/// Writes the events `start`, `delta`, and at the end `done` with the complete reply, or `error`.
pub struct ReplyEvents {
    model: String,
    provider: String,
    request_id: String,
    price: Option<Price>,
    attempts: Vec<Attempt>,
    text: String,
    requested_at: Millis,
    clock: Clock,
}

impl ReplyEvents {
    pub fn new(streaming: &AnswerStream, request_id: String, requested_at: Millis, clock: Clock) -> Self {
        Self {
            price: streaming.price,
            model: streaming.model_id.clone(),
            provider: streaming.provider_id.clone(),
            request_id,
            attempts: streaming.attempts.clone(),
            text: String::new(),
            requested_at,
            clock,
        }
    }

    /// Returns the complete reply and takes the text out of the writer.
    fn reply(&mut self, finish: FinishReason, usage: Usage) -> ChatReplyAgent {
        ChatReplyAgent {
            content: std::mem::take(&mut self.text),
            model: self.model.clone(),
            provider: self.provider.clone(),
            tokens: tokens(usage),
            latency_ms: latency(&self.clock, self.requested_at),
            cost_usd: chat::cost_usd(self.price.map(|price| price.nanos(usage))),
            finish_reason: finish,
            attempts: std::mem::take(&mut self.attempts),
        }
    }
}

/// Writes the same events for the gateway; `done` also contains the budget and the breaker.
pub struct GatewayEvents {
    reply: ReplyEvents,
    /// The budget at the start of the stream.
    budget: BudgetView,
    chain: Chain,
}

impl GatewayEvents {
    pub fn new(reply: ReplyEvents, budget: BudgetView, chain: Chain) -> Self {
        Self { reply, budget, chain }
    }
}

impl Frames for GatewayEvents {
    fn start(&mut self, out: &mut BytesMut) {
        self.reply.start(out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        self.reply.delta(delta, out);
    }

    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut) {
        let reply = self.reply.reply(finish, usage);
        let mut budget = self.budget.clone();
        budget.spent_usd += reply.cost_usd.unwrap_or(0.0);
        let breaker = breaker(&self.chain, &reply.provider);
        frame(Some("done"), &GatewayReply { reply, budget, breaker }, out);
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        self.reply.error(error, out);
    }
}

impl Frames for ReplyEvents {
    fn start(&mut self, out: &mut BytesMut) {
        let start = json!({ "model": self.model, "provider": self.provider, "request_id": self.request_id });
        frame(Some("start"), &start, out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        let Some(text) = delta.text() else { return };
        self.text.push_str(&text);
        frame(Some("delta"), &json!({ "content": text }), out);
    }

    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut) {
        frame(Some("done"), &self.reply(finish, usage), out);
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        frame(Some("error"), &body(error, Dialect::Agent, self.clock.now()), out);
    }
}
