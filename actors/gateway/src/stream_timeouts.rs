//! Time limits of a running stream: between events, and in total. It uses one timer and reads no clock per event.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Which limit passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expired {
    /// No event arrived for this long.
    Gap(Duration),
    Total,
}

#[derive(Debug)]
pub(super) struct StreamTimeouts {
    gap: Duration,
    total_at: Instant,
    /// Since when no event has arrived.
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

impl StreamTimeouts {
    pub(super) fn new(gap: Duration, total_at: Instant) -> Self {
        let waiting_since = Instant::now();
        let timer = Box::pin(sleep_until(total_at.min(waiting_since + gap)));
        Self { gap, total_at, waiting_since, progress: Progress::Awaited, timer }
    }

    /// Notes that an event arrived. Reads no clock, so that a burst of events is forwarded cheaply.
    pub(super) fn progress(&mut self) {
        self.progress = Progress::Made;
    }

    /// Polls the limits while no event is available. A gap starts here, so that a slow reader's own time is not counted
    /// against the provider.
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
            // The timer was set for an event that has since arrived.
            self.timer.as_mut().reset(self.total_at.min(gap_at));
        }
    }
}
