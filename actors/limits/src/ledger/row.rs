//! Sums for each key, model and day. Pure.

use muster_providers::Usage;
use serde::{Deserialize, Serialize};

use super::period::Day;

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The call succeeded.
    Ok,
    /// The call failed.
    Failed,
    /// The caller disconnected.
    Cancelled,
}

/// Sums over the calls of a key, model and day. Saturating.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// All calls, including those that failed or were cancelled.
    pub requests: u64,
    /// Failed calls.
    pub failed: u64,
    /// Cancelled calls.
    pub cancelled: u64,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Completion tokens.
    pub completion_tokens: u64,
    /// Calls whose usage was counted by this server, not reported by the provider.
    pub estimated_requests: u64,
    /// Billionths of a US dollar.
    pub cost_nanos: u64,
    /// Calls of models with unknown price, which are not part of `cost_nanos`.
    pub unpriced_requests: u64,
    /// Reserved for calls whose end is unknown because the server was killed: charged in full, in billionths of a US
    /// dollar, and not part of `cost_nanos`.
    pub unsettled_nanos: u64,
}

impl Row {
    /// Adds the estimate of a call whose cost nobody learnt. The request that it was made for has its own entry.
    pub(super) fn abandon(&mut self, prompt_tokens: u32, completion_tokens: u32, cost_nanos: Option<u64>) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(prompt_tokens.into());
        self.completion_tokens = self.completion_tokens.saturating_add(completion_tokens.into());
        self.cost_nanos = self.cost_nanos.saturating_add(cost_nanos.unwrap_or(0));
    }

    pub(super) fn post(&mut self, outcome: Outcome, usage: Usage, cost_nanos: Option<u64>) {
        let add = |sum: &mut u64, by: u64| *sum = sum.saturating_add(by);
        add(&mut self.requests, 1);
        add(&mut self.failed, u64::from(outcome == Outcome::Failed));
        add(&mut self.cancelled, u64::from(outcome == Outcome::Cancelled));
        add(&mut self.prompt_tokens, usage.prompt_tokens.into());
        add(&mut self.completion_tokens, usage.completion_tokens.into());
        add(&mut self.estimated_requests, usage.estimated.into());
        add(&mut self.cost_nanos, cost_nanos.unwrap_or(0));
        add(&mut self.unpriced_requests, cost_nanos.is_none().into());
    }
}

/// Identifies a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RowKey {
    pub(super) day: Day,
    pub(super) key: Box<str>,
    pub(super) model: Box<str>,
}

/// Kind of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// The budget of an API key.
    Key,
    /// The budget of a model.
    Model,
    /// The budget of an owner, which all keys of the owner share.
    Owner,
}
