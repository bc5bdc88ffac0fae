//! Moderation of a picture by a provider's endpoint.

use std::collections::BTreeMap;

use crate::Timeouts;

/// A picture to assess.
#[derive(Debug, Clone)]
pub struct ModerationCall {
    /// Name of the model at the provider.
    pub model: String,
    /// The picture as a data URL.
    pub image_url: String,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Forwarded to the provider.
    pub request_id: String,
}

/// What a provider found.
#[derive(Debug, Clone, PartialEq)]
pub struct ModerationReply {
    /// Scores, 0 to 1, of the categories that were judged by the picture.
    pub scores: BTreeMap<String, f64>,
}
