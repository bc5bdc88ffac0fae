//! A bucket as held by its shard: counters, durable state, and callers that wait for the disk.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use muster_store::{Batch, StoreError};
use tokio::sync::oneshot;

use super::allowance::{Allowance, Taken, Terms};
use super::bucket::{Bucket, Charge};
use super::lease::Lease;
use super::log::{EventLog, Spend};
use super::record::{self, Stored};
use super::rule::{LimitUnit, Rule};
use super::shard::{Decision, Reply};
use super::subject::BucketKey;
use muster_core::Error;

/// A lease is this fraction of the smallest limit, and at least 1.
const LEASE_PART: u64 = 20;

/// A bucket in memory.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) bucket: Bucket,
    /// `None` for subjects that are never stored.
    pub(super) durable: Option<Durable>,
    /// Position in the order of use, and time of the last use.
    pub(super) place: u64,
    pub(super) used_at: u64,
    /// Whether the bucket is to be removed from memory once the store contains its exact state.
    pub(super) leaving: bool,
    /// Whether the write in progress is one of those that the shard counts.
    pub(super) flushing: bool,
    /// Allowances of which admissions are outstanding.
    granted: Vec<Granted>,
}

/// An allowance, and the number of its admissions that are neither reported as taken nor withdrawn.
#[derive(Debug)]
struct Granted {
    allowance: Arc<Allowance>,
    outstanding: u32,
}

/// Durable state of a bucket.
#[derive(Debug, Default)]
pub(super) struct Durable {
    lease: Lease,
    /// The lease to request, according to the most recent rules.
    grant: Spend,
    /// Segments that are, or may be, in the store.
    stored: BTreeSet<u64>,
    /// Segments being written.
    writing: BTreeSet<u64>,
    waiting: VecDeque<Waiter>,
}

/// An admission that is charged but not covered by a durable record yet. In the order of the charges.
#[derive(Debug)]
struct Waiter {
    total: Spend,
    charge: Charge,
    decision: Decision,
    reply: oneshot::Sender<Result<Decision, Error>>,
}

impl Account {
    pub(super) fn in_memory(now: u64) -> Self {
        Self::new(Bucket::new(EventLog::default(), first_hold(now)), None, now)
    }

    /// Restores a bucket from the store. A lease found there may have been used, so it is charged now.
    pub(super) fn restore(stored: Option<Stored>, now: u64) -> Self {
        let Some(Stored { head, events, first, segments }) = stored else {
            let bucket = Bucket::new(EventLog::default(), first_hold(now));
            return Self::new(bucket, Some(Durable::default()), now);
        };
        let mut log = EventLog::restore(first, events, &head.windows(), now);
        let lease = head.lease();
        if lease != Spend::default() {
            let part = |amount| u32::try_from(amount).unwrap_or(u32::MAX);
            log.advance(now);
            log.push(now, part(lease.requests), part(lease.tokens));
        }
        let durable = Durable { lease: Lease::restore(lease), stored: segments, ..Durable::default() };
        Self::new(Bucket::new(log, first_hold(now)), Some(durable), now)
    }

    fn new(bucket: Bucket, durable: Option<Durable>, now: u64) -> Self {
        Self { bucket, durable, place: 0, used_at: now, leaving: false, flushing: false, granted: Vec::new() }
    }

    /// Acknowledges an admission as soon as a crash could not undo it.
    pub(super) fn acknowledge(&mut self, rules: &[Rule], charge: Charge, decision: Decision) -> Reply<Decision> {
        let Some(durable) = &mut self.durable else { return Reply::Now(Ok(decision)) };
        durable.grant = grant(rules, durable.grant);
        let total = durable.lease.charge(charge.spend);
        if durable.lease.covers(total) {
            return Reply::Now(Ok(decision));
        }
        let (reply, answer) = oneshot::channel();
        durable.waiting.push_back(Waiter { total, charge, decision, reply });
        Reply::Later(answer)
    }

    /// Records what a settlement charged beyond its reservation.
    pub(super) fn charged(&mut self, spend: Spend) {
        if let Some(durable) = &mut self.durable {
            durable.lease.charge(spend);
        }
    }

    /// Sets admissions aside for callers that do not ask; `None` if too little is left, or if a crash could undo them.
    /// `each` is what one is charged at most.
    pub(super) fn grant_allowance(
        &mut self,
        key: BucketKey,
        rules: Arc<[Rule]>,
        each: Spend,
        now: u64,
    ) -> Option<Arc<Allowance>> {
        let (granted, first_hold) = self.bucket.set_aside(&rules, each)?;
        let amount = each.times(granted.into());
        let Some(durable) = self.durable.as_mut().filter(|durable| durable.lease.has_room_for(amount)) else {
            self.bucket.give_back(granted, each);
            return None;
        };
        durable.lease.charge(amount);
        let view = self.bucket.view(&rules, now);
        let terms = Terms { key, rules, each, granted, first_hold, now, view };
        let allowance = Arc::new(Allowance::new(terms));
        self.granted.push(Granted { allowance: Arc::clone(&allowance), outstanding: granted });
        Some(allowance)
    }

    /// Withdraws what is not taken of the allowances.
    pub(super) fn withdraw_allowances(&mut self) {
        for granted in &mut self.granted {
            let unused = granted.allowance.withdraw();
            self.bucket.give_back(unused, granted.allowance.each());
            granted.outstanding = granted.outstanding.saturating_sub(unused);
        }
        self.granted.retain(|granted| granted.outstanding > 0);
    }

    /// Withdraws the allowances if all are over; returns whether none is left.
    pub(super) fn end_allowances(&mut self, now: u64) -> bool {
        if self.granted.iter().all(|granted| granted.allowance.has_ended(now)) {
            self.withdraw_allowances();
        }
        self.granted.is_empty()
    }

    /// Charges an admission that was taken. One of an allowance that this incarnation did not grant is ignored: it was
    /// charged with the lease of the record that was restored.
    pub(super) fn take(&mut self, taken: &Taken) {
        let Some(place) = self.granted.iter().position(|granted| Arc::ptr_eq(&granted.allowance, &taken.allowance))
        else {
            return;
        };
        let each = taken.allowance.each();
        self.bucket.take(each, taken.tokens, taken.hold, taken.hold_for, taken.at);
        if let Some(granted) = self.granted.get_mut(place) {
            granted.outstanding = granted.outstanding.saturating_sub(1);
            if granted.outstanding == 0 {
                self.granted.swap_remove(place);
            }
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.durable.as_ref().map_or(0, |durable| durable.waiting.len())
    }

    pub(super) fn in_flight(&self) -> bool {
        self.durable.as_ref().is_some_and(|durable| durable.lease.in_flight())
    }

    pub(super) fn wants_renewal(&self) -> bool {
        self.durable.as_ref().is_some_and(|durable| durable.lease.wants_renewal())
    }

    /// Returns whether the store contains the exact state, or does not need to.
    pub(super) fn is_exact(&self) -> bool {
        let outstanding = self.bucket.outstanding() != Spend::default();
        self.durable.as_ref().is_none_or(|durable| durable.lease.is_exact()) && !self.has_unstored() && !outstanding
    }

    fn has_unstored(&self) -> bool {
        self.durable.is_some() && self.bucket.log.is_dirty()
    }

    /// Returns the lease needed by the next admissions.
    pub(super) fn grant(&self) -> Spend {
        self.durable.as_ref().map_or(Spend::default(), |durable| durable.grant)
    }

    /// Returns the batch that makes all charges durable, with a lease of `grant` beyond them.
    pub(super) fn begin_write(&mut self, key: &BucketKey, grant: Spend, now: u64) -> Result<Batch, StoreError> {
        self.bucket.log.advance(now);
        let outstanding = self.bucket.outstanding();
        let log = &mut self.bucket.log;
        let Some(durable) = &mut self.durable else { return Ok(Batch::default()) };
        let oldest = record::oldest_segment(log);
        let mut changed = log.take_dirty();
        // Includes the segments of a write that is still in progress when a shard ends, because it may fail.
        changed.append(&mut durable.writing);
        changed.retain(|&segment| segment >= oldest);
        let gone: Vec<u64> = durable.stored.range(..oldest).copied().collect();
        durable.stored.extend(&changed);
        let lease = durable.lease.begin(grant, outstanding);
        let batch = record::batch(key, log, lease, now, &changed, &gone);
        durable.writing = changed;
        batch
    }

    /// Processes a successful write: replies to the callers that it covers.
    pub(super) fn written(&mut self) {
        let Some(durable) = &mut self.durable else { return };
        durable.lease.done();
        durable.writing.clear();
        let oldest = record::oldest_segment(&self.bucket.log);
        durable.stored.retain(|&segment| segment >= oldest);
        while let Some(waiter) = durable.waiting.pop_front_if(|waiter| durable.lease.covers(waiter.total)) {
            // If the caller is gone its charge is kept, as for any client that disconnects.
            let _ = waiter.reply.send(Ok(waiter.decision));
        }
    }

    /// Processes a write that failed or whose outcome is unknown: waiting callers are rejected without being charged.
    pub(super) fn not_written(&mut self, error: &Error) {
        let Some(durable) = &mut self.durable else { return };
        durable.lease.failed();
        self.bucket.log.put_back_dirty(std::mem::take(&mut durable.writing));
        for waiter in durable.waiting.drain(..) {
            self.bucket.undo(&waiter.charge);
            let _ = waiter.reply.send(Err(error.clone()));
        }
    }
}

/// Returns the lease for these rules; a unit without rules keeps its previous value.
fn grant(rules: &[Rule], before: Spend) -> Spend {
    let of = |unit: LimitUnit, before: u64| {
        let least = rules.iter().filter(|rule| rule.unit == unit).map(|rule| rule.limit).min();
        least.map_or(before, |limit| (limit / LEASE_PART).clamp(1, u64::from(u32::MAX)))
    };
    Spend { requests: of(LimitUnit::Requests, before.requests), tokens: of(LimitUnit::Tokens, before.tokens) }
}

/// Returns the first reservation number. It is derived from the time, with a thousand numbers per millisecond, so that
/// reservations of an earlier incarnation do not exist in this one.
fn first_hold(now: u64) -> u64 {
    now.saturating_mul(1_000)
}
