//! The published accounts, and who is independent of whom: a file of its own, because readers involve no actor.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::record::UserRecord;
use muster_core::guard::StandingReader;
use muster_core::principal::UserRole;
use muster_core::{Error, Kind, Millis};

/// Time for which who made an account, or set its password, is not independent of its user.
const DEPENDENT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// Whose acts on accounts make people dependent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makers {
    /// Everybody's.
    All,
    /// All but those of a `super_admin`, who needs no second account as long as there is no quorum.
    AllButSuperAdmins,
}

/// All accounts as of their durable records, by identifier.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts(HashMap<Arc<str>, Arc<UserRecord>>);

impl Accounts {
    pub(crate) fn put(&mut self, record: Arc<UserRecord>) {
        self.0.insert(record.id.as_str().into(), record);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    fn role(&self, id: &str) -> Option<UserRole> {
        self.0.get(id).map(|record| record.role)
    }

    /// Returns who made an account or set its password within the time in which that matters.
    fn makers<'a>(&self, of: &'a UserRecord, now: Millis) -> impl Iterator<Item = &'a str> {
        let recent = move |at: Millis| now.since(at) < DEPENDENT_FOR;
        let made = recent(of.created_at).then_some(of.created_by.as_str());
        let set = of.password_at.is_some_and(recent).then_some(of.password_by.as_deref()).flatten();
        made.into_iter().chain(set).filter(|by| *by != of.id)
    }
}

/// Reads the published accounts.
#[derive(Debug, Clone)]
pub struct People(pub(crate) watch::Receiver<Arc<Accounts>>);

impl People {
    /// Creates a reader of fixed accounts, for tests of features that read them.
    pub fn of(records: impl IntoIterator<Item = UserRecord>) -> Self {
        let mut accounts = Accounts::default();
        records.into_iter().for_each(|record| accounts.put(Arc::new(record)));
        // The last value stays readable without its sender.
        Self(watch::Sender::new(Arc::new(accounts)).subscribe())
    }

    /// Returns an account.
    pub fn get(&self, id: &str) -> Option<Arc<UserRecord>> {
        self.0.borrow().0.get(id).cloned()
    }

    /// Returns the identifiers of at most `limit` accounts that meet a condition.
    pub fn ids_of(&self, meets: impl Fn(&UserRecord) -> bool, limit: usize) -> Vec<String> {
        let accounts = Arc::clone(&self.0.borrow());
        let found = accounts.0.values().filter(|record| record.service.is_none() && meets(record));
        found.take(limit).map(|record| record.id.clone()).collect()
    }

    /// Waits until an account has changed.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }

    /// Returns whether two people are independent: neither made the account or set the password of the other within 30
    /// days, nor did one `admin` for both.
    pub fn are_independent(&self, one: &str, other: &str, makers: Makers, now: Millis) -> bool {
        if one == other {
            return false;
        }
        let accounts = Arc::clone(&self.0.borrow());
        let of = |id: &str| accounts.0.get(id).cloned();
        let (Some(first), Some(second)) = (of(one), of(other)) else { return true };
        let counts = |by: &str| makers == Makers::All || accounts.role(by) != Some(UserRole::SuperAdmin);
        let made = |by: &str, of: &UserRecord| accounts.makers(of, now).any(|maker| maker == by && counts(by));
        if made(one, &second) || made(other, &first) {
            return false;
        }
        // The account of an `admin` who was deleted counts as one.
        let is_admin = |by: &&str| by.starts_with("usr_") && matches!(accounts.role(by), Some(UserRole::Admin) | None);
        let common = accounts.makers(&first, now).filter(is_admin);
        !common.into_iter().any(|by| accounts.makers(&second, now).any(|maker| maker == by))
    }
}

/// Decides whether a second person is independent of a first one.
#[derive(Debug, Clone)]
pub struct Independence {
    people: People,
    standing: StandingReader,
}

impl Independence {
    /// Creates the check. Before there is a quorum, what a `super_admin` did to an account makes nobody dependent.
    pub fn new(people: People, standing: StandingReader) -> Self {
        Self { people, standing }
    }

    /// Creates a check that knows nobody, and so finds everybody independent, for tests of features that need one.
    pub fn of_strangers() -> Self {
        Self::new(People::of([]), StandingReader::unconstituted())
    }

    /// Checks that two different people are independent.
    ///
    /// # Errors
    /// `Forbidden` (`not_independent`).
    pub fn require(&self, one: &str, other: &str, now: Millis) -> Result<(), Error> {
        let makers = if self.standing.get().constituted { Makers::All } else { Makers::AllButSuperAdmins };
        if one == other || self.people.are_independent(one, other, makers, now) {
            return Ok(());
        }
        let message = "the second person must be independent of the first: one of them made the account or set the \
                       password of the other within 30 days, or one admin did for both";
        Err(Error::new(Kind::Forbidden, message).coded("not_independent"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Phc;
    use super::*;

    const NOW: Millis = Millis(100 * 24 * 3_600_000);
    const DAY: u64 = 24 * 3_600_000;

    fn user(id: &str, role: UserRole, made: (&str, u64), set: Option<(&str, u64)>) -> UserRecord {
        UserRecord {
            id: id.to_owned(),
            email: format!("{id}@example.org"),
            name: String::new(),
            role,
            grants: Vec::new(),
            password: Phc(String::new()),
            disabled: false,
            pv: 1,
            not_before: Millis(0),
            created_at: Millis(NOW.0 - made.1 * DAY),
            created_by: made.0.to_owned(),
            updated_at: NOW,
            last_login: None,
            version: 1,
            service: None,
            password_by: set.map(|(by, _)| by.to_owned()),
            password_at: set.map(|(_, days)| Millis(NOW.0 - days * DAY)),
            altered_at: None,
        }
    }

    #[test]
    fn who_made_an_account_or_set_its_password_is_dependent_for_30_days() {
        let people = People::of([
            user("usr_root", UserRole::SuperAdmin, ("system", 90), None),
            user("usr_adm", UserRole::Admin, ("usr_root", 60), None),
            user("usr_a", UserRole::Approver, ("usr_adm", 5), None),
            user("usr_b", UserRole::Operator, ("usr_adm", 29), None),
            user("usr_c", UserRole::Operator, ("usr_adm", 31), None),
            user("usr_d", UserRole::Operator, ("usr_root", 5), None),
            user("usr_e", UserRole::Operator, ("usr_root", 50), Some(("usr_adm", 1))),
            user("usr_f", UserRole::Operator, ("usr_root", 5), Some(("usr_f", 1))),
        ]);
        let all = |one, other| people.are_independent(one, other, Makers::All, NOW);
        for (one, other, expected) in [
            ("usr_adm", "usr_a", false),
            ("usr_a", "usr_b", false),
            ("usr_a", "usr_c", true),
            ("usr_a", "usr_d", true),
            ("usr_a", "usr_e", false),
            ("usr_d", "usr_f", true),
            ("usr_root", "usr_d", false),
            ("usr_root", "usr_c", true),
            ("usr_a", "usr_a", false),
        ] {
            assert_eq!((all(one, other), all(other, one)), (expected, expected), "{one} {other}");
        }
        let before = |one, other| people.are_independent(one, other, Makers::AllButSuperAdmins, NOW);
        assert!(before("usr_root", "usr_d"), "a super_admin does guarded things alone anyway");
        assert!(!before("usr_adm", "usr_a") && !before("usr_a", "usr_b"));
    }
}
