//! The amount that may be admitted before the next durable write. Pure.
//!
//! A durable record states: "this was charged when I was written, and up to this much more (the *lease*) may have been
//! charged since". When such a record is read after an unclean end, the whole lease is charged at that moment: it is at
//! least as much as was admitted without a record, at a time that is no earlier. No window therefore ever admits more
//! than its limit, even across `kill -9`, and at most one lease is lost.
//!
//! Amounts are totals charged since the bucket was loaded into memory, which only increase; a lease is a ceiling for
//! the total.

use super::log::Spend;

/// The lease of a bucket.
#[derive(Debug, Default)]
pub(super) struct Lease {
    total: Spend,
    /// Ceiling of the total under every record that may be the durable one.
    ceiling: Spend,
    /// Lease of the durable record.
    grant: Spend,
    flight: Option<Flight>,
}

/// A record being written.
#[derive(Debug, Clone, Copy)]
struct Flight {
    ceiling: Spend,
    grant: Spend,
}

impl Lease {
    /// Creates the lease of a bucket read from the store with this lease (zero if none). None of it may be used.
    pub(super) fn restore(stored: Spend) -> Self {
        Self { grant: stored, ..Self::default() }
    }

    /// Records a charge. Returns the new total; [`Self::covers`] states whether it may be acknowledged.
    pub(super) fn charge(&mut self, amount: Spend) -> Spend {
        self.total = self.total.plus(amount);
        self.total
    }

    /// Returns whether everything charged up to this total would still count after a crash.
    pub(super) fn covers(&self, total: Spend) -> bool {
        total.within(&self.ceiling) && self.flight.is_none_or(|flight| total.within(&flight.ceiling))
    }

    /// Returns whether this much more may be charged and acknowledged at once.
    pub(super) fn has_room_for(&self, amount: Spend) -> bool {
        self.covers(self.total.plus(amount))
    }

    /// Returns whether half of the lease is used, or more was charged than it covers, and no write is in progress.
    pub(super) fn wants_renewal(&self) -> bool {
        let left = self.ceiling.minus(self.total);
        let half_used = |grant: u64, left: u64| grant > 0 && left <= grant / 2;
        self.flight.is_none()
            && (!self.covers(self.total)
                || half_used(self.grant.requests, left.requests)
                || half_used(self.grant.tokens, left.tokens))
    }

    pub(super) fn in_flight(&self) -> bool {
        self.flight.is_some()
    }

    /// Begins writing a record of everything charged so far but `outstanding`, which is charged without having been
    /// used, with a lease of `grant` beyond it. Returns the lease to store.
    pub(super) fn begin(&mut self, grant: Spend, outstanding: Spend) -> Spend {
        let stored = grant.plus(outstanding);
        self.flight = Some(Flight { ceiling: self.total.plus(grant), grant: stored });
        stored
    }

    /// The record is durable.
    pub(super) fn done(&mut self) {
        if let Some(flight) = self.flight.take() {
            self.ceiling = flight.ceiling;
            self.grant = flight.grant;
        }
    }

    /// The record may be durable or not: only what both records allow may be admitted.
    pub(super) fn failed(&mut self) {
        if let Some(flight) = self.flight.take() {
            self.ceiling = self.ceiling.least(flight.ceiling);
        }
    }

    /// Returns whether the durable record states exactly what was charged.
    pub(super) fn is_exact(&self) -> bool {
        self.flight.is_none() && self.grant == Spend::default() && self.covers(self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(requests: u64) -> Spend {
        Spend { requests, tokens: 0 }
    }

    #[test]
    fn nothing_is_covered_before_the_first_write() {
        let mut lease = Lease::restore(Spend::default());
        assert!(lease.is_exact() && !lease.wants_renewal());
        let first = lease.charge(requests(1));
        assert!(!lease.covers(first) && lease.wants_renewal());
        lease.begin(requests(4), Spend::default());
        assert!(!lease.covers(first) && !lease.wants_renewal());
        lease.done();
        assert!(lease.covers(first) && !lease.wants_renewal() && !lease.is_exact());
    }

    #[test]
    fn renews_at_half_and_respects_both_records_during_a_write() {
        let mut lease = Lease::default();
        lease.begin(requests(4), Spend::default());
        lease.done();
        let one = lease.charge(requests(1));
        assert!(lease.covers(one) && !lease.wants_renewal());
        lease.charge(requests(1));
        assert!(lease.wants_renewal());
        // The next record allows 2 + 1; the durable one allows 4.
        lease.begin(requests(1), Spend::default());
        let third = lease.charge(requests(1));
        assert!(lease.covers(third));
        let fourth = lease.charge(requests(1));
        assert!(!lease.covers(fourth));
        lease.failed();
        assert!(!lease.covers(fourth), "the failed record may have reached the disk");
        lease.begin(requests(1), Spend::default());
        lease.done();
        assert!(lease.covers(fourth));
    }

    #[test]
    fn a_restored_lease_is_not_exact_until_overwritten() {
        let mut lease = Lease::restore(requests(3));
        assert!(!lease.is_exact());
        lease.begin(Spend::default(), Spend::default());
        lease.done();
        assert!(lease.is_exact());
    }
}
