//! One call of one provider while it is under way.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_providers::{Candidate, Fault};
use tokio::time::Instant;

use super::breaker::Permit;
use super::chain::Route;
use muster_limits::ledger::Hold;

/// A provider's work on one call; dropping it cancels the work.
pub(super) type Work<T> = BoxFuture<'static, Result<T, Fault>>;

/// A call under way. Dropped, it ends the provider's work and its permit reports itself as cancelled.
pub(super) struct Flight<T> {
    route: Route,
    permit: Permit,
    /// Dropped with the call: a call that did not win costs nothing that is known here.
    hold: Hold,
    begun: Instant,
    work: Work<T>,
}

/// What is left of a call that is over.
pub(super) struct Ended {
    pub(super) route: Route,
    /// Still to be reported.
    pub(super) permit: Permit,
    pub(super) hold: Hold,
    pub(super) latency: Duration,
}

impl<T> Flight<T> {
    /// The one place where a call begins.
    pub(super) fn begin(route: Route, permit: Permit, hold: Hold, run: &mut impl FnMut(&Route) -> Work<T>) -> Self {
        let begun = Instant::now();
        let work = run(&route);
        Self { route, permit, hold, begun, work }
    }

    pub(super) fn candidate(&self) -> &Candidate {
        &self.route.candidate
    }

    /// When a call that gave no answer by then is joined by a second one; `None` where no clock reaches that far.
    pub(super) fn due_after(&self, wait: Duration) -> Option<Instant> {
        self.begun.checked_add(wait)
    }

    /// The call is over, or is given up: its work ends here.
    pub(super) fn end(self) -> Ended {
        drop(self.work);
        Ended { route: self.route, permit: self.permit, hold: self.hold, latency: self.begun.elapsed() }
    }
}

/// A call that came to its own end.
pub(super) struct Landed<T> {
    pub(super) flight: Flight<T>,
    pub(super) result: Result<T, Fault>,
    pub(super) rank: Rank,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// The call that any other one was begun beside.
    First,
    Hedge,
}

/// Waits for one of these calls, which stand in the order they were begun, and takes it out. Waits for ever where there
/// are none.
pub(super) async fn landed<T>(flights: &mut Vec<Flight<T>>) -> Landed<T> {
    poll_fn(|cx| {
        for (place, flight) in flights.iter_mut().enumerate() {
            if let Poll::Ready(result) = flight.work.poll_unpin(cx) {
                let rank = if place == 0 { Rank::First } else { Rank::Hedge };
                return Poll::Ready(Landed { flight: flights.remove(place), result, rank });
            }
        }
        Poll::Pending
    })
    .await
}
