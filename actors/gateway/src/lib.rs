//! Provider gateway: ordered failover between AI providers, behind circuit breakers for each provider and each of its
//! models.
//!
//! [`Chain`] calls the providers that the registry lists for a model, in order, until one answers. The class of a fault
//! decides what follows: transient, throttled and hard faults move on to the next provider and are reported to the
//! breaker of the provider or of the model; a fault of the request itself is returned at once. A provider is called again
//! only after a fault that shows that the first call did not run. One deadline bounds the whole request. A
//! stream can be replaced by another provider's until its first delta has arrived, and never after: from then on a
//! failure ends it with an error.
//!
//! A request may be hedged: when a call is slow, the next provider is called in parallel and the first answer wins.
//! Both providers may bill for it.
//!
//! Invariants: at most one breaker message before and one after each attempt, and none per stream event. Dropping a
//! future or a stream cancels the provider's call and reports its permit. A stream is settled exactly once.

#![warn(missing_docs)]

mod account;
mod balance;
pub mod breaker;
mod budget;
mod cache;
mod call;
mod chain;
mod delivered_text;
mod error;
mod failover;
mod images;
mod jitter;
mod messages;
mod meter;
mod options;
mod permitted;
mod service;
mod stream;
mod stream_open;
mod stream_timeouts;
#[cfg(test)]
mod tests;

pub use balance::Balance;
pub use breaker::{BreakerChanged, BreakerOptions, BreakerState, BreakerStatus, LastFault, ModelBreakerStatus, Reason};
pub use budget::{BudgetGuard, Unpriced};
pub use cache::{CachePolicy, CacheUse};
pub use chain::Chain;
pub use jitter::Jitter;
pub use messages::{
    Attempt, AttemptOutcome, ChainError, CheckedPicture, CompletedChat, CompletedEmbedding, CompletedImages,
    GatewayChatRequest, GatewayEmbedRequest, GatewayImageRequest, PictureCheck, ProviderStatus, Settlement,
    SharedBudget, Spend, StreamEnd, Substitute, Unchecked,
};
pub use options::{ChainOptions, Provider, ProviderTimeouts, TokenCounter};
pub use stream::AnswerStream;
