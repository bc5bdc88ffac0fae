//! Supervision: every actor is started by a factory, watched, and started again when it dies.
//!
//! actix's own `Supervisor` restarts an actor that *stops*; one that *panics* is gone for good, its mailbox closed. So
//! this module owns restart: [`Tree`] starts an actor from its factory and joins its task, so that a panic is an exit
//! like any other; [`policy`] decides when to start it again and when to give up and escalate to the parent group;
//! a [`Handle`] stays valid across all of it, and a caller of a dead actor gets a typed [`CallError`], never a hang.
//!
//! Control travels beside the mailbox: [`Control`] reaches an actor that is busy in the middle of a step.

mod child;
mod control;
mod handle;
pub mod policy;
#[cfg(test)]
mod tests;
mod tree;

pub use child::{BuildError, ChildSpec};
pub use control::{Control, Phase};
pub use handle::{CallError, CallErrorKind, Handle};
pub use policy::Policy;
pub use tree::{ActorState, ActorStatus, Escalation, Failure, Group, Restarted, Tree};
