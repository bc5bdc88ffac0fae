//! Holds a step's future while it is not being polled, so that it can be dropped immediately from another thread
//! instead of waiting to be polled among thousands of others.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::future::BoxFuture;

use super::kill_latency::Stopwatch;

/// A future that is dropped once, when it ends or by [`Slot::empty`]. The lock is never held while it is polled or
/// dropped.
pub(super) struct Slot<T>(Mutex<SlotState<T>>);

enum SlotState<T> {
    /// Not filled yet.
    Awaited,
    Waiting(BoxFuture<'static, T>),
    Polled,
    /// Ended or dropped. A future that is being polled is dropped after the poll, and the stopwatch stopped after that.
    Gone(Option<Stopwatch>),
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self(Mutex::new(SlotState::Awaited))
    }
}

impl<T> std::fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot")
    }
}

impl<T> Slot<T> {
    fn state(&self) -> MutexGuard<'_, SlotState<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the future, unless the slot was emptied already.
    pub(super) fn fill(&self, future: BoxFuture<'static, T>) {
        let mut state = self.state();
        if matches!(*state, SlotState::Awaited) {
            *state = SlotState::Waiting(future);
        }
    }

    /// Drops the future now, or after the poll in progress, and then stops the watch.
    pub(super) fn empty(&self, watch: Option<Stopwatch>) {
        let (dropped, watch) = {
            let mut state = self.state();
            match std::mem::replace(&mut *state, SlotState::Gone(None)) {
                SlotState::Waiting(future) => (future, watch),
                SlotState::Polled => {
                    *state = SlotState::Gone(watch);
                    return;
                }
                SlotState::Awaited | SlotState::Gone(_) => return,
            }
        };
        // A panic while the future is dropped is ignored.
        if std::panic::catch_unwind(AssertUnwindSafe(|| drop(dropped))).is_err() {
            tracing::error!("a step panicked while it was dropped");
        }
        watch.into_iter().for_each(Stopwatch::stop);
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<T> {
        let mut future = {
            let mut state = self.state();
            match std::mem::replace(&mut *state, SlotState::Polled) {
                SlotState::Waiting(future) => future,
                other => {
                    *state = other;
                    return Poll::Pending;
                }
            }
        };
        let polled = future.as_mut().poll(context);
        let mut state = self.state();
        match (polled, &mut *state) {
            (Poll::Ready(output), SlotState::Polled) => {
                *state = SlotState::Gone(None);
                Poll::Ready(output)
            }
            (Poll::Pending, SlotState::Polled) => {
                *state = SlotState::Waiting(future);
                Poll::Pending
            }
            // Emptied meanwhile: the result is ignored.
            (_, other) => {
                let watch = if let SlotState::Gone(watch) = other { watch.take() } else { None };
                drop(state);
                drop(future);
                watch.into_iter().for_each(Stopwatch::stop);
                Poll::Pending
            }
        }
    }
}

/// Resolves with the result of a slot's future; never, if it was dropped.
pub(super) struct Ended<'a, T>(pub(super) &'a Slot<T>);

impl<T> Future for Ended<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.0.poll(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::FutureExt;

    use super::super::kill_latency::KillLatency;
    use super::*;

    struct Flag(Arc<AtomicBool>);

    impl Drop for Flag {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }

    fn hanging() -> (Arc<AtomicBool>, BoxFuture<'static, u8>) {
        let dropped = Arc::new(AtomicBool::new(false));
        let flag = Flag(Arc::clone(&dropped));
        let future = async move {
            let _flag = flag;
            std::future::pending().await
        };
        (dropped, future.boxed())
    }

    #[test]
    fn a_waiting_future_is_dropped_immediately() {
        let (slot, (dropped, future)) = (Slot::default(), hanging());
        slot.fill(future);
        assert_eq!(Ended(&slot).now_or_never(), None);
        assert!(!dropped.load(Ordering::Acquire));
        slot.empty(None);
        assert!(dropped.load(Ordering::Acquire), "it was not polled again");
    }

    #[test]
    fn a_future_that_comes_too_late_is_dropped() {
        let (slot, (dropped, future)) = (Slot::default(), hanging());
        slot.empty(None);
        slot.fill(future);
        assert!(dropped.load(Ordering::Acquire));
    }

    #[test]
    fn a_polled_future_is_dropped_after_the_poll_and_its_result_ignored() {
        let slot: Arc<Slot<u8>> = Arc::default();
        let own = Arc::clone(&slot);
        slot.fill(
            async move {
                own.empty(None);
                7
            }
            .boxed(),
        );
        assert_eq!(Ended(&slot).now_or_never(), None);
        assert_eq!(Ended(&slot).now_or_never(), None);
    }

    #[test]
    fn the_stopwatch_stops_after_the_drop() {
        let stopped = |slot: &Slot<u8>, dropped: Arc<AtomicBool>| {
            let behind = Arc::new(AtomicBool::new(false));
            let noted = Arc::clone(&behind);
            let times = KillLatency::new(move |_| noted.store(dropped.load(Ordering::Acquire), Ordering::Release));
            slot.empty(times.since(tokio::time::Instant::now()));
            behind
        };
        let (slot, (dropped, future)) = (Slot::default(), hanging());
        slot.fill(future);
        assert!(stopped(&slot, dropped).load(Ordering::Acquire));

        let (slot, (dropped, hangs)) = (Arc::<Slot<u8>>::default(), hanging());
        let (own, observed) = (Arc::clone(&slot), Arc::<Mutex<Vec<Arc<AtomicBool>>>>::default());
        let seen = Arc::clone(&observed);
        slot.fill(
            async move {
                let watched = stopped(&own, dropped);
                assert!(!watched.load(Ordering::Acquire), "it is being polled");
                seen.lock().unwrap().push(watched);
                hangs.await
            }
            .boxed(),
        );
        assert_eq!(Ended(&slot).now_or_never(), None);
        assert!(observed.lock().unwrap()[0].load(Ordering::Acquire));
    }

    #[test]
    fn a_result_is_returned_once() {
        let slot = Slot::default();
        slot.fill(std::future::ready(7).boxed());
        assert_eq!(Ended(&slot).now_or_never(), Some(7));
        assert_eq!(Ended(&slot).now_or_never(), None);
    }
}
