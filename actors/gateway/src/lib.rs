//! Provider gateway: ordered failover between AI providers, behind one circuit breaker per provider.
//!
//! [`Chain`] calls the providers that the registry lists for a model, in order, until one answers. The class of a fault
//! decides what follows: transient, throttled and hard faults move on to the next provider and are reported to the
//! provider's breaker; a fault of the request itself is returned at once. One deadline bounds the whole request. A
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
pub mod breaker;
mod budget;
mod call;
mod chain;
mod delivered_text;
mod error;
mod failover;
mod jitter;
mod messages;
mod meter;
mod options;
mod service;
mod stream;
mod stream_open;
mod stream_timeouts;
#[cfg(test)]
mod tests;

pub use breaker::{BreakerChanged, BreakerOptions, BreakerState, BreakerStatus, LastFault, Reason};
pub use budget::BudgetGuard;
pub use chain::Chain;
pub use jitter::Jitter;
pub use messages::{
    Attempt, AttemptOutcome, ChainError, CompletedChat, CompletedEmbedding, GatewayChatRequest, GatewayEmbedRequest,
    ProviderStatus, Settlement, Spend, StreamEnd,
};
pub use options::{ChainOptions, Provider, TokenCounter};
pub use stream::AnswerStream;
