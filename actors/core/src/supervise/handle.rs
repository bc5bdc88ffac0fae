//! A handle to an actor that stays valid across restarts.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Context, Handler, MailboxError, Message};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Default time limit of a call.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(5);

/// Reason for which a call to an actor failed. The server renders it as 503 with `Retry-After`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{actor} {kind}")]
pub struct CallError {
    /// Name of the actor in the tree.
    pub actor: Arc<str>,
    /// Kind of the failure.
    pub kind: CallErrorKind,
    /// Time after which the call can be retried.
    pub retry_after: Duration,
}

/// Kinds of [`CallError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallErrorKind {
    /// The queue is full: the message was not sent.
    Busy,
    /// The actor is down or starting; the message may or may not have been processed.
    Down,
    /// No reply within the time limit; the message may still be processed.
    TimedOut,
}

impl fmt::Display for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "is overloaded",
            Self::Down => "is restarting",
            Self::TimedOut => "did not answer in time",
        })
    }
}

/// Address of the current incarnation, and the number of calls in progress.
pub(super) struct Slot<A: Actor> {
    pub(super) name: Arc<str>,
    addr: RwLock<Option<Addr<A>>>,
    /// Whether an incarnation is running, for callers that wait for the first one.
    up: watch::Sender<bool>,
    /// Cancelled when the actor is to end permanently.
    pub(super) retired: CancellationToken,
    pub(super) depth: AtomicUsize,
    pub(super) capacity: usize,
    /// Places reserved for control calls, and how many of them are taken.
    reserved: usize,
    pub(super) controls: AtomicUsize,
    pub(super) refused: AtomicU64,
    /// Time until a dead actor is restarted, in milliseconds from its death.
    pub(super) back_in_ms: AtomicU64,
}

impl<A: Actor> Slot<A> {
    pub(super) fn new(name: Arc<str>, capacity: usize, reserved: usize) -> Self {
        Self {
            name,
            addr: RwLock::new(None),
            up: watch::Sender::new(false),
            retired: CancellationToken::new(),
            depth: AtomicUsize::new(0),
            capacity,
            reserved,
            controls: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            back_in_ms: AtomicU64::new(0),
        }
    }

    pub(super) fn publish(&self, addr: Option<Addr<A>>) {
        let up = addr.is_some();
        *self.addr.write().unwrap_or_else(PoisonError::into_inner) = addr;
        self.up.send_replace(up);
    }

    fn error(&self, kind: CallErrorKind) -> CallError {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let back_in = Duration::from_millis(self.back_in_ms.load(Ordering::Relaxed));
        CallError { actor: Arc::clone(&self.name), kind, retry_after: back_in.max(Duration::from_secs(1)) }
    }

    fn present(&self) -> Result<Addr<A>, CallError> {
        let addr = self.addr.read().unwrap_or_else(PoisonError::into_inner).clone();
        addr.ok_or_else(|| self.error(CallErrorKind::Down))
    }

    fn enter(&self) -> Result<Place<'_>, CallError> {
        Place::take(&self.depth, self.capacity).ok_or_else(|| self.error(CallErrorKind::Busy))
    }

    /// Takes a reserved place, or an ordinary one if all reserved ones are taken.
    fn enter_control(&self) -> Result<Place<'_>, CallError> {
        Place::take(&self.controls, self.reserved).map_or_else(|| self.enter(), Ok)
    }
}

/// One caller's place in the bounded queue; released on drop.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(taken: &'a AtomicUsize, places: usize) -> Option<Self> {
        let place = Self(taken);
        (taken.fetch_add(1, Ordering::AcqRel) < places).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Handle to a supervised actor. Cheap to clone; stays valid across restarts.
///
/// At most `capacity` calls wait at a time, counted from the call to its response; further ones are rejected as `Busy`.
/// Control calls (pausing, killing, draining) have places of their own: see [`ChildSpec::reserved`](super::ChildSpec::reserved).
pub struct Handle<A: Actor>(pub(super) Arc<Slot<A>>);

impl<A: Actor> Clone for Handle<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A: Actor> fmt::Debug for Handle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handle").field(&self.0.name).finish()
    }
}

impl<A: Actor<Context = Context<A>>> Handle<A> {
    /// Stops the actor permanently and removes it from the tree. Later calls fail as `Down`.
    pub fn retire(&self) {
        self.0.retired.cancel();
    }

    /// Returns the actor's name in the tree.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Waits until an incarnation is running. The caller should bound the wait.
    pub async fn up(&self) {
        // Cannot fail: the sender is in the slot that this handle holds.
        let _ = self.0.up.subscribe().wait_for(|&up| up).await;
    }

    /// Sends a message and waits for the reply, at most five seconds.
    ///
    /// # Errors
    ///
    /// Fails if the actor is overloaded, down or does not reply in time.
    pub async fn ask<M>(&self, message: M) -> Result<M::Result, CallError>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        self.ask_within(DEFAULT_PATIENCE, message).await
    }

    /// Sends a message and waits for the reply, at most `patience`. Dropping the future cancels a message whose
    /// processing has not begun.
    ///
    /// # Errors
    ///
    /// Fails if the actor is overloaded, down or does not reply in time.
    pub async fn ask_within<M>(&self, patience: Duration, message: M) -> Result<M::Result, CallError>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        let place = self.0.enter()?;
        self.call(place, patience, message).await
    }

    /// Does the same as [`Handle::ask_within`] for control calls: takes a reserved place, so that an actor whose queue is
    /// full of other calls is still reached.
    ///
    /// # Errors
    ///
    /// Fails if the actor is overloaded, down or does not reply in time.
    pub async fn control_within<M>(&self, patience: Duration, message: M) -> Result<M::Result, CallError>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        let place = self.0.enter_control()?;
        self.call(place, patience, message).await
    }

    async fn call<M>(&self, _place: Place<'_>, patience: Duration, message: M) -> Result<M::Result, CallError>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        let addr = self.0.present()?;
        match tokio::time::timeout(patience, addr.send(message)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(MailboxError::Closed)) => Err(self.0.error(CallErrorKind::Down)),
            Ok(Err(MailboxError::Timeout)) | Err(_) => Err(self.0.error(CallErrorKind::TimedOut)),
        }
    }

    /// Sends a message without waiting for a reply.
    ///
    /// # Errors
    ///
    /// Fails if the mailbox is full or the actor is down.
    pub fn try_send<M>(&self, message: M) -> Result<(), CallError>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        self.0.present()?.try_send(message).map_err(|refused| {
            self.0.error(match refused {
                actix::prelude::SendError::Full(_) => CallErrorKind::Busy,
                actix::prelude::SendError::Closed(_) => CallErrorKind::Down,
            })
        })
    }
}
