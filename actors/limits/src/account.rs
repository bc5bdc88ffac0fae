//! One bucket as its shard holds it: the counters, their durable side, and who waits for the disk.

use std::collections::{BTreeSet, VecDeque};

use muster_store::{Batch, StoreError};
use tokio::sync::oneshot;

use super::bucket::{Bucket, Charge};
use super::lease::Lease;
use super::log::{EventLog, Spend};
use super::record::{self, Stored};
use super::rule::{Rule, Unit};
use super::shard::{Decision, Reply};
use super::subject::BucketKey;
use muster_core::Error;

/// A lease is this part of the smallest limit, and at least 1.
const LEASE_PART: u64 = 20;

/// A bucket in memory.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) bucket: Bucket,
    /// `None` for subjects that are never stored.
    pub(super) durable: Option<Durable>,
    /// Its place in the order of use, and when that was.
    pub(super) place: u64,
    pub(super) used_at: u64,
    /// To be let go once the store says exactly what it says.
    pub(super) leaving: bool,
    /// The write on its way is one of those that the shard counts.
    pub(super) flushing: bool,
}

/// What is known of a bucket's records.
#[derive(Debug, Default)]
pub(super) struct Durable {
    lease: Lease,
    /// The lease to ask for, from the rules last seen.
    grant: Spend,
    /// Segments in the store, or possibly so.
    stored: BTreeSet<u64>,
    /// Segments on their way.
    writing: BTreeSet<u64>,
    waiting: VecDeque<Waiter>,
}

/// An admission that is charged but not yet covered by a durable record. In the order of their charges.
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

    /// From the store. A lease found there was perhaps used: it is charged now.
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

    /// Answers an admission as soon as a crash could not undo it.
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

    /// Notes what a settlement charged beyond its reservation.
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

    /// The store says exactly what this says, or need not.
    pub(super) fn is_exact(&self) -> bool {
        self.durable.as_ref().is_none_or(|durable| durable.lease.is_exact()) && !self.has_unstored()
    }

    fn has_unstored(&self) -> bool {
        self.durable.is_some() && self.bucket.log.is_dirty()
    }

    /// The lease that the next admissions want.
    pub(super) fn grant(&self) -> Spend {
        self.durable.as_ref().map_or(Spend::default(), |durable| durable.grant)
    }

    /// The write that makes all charges durable, with a lease of `grant` beyond them.
    pub(super) fn begin_write(&mut self, key: &BucketKey, grant: Spend, now: u64) -> Result<Batch, StoreError> {
        self.bucket.log.advance(now);
        let log = &mut self.bucket.log;
        let Some(durable) = &mut self.durable else { return Ok(Batch::default()) };
        let oldest = record::oldest_segment(log);
        let mut changed = log.take_dirty();
        // Of a write still on its way, where a shard ends: it may fail after all.
        changed.append(&mut durable.writing);
        changed.retain(|&segment| segment >= oldest);
        let gone: Vec<u64> = durable.stored.range(..oldest).copied().collect();
        durable.stored.extend(&changed);
        durable.lease.begin(grant);
        let batch = record::batch(key, log, grant, now, &changed, &gone);
        durable.writing = changed;
        batch
    }

    /// The write is durable: answers whom it covers.
    pub(super) fn written(&mut self) {
        let Some(durable) = &mut self.durable else { return };
        durable.lease.done();
        durable.writing.clear();
        let oldest = record::oldest_segment(&self.bucket.log);
        durable.stored.retain(|&segment| segment >= oldest);
        while let Some(waiter) = durable.waiting.pop_front_if(|waiter| durable.lease.covers(waiter.total)) {
            // A caller that has gone keeps its charge, as any client that leaves does.
            let _ = waiter.reply.send(Ok(waiter.decision));
        }
    }

    /// The write failed, or nobody knows: whoever waited is refused, and pays nothing.
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

/// The lease for these rules; where they say nothing of a unit, as before.
fn grant(rules: &[Rule], before: Spend) -> Spend {
    let of = |unit: Unit, before: u64| {
        let least = rules.iter().filter(|rule| rule.unit == unit).map(|rule| rule.limit).min();
        least.map_or(before, |limit| (limit / LEASE_PART).clamp(1, u64::from(u32::MAX)))
    };
    Spend { requests: of(Unit::Requests, before.requests), tokens: of(Unit::Tokens, before.tokens) }
}

/// Reservations of an earlier life are not to be found in this one: numbers begin at the time, with room for a
/// thousand of them in each millisecond.
fn first_hold(now: u64) -> u64 {
    now.saturating_mul(1_000)
}
