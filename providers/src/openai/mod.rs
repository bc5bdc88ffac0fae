//! Any server that speaks OpenAI's chat API: hosted ones, Ollama, vLLM, llama.cpp.

mod assemble;
mod body;
mod complete;
mod dialect;
mod send;
mod stream;
mod wire;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use reqwest::header::AUTHORIZATION;

use crate::http::{ConfigError, HttpConfig, Origin, classify};
use crate::{Adapter, Call, ChatReply, ChatStream, Fault};
use dialect::Dialect;

pub(crate) use dialect::is_openai_reasoning;

/// The adapter. Holds a pool of connections and nothing else; cheap to clone.
#[derive(Debug, Clone)]
pub struct OpenAiAdapter {
    server: Arc<Server>,
}

/// The provider, and which variant of the API it speaks.
#[derive(Debug)]
struct Server {
    origin: Arc<Origin>,
    dialect: Dialect,
}

impl OpenAiAdapter {
    /// Checks the settings and prepares the client; opens no connection.
    pub fn new(config: HttpConfig) -> Result<Self, ConfigError> {
        let origin = Origin::new(config, (AUTHORIZATION, |key| format!("Bearer {key}")), &[], classify)?;
        let dialect = Dialect::of(&origin.base);
        Ok(Self { server: Arc::new(Server { origin: Arc::new(origin), dialect }) })
    }
}

impl Adapter for OpenAiAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        complete::complete(self.server.clone(), call).boxed()
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        stream::open(self.server.clone(), call).boxed()
    }
}
