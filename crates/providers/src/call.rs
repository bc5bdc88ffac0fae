//! Calls of one provider: a chat or embeddings, with the model at the provider and what is known of it.

use std::sync::Arc;

use crate::{ChatRequest, Timeouts, Usage};

/// One chat call to one provider.
#[derive(Debug, Clone)]
pub struct Call {
    /// Name of the model at the provider.
    pub upstream_model: String,
    /// Whether the model accepts sampling parameters; otherwise they are dropped.
    pub takes_sampling: bool,
    /// Whether the model thinks in tokens: the defaults are not sent to it.
    pub reasons: bool,
    /// Largest number of answer tokens of the model, if it is known.
    pub max_output: Option<u32>,
    /// The chat.
    pub request: Arc<ChatRequest>,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Forwarded as `X-Request-Id`.
    pub request_id: String,
    /// W3C trace context, forwarded as `traceparent`.
    pub traceparent: Option<String>,
}

impl Call {
    /// Returns the maximum number of answer tokens to request: the client's, else the default where it suits the model.
    pub fn max_tokens(&self) -> Option<u32> {
        self.request.max_tokens_at(self.reasons)
    }

    /// Returns the temperature to request: the client's, else the default where it suits the model. `None` for a model
    /// without sampling parameters.
    pub fn temperature(&self) -> Option<f32> {
        let default = || self.request.defaults.temperature.filter(|_| !self.reasons);
        self.request.sampling.temperature.or_else(default).filter(|_| self.takes_sampling)
    }
}

/// Texts to embed.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedRequest {
    /// 1 to 2,048 inputs.
    pub inputs: Vec<EmbedInput>,
    /// Requested vector length, for models that can shorten their vectors.
    pub dimensions: Option<u32>,
    /// Id of the caller's end user, forwarded where a provider accepts it.
    pub user: Option<String>,
}

/// An input to embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedInput {
    /// A text.
    Text(String),
    /// Token ids of the provider's model.
    Tokens(Vec<u32>),
}

/// Embedding vectors, in the order of the inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedReply {
    /// The vectors.
    pub vectors: Vec<Vec<f32>>,
    /// Usage as reported by the provider, if it was. An embedding has no completion tokens.
    pub usage: Option<Usage>,
    /// Model name reported by the provider.
    pub model: String,
}

/// One embedding call to one provider.
#[derive(Debug, Clone)]
pub struct EmbedCall {
    /// Name of the model at the provider.
    pub upstream_model: String,
    /// The inputs.
    pub request: Arc<EmbedRequest>,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Forwarded as `X-Request-Id`.
    pub request_id: String,
    /// W3C trace context, forwarded as `traceparent`.
    pub traceparent: Option<String>,
}
