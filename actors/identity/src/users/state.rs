//! Users and the operations on them. Pure: time and identifiers are arguments.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};

use super::record::{Phc, UserRecord};
use crate::By;
use muster_core::page::{Page, PageAsk};
use muster_core::precondition::IfMatch;
use muster_core::principal::{Permission, UserRole};
use muster_core::{Error, Kind, Millis};

/// Longest password, in bytes. Hashing longer ones would make denial of service cheap.
pub const MAX_PASSWORD: usize = 1024;
const SHORTEST_PASSWORD: usize = 8;
/// Longest e-mail address (RFC 5321, section 4.5.3.1.3, without the angle brackets).
const LONGEST_EMAIL: usize = 254;
const LONGEST_NAME: usize = 100;

/// A user to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewUser {
    pub email: String,
    /// Display name, 0 to 100 characters.
    pub name: String,
    pub role: UserRole,
    pub grants: Vec<Permission>,
}

/// Changes to a user; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserPatch {
    pub name: Option<String>,
    pub role: Option<UserRole>,
    pub grants: Option<Vec<Permission>>,
    pub disabled: Option<bool>,
}

/// Whether a user was created now or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    Now,
    /// Created before, for the same `Idempotency-Key`.
    Before,
}

/// Normalizes an e-mail address as records store it.
pub fn fold(email: &str) -> String {
    email.trim().to_lowercase()
}

/// # Errors
/// `Invalid`, naming `body.<field>`.
pub fn usable_password(field: &str, password: &str) -> Result<(), Error> {
    if (SHORTEST_PASSWORD..=MAX_PASSWORD).contains(&password.len()) && !password.contains('\0') {
        return Ok(());
    }
    let wrong = format!("must have {SHORTEST_PASSWORD} to {MAX_PASSWORD} bytes, none of them NUL");
    Err(Error::field(Kind::Invalid, &["body", field], wrong, Value::Null))
}

/// Returns whether a user with `users:write` may grant or remove a role with these individual permissions. Every role
/// except `admin` and `super_admin`, which only a super_admin may grant; individual permissions only if the user has
/// them too. Assigning a role does not require its permissions, but nobody can create another administrator or grant
/// permissions without having them.
fn may_give(by: &By, role: UserRole, grants: &[Permission]) -> Result<(), Error> {
    let By::Person(person) = by else { return Ok(()) };
    if person.role == UserRole::SuperAdmin {
        return Ok(());
    }
    if matches!(role, UserRole::Admin | UserRole::SuperAdmin) {
        let message = format!("only a super_admin gives, takes or changes the role {}: ask one", role.name());
        return Err(Error::new(Kind::Forbidden, message).coded("permission_denied"));
    }
    match grants.iter().find(|&&grant| !person.permissions.has(grant)) {
        Some(grant) => {
            let message = format!("nobody gives or takes a single grant that one lacks: you lack `{}`", grant.name());
            Err(Error::new(Kind::Forbidden, message).coded("permission_denied"))
        }
        None => Ok(()),
    }
}

/// Returns whether a user may be changed in this way: nobody may raise their own permissions, whatever they may grant
/// to others.
fn may_become(by: &By, present: &UserRecord, next: &UserRecord) -> Result<(), Error> {
    let By::Person(person) = by else { return Ok(()) };
    if person.role == UserRole::SuperAdmin || person.permissions.covers(next.permissions()) {
        let same = next.role == present.role;
        return if same { Ok(()) } else { may_give(by, next.role, &[]) };
    }
    let message = "nobody raises oneself: ask another administrator";
    Err(Error::new(Kind::Forbidden, message).coded("permission_denied"))
}

/// All users, by identifier (which sorts by time) and by normalized e-mail.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserState {
    by_id: BTreeMap<String, Arc<UserRecord>>,
    by_email: HashMap<String, String>,
}

impl UserState {
    pub fn from_records(records: Vec<UserRecord>) -> Self {
        let mut state = Self::default();
        records.into_iter().for_each(|record| state.put(Arc::new(record)));
        state
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn get(&self, id: &str) -> Option<&Arc<UserRecord>> {
        self.by_id.get(id)
    }

    pub fn by_email(&self, folded: &str) -> Option<&Arc<UserRecord>> {
        self.by_id.get(self.by_email.get(folded)?)
    }

    pub fn put(&mut self, record: Arc<UserRecord>) {
        self.by_email.insert(record.email.clone(), record.id.clone());
        self.by_id.insert(record.id.clone(), record);
    }

    pub fn remove(&mut self, id: &str) {
        if let Some(record) = self.by_id.remove(id) {
            self.by_email.remove(&record.email);
        }
    }

    /// Returns users, newest first.
    pub fn list(&self, ask: &PageAsk) -> Page<Arc<UserRecord>> {
        let older = |id: &String| ask.after.as_deref().is_none_or(|after| id.as_str() < after);
        let from = self.by_id.iter().rev().filter(|(id, _)| older(id)).map(|(_, record)| Arc::clone(record));
        Page::of(from, ask.limit, |record| record.id.clone())
    }

    pub fn found(&self, id: &str) -> Result<&Arc<UserRecord>, Error> {
        self.get(id).ok_or_else(|| Error::new(Kind::NotFound, format!("nobody has the id {id}")))
    }

    /// Returns the record of a new user, or an error.
    pub fn create(&self, new: NewUser, password: Phc, by: &By, id: String, now: Millis) -> Result<UserRecord, Error> {
        let email = fold(&new.email);
        check_email(&email)?;
        check_name(&new.name)?;
        let grants = single(new.grants, new.role);
        may_give(by, new.role, &grants)?;
        if self.by_email.contains_key(&email) {
            let message = format!("somebody has the e-mail {email} already: change that record, or take another");
            return Err(Error::new(Kind::Conflict, message).coded("email_taken"));
        }
        Ok(UserRecord {
            id,
            email,
            name: new.name,
            role: new.role,
            grants,
            password,
            disabled: false,
            pv: 1,
            not_before: Millis(0),
            created_at: now,
            created_by: by.id().to_owned(),
            updated_at: now,
            last_login: None,
            version: 1,
        })
    }

    /// Returns the record with the changes; `pv` is incremented if the permissions change.
    pub fn patch(
        &self,
        id: &str,
        patch: UserPatch,
        if_match: IfMatch,
        by: &By,
        now: Millis,
    ) -> Result<UserRecord, Error> {
        let present = self.reach(id, if_match, by)?;
        let mut next = UserRecord::clone(present);
        if let Some(name) = patch.name {
            check_name(&name)?;
            next.name = name;
        }
        next.role = patch.role.unwrap_or(next.role);
        next.grants = single(patch.grants.unwrap_or(next.grants), next.role);
        next.disabled = patch.disabled.unwrap_or(next.disabled);
        if by.id() == id {
            may_become(by, present, &next)?;
        } else {
            may_give(by, next.role, &next.grants)?;
        }
        let ends = |record: &UserRecord| record.role != UserRole::SuperAdmin || record.disabled;
        if ends(&next) {
            self.spare_last(present)?;
        }
        if next.disabled && !present.disabled {
            next.not_before = now;
        }
        let same = next.permissions() == present.permissions() && next.role == present.role;
        next.pv += u64::from(!same);
        next.version += 1;
        next.updated_at = now;
        Ok(next)
    }

    /// Returns the record with a new password, which invalidates every session.
    pub fn password(&self, id: &str, password: Phc, by: &By, now: Millis) -> Result<UserRecord, Error> {
        let present = self.found(id)?;
        if by.id() != id {
            may_give(by, present.role, &present.grants)?;
        }
        let version = present.version + 1;
        Ok(UserRecord { password, not_before: now, version, updated_at: now, ..UserRecord::clone(present) })
    }

    /// Returns whether a user may be deleted.
    pub fn removable(&self, id: &str, if_match: IfMatch, by: &By) -> Result<Arc<UserRecord>, Error> {
        let present = self.reach(id, if_match, by)?;
        self.spare_last(present)?;
        Ok(Arc::clone(present))
    }

    fn reach(&self, id: &str, if_match: IfMatch, by: &By) -> Result<&Arc<UserRecord>, Error> {
        let present = self.found(id)?;
        if by.id() != id {
            may_give(by, present.role, &present.grants)?;
        }
        if_match.check(present.version)?;
        Ok(present)
    }

    /// Nobody could undo the loss of the last super_admin.
    fn spare_last(&self, leaving: &UserRecord) -> Result<(), Error> {
        let reigns = |record: &UserRecord| record.role == UserRole::SuperAdmin && !record.disabled;
        let others = || self.by_id.values().any(|record| record.id != leaving.id && reigns(record));
        if !reigns(leaving) || others() {
            return Ok(());
        }
        let message = "this is the last active super_admin: make another one first";
        Err(Error::new(Kind::Conflict, message).coded("last_super_admin").detailing(json!({ "user_id": leaving.id })))
    }
}

/// Returns permissions sorted, without duplicates and without those of the role.
fn single(mut grants: Vec<Permission>, role: UserRole) -> Vec<Permission> {
    grants.sort_unstable();
    grants.dedup();
    grants.retain(|&grant| !role.permissions().has(grant));
    grants
}

fn check_email(email: &str) -> Result<(), Error> {
    let parts = email.split_once('@');
    let whole = parts.is_some_and(|(local, host)| !local.is_empty() && !host.is_empty() && !host.contains('@'));
    let odd = |letter: char| letter.is_whitespace() || letter.is_control();
    if whole && email.len() <= LONGEST_EMAIL && !email.contains(odd) {
        return Ok(());
    }
    let shown: String = email.chars().take(LONGEST_EMAIL).collect();
    let wrong = format!("must be an e-mail address of at most {LONGEST_EMAIL} bytes");
    Err(Error::field(Kind::Invalid, &["body", "email"], wrong, shown.into()))
}

fn check_name(name: &str) -> Result<(), Error> {
    if name.chars().count() <= LONGEST_NAME && !name.contains(char::is_control) {
        return Ok(());
    }
    Err(Error::field(Kind::Invalid, &["body", "name"], "must have at most 100 characters", Value::Null))
}
