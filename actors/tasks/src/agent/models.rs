//! The port through which agents have models speak.

use std::fmt;

use futures::future::{BoxFuture, ready};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use muster_providers::{ChatEvent, ProviderKind};

use muster_core::{Error, Kind};
use muster_gateway::{AnswerStream, Chain, ChainError, GatewayChatRequest, Settlement};

/// What is told of a stream exactly once, however it ends: before its `Done` or its error comes out of it, or when it
/// is dropped.
pub type Settle = Box<dyn FnOnce(Settlement) + Send>;

/// Models, as agents know them.
pub trait Models: Send + Sync + fmt::Debug {
    /// The model that agents plan with: one that can call tools and is not the embedded one. `None` where there is none
    /// now; asked again for each task.
    fn planner(&self) -> Option<String>;

    /// The model that writes results up, where it is another one.
    fn writer(&self) -> Option<String> {
        self.planner()
    }

    /// Has a model speak. Dropping the future or the stream ends the provider's work.
    fn stream(&self, ask: GatewayChatRequest, settle: Settle) -> BoxFuture<'static, Result<Speech, ChainError>>;
}

/// A model's answer as it comes: deltas, then exactly one `Done` or one error.
pub struct Speech {
    pub model_id: String,
    pub provider_id: String,
    pub events: BoxStream<'static, Result<ChatEvent, Error>>,
}

impl fmt::Debug for Speech {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Speech")
            .field("model_id", &self.model_id)
            .field("provider_id", &self.provider_id)
            .finish_non_exhaustive()
    }
}

impl From<AnswerStream> for Speech {
    fn from(streaming: AnswerStream) -> Self {
        let (model_id, provider_id) = (streaming.model_id.clone(), streaming.provider_id.clone());
        Self { model_id, provider_id, events: streaming.boxed() }
    }
}

/// The chain that counts now, asked anew for each call, so that a reload is followed.
pub struct ChainModels<F>(F);

impl<F: Fn() -> Chain> ChainModels<F> {
    pub fn new(chain: F) -> Self {
        Self(chain)
    }
}

impl<F> fmt::Debug for ChainModels<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainModels").finish_non_exhaustive()
    }
}

impl<F: Fn() -> Chain + Send + Sync> Models for ChainModels<F> {
    /// The first model that can call tools of the first provider in the chain's order that has one.
    fn planner(&self) -> Option<String> {
        let chain = (self.0)();
        let remote: Vec<String> = chain
            .status()
            .into_iter()
            .filter(|provider| provider.order.is_some() && provider.kind != ProviderKind::Embedded)
            .map(|provider| provider.id)
            .collect();
        if remote.is_empty() {
            return None;
        }
        let able = chain.registry().list().into_iter().filter(|model| {
            let calls_tools = model.entry.as_ref().is_some_and(|entry| entry.capabilities.iter().any(|c| c == "tools"));
            model.configured && calls_tools
        });
        able.filter_map(|model| Some((remote.iter().position(|id| *id == model.provider)?, model.id)))
            .min_by_key(|(order, _)| *order)
            .map(|(_, id)| id)
    }

    fn stream(&self, mut ask: GatewayChatRequest, settle: Settle) -> BoxFuture<'static, Result<Speech, ChainError>> {
        // After a single model comes the rest of the chain, the embedded one included, which cannot plan; two are a
        // bound.
        if let [only] = ask.models.as_slice() {
            let only = only.clone();
            ask.models.push(only);
        }
        let chain = (self.0)();
        async move { Ok(chain.stream(ask, settle).await?.into()) }.boxed()
    }
}

/// No model at all: agents walk their plans.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModels;

impl Models for NoModels {
    fn planner(&self) -> Option<String> {
        None
    }

    fn stream(&self, _: GatewayChatRequest, _: Settle) -> BoxFuture<'static, Result<Speech, ChainError>> {
        let error = Error::new(Kind::ModelUnconfigured, "agents have no model to speak with");
        ready(Err(ChainError { error, attempts: Vec::new() })).boxed()
    }
}
