//! Supervision: every actor is built by a factory, monitored, and restarted when it dies.
//!
//! actix's own `Supervisor` restarts an actor that *stops*; one that *panics* is gone, with its mailbox closed. This
//! module therefore implements restarts itself: [`Tree`] starts an actor from its factory and joins its task, so that a
//! panic is an exit like any other; [`policy`] decides when to restart it and when to escalate to the parent group; a
//! [`Handle`] stays valid throughout, and a caller of a dead actor gets a typed [`CallError`], never a hang.
//!
//! Control signals bypass the mailbox: [`Control`] reaches an actor in the middle of a long step.

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
pub use policy::RestartPolicy;
pub use tree::{ActorState, ActorStatus, Escalation, Failure, Group, RestartEvent, Tree};
