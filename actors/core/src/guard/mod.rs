//! What needs an approval: guarded actions with their risks, the need of a command, the permit that an approval gives, and
//! the published standing by which every actor decides without asking another one.
//!
//! The actor that owns a record decides on its own whether a command needs an approval ([`Standing::clear`]) and refuses
//! without a [`Permit`], so that no way to it omits the check. The permit's writes go into the batch of the change: the
//! approval is executed with it, once, or not at all.

mod action;
mod facts;
mod need;
mod permit;
mod standing;

pub use action::{GuardedAction, QuorumRole, Risk};
pub use facts::{VetoFacts, VetoingRule};
pub use need::Need;
pub use permit::{Cleared, Permit};
pub use standing::{DeciderStanding, GuardRule, Requester, Standing, StandingPublisher, StandingReader};
