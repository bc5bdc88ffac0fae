//! Exact cost of a call.

use serde::Serialize;

use super::{EmbeddingEntry, ModelEntry};
use crate::Usage;

/// A price in USD per million tokens, as providers publish it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Price {
    /// US dollars per million prompt tokens.
    pub input_per_million: f64,
    /// US dollars per million answer tokens.
    pub output_per_million: f64,
}

/// One dollar per million tokens is a million picodollars per token.
const PICODOLLARS_PER_TOKEN: f64 = 1e6;
/// Upper bound of a price; keeps the products below within 64 bits.
const MAX_PRICE: f64 = 1e6;

impl Price {
    /// Returns the price of a chat model.
    pub fn of(entry: &ModelEntry) -> Self {
        Self { input_per_million: entry.price_in, output_per_million: entry.price_out }
    }

    /// Returns the price of an embedding model, which has no answer tokens.
    pub fn of_embedding(entry: &EmbeddingEntry) -> Self {
        Self { input_per_million: entry.price_in, output_per_million: 0.0 }
    }

    /// Returns the cost in billionths of a dollar, rounded half up. Saturates.
    pub fn nanos(self, usage: Usage) -> u64 {
        let part = |price: f64, tokens: u32| u128::from(picodollars(price).unwrap_or(0)) * u128::from(tokens);
        let pico =
            part(self.input_per_million, usage.prompt_tokens) + part(self.output_per_million, usage.completion_tokens);
        u64::try_from((pico + 500) / 1000).unwrap_or(u64::MAX)
    }

    /// Returns whether both prices are whole picodollars per token, so that no cost is off by rounding.
    pub(crate) fn is_exact(self) -> bool {
        [self.input_per_million, self.output_per_million].into_iter().all(|price| {
            let scaled = price * PICODOLLARS_PER_TOKEN;
            picodollars(price).is_some() && (scaled - scaled.round()).abs() < 1e-3
        })
    }
}

/// Converts a published price to whole picodollars per token; `None` for an invalid price. The casts are within range
/// by the check.
fn picodollars(price: f64) -> Option<u64> {
    (0.0..=MAX_PRICE).contains(&price).then(|| (price * PICODOLLARS_PER_TOKEN).round() as u64)
}

/// Returns the cost of a call in billionths of a dollar, in integer arithmetic, as a ledger sums many.
pub fn cost_nanos(entry: &ModelEntry, usage: Usage) -> u64 {
    Price::of(entry).nanos(usage)
}

/// Returns the cost of a call in dollars, for display. Exact up to 2^53 billionths: nine million dollars per call.
pub fn cost_usd(entry: &ModelEntry, usage: Usage) -> f64 {
    cost_nanos(entry, usage) as f64 / 1e9
}
