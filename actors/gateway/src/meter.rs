//! Usage and cost of one call.

use std::sync::Arc;

use muster_providers::{Adapter, Call, ChatReply, Choice, EmbedInput, EmbedRequest, Price, Usage};

use super::chain::Route;
use super::options::TokenCounter;

/// Counts the tokens that the provider did not report, and prices usage.
#[derive(Debug)]
pub(super) struct Meter {
    counter: Arc<dyn TokenCounter>,
    adapter: Arc<dyn Adapter>,
    call: Call,
    price: Option<Price>,
    images: u32,
    /// Upper estimate of the prompt, as reserved; 0 if nobody pays.
    reserved_prompt: u32,
    pub(super) provider_id: String,
    pub(super) model_id: String,
}

impl Meter {
    pub(super) fn new(counter: &Arc<dyn TokenCounter>, route: &Route, call: Call, reserved_prompt: u32) -> Self {
        Self {
            counter: Arc::clone(counter),
            adapter: Arc::clone(&route.member.provider.adapter),
            images: route.image_tokens(&call.request),
            reserved_prompt,
            call,
            price: route.candidate.price,
            provider_id: route.candidate.provider_id.clone(),
            model_id: route.candidate.model_id.clone(),
        }
    }

    pub(super) fn prompt(&self) -> u32 {
        let own = self.adapter.count_prompt(&self.call);
        own.unwrap_or_else(|| self.counter.prompt(&self.model_id, &self.call.request).saturating_add(self.images))
    }

    /// Returns the prompt of an answer that broke off, for which the provider bills and reported nothing: at least what
    /// was reserved.
    pub(super) fn prompt_at_least(&self) -> u32 {
        self.prompt().max(self.reserved_prompt)
    }

    pub(super) fn text(&self, text: &str) -> u32 {
        if text.is_empty() { 0 } else { self.counter.text(&self.model_id, text) }
    }

    pub(super) fn counted(&self, reply: &ChatReply) -> Usage {
        let calls = |choice: &Choice| {
            choice.tool_calls.iter().map(|call| self.text(&call.name) + self.text(&call.arguments)).sum::<u32>()
        };
        let answers = reply.choices().map(|choice| self.text(&choice.content).saturating_add(calls(choice)));
        Usage { prompt_tokens: self.prompt(), completion_tokens: answers.fold(0, u32::saturating_add), estimated: true }
    }

    pub(super) fn cost_nanos(&self, usage: Usage) -> Option<u64> {
        self.price.map(|price| price.nanos(usage))
    }
}

/// Counts the tokens of texts to embed; inputs that are token lists count by their length.
pub(super) fn inputs(counter: &dyn TokenCounter, model_id: &str, request: &EmbedRequest) -> Usage {
    let tokens = |input: &EmbedInput| match input {
        EmbedInput::Text(text) => counter.text(model_id, text),
        EmbedInput::Tokens(tokens) => u32::try_from(tokens.len()).unwrap_or(u32::MAX),
    };
    let prompt_tokens = request.inputs.iter().map(tokens).fold(0, u32::saturating_add);
    Usage { prompt_tokens, completion_tokens: 0, estimated: true }
}
