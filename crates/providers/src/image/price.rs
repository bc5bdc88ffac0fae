//! Exact cost of a call for pictures.

use serde::Serialize;

use crate::{Price, Usage};

/// Price of pictures: by token, by picture, or both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ImagePrice {
    /// Price of the tokens of prompt and pictures.
    pub tokens: Price,
    /// US dollars per picture.
    pub per_image: f64,
    /// Most tokens of one picture; 0 where pictures are not priced by token.
    pub max_image_tokens: u32,
}

/// Billionths of a dollar.
const NANOS: f64 = 1e9;
/// Most dollars of a picture; keeps sums within 64 bits.
const MAX_PER_IMAGE: f64 = 1_000.0;

impl ImagePrice {
    /// Returns the cost in billionths of a dollar. Saturates.
    pub fn nanos(self, usage: Usage, images: u32) -> u64 {
        let each = nanos(self.per_image).unwrap_or(0);
        self.tokens.nanos(usage).saturating_add(each.saturating_mul(u64::from(images)))
    }

    /// Returns the usage of the dearest reply with `images` pictures to a prompt.
    pub fn dearest(self, prompt_tokens: u32, images: u32) -> Usage {
        let completion_tokens = self.max_image_tokens.saturating_mul(images);
        Usage { prompt_tokens, completion_tokens, estimated: true }
    }

    /// Returns whether the price of a picture is a whole number of billionths of a dollar.
    pub(crate) fn is_exact(self) -> bool {
        nanos(self.per_image).is_some_and(|whole| (self.per_image * NANOS - whole as f64).abs() < 1e-3)
    }
}

fn nanos(usd: f64) -> Option<u64> {
    (0.0..=MAX_PER_IMAGE).contains(&usd).then(|| (usd * NANOS).round() as u64)
}

/// Price of a call of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CallPrice {
    /// By tokens of prompt and answer.
    Tokens(Price),
    /// Of pictures.
    Images(ImagePrice),
}

impl CallPrice {
    /// Returns the cost in billionths of a dollar; `images` counts only for pictures.
    pub fn nanos(self, usage: Usage, images: u32) -> u64 {
        match self {
            Self::Tokens(price) => price.nanos(usage),
            Self::Images(price) => price.nanos(usage, images),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 20 × 5 $/M + 2 × 1,000 × 30 $/M = 0.0001 $ + 0.06 $; 3 × 0.0336 $.
    #[test]
    fn pictures_cost_by_token_and_by_piece() {
        let tokens = Price { input_per_million: 5.0, output_per_million: 30.0 };
        let usage = Usage { prompt_tokens: 20, completion_tokens: 2_000, estimated: false };
        let by_token = ImagePrice { tokens, per_image: 0.0, max_image_tokens: 7_024 };
        assert_eq!(by_token.nanos(usage, 2), 60_100_000);
        assert_eq!(by_token.dearest(20, 2).completion_tokens, 14_048);
        let free = Price { input_per_million: 0.0, output_per_million: 0.0 };
        let by_piece = ImagePrice { tokens: free, per_image: 0.0336, max_image_tokens: 0 };
        assert_eq!(by_piece.nanos(usage, 3), 100_800_000);
        assert!(by_piece.is_exact());
        assert!(!ImagePrice { per_image: -1.0, ..by_piece }.is_exact());
        assert!(!ImagePrice { per_image: 0.000_000_000_1, ..by_piece }.is_exact());
    }
}
