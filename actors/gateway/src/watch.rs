//! The bounds of a stream that runs: between its events, and in all. One timer, and no clock asked for an event.

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
    /// Since when nothing came.
    waiting_since: Instant,
    progress: Progress,
    timer: Pin<Box<Sleep>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Made,
    /// None since `waiting_since`.
    Awaited,
}

impl Watch {
    pub(super) fn new(gap: Duration, total_at: Instant) -> Self {
        let waiting_since = Instant::now();
        let timer = Box::pin(sleep_until(total_at.min(waiting_since + gap)));
        Self { gap, total_at, waiting_since, progress: Progress::Awaited, timer }
    }

    /// Something came. Asks no clock: what comes together is passed on without.
    pub(super) fn progress(&mut self) {
        self.progress = Progress::Made;
    }

    /// Nothing is there now. A gap begins here, so that a slow reader's own time is not taken for the provider's.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Expired> {
        if self.progress == Progress::Made {
            self.progress = Progress::Awaited;
            self.waiting_since = Instant::now();
        }
        loop {
            std::task::ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            if now >= self.total_at {
                return Poll::Ready(Expired::Total);
            }
            let gap_at = self.waiting_since + self.gap;
            if now >= gap_at {
                return Poll::Ready(Expired::Gap(self.gap));
            }
            // It was set for an event that has come since.
            self.timer.as_mut().reset(self.total_at.min(gap_at));
        }
    }
}
