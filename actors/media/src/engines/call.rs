//! A call of a model, as it waits and as it runs. Not a message only: it carries the work itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::service::{Counts, ModelError};

/// Tells a running call whether its client has left.
#[derive(Debug, Clone, Copy)]
pub struct Stop<'a>(&'a dyn IsStopped);

trait IsStopped: std::fmt::Debug {
    fn is_stopped(&self) -> bool;
}

impl<R: std::fmt::Debug> IsStopped for oneshot::Sender<R> {
    fn is_stopped(&self) -> bool {
        self.is_closed()
    }
}

impl Stop<'_> {
    /// Returns whether nobody waits for the result any more.
    pub fn is_set(&self) -> bool {
        self.0.is_stopped()
    }
}

/// A call of a model, whatever its result is.
pub(super) trait Call<M>: Send {
    /// Returns whether its client has left.
    fn is_abandoned(&self) -> bool;

    /// Is ready once its client has left.
    fn poll_abandoned(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Ends it with an error before it ran.
    fn refuse(self: Box<Self>, error: ModelError);

    /// Ends it before it ran because its client has left.
    fn abandon(self: Box<Self>);

    /// Runs it; returns whether the model can be used again, which it cannot after a panic.
    fn run(self: Box<Self>, model: &mut M) -> bool;
}

/// A call with the place of its result.
pub(super) struct QueuedCall<R, F> {
    pub(super) run: F,
    pub(super) reply: oneshot::Sender<Result<R, ModelError>>,
    pub(super) name: Arc<str>,
    pub(super) counts: Arc<Counts>,
}

impl<M, R, F> Call<M> for QueuedCall<R, F>
where
    R: std::fmt::Debug + Send,
    F: FnOnce(&mut M, Stop<'_>) -> R + Send,
{
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn poll_abandoned(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.reply.poll_closed(context)
    }

    // Counts change before a reply is sent, so that a client that has its result finds itself counted.
    fn refuse(self: Box<Self>, error: ModelError) {
        match &error {
            ModelError::Busy { .. } => self.counts.refuse(),
            ModelError::Failed { .. } => self.counts.end(false),
        }
        drop(self.reply.send(Err(error)));
    }

    fn abandon(self: Box<Self>) {
        self.counts.end(true);
    }

    fn run(self: Box<Self>, model: &mut M) -> bool {
        let Self { run, reply, name, counts } = *self;
        let result = catch_unwind(AssertUnwindSafe(|| run(model, Stop(&reply))));
        let is_usable = result.is_ok();
        counts.end(is_usable && reply.is_closed());
        let panicked = |_| ModelError::Failed { name: name.to_string(), why: "it panicked".to_owned() };
        drop(reply.send(result.map_err(panicked)));
        is_usable
    }
}
