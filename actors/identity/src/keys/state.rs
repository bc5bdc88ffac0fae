//! API keys and the operations on them. Pure: time and randomness are arguments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::directory::Directory;
use super::messages::{KeyIssuer, KeyPage, NewKey};
use super::record::{KeyRecord, Replaced, Role, Scope};
use super::token::{Secret, Token};
use muster_core::{Error, Kind, Millis};

const MAX_NAME: usize = 100;

/// All keys, by identifier (which sorts by time).
#[derive(Debug, Clone, Default)]
pub(super) struct KeyState {
    by_id: BTreeMap<String, Arc<KeyRecord>>,
}

impl KeyState {
    pub(super) fn from_records(records: Vec<KeyRecord>) -> Self {
        Self { by_id: records.into_iter().map(|record| (record.id.clone(), Arc::new(record))).collect() }
    }

    pub(super) fn directory(&self) -> Directory {
        let mut directory = Directory::default();
        for record in self.by_id.values() {
            directory.insert(Arc::clone(record));
        }
        directory
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<KeyRecord>> {
        self.by_id.get(id).cloned()
    }

    pub(super) fn by_lookup(&self, lookup: &str) -> Option<Arc<KeyRecord>> {
        self.by_id.values().find(|record| record.lookup == lookup).cloned()
    }

    pub(super) fn put(&mut self, record: Arc<KeyRecord>) {
        self.by_id.insert(record.id.clone(), record);
    }

    pub(super) fn list(&self, limit: usize, after: Option<&str>) -> KeyPage {
        let older = self.by_id.iter().rev().filter(|(id, _)| after.is_none_or(|after| id.as_str() < after));
        let mut keys: Vec<_> = older.map(|(_, record)| Arc::clone(record)).take(limit + 1).collect();
        let more = keys.len() > limit;
        keys.truncate(limit);
        KeyPage { next: keys.last().filter(|_| more).map(|record| record.id.clone()), keys }
    }

    /// Returns the record of a new key.
    ///
    /// # Errors
    /// `Invalid`, by field; `Forbidden` if the issuer lacks what the key would grant; `Conflict` if the lookup identifier
    /// is in use.
    pub(super) fn create(
        &self,
        new: NewKey,
        issuer: &KeyIssuer,
        token: &Token,
        id: String,
        now: Millis,
    ) -> Result<KeyRecord, Error> {
        check(&new, now)?;
        if let KeyIssuer::Key(issuer) = issuer {
            check_within(&new, issuer)?;
        }
        if self.by_lookup(&token.lookup).is_some() {
            return Err(Error::new(Kind::Conflict, "a key with this identifier exists"));
        }
        let NewKey { name, owner, plan_a, plan_b, mut scopes, mut roles, limits, budget_usd, expires_at } = new;
        scopes.sort_unstable();
        scopes.dedup();
        roles.sort_unstable();
        roles.dedup();
        Ok(KeyRecord {
            id,
            lookup: token.lookup.clone(),
            secret_sha256: token.secret.hash(),
            name,
            owner,
            plan_a,
            plan_b,
            scopes,
            roles,
            limits,
            budget_usd,
            created_at: now,
            expires_at,
            last_used_at: None,
            revoked_at: None,
            replaced: None,
        })
    }

    /// Returns the record of a key with a new secret. The issuer receives the secret, so the key must grant nothing that
    /// the issuer lacks.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the key was revoked or has expired; `Forbidden`.
    pub(super) fn rotate(
        &self,
        id: &str,
        issuer: &KeyIssuer,
        secret: &Secret,
        grace: Duration,
        now: Millis,
    ) -> Result<KeyRecord, Error> {
        let record = self.found(id)?;
        if record.revoked_at.is_some() || record.expires_at.is_some_and(|at| at <= now) {
            return Err(Error::new(Kind::Conflict, "the key has expired or was revoked: create a new one"));
        }
        match issuer {
            KeyIssuer::Operator => {}
            KeyIssuer::Key(issuer) if issuer.id == record.id => {}
            KeyIssuer::Key(issuer) => check_within(&grants(&record), issuer)?,
        }
        // A second rotation within the grace period invalidates the oldest secret: only one old secret is accepted.
        let replaced = (!grace.is_zero()).then(|| Replaced { sha256: record.secret_sha256, until: now.plus(grace) });
        Ok(KeyRecord { secret_sha256: secret.hash(), replaced, ..KeyRecord::clone(&record) })
    }

    fn found(&self, id: &str) -> Result<Arc<KeyRecord>, Error> {
        self.get(id).ok_or_else(|| Error::new(Kind::NotFound, format!("no key has the id {id}")))
    }

    /// Returns the record of a key, marked as revoked. Revoking it again changes nothing.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` if the key has rights that the issuer lacks, unless that is a `super_admin`.
    pub(super) fn revoke(&self, id: &str, issuer: &KeyIssuer, now: Millis) -> Result<Arc<KeyRecord>, Error> {
        let record = self.found(id)?;
        match issuer {
            KeyIssuer::Operator => {}
            KeyIssuer::Key(issuer) if issuer.id == record.id || issuer.roles.contains(&Role::SuperAdmin) => {}
            KeyIssuer::Key(issuer) => check_rights(&grants(&record), issuer, "revoke a key with")?,
        }
        if record.revoked_at.is_some() {
            return Ok(record);
        }
        Ok(Arc::new(KeyRecord { revoked_at: Some(now), ..KeyRecord::clone(&record) }))
    }
}

/// Returns a request for a key with the same rights.
fn grants(record: &KeyRecord) -> NewKey {
    NewKey {
        name: record.name.clone(),
        owner: record.owner.clone(),
        plan_a: record.plan_a,
        plan_b: record.plan_b,
        scopes: record.scopes.clone(),
        roles: record.roles.clone(),
        limits: record.limits.clone(),
        budget_usd: record.budget_usd,
        expires_at: record.expires_at,
    }
}

fn invalid(field: &str, msg: &str, input: serde_json::Value) -> Error {
    Error::field(Kind::Invalid, &["body", field], msg, input)
}

fn check(new: &NewKey, now: Millis) -> Result<(), Error> {
    if new.name.trim().is_empty() || new.name.chars().count() > MAX_NAME {
        return Err(invalid("name", "must have 1 to 100 characters", new.name.clone().into()));
    }
    if new.scopes.is_empty() {
        return Err(invalid("scopes", "must contain at least one scope", serde_json::json!([])));
    }
    if new.expires_at.is_some_and(|at| at <= now) {
        return Err(invalid("expires_at", "must be in the future", new.expires_at.map(Millis::rfc3339).into()));
    }
    if new.budget_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
        return Err(invalid("budget_usd", "must be 0 or more", serde_json::Value::Null));
    }
    Ok(())
}

/// The error for an issuer that lacks what it would grant or take away.
fn lacking(what: &str, right: &str) -> Result<(), Error> {
    Err(Error::new(Kind::Forbidden, format!("your key cannot {what} {right}: it does not have it itself")))
}

/// Checks that an issuer has the scopes, roles and plans of a key.
fn check_rights(new: &NewKey, issuer: &KeyRecord, what: &str) -> Result<(), Error> {
    if let Some(scope) = new.scopes.iter().find(|scope| !issuer.scopes.contains(scope)) {
        return lacking(what, &format!("the scope {}", scope.name()));
    }
    if let Some(role) = new.roles.iter().find(|role| !issuer.roles.contains(role)) {
        return lacking(what, &format!("the role {}", role.name()));
    }
    if new.plan_a > issuer.plan_a || new.plan_b > issuer.plan_b {
        return lacking(what, "that plan");
    }
    Ok(())
}

/// Checks that a key would grant nothing that its issuer lacks.
fn check_within(new: &NewKey, issuer: &KeyRecord) -> Result<(), Error> {
    let lacking = |right: String| lacking("grant", &right);
    check_rights(new, issuer, "grant")?;
    if let Some(end) = issuer.expires_at
        && new.expires_at.is_none_or(|at| at > end)
    {
        return lacking(format!("validity after its own expiry, {}", end.rfc3339()));
    }
    if let Some(budget) = issuer.budget_usd
        && new.budget_usd.is_none_or(|usd| usd > budget)
    {
        return lacking(format!("a budget over its own, {budget} USD"));
    }
    if let Some(own) = &issuer.limits {
        let requested = new.limits.clone().unwrap_or_default();
        let wider = [
            (requested.requests_per_minute, own.requests_per_minute),
            (requested.requests_per_hour, own.requests_per_hour),
            (requested.requests_per_day, own.requests_per_day),
            (requested.tokens_per_minute, own.tokens_per_minute),
            (requested.tokens_per_day, own.tokens_per_day),
        ];
        if wider
            .iter()
            .any(|&(requested, own)| own.is_some_and(|own| requested.is_none_or(|requested| requested > own)))
        {
            return lacking("limits wider than its own".to_owned());
        }
    }
    Ok(())
}

/// Returns the first key of an empty store, which has every right.
pub(super) fn first_key() -> NewKey {
    NewKey {
        name: "first key".to_owned(),
        owner: "operator".to_owned(),
        plan_a: super::PlanA::Enterprise,
        plan_b: super::PlanB::Enterprise,
        scopes: Scope::ALL.to_vec(),
        roles: super::Role::ALL.to_vec(),
        ..NewKey::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{PlanA, PlanB};
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn create(new: NewKey, issuer: &KeyIssuer) -> Result<KeyRecord, Error> {
        KeyState::default().create(new, issuer, &Token::generate().unwrap(), "key_1".into(), NOW)
    }

    fn named(scopes: Vec<Scope>) -> NewKey {
        NewKey { name: "n".into(), scopes, ..NewKey::default() }
    }

    prop_compose! {
        fn any_new()(
            scopes in prop::sample::subsequence(Scope::ALL.to_vec(), 1..=Scope::ALL.len()),
            roles in prop::sample::subsequence(Role::ALL.to_vec(), 0..=4),
            plan_a in prop::sample::select(vec![PlanA::Free, PlanA::Starter, PlanA::Pro, PlanA::Enterprise]),
            plan_b in prop::sample::select(vec![PlanB::Free, PlanB::Pro, PlanB::Enterprise]),
            budget in prop::option::of(0_u32..100),
            expires in prop::option::of(1_000_001_u64..2_000_000),
            rpm in prop::option::of(1_u64..100),
        ) -> NewKey {
            NewKey {
                name: "n".into(), scopes, roles, plan_a, plan_b, budget_usd: budget.map(f64::from),
                expires_at: expires.map(Millis),
                limits: rpm.map(|rpm| super::super::LimitOverride { requests_per_minute: Some(rpm), ..Default::default() }),
                owner: String::new(),
            }
        }
    }

    proptest! {
        /// In any chain of keys that create keys, the last one grants nothing that the first one lacks.
        #[test]
        fn a_key_never_grants_what_its_issuer_lacks(issuer in any_new(), child in any_new()) {
            let issuer = Arc::new(create(issuer, &KeyIssuer::Operator).unwrap());
            if let Ok(child) = create(child, &KeyIssuer::Key(Arc::clone(&issuer))) {
                prop_assert!(child.scopes.iter().all(|scope| issuer.scopes.contains(scope)));
                prop_assert!(child.roles.iter().all(|role| issuer.roles.contains(role)));
                prop_assert!(child.plan_a <= issuer.plan_a && child.plan_b <= issuer.plan_b);
                prop_assert!(issuer.expires_at.is_none() || child.expires_at.is_some_and(|at| Some(at) <= issuer.expires_at));
                prop_assert!(issuer.budget_usd.is_none() || child.budget_usd.is_some_and(|usd| Some(usd) <= issuer.budget_usd));
                let rpm = |key: &KeyRecord| key.limits.as_ref().and_then(|limits| limits.requests_per_minute);
                prop_assert!(rpm(&issuer).is_none() || rpm(&child).is_some_and(|own| Some(own) <= rpm(&issuer)));
            }
        }
    }

    proptest! {
        /// A key revokes another one exactly if it has its scopes, roles and plans, or every right, or is the same.
        #[test]
        fn a_key_never_revokes_one_that_grants_more(issuer in any_new(), other in any_new()) {
            let issuer = Arc::new(KeyRecord { id: "key_2".into(), ..create(issuer, &KeyIssuer::Operator).unwrap() });
            let mut state = KeyState::default();
            let other = Arc::new(create(other, &KeyIssuer::Operator).unwrap());
            state.put(Arc::clone(&other));
            state.put(Arc::clone(&issuer));
            let has_all = other.scopes.iter().all(|scope| issuer.scopes.contains(scope))
                && other.roles.iter().all(|role| issuer.roles.contains(role))
                && other.plan_a <= issuer.plan_a && other.plan_b <= issuer.plan_b;
            let by = KeyIssuer::Key(Arc::clone(&issuer));
            let revoked = state.revoke("key_1", &by, NOW);
            prop_assert_eq!(revoked.is_ok(), has_all || issuer.roles.contains(&Role::SuperAdmin));
            prop_assert!(revoked.is_ok() || revoked.is_err_and(|error| error.kind == Kind::Forbidden));
            prop_assert!(state.revoke("key_2", &by, NOW).is_ok(), "its own");
            prop_assert!(state.revoke("key_1", &KeyIssuer::Operator, NOW).is_ok());
        }
    }

    #[test]
    fn a_rotated_key_accepts_the_old_secret_during_the_grace_period_only() {
        let (old, new) = (Token::generate().unwrap(), Token::generate().unwrap());
        let mut state = KeyState::default();
        let record = state.create(named(vec![Scope::Chat]), &KeyIssuer::Operator, &old, "key_1".into(), NOW).unwrap();
        state.put(Arc::new(record));
        let grace = Duration::from_secs(60);
        let rotated = state.rotate("key_1", &KeyIssuer::Operator, &new.secret, grace, NOW).unwrap();
        let end = NOW.plus(grace);
        assert!(rotated.accepts(&new.secret, NOW) && rotated.accepts(&new.secret, end));
        assert!(rotated.accepts(&old.secret, Millis(end.0 - 1)) && !rotated.accepts(&old.secret, end));
        let immediate = state.rotate("key_1", &KeyIssuer::Operator, &new.secret, Duration::ZERO, NOW).unwrap();
        assert!(!immediate.accepts(&old.secret, NOW) && immediate.accepts(&new.secret, NOW));
        assert!(!immediate.accepts(&Token::generate().unwrap().secret, NOW));
    }

    #[test]
    fn a_key_cannot_rotate_one_that_grants_more() {
        let mut state = KeyState::default();
        let strong = named(vec![Scope::Admin, Scope::Medical]);
        let token = Token::generate().unwrap();
        state.put(Arc::new(state.create(strong, &KeyIssuer::Operator, &token, "key_1".into(), NOW).unwrap()));
        let rotate = |issuer: &KeyRecord| {
            let issuer = KeyIssuer::Key(Arc::new(issuer.clone()));
            state.rotate("key_1", &issuer, &Token::generate().unwrap().secret, Duration::ZERO, NOW)
        };
        let weak = KeyRecord { id: "key_2".into(), ..create(named(vec![Scope::Admin]), &KeyIssuer::Operator).unwrap() };
        assert_eq!(rotate(&weak).unwrap_err().kind, Kind::Forbidden);
        assert!(rotate(&state.get("key_1").unwrap()).is_ok());
        assert!(state.rotate("key_9", &KeyIssuer::Operator, &token.secret, Duration::ZERO, NOW).is_err());
    }

    #[test]
    fn invalid_requests_are_rejected_by_field() {
        for (new, field) in [
            (named(vec![]), "scopes"),
            (NewKey { name: " ".into(), ..named(vec![Scope::Chat]) }, "name"),
            (NewKey { expires_at: Some(NOW), ..named(vec![Scope::Chat]) }, "expires_at"),
            (NewKey { budget_usd: Some(f64::NAN), ..named(vec![Scope::Chat]) }, "budget_usd"),
        ] {
            let error = create(new, &KeyIssuer::Operator).unwrap_err();
            assert_eq!(error.kind, Kind::Invalid);
            assert_eq!(error.fields[0].loc, ["body", field]);
        }
    }

    #[test]
    fn pages_are_sorted_newest_first_and_the_last_has_no_cursor() {
        let mut state = KeyState::default();
        for n in 0..5 {
            let token = Token::generate().unwrap();
            let record =
                state.create(named(vec![Scope::Chat]), &KeyIssuer::Operator, &token, format!("key_{n}"), NOW).unwrap();
            state.put(Arc::new(record));
        }
        let ids = |page: &KeyPage| page.keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
        let first = state.list(2, None);
        assert_eq!((ids(&first), first.next.as_deref()), (vec!["key_4".into(), "key_3".into()], Some("key_3")));
        let last = state.list(4, first.next.as_deref());
        assert_eq!((ids(&last).len(), last.next), (3, None));
    }
}
