//! Rate limits of logins. Pure: time is an argument.
//!
//! An attempt counts as a failure from its start and is undone if it succeeds, so that concurrent attempts guess no
//! more than sequential ones. Accounts are counted by the e-mail that was sent, whether it exists or not, so that a
//! lock does not reveal which accounts exist. All tables are bounded; the least recently used entry is removed first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use muster_core::Millis;

/// Number of failures without a lock.
const FREE_FAILURES: u32 = 5;
/// Duration of the first lock; each further failure doubles it.
const FIRST_LOCK: Duration = Duration::from_secs(1);
const LONGEST_LOCK: Duration = Duration::from_secs(15 * 60);
/// Failures above this number do not extend the lock, so they are not counted: 2^10 s exceeds the longest lock.
const MAX_FAILURES: u32 = FREE_FAILURES + 10;
/// Time after which one failure is forgotten.
const DECAY: Duration = Duration::from_secs(60);
/// Period over which attempts are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Number of accounts, and of addresses, that are kept.
const CAPACITY: usize = 10_000;

/// Largest number of login attempts, whatever the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRates {
    /// From one address (IPv6: one /64 network) per minute.
    pub per_address: usize,
    /// From all addresses together per minute.
    pub of_all: usize,
}

impl Default for LoginRates {
    fn default() -> Self {
        Self { per_address: 20, of_all: 200 }
    }
}

/// The decision on an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    /// The account is locked: the password is not compared, and the response is the same as for a wrong one.
    Locked,
    /// Too many attempts from this address or in total.
    TooMany(Duration),
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    failures: u32,
    last: Millis,
    locked_until: Millis,
}

/// Attempts of the last minute.
#[derive(Debug, Clone, Default)]
struct Window(VecDeque<Millis>);

impl Window {
    /// Returns how long until another attempt is admitted; `None` means now.
    fn wait(&mut self, limit: usize, now: Millis) -> Option<Duration> {
        while self.0.front().is_some_and(|&at| now.since(at) >= WINDOW) {
            self.0.pop_front();
        }
        if self.0.len() < limit {
            return None;
        }
        Some(self.0.front().map_or(WINDOW, |at| at.plus(WINDOW).since(now)))
    }
}

/// A map that removes the least recently used entry.
#[derive(Debug)]
struct Recent<V> {
    entries: HashMap<Box<str>, (u64, V)>,
    order: BTreeMap<u64, Box<str>>,
    uses: u64,
}

impl<V: Default> Recent<V> {
    fn new() -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    fn touch(&mut self, key: &str) -> &mut V {
        self.uses += 1;
        if !self.entries.contains_key(key)
            && self.entries.len() >= CAPACITY
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        let (last_use, value) = self.entries.entry(key.into()).or_default();
        self.order.remove(last_use);
        *last_use = self.uses;
        self.order.insert(self.uses, key.into());
        value
    }
}

/// All counters.
#[derive(Debug)]
pub(super) struct Throttle {
    rates: LoginRates,
    accounts: Recent<Account>,
    addresses: Recent<Window>,
    all: Window,
}

impl Throttle {
    pub fn new(rates: LoginRates) -> Self {
        Self { rates, accounts: Recent::new(), addresses: Recent::new(), all: Window::default() }
    }

    /// Counts an attempt, initially as a failure.
    pub fn attempt(&mut self, account: &str, address: Option<IpAddr>, now: Millis) -> Verdict {
        if let Some(wait) = self.all.wait(self.rates.of_all, now) {
            return Verdict::TooMany(wait);
        }
        let attempts = self.addresses.touch(&network(address));
        if let Some(wait) = attempts.wait(self.rates.per_address, now) {
            return Verdict::TooMany(wait);
        }
        attempts.0.push_back(now);
        self.all.0.push_back(now);
        let account = self.accounts.touch(account);
        if now < account.locked_until {
            // Attempts during a lock do not extend it, so that nobody can lock another user out permanently.
            return Verdict::Locked;
        }
        let forgotten = u32::try_from(now.since(account.last).as_secs() / DECAY.as_secs()).unwrap_or(u32::MAX);
        account.failures = (account.failures.saturating_sub(forgotten) + 1).min(MAX_FAILURES);
        account.last = now;
        if account.failures > FREE_FAILURES {
            let lock = (FIRST_LOCK * 2_u32.pow(account.failures - FREE_FAILURES - 1)).min(LONGEST_LOCK);
            account.locked_until = now.plus(lock);
        }
        Verdict::Allowed
    }

    /// Resets an account after a successful attempt.
    pub fn succeeded(&mut self, account: &str) {
        *self.accounts.touch(account) = Account::default();
    }
}

/// Returns the network of an address; IPv6 networks are assigned as /64.
fn network(address: Option<IpAddr>) -> String {
    match address {
        None => "unknown".to_owned(),
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => format!("{:x}/64", u128::from(address) >> 64),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Millis = Millis(1_767_225_600_000);

    fn open() -> Throttle {
        Throttle::new(LoginRates { per_address: usize::MAX, of_all: usize::MAX })
    }

    fn at(seconds: u64) -> Millis {
        NOW.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn the_sixth_failure_locks_for_a_second_and_each_further_one_twice_as_long() {
        let mut throttle = open();
        let mut now = NOW;
        for _ in 0..5 {
            assert_eq!(throttle.attempt("ann", None, now), Verdict::Allowed);
        }
        for doubling in 0..5 {
            assert_eq!(throttle.attempt("ann", None, now), Verdict::Allowed, "doubling {doubling}");
            let lock = Duration::from_secs(1 << doubling);
            assert_eq!(throttle.attempt("ann", None, Millis(now.plus(lock).0 - 1)), Verdict::Locked);
            now = now.plus(lock);
        }
        assert_eq!(throttle.attempt("bob", None, now), Verdict::Allowed, "no other account is locked");
    }

    #[test]
    fn failures_are_forgotten_after_a_success_and_over_time() {
        let mut throttle = open();
        for _ in 0..6 {
            throttle.attempt("ann", None, NOW);
        }
        assert_eq!(throttle.attempt("ann", None, NOW), Verdict::Locked);
        throttle.succeeded("ann");
        assert_eq!(throttle.attempt("ann", None, NOW), Verdict::Allowed);
        for _ in 0..6 {
            throttle.attempt("bob", None, NOW);
        }
        for _ in 0..5 {
            assert_eq!(throttle.attempt("bob", None, at(360)), Verdict::Allowed, "six minutes forget six failures");
        }
    }

    #[test]
    fn ipv6_addresses_are_counted_by_network() {
        let mut throttle = Throttle::new(LoginRates { per_address: 2, of_all: 5 });
        let mut attempt = |address: &str, seconds| {
            let verdict = throttle.attempt(address, Some(address.parse().unwrap()), at(seconds));
            matches!(verdict, Verdict::TooMany(_))
        };
        // Addresses of RFC 3849's documentation prefix: two in one /64 network, and another.
        assert!(!attempt("2001:db8::1", 0) && !attempt("2001:db8::2", 0) && attempt("2001:db8::3", 0));
        assert!(!attempt("2001:db8:0:1::1", 0));
        assert!(!attempt("203.0.113.7", 1) && !attempt("::ffff:203.0.113.7", 1));
        assert!(attempt("198.51.100.1", 1), "five from all addresses");
        assert!(!attempt("2001:db8::1", 60), "a minute later");
    }

    #[test]
    fn the_number_of_accounts_in_memory_is_bounded() {
        let mut throttle = open();
        for n in 0..3 * CAPACITY {
            throttle.attempt(&format!("guess-{n}"), None, NOW);
        }
        assert_eq!((throttle.accounts.entries.len(), throttle.accounts.order.len()), (CAPACITY, CAPACITY));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// For any timing of attempts, no account is locked for longer than 15 minutes, and no more
        /// passwords are compared than the locks permit.
        #[test]
        fn a_lock_lasts_15_minutes_at_most(gaps in prop::collection::vec(0_u64..120_000, 1..300)) {
            let mut throttle = open();
            let mut now = NOW;
            for gap in gaps {
                now = Millis(now.0 + gap);
                throttle.attempt("ann", None, now);
                let account = throttle.accounts.touch("ann");
                prop_assert!(account.locked_until.since(now) <= LONGEST_LOCK);
            }
            prop_assert_eq!(throttle.attempt("ann", None, now.plus(LONGEST_LOCK)), Verdict::Allowed);
        }
    }
}
