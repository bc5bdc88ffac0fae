//! Users and the operations on them. Pure: time and identifiers are arguments.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};

use super::record::{Phc, UserRecord};
use crate::{By, Person};
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::principal::{Permission, UserRole};
use muster_core::{Error, Kind, Millis};

/// Longest password, in bytes. Hashing longer ones would make denial of service cheap.
const MAX_PASSWORD: usize = 1024;
/// Shortest password, in bytes.
const MIN_PASSWORD: usize = 8;
/// Longest e-mail address (RFC 5321, section 4.5.3.1.3, without the angle brackets).
pub(crate) const MAX_EMAIL: usize = 254;
/// Longest display name, in characters.
const MAX_NAME: usize = 100;

/// A user to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewUser {
    /// E-mail address; normalized when the user is created.
    pub email: String,
    /// Display name, 0 to 100 characters.
    pub name: String,
    /// Role of the user.
    pub role: UserRole,
    /// Individual permissions in addition to those of the role.
    pub grants: Vec<Permission>,
}

/// Changes to a user; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserPatch {
    /// Display name, 0 to 100 characters.
    pub name: Option<String>,
    /// Role of the user.
    pub role: Option<UserRole>,
    /// Individual permissions in addition to those of the role; replaces all of them.
    pub grants: Option<Vec<Permission>>,
    /// Whether the user is barred from logging in. Disabling ends all sessions.
    pub disabled: Option<bool>,
}

/// Normalizes an e-mail address as records store it.
pub(crate) fn normalize_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Checks that a new password has a valid length and no NUL.
///
/// # Errors
/// `Invalid`, naming `body.<field>`.
pub(crate) fn check_new_password(field: &str, password: &str) -> Result<(), Error> {
    if (MIN_PASSWORD..=MAX_PASSWORD).contains(&password.len()) && !password.contains('\0') {
        return Ok(());
    }
    let wrong = format!("must have {MIN_PASSWORD} to {MAX_PASSWORD} bytes, none of them NUL");
    Err(Error::field(Kind::Invalid, &["body", field], wrong, Value::Null))
}

/// Checks that a user with `users:write` may assign or remove a role with these individual permissions: every role except
/// `admin` and `super_admin`, which only a super_admin may assign; individual permissions only if the user has them too.
/// Assigning a role does not require its permissions, but nobody can create another administrator or grant permissions
/// without having them.
pub(super) fn check_assignable(by: &By, role: UserRole, grants: &[Permission]) -> Result<(), Error> {
    let By::Person(person) = by else { return Ok(()) };
    if person.role == UserRole::SuperAdmin {
        return Ok(());
    }
    if matches!(role, UserRole::Admin | UserRole::SuperAdmin) {
        let message = format!("only a super_admin can assign, remove or change the role {}", role.name());
        return Err(Error::new(Kind::Forbidden, message).coded("permission_denied"));
    }
    match grants.iter().find(|&&grant| !person.permissions.has(grant)) {
        Some(grant) => {
            let message = format!(
                "a grant can only be added or removed by a user who has it: you do not have `{}`",
                grant.name()
            );
            Err(Error::new(Kind::Forbidden, message).coded("permission_denied"))
        }
        None => Ok(()),
    }
}

/// Checks that a user may end another one's sessions: the same that changing that user's account needs.
///
/// # Errors
/// `Forbidden`.
pub(crate) fn check_administers(by: &Arc<Person>, other: &Person) -> Result<(), Error> {
    let of_role = other.role.permissions();
    let grants: Vec<_> = other.permissions.iter().filter(|permission| !of_role.has(*permission)).collect();
    check_assignable(&By::Person(Arc::clone(by)), other.role, &grants)
}

/// Checks that a user may make this change to their own account: nobody may extend their own permissions, whatever they
/// may grant to others.
fn check_own_change(by: &By, present: &UserRecord, next: &UserRecord) -> Result<(), Error> {
    let By::Person(person) = by else { return Ok(()) };
    if person.role == UserRole::SuperAdmin || person.permissions.covers(next.permissions()) {
        let same = next.role == present.role;
        return if same { Ok(()) } else { check_assignable(by, next.role, &[]) };
    }
    let message = "you cannot extend your own permissions: ask another administrator";
    Err(Error::new(Kind::Forbidden, message).coded("permission_denied"))
}

/// Whether an account is used by a person or by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountKind {
    Person,
    Service,
}

impl AccountKind {
    pub fn of(record: &UserRecord) -> Self {
        if record.service.is_some() { Self::Service } else { Self::Person }
    }
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

    pub fn all(&self) -> impl Iterator<Item = &Arc<UserRecord>> {
        self.by_id.values()
    }

    pub fn get(&self, id: &str) -> Option<&Arc<UserRecord>> {
        self.by_id.get(id)
    }

    /// Returns the account that a login names: a person by normalized e-mail, a service account by identifier.
    pub fn of_login(&self, name: &str) -> Option<&Arc<UserRecord>> {
        if name.contains('@') {
            return self.by_email(name).filter(|record| AccountKind::of(record) == AccountKind::Person);
        }
        self.get(name).filter(|record| AccountKind::of(record) == AccountKind::Service)
    }

    /// Returns all accounts of a kind.
    pub(super) fn of_kind(&self, kind: AccountKind) -> impl Iterator<Item = &Arc<UserRecord>> {
        self.by_id.values().filter(move |record| AccountKind::of(record) == kind)
    }

    /// Returns a user by normalized e-mail.
    pub fn by_email(&self, email: &str) -> Option<&Arc<UserRecord>> {
        self.by_id.get(self.by_email.get(email)?)
    }

    /// Adds or replaces a user.
    pub fn put(&mut self, record: Arc<UserRecord>) {
        self.by_email.insert(record.email.clone(), record.id.clone());
        self.by_id.insert(record.id.clone(), record);
    }

    pub fn remove(&mut self, id: &str) {
        if let Some(record) = self.by_id.remove(id) {
            self.by_email.remove(&record.email);
        }
    }

    /// Returns the people, or the service accounts, newest first.
    pub fn list(&self, kind: AccountKind, page: &PageParams) -> Page<Arc<UserRecord>> {
        let older = |id: &String| page.after.as_deref().is_none_or(|after| id.as_str() < after);
        let of_kind = self.by_id.iter().rev().filter(|(_, record)| AccountKind::of(record) == kind);
        let from = of_kind.filter(|(id, _)| older(id)).map(|(_, record)| Arc::clone(record));
        Page::of(from, page.limit, |record| record.id.clone())
    }

    /// Returns a user.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn found(&self, id: &str) -> Result<&Arc<UserRecord>, Error> {
        self.get(id).ok_or_else(|| Error::new(Kind::NotFound, format!("no user has the id {id}")))
    }

    /// Returns the record of a new user.
    ///
    /// # Errors
    /// `Invalid`, by field; `Forbidden` if `by` may not assign the role or a grant; `Conflict` (`email_taken`).
    pub fn create(&self, new: NewUser, password: Phc, by: &By, id: String, now: Millis) -> Result<UserRecord, Error> {
        let email = normalize_email(&new.email);
        check_email(&email)?;
        check_name(&new.name)?;
        let grants = own_grants(new.grants, new.role);
        check_assignable(by, new.role, &grants)?;
        if self.by_email.contains_key(&email) {
            let message = format!("another user has the e-mail {email}: change that user, or use another e-mail");
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
            service: None,
            password_by: None,
            password_at: None,
            altered_at: None,
        })
    }

    /// Returns the record with the changes; `pv` is incremented if the permissions change.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Invalid`, by field; `Forbidden`; `Conflict` (`last_super_admin`).
    pub fn patch(
        &self,
        id: &str,
        patch: UserPatch,
        if_match: IfMatch,
        by: &By,
        now: Millis,
    ) -> Result<UserRecord, Error> {
        self.require(AccountKind::Person, id)?;
        let present = self.changeable(id, if_match, by)?;
        let mut next = UserRecord::clone(present);
        if let Some(name) = patch.name {
            check_name(&name)?;
            next.name = name;
        }
        next.role = patch.role.unwrap_or(next.role);
        next.grants = own_grants(patch.grants.unwrap_or(next.grants), next.role);
        next.disabled = patch.disabled.unwrap_or(next.disabled);
        if by.id() == id {
            check_own_change(by, present, &next)?;
        } else {
            check_assignable(by, next.role, &next.grants)?;
        }
        if !is_active_super_admin(&next) {
            self.check_not_last(present)?;
        }
        if next.disabled && !present.disabled {
            next.not_before = now;
        }
        if by.id() != id && (next.role != present.role || next.disabled != present.disabled) {
            next.altered_at = Some(now);
        }
        let same = next.permissions() == present.permissions() && next.role == present.role;
        next.pv += u64::from(!same);
        next.version += 1;
        next.updated_at = now;
        Ok(next)
    }

    /// Returns the record with a new password, which invalidates every session.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`.
    pub fn password(&self, id: &str, password: Phc, by: &By, now: Millis) -> Result<UserRecord, Error> {
        self.require(AccountKind::Person, id)?;
        let present = self.found(id)?;
        if by.id() != id {
            check_assignable(by, present.role, &present.grants)?;
        }
        let mut next = UserRecord::clone(present);
        (next.password, next.not_before, next.updated_at) = (password, now, now);
        (next.password_by, next.password_at) = (Some(by.id().to_owned()), Some(now));
        if by.id() != id {
            next.altered_at = Some(now);
        }
        next.version += 1;
        Ok(next)
    }

    /// Returns a user that may be deleted.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Forbidden`; `Conflict` (`last_super_admin`).
    pub fn deletable(&self, kind: AccountKind, id: &str, if_match: IfMatch, by: &By) -> Result<Arc<UserRecord>, Error> {
        self.require(kind, id)?;
        let present = self.changeable(id, if_match, by)?;
        self.check_not_last(present)?;
        Ok(Arc::clone(present))
    }

    /// Checks that an account is a person, or a service account.
    ///
    /// # Errors
    /// `NotFound`, naming the routes of the other kind.
    pub(super) fn require(&self, kind: AccountKind, id: &str) -> Result<(), Error> {
        let present = self.found(id)?;
        if AccountKind::of(present) == kind {
            return Ok(());
        }
        let message = match kind {
            AccountKind::Person => format!("{id} is a service account: use /api/v1/service-accounts/{id}"),
            AccountKind::Service => format!("{id} is a user: use /api/v1/users/{id}"),
        };
        Err(Error::new(Kind::NotFound, message))
    }

    pub(super) fn changeable(&self, id: &str, if_match: IfMatch, by: &By) -> Result<&Arc<UserRecord>, Error> {
        let present = self.found(id)?;
        if by.id() != id {
            check_assignable(by, present.role, &present.grants)?;
        }
        if_match.check(present.version)?;
        Ok(present)
    }

    /// Checks that another active super_admin remains: without one, nobody could create one.
    fn check_not_last(&self, leaving: &UserRecord) -> Result<(), Error> {
        let others = || self.by_id.values().any(|record| record.id != leaving.id && is_active_super_admin(record));
        if !is_active_super_admin(leaving) || others() {
            return Ok(());
        }
        let message = "this is the last active super_admin: create another one first";
        Err(Error::new(Kind::Conflict, message).coded("last_super_admin").detailing(json!({ "user_id": leaving.id })))
    }
}

fn is_active_super_admin(user: &UserRecord) -> bool {
    user.service.is_none() && user.role == UserRole::SuperAdmin && !user.disabled
}

/// Returns permissions sorted, without duplicates and without those of the role.
fn own_grants(mut grants: Vec<Permission>, role: UserRole) -> Vec<Permission> {
    grants.sort_unstable();
    grants.dedup();
    grants.retain(|&grant| !role.permissions().has(grant));
    grants
}

fn check_email(email: &str) -> Result<(), Error> {
    let parts = email.split_once('@');
    let complete = parts.is_some_and(|(local, host)| !local.is_empty() && !host.is_empty() && !host.contains('@'));
    let forbidden = |letter: char| letter.is_whitespace() || letter.is_control();
    if complete && email.len() <= MAX_EMAIL && !email.contains(forbidden) {
        return Ok(());
    }
    let input: String = email.chars().take(MAX_EMAIL).collect();
    let wrong = format!("must be an e-mail address of at most {MAX_EMAIL} bytes");
    Err(Error::field(Kind::Invalid, &["body", "email"], wrong, input.into()))
}

fn check_name(name: &str) -> Result<(), Error> {
    if name.chars().count() <= MAX_NAME && !name.contains(char::is_control) {
        return Ok(());
    }
    Err(Error::field(Kind::Invalid, &["body", "name"], "must have at most 100 characters", Value::Null))
}
