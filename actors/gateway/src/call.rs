//! One provider call in progress.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_providers::{Candidate, Fault};
use tokio::time::Instant;

use super::balance::InFlight;
use super::breaker::Permit;
use super::budget::CallAccount;
use super::chain::Route;

/// Future of a provider call; dropping it cancels the call.
pub(super) type CallFuture<T> = BoxFuture<'static, Result<T, Fault>>;

/// A provider call in progress. Dropping it cancels the call, and its permit reports itself as cancelled.
pub(super) struct ProviderCall<T> {
    route: Route,
    permit: Permit,
    /// Charged for the prompt on drop: a provider has most likely read it.
    account: CallAccount,
    /// Made although a breaker was open.
    despite_open: bool,
    in_flight: InFlight,
    started_at: Instant,
    future: CallFuture<T>,
}

/// Remainder of a finished call.
pub(super) struct FinishedCall {
    pub(super) route: Route,
    /// Not reported yet.
    pub(super) permit: Permit,
    pub(super) account: CallAccount,
    pub(super) despite_open: bool,
    pub(super) in_flight: InFlight,
    pub(super) latency: Duration,
}

impl<T> ProviderCall<T> {
    /// Starts a call. Every call starts here.
    pub(super) fn start(
        route: Route,
        permit: Permit,
        account: CallAccount,
        run: &mut impl FnMut(&Route) -> CallFuture<T>,
    ) -> Self {
        let started_at = Instant::now();
        let in_flight = InFlight::begin(route.load());
        let future = run(&route);
        Self { route, permit, account, despite_open: false, in_flight, started_at, future }
    }

    /// Marks that a breaker was open.
    pub(super) fn despite_open(mut self) -> Self {
        self.despite_open = true;
        self
    }

    pub(super) fn candidate(&self) -> &Candidate {
        &self.route.candidate
    }

    /// Returns when a hedge is due for this call, `wait` after its start; `None` if that instant cannot be represented.
    pub(super) fn due_after(&self, wait: Duration) -> Option<Instant> {
        self.started_at.checked_add(wait)
    }

    /// Ends the call, dropping the provider's future.
    pub(super) fn end(self) -> FinishedCall {
        drop(self.future);
        FinishedCall {
            route: self.route,
            permit: self.permit,
            account: self.account,
            despite_open: self.despite_open,
            in_flight: self.in_flight,
            latency: self.started_at.elapsed(),
        }
    }
}

/// Result of a call that ran to completion.
pub(super) struct CallOutcome<T> {
    pub(super) call: ProviderCall<T>,
    pub(super) result: Result<T, Fault>,
    pub(super) role: CallRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallRole {
    /// The call that a hedge was started beside.
    Primary,
    Hedge,
}

/// Waits for the first of these calls to complete, and removes it. The calls are in the order in which they started.
/// Never completes when there are none.
pub(super) async fn next_outcome<T>(calls: &mut Vec<ProviderCall<T>>) -> CallOutcome<T> {
    poll_fn(|cx| {
        for (index, call) in calls.iter_mut().enumerate() {
            if let Poll::Ready(result) = call.future.poll_unpin(cx) {
                let role = if index == 0 { CallRole::Primary } else { CallRole::Hedge };
                return Poll::Ready(CallOutcome { call: calls.remove(index), result, role });
            }
        }
        Poll::Pending
    })
    .await
}
