//! The provider chain: ordered fail-over behind circuit breakers.
//!
//! [`Chain`] asks the providers that the registry names for a model, in order, until one answers. Faults decide what
//! comes next: transient, throttled and hard ones lead to the next provider and are told to the provider's breaker; a
//! fault of the request is returned at once. One deadline bounds it all. A stream is replaced unseen until its first
//! delta is in hand, and never after: then it ends with an error.
//!
//! A request may hedge: where a call takes long, the next provider is called beside it, and the first answer wins. That
//! is safe for the caller and never for the bill: both providers may charge.
//!
//! Invariants: one message to an actor before each attempt, one told after it, none for an event. A dropped future or
//! stream drops the provider's call and reports its permit. A stream is settled exactly once.

mod ask;
mod bill;
pub mod breaker;
mod chain;
mod delivered;
mod failure;
mod flight;
mod jitter;
mod messages;
mod meter;
mod open;
mod options;
mod settle;
mod stream;
#[cfg(test)]
mod tests;
mod walk;
mod watch;

pub use bill::Till;
pub use breaker::{BreakerChanged, BreakerOptions, BreakerState, BreakerStatus, LastFault, Reason};
pub use chain::Chain;
pub use jitter::Jitter;
pub use messages::{
    Answer, Attempt, AttemptOutcome, ChainError, ChatAsk, EmbedAsk, Embedded, ProviderStatus, Settlement, Spend,
    StreamEnd,
};
pub use options::{ChainOptions, Provider, TokenCounter};
pub use stream::Streaming;
