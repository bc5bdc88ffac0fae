//! What follows a decision about tasks.

use std::sync::Arc;

use super::jobs::{Begin, Job};
use muster_core::Error;
use muster_core::event::Event;

/// What is done once a decision is durable.
pub(super) enum Then {
    /// A step is dropped.
    Abort(Job),
    Tell(Vec<Event>),
    /// A step begins.
    Begin(Box<Begin>),
    /// Somebody is answered: also that it could not be stored.
    Reply(Reply),
    /// A task has ended: it need not be kept in memory.
    Forget(Arc<str>),
    /// An answer is in the store and need not be kept beside it.
    Answered((String, String)),
}

pub(super) type Reply = Box<dyn FnOnce(Result<(), Error>) + Send>;
