//! Interface to a provider.

use futures::future::BoxFuture;

use crate::{
    Call, ChatReply, ChatRequest, ChatStream, EmbedCall, EmbedReply, Fault, ImageCall, ImageReply, ModerationCall,
    ModerationReply,
};

/// Calls one provider over one wire protocol. Classifies every failure; holds no state except connections.
pub trait Adapter: Send + Sync + std::fmt::Debug + 'static {
    /// Returns a complete answer. Dropping the future cancels the call.
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>>;

    /// Returns a streamed answer. Resolves when the first content delta (or a proper end) has arrived, so that every
    /// earlier failure is an `Err` here and the caller can fail over to another provider invisibly.
    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>>;

    /// Returns whether this adapter forwards the verbatim request with all its fields.
    fn forwards_verbatim(&self, _request: &ChatRequest) -> bool {
        false
    }

    /// Returns embedding vectors. Dropping the future cancels the call.
    fn embed(&self, _call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        let fault = Fault::unsupported("model", "this provider gives no embeddings");
        Box::pin(std::future::ready(Err(fault)))
    }

    /// Returns pictures drawn from a text: all that were requested, or a fault that states what was billed. Dropping the
    /// future cancels the calls.
    fn image(&self, _call: ImageCall) -> BoxFuture<'static, Result<ImageReply, Fault>> {
        let fault = Fault::unsupported("model", "this provider draws no pictures");
        Box::pin(std::future::ready(Err(fault)))
    }

    /// Returns scores of a picture's content. Dropping the future cancels the call.
    fn moderate(&self, _call: ModerationCall) -> BoxFuture<'static, Result<ModerationReply, Fault>> {
        let fault = Fault::unsupported("model", "this provider has no moderation endpoint");
        Box::pin(std::future::ready(Err(fault)))
    }

    /// Counts the tokens of a request as this provider's model does; `None` without its tokenizer.
    fn count_prompt(&self, _call: &Call) -> Option<u32> {
        None
    }
}
