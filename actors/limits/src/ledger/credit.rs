//! Money set aside in advance.
//!
//! Asking the ledger's actor costs two wake-ups of a thread. Where much is left of all budgets of a call, the actor
//! therefore sets money aside for the next calls of the same key, owner, team and model, as a *credit* that callers draw from by
//! decrementing a counter. A caller writes the line of its hold to the journal itself, as the actor does for others, so
//! what is durable is the same.
//!
//! Budgets stay exact: what is set aside counts as used until its lines are applied. The actor withdraws it by setting the
//! counter to zero before it decides about another call that the credit could affect, so that no call is rejected
//! because of one.

use std::sync::atomic::{AtomicU64, Ordering};

use super::messages::Reserve;
use crate::published::Term;
use muster_core::Millis;

/// Whose budgets a call counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Payers {
    pub(super) key: Box<str>,
    pub(super) owner: Box<str>,
    pub(super) team: Box<str>,
    pub(super) model: Box<str>,
}

impl Payers {
    pub(super) fn of(request: &Reserve) -> Self {
        Self {
            key: request.key_id.as_str().into(),
            owner: request.owner.as_str().into(),
            team: request.team.as_str().into(),
            model: request.model_id.as_str().into(),
        }
    }
}

/// Money that callers may draw without asking.
#[derive(Debug)]
pub(super) struct Credit {
    pub(super) payers: Payers,
    limits: [Option<u64>; 4],
    left: AtomicU64,
    /// Drawn, but its line could not be written.
    returned: AtomicU64,
    term: Term,
}

fn limits(request: &Reserve) -> [Option<u64>; 4] {
    [request.key_limit, request.owner_limit, request.team_limit, request.model_limit]
}

impl Credit {
    /// Creates a credit for calls like this one.
    pub(super) fn new(request: &Reserve, payers: Payers, nanos: u64, term: Term) -> Self {
        Self { payers, limits: limits(request), left: AtomicU64::new(nanos), returned: AtomicU64::new(0), term }
    }

    /// Draws the money of a call; returns whether there was enough, under the same budgets.
    pub(super) fn draw(&self, request: &Reserve, now: Millis) -> bool {
        let same = self.limits == limits(request);
        let take = |left: u64| left.checked_sub(request.nanos);
        same && !self.has_ended(now) && self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    /// Returns what was drawn for a call whose line could not be written.
    pub(super) fn give_back(&self, nanos: u64) {
        self.returned.fetch_add(nanos, Ordering::AcqRel);
    }

    /// Withdraws what is not drawn; returns the amount.
    pub(super) fn withdraw(&self) -> u64 {
        let left = self.left.swap(0, Ordering::AcqRel);
        left.saturating_add(self.returned.swap(0, Ordering::AcqRel))
    }

    pub(super) fn has_ended(&self, now: Millis) -> bool {
        self.term.has_ended(now.0)
    }
}
