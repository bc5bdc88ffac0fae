//! The port to a provider.

use futures::future::BoxFuture;

use crate::{Call, ChatReply, ChatRequest, ChatStream, EmbedCall, EmbedReply, Fault};

/// One way to speak to one provider. Classifies every failure; holds no state but its connections.
pub trait Adapter: Send + Sync + std::fmt::Debug + 'static {
    /// The whole answer at once. Dropping the future cancels the call.
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>>;

    /// A streamed answer; resolves when the first content delta (or a proper end) is there, so that every failure
    /// before it is still an `Err` here and the chain can go on to the next provider unseen.
    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>>;

    /// Whether it passes a verbatim request on with all its fields.
    fn takes_verbatim(&self, _request: &ChatRequest) -> bool {
        false
    }

    /// Vectors of texts. Dropping the future cancels the call.
    fn embed(&self, _call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        let fault = Fault::unsupported("model", "this provider gives no embeddings");
        Box::pin(std::future::ready(Err(fault)))
    }

    /// Tokens of a request as this provider's model counts them; `None` where the tokenizer is not at hand.
    fn count_prompt(&self, _call: &Call) -> Option<u32> {
        None
    }
}
