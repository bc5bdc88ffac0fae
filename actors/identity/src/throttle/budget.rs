//! How often the password of one account may be guessed from many sources.

use std::time::Duration;

use muster_core::Millis;

/// How often the source of an attempt has failed lately, with this account or from this address with any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    /// Not yet.
    First,
    /// Once or twice.
    Second,
    /// More often.
    Repeated,
}

/// Attempts of each tier that are admitted at once.
pub(super) const AT_ONCE: [u64; 3] = [60, 20, 10];
/// Attempts of each tier per hour after that.
pub(super) const PER_HOUR: [u64; 3] = [600, 120, 60];
/// The rate of the first tier per minute, as responses state it.
pub(super) const PER_MINUTE: usize = 10;

const HOUR: u64 = 3_600_000;

/// The budget of guesses from many sources: for each tier a virtual queue that empties at a constant rate (GCRA). In any
/// span of `t` hours at most `AT_ONCE + PER_HOUR * t` attempts of a tier are admitted. The tiers share nothing, so that
/// sources which have failed leave the places of the others alone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    /// Time at which the queue of each tier is empty.
    empty_at: [Millis; 3],
}

impl Tier {
    /// Places of the queue, and the time in which one becomes free, in milliseconds.
    fn queue(self) -> (u64, u64) {
        let of = |numbers: [u64; 3]| match (self, numbers) {
            (Self::First, [first, _, _]) => first,
            (Self::Second, [_, second, _]) => second,
            (Self::Repeated, [_, _, repeated]) => repeated,
        };
        (of(AT_ONCE), HOUR / of(PER_HOUR))
    }
}

impl Budget {
    /// Returns how long until an attempt of a tier is admitted; `None` means now.
    pub(super) fn wait(&mut self, tier: Tier, now: Millis) -> Option<Duration> {
        let (places, interval) = tier.queue();
        let excess = self.of(tier).0.saturating_sub(now.0).saturating_sub((places - 1) * interval);
        (excess > 0).then(|| Duration::from_millis(excess))
    }

    /// Counts an attempt.
    pub(super) fn take(&mut self, tier: Tier, now: Millis) {
        let empty_at = self.of(tier);
        *empty_at = Millis(now.0.max(empty_at.0).saturating_add(tier.queue().1));
    }

    /// Undoes an attempt.
    pub(super) fn give_back(&mut self, tier: Tier) {
        let empty_at = self.of(tier);
        *empty_at = Millis(empty_at.0.saturating_sub(tier.queue().1));
    }

    fn of(&mut self, tier: Tier) -> &mut Millis {
        let [first, second, repeated] = &mut self.empty_at;
        match tier {
            Tier::First => first,
            Tier::Second => second,
            Tier::Repeated => repeated,
        }
    }
}
