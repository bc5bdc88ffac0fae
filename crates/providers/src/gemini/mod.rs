//! Google's Gemini API: `generateContent`, `streamGenerateContent` and `batchEmbedContents` (ai.google.dev/api).

mod assemble;
mod body;
mod complete;
mod embed;
mod errors;
mod images;
mod send;
mod stream;
mod turns;
mod wire;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::HeaderName;

use crate::http::{ConfigError, HttpConfig, Origin};
use crate::{Adapter, Call, ChatReply, ChatStream, EmbedCall, EmbedReply, Fault, ImageCall, ImageReply};

/// The key is sent in this header and never in the URL, which proxies log.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");

/// Adapter for Google's Gemini API. Holds only a connection pool; cheap to clone.
#[derive(Debug, Clone)]
pub struct GeminiAdapter {
    origin: Arc<Origin>,
}

impl GeminiAdapter {
    /// Checks the settings and prepares the client; opens no connection. `base_url` ends with the API version, such as
    /// `/v1beta`.
    pub fn new(config: HttpConfig) -> Result<Self, ConfigError> {
        let origin = Origin::new(config, (KEY_HEADER, str::to_owned), &[], errors::classify)?;
        Ok(Self { origin: Arc::new(origin) })
    }
}

impl Adapter for GeminiAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        complete::complete(Arc::clone(&self.origin), call).boxed()
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        stream::open(Arc::clone(&self.origin), call).boxed()
    }

    fn embed(&self, call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        embed::embed(Arc::clone(&self.origin), call).boxed()
    }

    fn image(&self, call: ImageCall) -> BoxFuture<'static, Result<ImageReply, Fault>> {
        images::draw(Arc::clone(&self.origin), call).boxed()
    }
}
