//! What needs an approval: guarded actions with their risks, the need of a command, the permit that an approval gives, and
//! the published standing by which every actor decides without asking another one.
//!
//! The actor that owns a record decides on its own whether a command needs an approval ([`Standing::clear`]) and refuses
//! without a [`Permit`], so that no way to it omits the check. The permit's writes go into the batch of the change: the
//! approval is executed with it, once, or not at all.
//!
//! What waits in a state of its own, a firmware job or an alert, opens its approval in the batch that makes it, and each
//! decision on it is in a batch of its own: an [`ApprovalStep`] holds those writes ([`Standing::open`]).

mod action;
mod facts;
mod need;
mod permit;
mod standing;
mod step;

pub use action::{GuardedAction, QuorumRole, Risk};
pub use facts::{VetoFacts, VetoingRule};
pub use need::Need;
pub use permit::{Cleared, Permit};
pub use standing::{DeciderStanding, GuardRule, Requester, Standing, StandingPublisher, StandingReader};
pub use step::{ApprovalStep, StepOutcome};
