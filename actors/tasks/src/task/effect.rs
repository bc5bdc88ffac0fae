//! Effects of decisions about tasks.

use std::sync::Arc;

use super::jobs::{Begin, Job};
use muster_core::Error;
use muster_core::event::Event;

/// An effect, performed once its decision is durable.
pub(super) enum Effect {
    /// Drops a step.
    Abort(Job),
    Publish(Vec<Event>),
    /// Starts a step.
    Begin(Box<Begin>),
    /// Replies to a caller, also if the decision could not be stored.
    Reply(Reply),
    /// Removes an ended task from memory.
    Forget(Arc<str>),
}

pub(super) type Reply = Box<dyn FnOnce(Result<(), Error>) + Send>;
