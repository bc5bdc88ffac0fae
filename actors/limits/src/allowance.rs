//! Admissions granted in advance.
//!
//! Asking the shard costs two wake-ups of a thread. A subject that sends many requests and has much left of its limits is
//! therefore granted an *allowance*: a number of admissions, published in a table of slots, that callers take by
//! decrementing a counter.
//!
//! Limits stay exact. Admissions that are not taken yet count as used. Each one taken is reported with its time through
//! the queue that the shard empties before every decision. The shard withdraws what is not taken, by setting the counter
//! to zero, before every other decision about the subject: no request is rejected because of an allowance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::log::Spend;
use super::published::{Published, Term};
use super::rule::{LimitUnit, Rule};
use super::shard::{AdmissionPart, Admit, Decision, Reservation};
use super::subject::BucketKey;
use super::view::LimitView;

/// Admissions that callers may take without asking the shard.
#[derive(Debug)]
pub(super) struct Allowance {
    pub(super) key: BucketKey,
    rules: Arc<[Rule]>,
    /// What one admission is charged at most, and counts for until it is taken.
    each: Spend,
    granted: u32,
    left: AtomicU32,
    /// Tokens that admissions were charged less than `each`.
    spare_tokens: AtomicU64,
    first_hold: u64,
    term: Term,
    /// The state of the rules if every admission is taken.
    view: LimitView,
}

/// What the shard decides about a new allowance.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) key: BucketKey,
    pub(super) rules: Arc<[Rule]>,
    pub(super) each: Spend,
    pub(super) granted: u32,
    /// Number of the first reservation; each admission has the next one.
    pub(super) first_hold: u64,
    /// Time of the grant, in milliseconds.
    pub(super) now: u64,
    pub(super) view: LimitView,
}

/// An admission that was taken, to be reported to the shard.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) allowance: Arc<Allowance>,
    pub(super) at: u64,
    pub(super) tokens: u64,
    pub(super) hold: u64,
    pub(super) hold_for: Duration,
}

impl Allowance {
    pub(super) fn new(terms: Terms) -> Self {
        let Terms { key, rules, each, granted, first_hold, now, view } = terms;
        let (left, spare_tokens) = (AtomicU32::new(granted), AtomicU64::new(0));
        Self { key, rules, each, granted, left, spare_tokens, first_hold, term: Term::from(now), view }
    }

    /// Takes an admission for this request; `None` if the shard must be asked. One admission is a whole request.
    pub(super) fn take(self: &Arc<Self>, admit: &Admit, now: u64) -> Option<(Taken, Decision)> {
        let counts_tokens = self.rules.iter().any(|rule| rule.unit == LimitUnit::Tokens);
        let tokens = if counts_tokens { admit.estimate.most() } else { 0 };
        let same = self.key == admit.key && *self.rules == *admit.rules;
        if !same || admit.part != AdmissionPart::Whole || self.has_ended(now) || tokens > self.each.tokens {
            return None;
        }
        let before = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).ok()?;
        let spare = self.each.tokens - tokens;
        let spare = self.spare_tokens.fetch_add(spare, Ordering::Relaxed).saturating_add(spare);
        let hold = self.first_hold + u64::from(self.granted - before);
        let mut view = self.view.clone();
        for rule in &mut view.rules {
            let untaken = u64::from(before - 1).saturating_mul(self.each.of(rule.rule.unit));
            let spare = if rule.rule.unit == LimitUnit::Tokens { spare } else { 0 };
            rule.remaining = rule.remaining.saturating_add(untaken).saturating_add(spare);
        }
        let reservation = (tokens > 0).then(|| Reservation { key: self.key.clone(), id: hold, tokens });
        let taken = Taken { allowance: Arc::clone(self), at: now, tokens, hold, hold_for: admit.hold_for };
        Some((taken, Decision::Admitted { view, reservation }))
    }

    /// Withdraws what is not taken; returns its number.
    pub(super) fn withdraw(&self) -> u32 {
        self.left.swap(0, Ordering::AcqRel)
    }

    pub(super) fn has_ended(&self, now: u64) -> bool {
        self.term.has_ended(now)
    }

    pub(super) fn each(&self) -> Spend {
        self.each
    }
}

/// The allowances of a shard.
pub(super) type Allowances = Published<Allowance>;

impl Published<Allowance> {
    /// Takes an admission; `None` if the shard must be asked.
    pub(super) fn take(&self, admit: &Admit, now: u64) -> Option<(Taken, Decision)> {
        self.of(&admit.key)?.take(admit, now)
    }

    fn of(&self, key: &BucketKey) -> Option<Arc<Allowance>> {
        self.find(key, |allowance| allowance.key == *key)
    }

    /// Withdraws and removes everything, because the shard that granted it has ended.
    pub(super) fn clear(&self) {
        for allowance in self.take_all() {
            allowance.withdraw();
        }
    }
}
