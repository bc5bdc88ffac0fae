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
    /// Answered from the cache: no provider was called.
    Cached,
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
    /// Calls that were answered from the cache, at no cost.
    pub cached_requests: u64,
    /// Pictures that were drawn.
    pub images: u64,
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
        add(&mut self.cached_requests, u64::from(outcome == Outcome::Cached));
        add(&mut self.prompt_tokens, usage.prompt_tokens.into());
        add(&mut self.completion_tokens, usage.completion_tokens.into());
        add(&mut self.estimated_requests, usage.estimated.into());
        add(&mut self.cost_nanos, cost_nanos.unwrap_or(0));
        add(&mut self.unpriced_requests, cost_nanos.is_none().into());
    }
}

/// What the rows of usage are grouped by, besides day and model. Each call is in one row of each group that it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// The API key or user that is charged.
    #[default]
    Key,
    /// The owner of the key.
    Owner,
    /// The team of the key.
    Team,
    /// The provider that answered.
    Provider,
    /// A tag of the request, by key: a key has a share of its own of the tags that are kept apart.
    Tag,
}

/// Identifies a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RowKey {
    pub(super) day: Day,
    pub(super) dimension: Dimension,
    /// The key, owner, team or provider; of a tag the key, [`TAG_SEPARATOR`] and the tag.
    pub(super) id: Box<str>,
    pub(super) model: Box<str>,
}

/// Separates tags, and a key from a tag. No identifier and no tag contains it.
pub(super) const TAG_SEPARATOR: char = '\u{1f}';

impl RowKey {
    /// Returns the key of the row of a tag.
    pub(super) fn of_tag(key: &str, tag: &str) -> Box<str> {
        format!("{key}{TAG_SEPARATOR}{tag}").into()
    }

    /// Returns the key that is charged, and what the row is grouped by. Only rows of keys and tags have a key.
    pub(super) fn subject(&self) -> (Option<&str>, &str) {
        match self.dimension {
            Dimension::Key => (Some(&self.id), &self.id),
            Dimension::Tag => match self.id.split_once(TAG_SEPARATOR) {
                Some((key, tag)) => (Some(key), tag),
                None => (None, &self.id),
            },
            Dimension::Owner | Dimension::Team | Dimension::Provider => (None, &self.id),
        }
    }
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
    /// The budget of a team, which all keys of the team share.
    Team,
}
