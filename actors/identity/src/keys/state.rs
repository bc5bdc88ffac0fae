//! API keys and the operations on them. Pure: time and randomness are arguments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::directory::Directory;
use super::messages::{KeyIssuer, KeyPage, KeyPatch, NewKey};
use super::models::checked;
use super::record::{KeyRecord, Replaced, Role, Scope};
use super::rights::{check, check_edit, check_expiry, check_rights, check_within, grants, invalid};
use super::team::{OwnerRecord, TeamRecord};
use super::token::{Secret, Token};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};

/// All keys, by identifier (which sorts by time), teams and owners' budgets.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyState {
    pub(super) by_id: BTreeMap<String, Arc<KeyRecord>>,
    pub(super) teams: BTreeMap<String, Arc<TeamRecord>>,
    pub(super) owners: BTreeMap<String, OwnerRecord>,
}

impl KeyState {
    pub(super) fn from_records(keys: Vec<KeyRecord>, teams: Vec<TeamRecord>, owners: Vec<OwnerRecord>) -> Self {
        Self {
            by_id: keys.into_iter().map(|record| (record.id.clone(), Arc::new(record))).collect(),
            teams: teams.into_iter().map(|team| (team.id.clone(), Arc::new(team))).collect(),
            owners: owners.into_iter().map(|owner| (owner.owner.clone(), owner)).collect(),
        }
    }

    pub(super) fn directory(&self) -> Directory {
        let mut directory = Directory::default();
        for record in self.by_id.values() {
            directory.insert(Arc::clone(record));
        }
        self.teams.values().for_each(|team| directory.insert_team(Arc::clone(team)));
        self.owners.values().for_each(|owner| directory.insert_owner(owner));
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

    pub(super) fn put_team(&mut self, team: Arc<TeamRecord>) {
        self.teams.insert(team.id.clone(), team);
    }

    pub(super) fn remove_team(&mut self, id: &str) {
        self.teams.remove(id);
    }

    pub(super) fn put_owner(&mut self, owner: OwnerRecord) {
        self.owners.insert(owner.owner.clone(), owner);
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
        check(&new)?;
        check_expiry(new.expires_at, now)?;
        self.check_team_of(new.team.as_deref())?;
        if let KeyIssuer::Key(issuer) = issuer {
            check_within(&new, issuer)?;
        }
        if self.by_lookup(&token.lookup).is_some() {
            return Err(Error::new(Kind::Conflict, "a key with this identifier exists"));
        }
        let NewKey {
            name,
            owner,
            plan_a,
            plan_b,
            mut scopes,
            mut roles,
            limits,
            budget_usd,
            expires_at,
            team,
            models,
            cache_seconds,
        } = new;
        sort(&mut scopes);
        sort(&mut roles);
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
            team,
            models: checked(models)?,
            cache_seconds,
            version: 1,
            created_at: now,
            expires_at,
            last_used_at: None,
            revoked_at: None,
            created_by: Some(issuer.id().to_owned()),
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
        let version = record.version + 1;
        Ok(KeyRecord { secret_sha256: secret.hash(), replaced, version, ..KeyRecord::clone(&record) })
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
        let version = record.version + 1;
        Ok(Arc::new(KeyRecord { revoked_at: Some(now), version, ..KeyRecord::clone(&record) }))
    }

    /// Returns the record of a key with changes; the same record if nothing changes.
    ///
    /// # Errors
    /// `NotFound`; `PreconditionFailed`; `Conflict` if the key was revoked; `Invalid`, by field; `Forbidden`, by the rules of
    /// [`check_edit`].
    pub(super) fn edit(
        &self,
        id: &str,
        patch: KeyPatch,
        issuer: &KeyIssuer,
        if_match: IfMatch,
        now: Millis,
    ) -> Result<Arc<KeyRecord>, Error> {
        let record = self.found(id)?;
        if_match.check(record.version)?;
        if record.revoked_at.is_some() {
            return Err(Error::new(Kind::Conflict, "the key was revoked: create a new one"));
        }
        if let Some(expires_at) = patch.expires_at {
            check_expiry(expires_at, now)?;
        }
        if let Some(team) = &patch.team {
            self.check_team_of(team.as_deref())?;
        }
        let old = grants(&record);
        let mut new = old.clone().with(patch)?;
        sort(&mut new.scopes);
        sort(&mut new.roles);
        check(&new)?;
        check_edit(&old, &new, issuer)?;
        if new == old {
            return Ok(record);
        }
        Ok(Arc::new(KeyRecord {
            name: new.name,
            owner: new.owner,
            plan_a: new.plan_a,
            plan_b: new.plan_b,
            scopes: new.scopes,
            roles: new.roles,
            limits: new.limits,
            budget_usd: new.budget_usd,
            expires_at: new.expires_at,
            team: new.team,
            models: new.models,
            cache_seconds: new.cache_seconds,
            version: record.version + 1,
            ..KeyRecord::clone(&record)
        }))
    }

    fn check_team_of(&self, team: Option<&str>) -> Result<(), Error> {
        match team.filter(|team| !self.teams.contains_key(*team)) {
            Some(team) => Err(invalid("team", "no team has this id: see `GET /api/v1/teams`", team.into())),
            None => Ok(()),
        }
    }
}

fn sort<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

impl NewKey {
    /// Applies changes.
    fn with(self, patch: KeyPatch) -> Result<Self, Error> {
        Ok(Self {
            name: patch.name.unwrap_or(self.name),
            owner: patch.owner.unwrap_or(self.owner),
            plan_a: patch.plan_a.unwrap_or(self.plan_a),
            plan_b: patch.plan_b.unwrap_or(self.plan_b),
            scopes: patch.scopes.unwrap_or(self.scopes),
            roles: patch.roles.unwrap_or(self.roles),
            limits: patch.limits.unwrap_or(self.limits),
            budget_usd: patch.budget_usd.unwrap_or(self.budget_usd),
            expires_at: patch.expires_at.unwrap_or(self.expires_at),
            team: patch.team.unwrap_or(self.team),
            models: patch.models.map_or(Ok(self.models), checked)?,
            cache_seconds: patch.cache_seconds.unwrap_or(self.cache_seconds),
        })
    }
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
