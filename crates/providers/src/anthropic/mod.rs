//! Anthropic's Messages API, version 2023-06-01.

mod assemble;
mod blocks;
mod body;
mod complete;
mod errors;
mod fence;
mod schema;
mod send;
mod stream;
mod tools;
mod turns;
mod wire;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::HeaderName;

use crate::http::{ConfigError, HttpConfig, Origin};
use crate::{Adapter, Call, ChatReply, ChatStream, Fault};

const VERSION: (HeaderName, &str) = (HeaderName::from_static("anthropic-version"), "2023-06-01");

/// Adapter for Anthropic's Messages API. Holds only a connection pool; cheap to clone.
///
/// What this API does not have: a `seed` and an image's `detail` are hints and dropped; penalties, several answers and
/// everything else that would change the answer are rejected as [`crate::ClientFault::Unsupported`], so that the next
/// provider can be tried. A temperature over 1, the maximum here, is sent as 1; `top_p` is not sent together with a
/// temperature, because models since Claude 4.1 reject the combination.
#[derive(Debug, Clone)]
pub struct AnthropicAdapter {
    origin: Arc<Origin>,
}

impl AnthropicAdapter {
    /// Checks the settings and prepares the client; opens no connection.
    pub fn new(config: HttpConfig) -> Result<Self, ConfigError> {
        let credential = (HeaderName::from_static("x-api-key"), str::to_owned as fn(&str) -> String);
        let origin = Origin::new(config, credential, &[VERSION], errors::classify)?;
        Ok(Self { origin: Arc::new(origin) })
    }
}

impl Adapter for AnthropicAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        complete::complete(Arc::clone(&self.origin), call).boxed()
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        stream::open(Arc::clone(&self.origin), call).boxed()
    }
}
