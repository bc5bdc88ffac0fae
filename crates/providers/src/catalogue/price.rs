//! What a call costs, exactly.

use serde::Serialize;

use super::{EmbeddingEntry, ModelEntry};
use crate::Usage;

/// A price in USD per million tokens, as providers publish it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Price {
    pub input_per_million: f64,
    pub output_per_million: f64,
}

/// A dollar per million tokens is a million of these per token.
const PICODOLLARS_PER_TOKEN: f64 = 1e6;
/// Dearer than any model; keeps the products below within 64 bits.
const DEAREST: f64 = 1e6;

impl Price {
    pub fn of(entry: &ModelEntry) -> Self {
        Self { input_per_million: entry.price_in, output_per_million: entry.price_out }
    }

    /// An embedding has no answer's tokens.
    pub fn of_embedding(entry: &EmbeddingEntry) -> Self {
        Self { input_per_million: entry.price_in, output_per_million: 0.0 }
    }

    /// The cost in billionths of a dollar, rounded half up. Saturates.
    pub fn nanos(self, usage: Usage) -> u64 {
        let part = |price: f64, tokens: u32| u128::from(picodollars(price).unwrap_or(0)) * u128::from(tokens);
        let pico =
            part(self.input_per_million, usage.prompt_tokens) + part(self.output_per_million, usage.completion_tokens);
        u64::try_from((pico + 500) / 1000).unwrap_or(u64::MAX)
    }

    /// Both prices are whole picodollars a token, so that no cost is off by a rounding of the price.
    pub(super) fn is_exact(self) -> bool {
        [self.input_per_million, self.output_per_million].into_iter().all(|price| {
            let scaled = price * PICODOLLARS_PER_TOKEN;
            picodollars(price).is_some() && (scaled - scaled.round()).abs() < 1e-3
        })
    }
}

/// A published price as whole picodollars a token; `None` for what is no price. The casts are within range by the check.
fn picodollars(price: f64) -> Option<u64> {
    (0.0..=DEAREST).contains(&price).then(|| (price * PICODOLLARS_PER_TOKEN).round() as u64)
}

/// The cost of a call in billionths of a dollar: whole numbers all the way, as a ledger adds up many.
pub fn cost_nanos(entry: &ModelEntry, usage: Usage) -> u64 {
    Price::of(entry).nanos(usage)
}

/// The cost of a call in dollars, for people and answers. Exact up to 2^53 billionths: nine million dollars a call.
pub fn cost_usd(entry: &ModelEntry, usage: Usage) -> f64 {
    cost_nanos(entry, usage) as f64 / 1e9
}
