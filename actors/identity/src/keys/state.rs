//! The keys and what may be done with them. Pure: time and randomness are arguments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::directory::Directory;
use super::messages::{KeyPage, MadeBy, NewKey};
use super::record::{KeyRecord, Replaced, Scope};
use super::token::{Secret, Token};
use muster_core::{Error, Kind, Millis};

const MAX_NAME: usize = 100;

/// Every key, by identifier (which sorts by time).
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

    /// The record of a new key, or why it may not be made.
    pub(super) fn make(
        &self,
        new: NewKey,
        by: &MadeBy,
        token: &Token,
        id: String,
        now: Millis,
    ) -> Result<KeyRecord, Error> {
        check(&new, now)?;
        if let MadeBy::Key(maker) = by {
            within(&new, maker)?;
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

    /// The record of a key with a new secret. The rotator learns the secret, so the key must grant nothing that it
    /// lacks itself.
    pub(super) fn rotate(
        &self,
        id: &str,
        by: &MadeBy,
        secret: &Secret,
        grace: Duration,
        now: Millis,
    ) -> Result<KeyRecord, Error> {
        let record = self.found(id)?;
        if record.revoked_at.is_some() || record.expires_at.is_some_and(|at| at <= now) {
            return Err(Error::new(Kind::Conflict, "the key has ended: make a new one"));
        }
        match by {
            MadeBy::Operator => {}
            MadeBy::Key(rotator) if rotator.id == record.id => {}
            MadeBy::Key(rotator) => within(&grants(&record), rotator)?,
        }
        // Two rotations within one grace end the eldest secret: one old one is taken, not any number.
        let replaced = (!grace.is_zero()).then(|| Replaced { sha256: record.secret_sha256, until: now.plus(grace) });
        Ok(KeyRecord { secret_sha256: secret.hash(), replaced, ..KeyRecord::clone(&record) })
    }

    fn found(&self, id: &str) -> Result<Arc<KeyRecord>, Error> {
        self.get(id).ok_or_else(|| Error::new(Kind::NotFound, format!("no key has the id {id}")))
    }

    /// The record of a key that is no more. Revoking again changes nothing.
    pub(super) fn revoke(&self, id: &str, now: Millis) -> Result<Arc<KeyRecord>, Error> {
        let record = self.found(id)?;
        if record.revoked_at.is_some() {
            return Ok(record);
        }
        Ok(Arc::new(KeyRecord { revoked_at: Some(now), ..KeyRecord::clone(&record) }))
    }
}

/// What a key grants, as a wish for one like it.
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

fn refuse(field: &str, msg: &str, input: serde_json::Value) -> Error {
    Error::field(Kind::Invalid, &["body", field], msg, input)
}

fn check(new: &NewKey, now: Millis) -> Result<(), Error> {
    if new.name.trim().is_empty() || new.name.chars().count() > MAX_NAME {
        return Err(refuse("name", "must have 1 to 100 characters", new.name.clone().into()));
    }
    if new.scopes.is_empty() {
        return Err(refuse("scopes", "name at least one scope", serde_json::json!([])));
    }
    if new.expires_at.is_some_and(|at| at <= now) {
        return Err(refuse("expires_at", "lies in the past", new.expires_at.map(Millis::rfc3339).into()));
    }
    if new.budget_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
        return Err(refuse("budget_usd", "must be 0 or more", serde_json::Value::Null));
    }
    Ok(())
}

/// A key can never grant what its maker lacks.
fn within(new: &NewKey, maker: &KeyRecord) -> Result<(), Error> {
    let lacking =
        |what: String| Err(Error::new(Kind::Forbidden, format!("your key cannot grant {what}: it lacks it itself")));
    if let Some(scope) = new.scopes.iter().find(|scope| !maker.scopes.contains(scope)) {
        return lacking(format!("the scope {}", scope.name()));
    }
    if let Some(role) = new.roles.iter().find(|role| !maker.roles.contains(role)) {
        return lacking(format!("the role {}", serde_json::json!(role).as_str().unwrap_or_default()));
    }
    if new.plan_a > maker.plan_a || new.plan_b > maker.plan_b {
        return lacking("that plan".to_owned());
    }
    if let Some(end) = maker.expires_at
        && new.expires_at.is_none_or(|at| at > end)
    {
        return lacking(format!("a life past its own end, {}", end.rfc3339()));
    }
    if let Some(budget) = maker.budget_usd
        && new.budget_usd.is_none_or(|usd| usd > budget)
    {
        return lacking(format!("a budget over its own, {budget} USD"));
    }
    if let Some(own) = &maker.limits {
        let asked = new.limits.clone().unwrap_or_default();
        let wider = [
            (asked.requests_per_minute, own.requests_per_minute),
            (asked.requests_per_hour, own.requests_per_hour),
            (asked.requests_per_day, own.requests_per_day),
            (asked.tokens_per_minute, own.tokens_per_minute),
            (asked.tokens_per_day, own.tokens_per_day),
        ];
        if wider.iter().any(|&(asked, own)| own.is_some_and(|own| asked.is_none_or(|asked| asked > own))) {
            return lacking("limits wider than its own".to_owned());
        }
    }
    Ok(())
}

/// What the first key of an empty store may do.
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

    use super::super::{PlanA, PlanB, Role};
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn made(new: NewKey, by: &MadeBy) -> Result<KeyRecord, Error> {
        KeyState::default().make(new, by, &Token::generate().unwrap(), "key_1".into(), NOW)
    }

    fn named(scopes: Vec<Scope>) -> NewKey {
        NewKey { name: "n".into(), scopes, ..NewKey::default() }
    }

    prop_compose! {
        fn any_new()(
            scopes in prop::sample::subsequence(Scope::ALL.to_vec(), 1..=6),
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
        /// Whatever chain of keys makes keys, the last grants nothing that the first lacks.
        #[test]
        fn a_key_never_grants_what_its_maker_lacks(maker in any_new(), child in any_new()) {
            let maker = Arc::new(made(maker, &MadeBy::Operator).unwrap());
            if let Ok(child) = made(child, &MadeBy::Key(Arc::clone(&maker))) {
                prop_assert!(child.scopes.iter().all(|scope| maker.scopes.contains(scope)));
                prop_assert!(child.roles.iter().all(|role| maker.roles.contains(role)));
                prop_assert!(child.plan_a <= maker.plan_a && child.plan_b <= maker.plan_b);
                prop_assert!(maker.expires_at.is_none() || child.expires_at.is_some_and(|at| Some(at) <= maker.expires_at));
                prop_assert!(maker.budget_usd.is_none() || child.budget_usd.is_some_and(|usd| Some(usd) <= maker.budget_usd));
                let rpm = |key: &KeyRecord| key.limits.as_ref().and_then(|limits| limits.requests_per_minute);
                prop_assert!(rpm(&maker).is_none() || rpm(&child).is_some_and(|own| Some(own) <= rpm(&maker)));
            }
        }
    }

    #[test]
    fn a_rotated_key_takes_the_old_secret_for_its_grace_only() {
        let (old, new) = (Token::generate().unwrap(), Token::generate().unwrap());
        let mut state = KeyState::default();
        let record = state.make(named(vec![Scope::Chat]), &MadeBy::Operator, &old, "key_1".into(), NOW).unwrap();
        state.put(Arc::new(record));
        let grace = Duration::from_secs(60);
        let rotated = state.rotate("key_1", &MadeBy::Operator, &new.secret, grace, NOW).unwrap();
        let end = NOW.plus(grace);
        assert!(rotated.takes(&new.secret, NOW) && rotated.takes(&new.secret, end));
        assert!(rotated.takes(&old.secret, Millis(end.0 - 1)) && !rotated.takes(&old.secret, end));
        let at_once = state.rotate("key_1", &MadeBy::Operator, &new.secret, Duration::ZERO, NOW).unwrap();
        assert!(!at_once.takes(&old.secret, NOW) && at_once.takes(&new.secret, NOW));
        assert!(!at_once.takes(&Token::generate().unwrap().secret, NOW));
    }

    #[test]
    fn rotating_is_no_way_to_a_key_that_grants_more() {
        let mut state = KeyState::default();
        let strong = named(vec![Scope::Admin, Scope::Medical]);
        let token = Token::generate().unwrap();
        state.put(Arc::new(state.make(strong, &MadeBy::Operator, &token, "key_1".into(), NOW).unwrap()));
        let rotate = |by: &KeyRecord| {
            let by = MadeBy::Key(Arc::new(by.clone()));
            state.rotate("key_1", &by, &Token::generate().unwrap().secret, Duration::ZERO, NOW)
        };
        let weak = KeyRecord { id: "key_2".into(), ..made(named(vec![Scope::Admin]), &MadeBy::Operator).unwrap() };
        assert_eq!(rotate(&weak).unwrap_err().kind, Kind::Forbidden);
        assert!(rotate(&state.get("key_1").unwrap()).is_ok());
        assert!(state.rotate("key_9", &MadeBy::Operator, &token.secret, Duration::ZERO, NOW).is_err());
    }

    #[test]
    fn bad_wishes_are_refused_by_field() {
        for (new, field) in [
            (named(vec![]), "scopes"),
            (NewKey { name: " ".into(), ..named(vec![Scope::Chat]) }, "name"),
            (NewKey { expires_at: Some(NOW), ..named(vec![Scope::Chat]) }, "expires_at"),
            (NewKey { budget_usd: Some(f64::NAN), ..named(vec![Scope::Chat]) }, "budget_usd"),
        ] {
            let refused = made(new, &MadeBy::Operator).unwrap_err();
            assert_eq!(refused.kind, Kind::Invalid);
            assert_eq!(refused.fields[0].loc, ["body", field]);
        }
    }

    #[test]
    fn pages_newest_first_and_ends() {
        let mut state = KeyState::default();
        for n in 0..5 {
            let token = Token::generate().unwrap();
            let record =
                state.make(named(vec![Scope::Chat]), &MadeBy::Operator, &token, format!("key_{n}"), NOW).unwrap();
            state.put(Arc::new(record));
        }
        let ids = |page: &KeyPage| page.keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
        let first = state.list(2, None);
        assert_eq!((ids(&first), first.next.as_deref()), (vec!["key_4".into(), "key_3".into()], Some("key_3")));
        let last = state.list(4, first.next.as_deref());
        assert_eq!((ids(&last).len(), last.next), (3, None));
    }
}
