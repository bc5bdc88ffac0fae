//! The circuit breaker of one provider: a pure state machine, and the supervised actor around it.
//!
//! Every call asks the actor once for leave and tells it once how it went. What the actor knows is published after each
//! step: its next incarnation starts from that, so an open breaker stays open across a panic, and status reads it
//! without a message.

mod actor;

mod latencies;
mod permit;
mod port;
pub mod state;
mod status;
#[cfg(test)]
mod tests;
mod window;

pub use actor::BreakerActor;
pub use state::{BreakerOptions, BreakerState, Reason};
pub use status::{BreakerChanged, BreakerStatus, LastFault};
pub use window::Tally;

pub(super) use permit::{Entry, Permit};
pub(super) use port::BreakerPort;
