//! The bounds of a stream that runs: between its events, and in all. One timer, not set anew for each event.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Which bound passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expired {
    /// Nothing came for this long.
    Gap(Duration),
    Total,
}

#[derive(Debug)]
pub(super) struct Watch {
    gap: Duration,
    total_at: Instant,
    last: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Watch {
    pub(super) fn new(gap: Duration, total_at: Instant) -> Self {
        let last = Instant::now();
        Self { gap, total_at, last, timer: Box::pin(sleep_until(total_at.min(last + gap))) }
    }

    /// Something came.
    pub(super) fn progress(&mut self) {
        self.last = Instant::now();
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Expired> {
        loop {
            std::task::ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            if now >= self.total_at {
                return Poll::Ready(Expired::Total);
            }
            let gap_at = self.last + self.gap;
            if now >= gap_at {
                return Poll::Ready(Expired::Gap(self.gap));
            }
            // It was set for an event that has come since.
            self.timer.as_mut().reset(self.total_at.min(gap_at));
        }
    }
}
