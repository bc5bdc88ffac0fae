//! A bucket as held by its shard: counters, durable state, and callers that wait for the disk.

use std::collections::{BTreeSet, VecDeque};

use muster_store::{Batch, StoreError};
use tokio::sync::oneshot;

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
        Self { bucket, durable, place: 0, used_at: now, leaving: false, flushing: false }
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
        self.durable.as_ref().is_none_or(|durable| durable.lease.is_exact()) && !self.has_unstored()
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
        let log = &mut self.bucket.log;
        let Some(durable) = &mut self.durable else { return Ok(Batch::default()) };
        let oldest = record::oldest_segment(log);
        let mut changed = log.take_dirty();
        // Includes the segments of a write that is still in progress when a shard ends, because it may fail.
        changed.append(&mut durable.writing);
        changed.retain(|&segment| segment >= oldest);
        let gone: Vec<u64> = durable.stored.range(..oldest).copied().collect();
        durable.stored.extend(&changed);
        durable.lease.begin(grant);
        let batch = record::batch(key, log, grant, now, &changed, &gone);
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
