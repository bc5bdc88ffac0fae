//! Servers with OpenAI's API for chat, embeddings and pictures: hosted ones, Ollama, vLLM, llama.cpp.
//!
//! A request in this form is forwarded with only the necessary changes (`verbatim`); any other is encoded (`body`).
//! Stream chunks are scanned (`scan`) and parsed only if they hold more than text.

mod assemble;
mod body;
mod complete;
mod dialect;
mod embed;
mod ids;
mod images;
mod messages;
mod moderate;
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
use crate::{
    Adapter, Call, ChatReply, ChatRequest, ChatStream, EmbedCall, EmbedReply, Fault, ImageCall, ImageReply,
    ModerationCall, ModerationReply,
};
use dialect::Dialect;
use ids::Ids;

pub(crate) use dialect::is_openai_reasoning;
pub use verbatim::is_chat_extension;

/// Adapter for OpenAI-compatible servers. Holds only a connection pool; cheap to clone.
#[derive(Debug, Clone)]
pub struct OpenAiAdapter {
    server: Arc<Server>,
}

/// The provider, and its variant of the API.
#[derive(Debug)]
struct Server {
    origin: Arc<Origin>,
    dialect: Dialect,
    chat: Url,
    embeddings: Url,
    images: Url,
    moderations: Url,
    /// Members of a chat that are forwarded in addition to the standard ones.
    forward: Vec<String>,
}

/// How the answer of one call is parsed.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Number of requested answers; at least one, at most one per bit.
    choices: u32,
    /// The request was forwarded verbatim, so the answer may be too.
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
        let forward = config.forward.clone();
        let origin = Origin::new(config, (AUTHORIZATION, |key| format!("Bearer {key}")), &[], classify)?;
        let server = Server {
            dialect: Dialect::of(&origin.base),
            chat: origin.endpoint("/chat/completions"),
            embeddings: origin.endpoint("/embeddings"),
            images: origin.endpoint("/images/generations"),
            moderations: origin.endpoint("/moderations"),
            origin: Arc::new(origin),
            forward,
        };
        Ok(Self { server: Arc::new(server) })
    }
}

impl Adapter for OpenAiAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        complete::complete(self.server.clone(), call).boxed()
    }

    fn forwards_verbatim(&self, request: &ChatRequest) -> bool {
        let named = |member: &String| self.server.forward.contains(member);
        request.verbatim.is_some() && self.server.dialect.forwards_verbatim() && request.extensions.iter().all(named)
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        stream::open(self.server.clone(), call).boxed()
    }

    fn embed(&self, call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        embed::embed(self.server.clone(), call).boxed()
    }

    fn image(&self, call: ImageCall) -> BoxFuture<'static, Result<ImageReply, Fault>> {
        images::draw(self.server.clone(), call).boxed()
    }

    fn moderate(&self, call: ModerationCall) -> BoxFuture<'static, Result<ModerationReply, Fault>> {
        moderate::moderate(self.server.clone(), call).boxed()
    }
}
