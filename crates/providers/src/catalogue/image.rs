//! Image models of the catalogue.

use serde::{Deserialize, Serialize};

use crate::{AspectRatio, ImagePrice, ImageQuality, ImageShapes, ImageSize, MAX_IMAGES, Price};

/// An image model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageEntry {
    /// Model id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Id of its provider.
    pub provider: String,
    /// Name of the model at its provider.
    pub upstream: String,
    /// Sizes that it draws; with `aspect_ratios` empty too, every size.
    #[serde(default)]
    pub sizes: Vec<ImageSize>,
    /// Aspect ratios that it draws, where it takes no sizes.
    #[serde(default)]
    pub aspect_ratios: Vec<AspectRatio>,
    /// Qualities that it takes; empty where it takes none.
    #[serde(default)]
    pub qualities: Vec<ImageQuality>,
    /// Largest number of pictures of one call.
    pub n: u32,
    /// Whether base64 has to be requested with `response_format`.
    #[serde(default)]
    pub response_format: bool,
    /// US dollars per million tokens of the prompt.
    #[serde(default)]
    pub price_in: f64,
    /// US dollars per million tokens of the pictures.
    #[serde(default)]
    pub price_out: f64,
    /// US dollars per picture.
    #[serde(default)]
    pub price_image: f64,
    /// Most tokens of one picture, where pictures are priced by token.
    #[serde(default)]
    pub max_image_tokens: u32,
    /// Source of the prices.
    pub price_source: String,
}

impl ImageEntry {
    /// Returns the price of its pictures.
    pub fn price(&self) -> ImagePrice {
        ImagePrice {
            tokens: Price { input_per_million: self.price_in, output_per_million: self.price_out },
            per_image: self.price_image,
            max_image_tokens: self.max_image_tokens,
        }
    }

    /// Returns what it draws.
    pub fn shapes(&self) -> ImageShapes {
        if !self.sizes.is_empty() {
            ImageShapes::Sizes(self.sizes.clone())
        } else if !self.aspect_ratios.is_empty() {
            ImageShapes::Ratios(self.aspect_ratios.clone())
        } else {
            ImageShapes::Free
        }
    }

    /// Returns whether the entry has this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.id == name || self.upstream == name
    }

    /// Returns why the entry cannot be used.
    pub(super) fn defect(&self) -> Option<&'static str> {
        let price = self.price();
        match () {
            () if self.n == 0 => Some("n is 0"),
            () if !self.sizes.is_empty() && !self.aspect_ratios.is_empty() => Some("has both sizes and aspect_ratios"),
            () if !price.tokens.is_exact() || !price.is_exact() => {
                Some("a price is negative or finer than a billionth of a dollar")
            }
            () if self.price_out > 0.0 && self.max_image_tokens == 0 => {
                Some("is priced by token and has no max_image_tokens")
            }
            () if self.max_image_tokens > u32::MAX / MAX_IMAGES => Some("max_image_tokens is too large"),
            () => None,
        }
    }
}
