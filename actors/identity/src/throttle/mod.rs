//! Rate limits of logins. Pure: time is an argument.
//!
//! An attempt counts as a failure from its start and is undone if it succeeds, so that concurrent attempts guess no
//! more than sequential ones. Accounts are counted by a hash of the e-mail that was sent, whether it exists or not, so
//! that a lock does not reveal which accounts exist and a name costs 16 bytes however long it is.
//!
//! Whoever attacks an account must not keep its owner out. Therefore a lock belongs to one source of one account (an
//! address or a device), attempts are admitted in the order of their [`Standing`], and each standing has a share of
//! every limit that those below it cannot use.
//!
//! # Bounds on guesses of one account's password
//!
//! - One source: five, then one after each lock, which doubles from a second to 15 minutes.
//! - All sources that the account does not know, however many: 90 at once, and 780 per hour after that ([`budget`]).
//! - All other addresses of networks that the account knows: the same number again.
//!
//! The owner logs in from new addresses as long as fewer than 60 new addresses attack the account at once, and fewer than
//! ten more per minute after that; with more, only from known ones.
//!
//! All tables are bounded; the least recently used entry is removed first.

mod budget;
mod known;
mod recent;
mod source;
#[cfg(test)]
mod tests;
mod window;

use std::time::Duration;

use muster_core::Millis;

use budget::{Budget, Tier};
pub(super) use known::{Acquaintance, KnownSources};
use recent::Recent;
pub(super) use source::{AccountKey, LoginSource, SourceKey};
use window::{SharedWindow, Window};

/// Number of failures without a lock.
const FREE_FAILURES: u32 = 5;
/// Duration of the first lock; each further failure doubles it.
const FIRST_LOCK: Duration = Duration::from_secs(1);
const LONGEST_LOCK: Duration = Duration::from_secs(15 * 60);
/// Failures above this number do not extend the lock, so they are not counted: 2^10 s exceeds the longest lock.
const MAX_FAILURES: u32 = FREE_FAILURES + 11;
/// Time after which one failure is forgotten.
const DECAY: Duration = Duration::from_secs(10 * 60);
/// Number of failures from which a source is suspect. Two mistyped passwords are not an attack.
const SUSPECT: u32 = 3;
/// Number of entries of each table.
const CAPACITY: usize = 10_000;
/// A network may make this many times as many attempts as one address of it.
const ADDRESSES_PER_NETWORK: usize = 5;

/// Largest number of login attempts, whatever the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRates {
    /// From one address (IPv6: one /64 network) per minute. A network (/24, IPv6: /48) may make five times as many.
    pub per_address: usize,
    /// From all addresses together per minute.
    pub of_all: usize,
}

impl Default for LoginRates {
    fn default() -> Self {
        Self { per_address: 20, of_all: 200 }
    }
}

/// What is known about the source of an attempt. Of every limit that several share, each standing has a part that
/// those after it cannot use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// The account has logged in with this device key, or from this address.
    Known,
    /// The account has logged in from another address of this network, and this one has not failed lately.
    Familiar,
    /// Neither the address nor the source has failed lately.
    Fresh,
    /// One of them has failed once or twice.
    Retried,
    /// One of them has failed more often, or is locked.
    Suspect,
}

/// The decision on an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The password may be compared.
    Allowed(CountedAttempt),
    /// The source is locked for this account, or no account can have this name: the password is compared with none, and
    /// the response is the same as for a wrong one.
    Locked,
    /// Too many attempts.
    TooMany(Excess),
}

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Excess {
    /// Attempts that the limit admits per minute.
    pub limit: u64,
    /// Time until another attempt may be admitted.
    pub wait: Duration,
}

/// An attempt that was counted as a failure, and is undone by [`Throttle::succeeded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedAttempt {
    account: AccountKey,
    pub(crate) source: LoginSource,
    key: SourceKey,
    standing: Standing,
    tier: Tier,
    familiar_network: bool,
}

impl CountedAttempt {
    /// Returns whether the account has logged in with this device or from this address before.
    pub(super) fn is_known(&self) -> bool {
        self.standing == Standing::Known
    }

    /// Returns whether the attempt is counted by a device that the account has logged in with.
    pub(super) fn is_of_known_device(&self) -> bool {
        self.is_known() && self.source.device == Some(self.key)
    }
}

/// Failed attempts, which are forgotten one by one.
#[derive(Debug, Clone, Copy, Default)]
struct Failures {
    count: u32,
    last: Millis,
    locked_until: Millis,
}

impl Failures {
    fn at(&self, now: Millis) -> u32 {
        let forgotten = u32::try_from(now.since(self.last).as_secs() / DECAY.as_secs()).unwrap_or(u32::MAX);
        self.count.saturating_sub(forgotten)
    }

    fn add(&mut self, now: Millis) {
        self.count = (self.at(now) + 1).min(MAX_FAILURES);
        self.last = now;
    }

    /// Locks the source after too many failures.
    fn lock(&mut self, now: Millis) {
        if let Some(doublings) = self.count.checked_sub(FREE_FAILURES + 1) {
            let lock = FIRST_LOCK.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_LOCK);
            self.locked_until = now.plus(lock);
        }
    }

    fn undo(&mut self) {
        self.count = self.count.saturating_sub(1);
    }
}

/// Attempts of one address, whatever the account.
#[derive(Debug, Default)]
struct Address {
    attempts: Window,
    failures: Failures,
}

/// Guesses of one account's password.
#[derive(Debug, Default)]
struct Account {
    /// From networks that the account does not know.
    strangers: Budget,
    /// From other addresses of networks that it knows.
    familiar: Budget,
}

impl Account {
    fn budget(&mut self, standing: Standing, familiar_network: bool) -> Option<&mut Budget> {
        match standing {
            Standing::Known => None,
            _ if familiar_network => Some(&mut self.familiar),
            _ => Some(&mut self.strangers),
        }
    }
}

/// All counters.
#[derive(Debug)]
pub(super) struct Throttle {
    rates: LoginRates,
    /// Failures of an address or device with one account.
    sources: Recent<(AccountKey, SourceKey), Failures>,
    accounts: Recent<AccountKey, Account>,
    addresses: Recent<SourceKey, Address>,
    networks: Recent<SourceKey, SharedWindow>,
    all: SharedWindow,
}

/// How an attempt is classified before it is counted.
struct Classified {
    key: Option<(AccountKey, SourceKey)>,
    standing: Standing,
    tier: Tier,
    is_locked: bool,
    familiar_network: bool,
}

impl Throttle {
    pub fn new(rates: LoginRates) -> Self {
        Self {
            rates,
            sources: Recent::new(CAPACITY),
            accounts: Recent::new(CAPACITY),
            addresses: Recent::new(CAPACITY),
            networks: Recent::new(CAPACITY),
            all: SharedWindow::default(),
        }
    }

    /// Counts an attempt, initially as a failure. `account` is `None` for a name that no account can have, of which
    /// nothing is stored.
    pub fn attempt(
        &mut self,
        account: Option<AccountKey>,
        source: LoginSource,
        acquaintance: Acquaintance,
        now: Millis,
    ) -> Verdict {
        let class = self.classify(account, source, acquaintance, now);
        if let Some(excess) = self.excess(account, source, &class, now) {
            return Verdict::TooMany(excess);
        }
        self.count(source, &class, now);
        let Some((account, key)) = class.key.filter(|_| !class.is_locked) else {
            // Attempts during a lock do not extend it, so that nobody can lock a source out permanently.
            return Verdict::Locked;
        };
        let failures = self.sources.touch(&(account, key));
        failures.add(now);
        failures.lock(now);
        if let Some(budget) = self.accounts.touch(&account).budget(class.standing, class.familiar_network) {
            budget.take(class.tier, now);
        }
        let Classified { standing, tier, familiar_network, .. } = class;
        Verdict::Allowed(CountedAttempt { account, source, key, standing, tier, familiar_network })
    }

    fn classify(
        &self,
        account: Option<AccountKey>,
        source: LoginSource,
        acquaintance: Acquaintance,
        now: Millis,
    ) -> Classified {
        let key = match (acquaintance, source.device) {
            (Acquaintance::Device, Some(device)) => device,
            _ => source.address,
        };
        let key = account.map(|account| (account, key));
        let failed = key.and_then(|key| self.sources.get(&key)).copied().unwrap_or_default();
        let is_locked = now < failed.locked_until;
        let of_address = self.addresses.get(&source.address).map_or(0, |address| address.failures.at(now));
        let tier = match failed.at(now).max(of_address) {
            _ if is_locked => Tier::Repeated,
            0 => Tier::First,
            1..SUSPECT => Tier::Second,
            _ => Tier::Repeated,
        };
        let standing = match (acquaintance, tier) {
            (Acquaintance::Device | Acquaintance::Address, _) if !is_locked => Standing::Known,
            (Acquaintance::Network, Tier::First) => Standing::Familiar,
            (_, Tier::First) => Standing::Fresh,
            (_, Tier::Second) => Standing::Retried,
            (_, Tier::Repeated) => Standing::Suspect,
        };
        let familiar_network = acquaintance != Acquaintance::None;
        Classified { key, standing, tier, is_locked, familiar_network }
    }

    /// Returns the limit that the attempt would exceed.
    fn excess(
        &mut self,
        account: Option<AccountKey>,
        source: LoginSource,
        class: &Classified,
        now: Millis,
    ) -> Option<Excess> {
        let excess = |limit: usize| move |wait| Excess { limit: limit as u64, wait };
        let of_all = self.rates.of_all;
        let overall = self.all.wait(of_all, class.standing, now).map(excess(of_all));
        if class.standing == Standing::Known {
            return overall;
        }
        let per_address = self.rates.per_address;
        let address = self.addresses.get_mut(&source.address);
        let address = address.and_then(|address| address.attempts.wait(per_address, now)).map(excess(per_address));
        let per_network = per_address.saturating_mul(ADDRESSES_PER_NETWORK);
        let network = match class.standing {
            Standing::Familiar => None,
            _ => self
                .networks
                .get_mut(&source.network)
                .and_then(|attempts| attempts.wait(per_network, class.standing, now).map(excess(per_network))),
        };
        let budget = account.filter(|_| !class.is_locked).and_then(|account| self.accounts.get_mut(&account));
        let budget = budget.and_then(|account| account.budget(class.standing, class.familiar_network));
        let budget = budget.and_then(|budget| budget.wait(class.tier, now)).map(excess(budget::PER_MINUTE));
        [overall, address, network, budget].into_iter().flatten().max_by_key(|excess| excess.wait)
    }

    /// Counts an attempt by its network and address, and for all together.
    fn count(&mut self, source: LoginSource, class: &Classified, now: Millis) {
        self.all.push(class.standing, now);
        if class.standing == Standing::Known {
            return;
        }
        self.networks.touch(&source.network).push(class.standing, now);
        let address = self.addresses.touch(&source.address);
        address.attempts.push(now);
        address.failures.add(now);
    }

    /// Undoes the count of an attempt that succeeded. The failures of its source with this account are forgotten; those
    /// of its address with other accounts are not, because an attacker may have an account too.
    pub fn succeeded(&mut self, attempt: &CountedAttempt) {
        self.sources.remove(&(attempt.account, attempt.key));
        if attempt.is_known() {
            return;
        }
        if let Some(address) = self.addresses.get_mut(&attempt.source.address) {
            address.failures.undo();
        }
        let account = self.accounts.get_mut(&attempt.account);
        if let Some(budget) = account.and_then(|account| account.budget(attempt.standing, attempt.familiar_network)) {
            budget.give_back(attempt.tier);
        }
    }
}
