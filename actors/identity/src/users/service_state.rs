//! Service accounts and the operations on them, a file of their own beside those of people. Pure: time and identifiers
//! are arguments.

use std::time::Duration;

use serde_json::{Value, json};

use super::record::{Phc, UserRecord};
use super::service_account::{NewServiceAccount, SecretHash, ServiceAccountPatch, ServiceCredential};
use super::state::{AccountKind, UserState, check_assignable};
use crate::By;
use muster_core::precondition::IfMatch;
use muster_core::principal::UserRole;
use muster_core::{Error, Kind, Millis};

/// Largest number of service accounts.
const MAX_ACCOUNTS: usize = 1000;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Lifetime of an account that names none.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(365 * 24 * 3600);
/// Longest lifetime.
const LONGEST_LIFETIME: Duration = Duration::from_secs(5 * 366 * 24 * 3600);
/// Longest name, in bytes.
const MAX_NAME: usize = 64;

impl UserState {
    /// Returns the record of a new service account.
    ///
    /// # Errors
    /// `Invalid`, by field; `Forbidden` if `by` may not assign the role; `Conflict` (`name_taken`, or
    /// `too_many_service_accounts`).
    pub fn create_service(
        &self,
        new: NewServiceAccount,
        secret: SecretHash,
        by: &By,
        id: String,
        now: Millis,
    ) -> Result<UserRecord, Error> {
        check_name(&new.name)?;
        check_role(new.role)?;
        check_assignable(by, new.role, &[])?;
        let expires_at = new.expires_at.unwrap_or_else(|| now.plus(DEFAULT_LIFETIME));
        check_expiry(expires_at, now)?;
        let email = address(&new.name);
        if self.by_email(&email).is_some() {
            let message = format!("another service account is named {}: choose another name, or rotate it", new.name);
            return Err(Error::new(Kind::Conflict, message).coded("name_taken"));
        }
        if self.of_kind(AccountKind::Service).count() >= MAX_ACCOUNTS {
            let message = format!("there are {MAX_ACCOUNTS} service accounts, the largest number: revoke one first");
            return Err(Error::new(Kind::Conflict, message).coded("too_many_service_accounts"));
        }
        Ok(UserRecord {
            id,
            email,
            name: new.name,
            role: new.role,
            grants: Vec::new(),
            // No password has this hash.
            password: Phc(String::new()),
            disabled: false,
            pv: 1,
            not_before: Millis(0),
            created_at: now,
            created_by: by.id().to_owned(),
            updated_at: now,
            last_login: None,
            version: 1,
            service: Some(ServiceCredential {
                secret,
                previous: None,
                previous_until: None,
                rotated_at: now,
                expires_at,
            }),
            password_by: None,
            password_at: None,
            altered_at: None,
        })
    }

    /// Returns a service account with the changes.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Invalid`, by field; `Forbidden`.
    pub fn patch_service(
        &self,
        id: &str,
        patch: &ServiceAccountPatch,
        if_match: IfMatch,
        by: &By,
        now: Millis,
    ) -> Result<UserRecord, Error> {
        let mut next = self.service(id, by)?;
        if_match.check(next.version)?;
        if let Some(role) = patch.role {
            check_role(role)?;
            check_assignable(by, role, &[])?;
            next.pv += u64::from(role != next.role);
            next.role = role;
        }
        if let (Some(expires_at), Some(service)) = (patch.expires_at, &mut next.service) {
            check_expiry(expires_at, now)?;
            service.expires_at = expires_at;
        }
        next.disabled = patch.disabled.unwrap_or(next.disabled);
        next.version += 1;
        next.updated_at = now;
        Ok(next)
    }

    /// Returns a service account with a new secret. The present one is accepted for the time of grace.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`.
    pub fn rotate_service(
        &self,
        id: &str,
        secret: SecretHash,
        grace: Duration,
        by: &By,
        now: Millis,
    ) -> Result<UserRecord, Error> {
        let mut next = self.service(id, by)?;
        if let Some(service) = &mut next.service {
            let kept = !grace.is_zero();
            service.previous = kept.then_some(service.secret);
            service.previous_until = kept.then(|| now.plus(grace));
            (service.secret, service.rotated_at) = (secret, now);
        }
        next.version += 1;
        next.updated_at = now;
        Ok(next)
    }

    fn service(&self, id: &str, by: &By) -> Result<UserRecord, Error> {
        self.require(AccountKind::Service, id)?;
        self.changeable(id, IfMatch::Any, by).map(|present| UserRecord::clone(present))
    }
}

/// Returns the address of a service account, in a domain that cannot exist (RFC 2606, section 2).
fn address(name: &str) -> String {
    format!("{name}@service.invalid")
}

fn check_name(name: &str) -> Result<(), Error> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(letter) {
        return Ok(());
    }
    let input: String = name.chars().take(MAX_NAME).collect();
    let wrong = "must be 1 to 64 lower-case letters, digits and hyphens";
    Err(Error::field(Kind::Invalid, &["body", "name"], wrong, input.into()))
}

fn check_role(role: UserRole) -> Result<(), Error> {
    if NewServiceAccount::ROLES.contains(&role) {
        return Ok(());
    }
    let known: Vec<_> = NewServiceAccount::ROLES.iter().map(|role| role.name()).collect();
    let wrong = format!("a service account is {}: other roles are for people", known.join(", "));
    Err(Error::field(Kind::Invalid, &["body", "role"], wrong, json!(role)))
}

fn check_expiry(at: Millis, now: Millis) -> Result<(), Error> {
    if at > now && at <= now.plus(LONGEST_LIFETIME) {
        return Ok(());
    }
    let wrong = format!("must be in the future, at most {} days ahead", LONGEST_LIFETIME.as_secs() / DAY.as_secs());
    Err(Error::field(Kind::Invalid, &["body", "expires_at"], wrong, Value::from(at.rfc3339())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_767_225_600_000);

    fn new(name: &str, role: UserRole) -> NewServiceAccount {
        NewServiceAccount { name: name.into(), role, expires_at: None }
    }

    fn created(state: &UserState, new: NewServiceAccount) -> Result<UserRecord, Error> {
        state.create_service(new, SecretHash::of("s"), &By::System, "svc_1".into(), NOW)
    }

    #[test]
    fn roles_of_the_two_person_rules_and_of_administration_are_for_people() {
        let state = UserState::default();
        for role in UserRole::ALL {
            let made = created(&state, new("dashboard", role));
            assert_eq!(made.is_ok(), NewServiceAccount::ROLES.contains(&role), "{role:?}");
        }
        for name in ["", "Dashboard", "a b", "a@b", &"x".repeat(65)] {
            assert_eq!(created(&state, new(name, UserRole::Viewer)).unwrap_err().kind, Kind::Invalid, "{name}");
        }
    }

    #[test]
    fn an_expiry_is_in_the_future_and_within_five_years() {
        let state = UserState::default();
        let expiring = |expires_at| NewServiceAccount { expires_at: Some(expires_at), ..new("a", UserRole::Viewer) };
        assert!(created(&state, expiring(NOW)).is_err());
        assert!(created(&state, expiring(NOW.plus(LONGEST_LIFETIME))).is_ok());
        assert!(created(&state, expiring(NOW.plus(LONGEST_LIFETIME + DAY))).is_err());
        let made = created(&state, new("a", UserRole::Viewer)).unwrap();
        assert_eq!(made.service.unwrap().expires_at, NOW.plus(DEFAULT_LIFETIME));
    }

    #[test]
    fn the_operations_of_people_do_not_reach_service_accounts_and_the_other_way_round() {
        let mut state = UserState::default();
        state.put(std::sync::Arc::new(created(&state, new("a", UserRole::Viewer)).unwrap()));
        let patch = super::super::UserPatch::default();
        assert_eq!(state.patch("svc_1", patch, IfMatch::Any, &By::System, NOW).unwrap_err().kind, Kind::NotFound);
        let password = state.password("svc_1", Phc("x".into()), &By::System, NOW);
        assert_eq!(password.unwrap_err().kind, Kind::NotFound);
        assert!(state.deletable(AccountKind::Person, "svc_1", IfMatch::Any, &By::System).is_err());
        assert!(state.deletable(AccountKind::Service, "svc_1", IfMatch::Any, &By::System).is_ok());
        assert!(state.of_login("a@service.invalid").is_none(), "no password logs a service account in");
        assert!(state.of_login("svc_1").is_some());
    }

    #[test]
    fn a_record_of_an_earlier_version_is_a_person() {
        let at = NOW.rfc3339();
        let text = json!({
            "id": "usr_1", "email": "a@b", "name": "", "role": "viewer", "grants": [], "password": "x", "disabled": false,
            "pv": 1, "not_before": at, "created_at": at, "created_by": "system", "updated_at": at, "last_login": null,
            "version": 1,
        });
        let record: Result<UserRecord, _> = serde_json::from_value(text);
        assert_eq!(record.map(|record| AccountKind::of(&record)).ok(), Some(AccountKind::Person));
    }
}
