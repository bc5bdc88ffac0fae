//! A streamed answer of the agent platform.

use bytes::BytesMut;
use muster_core::{Clock, Error, Millis};
use muster_gateway::{AnswerStream, Attempt, Chain};
use muster_providers::{Delta, FinishReason, Price, Usage};
use serde_json::json;

use super::breaker;
use super::reply::{BudgetView, ChatReplyAgent, GatewayReply, latency, tokens};
use crate::chat;
use crate::error::{Dialect, body};
use crate::sse::{Frames, frame};

/// Writes the events `start`, `delta`, and at the end `done` with the complete reply, or `error`.
pub struct FramesAgent {
    model: String,
    provider: String,
    request_id: String,
    price: Option<Price>,
    attempts: Vec<Attempt>,
    text: String,
    asked_at: Millis,
    clock: Clock,
}

impl FramesAgent {
    pub fn new(streaming: &AnswerStream, request_id: String, asked_at: Millis, clock: Clock) -> Self {
        Self {
            price: streaming.price,
            model: streaming.model_id.clone(),
            provider: streaming.provider_id.clone(),
            request_id,
            attempts: streaming.attempts.clone(),
            text: String::new(),
            asked_at,
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
            latency_ms: latency(&self.clock, self.asked_at),
            cost_usd: chat::cost_usd(self.price.map(|price| price.nanos(usage))),
            finish_reason: finish,
            attempts: std::mem::take(&mut self.attempts),
        }
    }
}

/// Writes the same events for the gateway; `done` also contains the budget and the breaker.
pub struct FramesGateway {
    frames: FramesAgent,
    /// The budget at the start of the stream.
    budget: BudgetView,
    chain: Chain,
}

impl FramesGateway {
    pub fn new(frames: FramesAgent, budget: BudgetView, chain: Chain) -> Self {
        Self { frames, budget, chain }
    }
}

impl Frames for FramesGateway {
    fn start(&mut self, out: &mut BytesMut) {
        self.frames.start(out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        self.frames.delta(delta, out);
    }

    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut) {
        let reply = self.frames.reply(finish, usage);
        let mut budget = self.budget.clone();
        budget.spent_usd += reply.cost_usd.unwrap_or(0.0);
        let breaker = breaker(&self.chain, &reply.provider);
        frame(Some("done"), &GatewayReply { reply, budget, breaker }, out);
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        self.frames.error(error, out);
    }
}

impl Frames for FramesAgent {
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
