//! Answers that are given once a decision is durable.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::{Error, Kind};

/// The answer to a caller, kept among the effects of a decision.
#[derive(Debug)]
pub struct Reply<T> {
    outcome: Result<T, Error>,
    to: oneshot::Sender<Result<T, Error>>,
}

impl<T> Reply<T> {
    /// An answer that is still to be given, and the future in which the caller waits for it.
    pub fn new(value: T) -> (Self, Answer<T>) {
        Self::of(Ok(value))
    }

    /// The same of an outcome: a refusal that rests on undurable state is given behind it too.
    pub fn of(outcome: Result<T, Error>) -> (Self, Answer<T>) {
        let (to, from) = oneshot::channel();
        (Self { outcome, to }, Answer(from))
    }

    /// Gives the answer. A caller that no longer waits is no error.
    pub fn send(self) {
        let _ = self.to.send(self.outcome);
    }

    /// Refuses: nothing was stored.
    pub fn fail(self, error: &Error) {
        let _ = self.to.send(Err(error.clone()));
    }
}

/// Resolves to the answer of a [`Reply`]; `Unavailable` where the actor died before it gave one.
#[derive(Debug)]
pub struct Answer<T>(oneshot::Receiver<Result<T, Error>>);

impl<T> Future for Answer<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or_else(|_| Err(lost())))
    }
}

/// The caller cannot know whether what it asked for is stored.
fn lost() -> Error {
    Error::new(Kind::Unavailable, "restarting before the answer was durable: try again")
        .retry_in(Duration::from_secs(1))
}
