//! Any server that speaks OpenAI's API for chat and embeddings: hosted ones, Ollama, vLLM, llama.cpp.
//!
//! A request that came in this form is forwarded as it is, with only what must change (`verbatim`); any other is
//! written anew (`body`). A streamed answer is looked over (`scan`) and parsed only where it holds more than text.

mod assemble;
mod body;
mod complete;
mod dialect;
mod embed;
mod ids;
mod messages;
mod scan;
mod send;
mod stream;
mod tools;
mod vectors;
mod verbatim;
mod wire;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use reqwest::Url;
use reqwest::header::AUTHORIZATION;

use crate::http::{ConfigError, HttpConfig, Origin, classify};
use crate::{Adapter, Call, ChatReply, ChatRequest, ChatStream, EmbedCall, EmbedReply, Fault};
use dialect::Dialect;
use ids::Ids;

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
    chat: Url,
    embeddings: Url,
}

/// How the answer of one call is to be read.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Answers asked for; at least one, and no more than have a bit of their own.
    choices: u32,
    /// The request was forwarded as it came, and so may the answer be.
    verbatim: bool,
    ids: Ids,
}

impl Reading {
    fn of(call: &Call, verbatim: bool) -> Self {
        Self { choices: call.request.choices().min(u64::BITS), verbatim, ids: Ids::of(call) }
    }
}

impl OpenAiAdapter {
    /// Checks the settings and prepares the client; opens no connection.
    pub fn new(config: HttpConfig) -> Result<Self, ConfigError> {
        let origin = Origin::new(config, (AUTHORIZATION, |key| format!("Bearer {key}")), &[], classify)?;
        let server = Server {
            dialect: Dialect::of(&origin.base),
            chat: origin.endpoint("/chat/completions"),
            embeddings: origin.endpoint("/embeddings"),
            origin: Arc::new(origin),
        };
        Ok(Self { server: Arc::new(server) })
    }
}

impl Adapter for OpenAiAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        complete::complete(self.server.clone(), call).boxed()
    }

    fn takes_verbatim(&self, request: &ChatRequest) -> bool {
        request.verbatim.is_some() && self.server.dialect.takes_verbatim(request)
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        stream::open(self.server.clone(), call).boxed()
    }

    fn embed(&self, call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        embed::embed(self.server.clone(), call).boxed()
    }
}
