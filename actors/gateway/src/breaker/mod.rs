//! Circuit breakers of one provider and of its models: pure state machines and the supervised actor around them.
//!
//! Each call needs a permit and reports its outcome once. The actor publishes a snapshot after each change: its next
//! incarnation starts from it, so an open breaker stays open across a panic, and status is read without a message.

mod actor;
pub mod circuits;
mod handle;
mod latencies;
mod permit;
pub mod state;
mod status;
#[cfg(test)]
mod tests;
mod window;

pub use actor::BreakerActor;
pub use state::{BreakerOptions, BreakerState, Reason};
pub use status::{BreakerChanged, BreakerStatus, LastFault, ModelBreakerStatus};
pub use window::Tally;

pub(super) use handle::{BreakerHandle, Entry};
pub(super) use permit::{Permit, PermitDecision};
