//! A stable handle to an actor that may die and come back.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Context, Handler, MailboxError, Message};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long a caller waits where it says nothing else.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(5);

/// Why an actor could not be asked. Becomes 503 with `Retry-After` at the edge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{actor} {kind}")]
pub struct CallError {
    pub actor: Arc<str>,
    pub kind: CallErrorKind,
    pub retry_after: Duration,
}

/// What kept the actor from answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallErrorKind {
    /// As many calls as it takes are already waiting: nothing was sent.
    Busy,
    /// It is dead or starting; what was sent may or may not have been done.
    Down,
    /// No answer in time; what was sent may still be done.
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

/// Where the present incarnation is found, and how many calls wait for it.
pub(super) struct Slot<A: Actor> {
    pub(super) name: Arc<str>,
    addr: RwLock<Option<Addr<A>>>,
    /// Whether there is one, for those who wait for the first.
    up: watch::Sender<bool>,
    /// It is wanted no more.
    pub(super) retired: CancellationToken,
    pub(super) depth: AtomicUsize,
    pub(super) capacity: usize,
    /// Places that control alone may take, and how many of them are taken.
    reserved: usize,
    controls: AtomicUsize,
    pub(super) refused: AtomicU64,
    /// When a dead actor is expected back, in milliseconds from its death.
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

    /// A reserved place, or an ordinary one where all of those are taken.
    fn enter_control(&self) -> Result<Place<'_>, CallError> {
        Place::take(&self.controls, self.reserved).map_or_else(|| self.enter(), Ok)
    }
}

/// One caller's place in the bounded queue; given back on drop.
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

/// Finds the present incarnation of a supervised actor. Cheap to clone, valid for ever.
///
/// At most `capacity` calls wait at a time, counted from the call to its answer; one more is refused as `Busy`. Control
/// (pausing, killing, draining) has places of its own beside them: see [`ChildSpec::reserved`](super::ChildSpec::reserved).
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
    /// Ends the actor for good: it leaves the tree, and whoever still calls it is told that it is down.
    pub fn retire(&self) {
        self.0.retired.cancel();
    }

    /// The actor's name in the tree.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Waits until an incarnation runs: for what starts in order. Bound it.
    pub async fn up(&self) {
        // The sender lives in the slot that this handle holds.
        let _ = self.0.up.subscribe().wait_for(|&up| up).await;
    }

    /// Asks, and waits at most five seconds.
    pub async fn ask<M>(&self, message: M) -> Result<M::Result, CallError>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        self.ask_within(DEFAULT_PATIENCE, message).await
    }

    /// Asks, and waits at most `patience`. Dropping the future withdraws a message that was not begun.
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

    /// As [`Handle::ask_within`], for control: takes a reserved place, so that an actor whose queue is full of other calls
    /// is still reached.
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

    /// Tells without waiting for an answer; refused when the mailbox is full.
    pub fn tell<M>(&self, message: M) -> Result<(), CallError>
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
