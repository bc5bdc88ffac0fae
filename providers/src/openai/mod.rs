//! Any server that speaks OpenAI's chat API: hosted ones, Ollama, vLLM, llama.cpp.

mod assemble;
mod body;
mod client;
mod complete;
mod dialect;
mod errors;
mod origin;
mod send;
mod stream;
mod wire;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::{Adapter, Call, ChatReply, ChatStream, Fault, Secret};
use origin::Origin;

pub use client::{ConfigError, install_tls};
pub(crate) use dialect::is_openai_reasoning;

/// How one provider is reached.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// The name in faults and logs.
    pub provider_id: String,
    /// `http` or `https`, up to and without `/chat/completions`; no user, query or fragment.
    pub base_url: String,
    /// Sent as a bearer token; `None` sends no `Authorization`.
    pub api_key: Option<Secret>,
    /// Connections kept open while idle.
    pub idle_connections: usize,
}

impl OpenAiConfig {
    pub fn new(provider_id: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self { provider_id: provider_id.into(), base_url: base_url.into(), api_key: None, idle_connections: 32 }
    }

    pub fn with_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key);
        self
    }
}

/// The adapter. Holds a pool of connections and nothing else; cheap to clone.
#[derive(Debug, Clone)]
pub struct OpenAiAdapter {
    origin: Arc<Origin>,
}

impl OpenAiAdapter {
    /// Checks the settings and prepares the client; opens no connection.
    pub fn new(config: OpenAiConfig) -> Result<Self, ConfigError> {
        Ok(Self { origin: Arc::new(Origin::new(config)?) })
    }
}

impl Adapter for OpenAiAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        complete::complete(self.origin.clone(), call).boxed()
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        stream::open(self.origin.clone(), call).boxed()
    }
}
