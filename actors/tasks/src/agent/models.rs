//! Interface through which agents use models.

use std::fmt;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use muster_providers::{ChatEvent, ProviderKind};

use muster_core::Error;
use muster_gateway::{AnswerStream, Chain, ChainError, GatewayChatRequest, Settlement};

/// Callback that is called exactly once per stream, however it ends: before its `Done` or its error is returned, or
/// when it is dropped.
pub type SettleCallback = Box<dyn FnOnce(Settlement) + Send>;

/// The models available to agents.
pub trait Models: Send + Sync + fmt::Debug {
    /// Returns the model used for planning: one that supports tool calls and is not the embedded one. `None` if none is
    /// available; called for each task.
    fn planner(&self) -> Option<String>;

    /// Returns the model that writes results, if it is a different one.
    fn writer(&self) -> Option<String> {
        self.planner()
    }

    /// Returns the model that looks for missing params in an instruction where no model plans. `None`: the task waits for
    /// them.
    fn filler(&self) -> Option<String> {
        None
    }

    /// Starts a model's answer. Dropping the future or the stream ends the provider's work.
    fn stream(
        &self,
        request: GatewayChatRequest,
        settle: SettleCallback,
    ) -> BoxFuture<'static, Result<ModelStream, ChainError>>;
}

/// A streamed answer: deltas, followed by exactly one `Done` or one error.
pub struct ModelStream {
    /// Identifier of the model that replies.
    pub model_id: String,
    /// Identifier of its provider.
    pub provider_id: String,
    /// The events; dropping the stream ends the call.
    pub events: BoxStream<'static, Result<ChatEvent, Error>>,
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelStream")
            .field("model_id", &self.model_id)
            .field("provider_id", &self.provider_id)
            .finish_non_exhaustive()
    }
}

impl From<AnswerStream> for ModelStream {
    fn from(streaming: AnswerStream) -> Self {
        let (model_id, provider_id) = (streaming.model_id.clone(), streaming.provider_id.clone());
        Self { model_id, provider_id, events: streaming.boxed() }
    }
}

/// The current provider chain, determined for each call, so that reloads take effect.
pub struct ChainModels<F>(F);

impl<F: Fn() -> Chain> ChainModels<F> {
    /// Creates an accessor; `chain` returns the current chain and is called for each use.
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
    /// Returns the first model with support for tool calls of the first provider in the chain that has one.
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

    fn stream(
        &self,
        mut request: GatewayChatRequest,
        settle: SettleCallback,
    ) -> BoxFuture<'static, Result<ModelStream, ChainError>> {
        // A single model would be followed by the models that the settings allow in its place, also the embedded one,
        // which cannot plan; a list of two has nothing behind it.
        if let [only] = request.models.as_slice() {
            let only = only.clone();
            request.models.push(only);
        }
        let chain = (self.0)();
        async move { Ok(chain.stream(request, settle).await?.into()) }.boxed()
    }
}
