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

/// The adapter. Holds a pool of connections and nothing else; cheap to clone.
///
/// What has no word on this wire: a `seed` and an image's `detail` are hints and dropped; penalties, several answers
/// and what else would change the answer are refused as [`crate::ClientFault::Unsupported`], so that the next provider
/// may be asked. A temperature over 1, the highest here, is sent as 1; beside a temperature no `top_p` is sent, as the
/// models since Claude 4.1 refuse the two together.
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
