//! Circuit breaker of one provider: a pure state machine and the supervised actor around it.
//!
//! Each call needs a permit and reports its outcome once. The actor publishes a snapshot after each change: its next
//! incarnation starts from it, so an open breaker stays open across a panic, and status is read without a message.

mod actor;

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
pub use status::{BreakerChanged, BreakerStatus, LastFault};
pub use window::Tally;

pub(super) use handle::BreakerHandle;
pub(super) use permit::{Permit, PermitDecision};
