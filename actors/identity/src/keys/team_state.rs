//! Operations on teams and on owners' budgets. Pure: time is an argument.

use std::sync::Arc;

use super::messages::{KeyIssuer, NewTeam, TeamPatch};
use super::models::checked;
use super::rights::{MAX_OWNER, check_budget, check_cache, check_name, check_team, is_super};
use super::state::KeyState;
use super::team::{OwnerRecord, TeamRecord};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};

/// Maximum number of teams, and of owners whose budgets were set at run time: they are in memory.
const MAX_TEAMS: usize = 10_000;

impl KeyState {
    /// Returns the record of a new team.
    ///
    /// # Errors
    /// `Invalid`, by field; `Conflict` if there are too many teams or one has this name; `Forbidden`.
    pub(super) fn create_team(
        &self,
        new: NewTeam,
        issuer: &KeyIssuer,
        id: String,
        now: Millis,
    ) -> Result<Arc<TeamRecord>, Error> {
        let NewTeam { name, budget_usd, models, cache_seconds } = new;
        if self.teams.len() >= MAX_TEAMS {
            return Err(Error::new(Kind::Conflict, "there are 10000 teams: delete one"));
        }
        let team = TeamRecord {
            id,
            name,
            budget_usd,
            models: checked(models)?,
            cache_seconds,
            created_at: now,
            updated_at: now,
            version: 1,
        };
        self.check_team_values(&team)?;
        check_team(&team.id, budget_usd, &team.models, issuer)?;
        Ok(Arc::new(team))
    }

    fn check_team_values(&self, team: &TeamRecord) -> Result<(), Error> {
        check_name(&team.name)?;
        check_budget(team.budget_usd)?;
        check_cache(team.cache_seconds)?;
        if self.teams.values().any(|other| other.name == team.name && other.id != team.id) {
            return Err(Error::new(Kind::Conflict, format!("another team has the name {:?}", team.name)));
        }
        Ok(())
    }

    /// Returns the record of a team with changes; the same record if nothing changes.
    ///
    /// # Errors
    /// `NotFound`, `PreconditionFailed`, and those of [`Self::create_team`].
    pub(super) fn edit_team(
        &self,
        id: &str,
        patch: TeamPatch,
        issuer: &KeyIssuer,
        if_match: IfMatch,
        now: Millis,
    ) -> Result<Arc<TeamRecord>, Error> {
        let team = self.found_team(id)?;
        if_match.check(team.version)?;
        let TeamPatch { name, budget_usd, models, cache_seconds } = patch;
        let new = TeamRecord {
            name: name.unwrap_or_else(|| team.name.clone()),
            budget_usd: budget_usd.unwrap_or(team.budget_usd),
            models: models.map_or_else(|| Ok(team.models.clone()), checked)?,
            cache_seconds: cache_seconds.unwrap_or(team.cache_seconds),
            ..TeamRecord::clone(&team)
        };
        self.check_team_values(&new)?;
        check_team(id, new.budget_usd, &new.models, issuer)?;
        if new == *team {
            return Ok(team);
        }
        Ok(Arc::new(TeamRecord { updated_at: now, version: team.version + 1, ..new }))
    }

    /// Returns the record of a team that is to be deleted.
    ///
    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Forbidden`; `Conflict` if a key that was not revoked belongs to it.
    pub(super) fn delete_team(
        &self,
        id: &str,
        issuer: &KeyIssuer,
        if_match: IfMatch,
    ) -> Result<Arc<TeamRecord>, Error> {
        let team = self.found_team(id)?;
        if_match.check(team.version)?;
        check_team(id, team.budget_usd, &team.models, issuer)?;
        let members = self.by_id.values().filter(|key| key.revoked_at.is_none() && key.team.as_deref() == Some(id));
        match members.count() {
            0 => Ok(team),
            keys => {
                let message = format!("{keys} keys belong to the team: revoke them, or move them with PATCH first");
                Err(Error::new(Kind::Conflict, message))
            }
        }
    }

    fn found_team(&self, id: &str) -> Result<Arc<TeamRecord>, Error> {
        let found = self.teams.get(id).cloned();
        found.ok_or_else(|| Error::new(Kind::NotFound, format!("no team has the id {id}")))
    }

    /// Returns the record of an owner with another budget; `None` returns to that of the settings.
    ///
    /// # Errors
    /// `Invalid`; `Forbidden` unless the issuer is a `super_admin`; `Conflict` if there are too many.
    pub(super) fn set_owner(
        &self,
        owner: String,
        budget_usd: Option<f64>,
        issuer: &KeyIssuer,
        now: Millis,
    ) -> Result<OwnerRecord, Error> {
        if !is_super(issuer) {
            return Err(Error::new(Kind::Forbidden, "budgets of owners need a key with the role `super_admin`"));
        }
        if owner.is_empty() || owner.chars().count() > MAX_OWNER {
            return Err(Error::field(Kind::Invalid, &["path", "owner"], "must have 1 to 200 characters", owner.into()));
        }
        check_budget(budget_usd)?;
        if self.owners.len() >= MAX_TEAMS && !self.owners.contains_key(&owner) {
            return Err(Error::new(Kind::Conflict, "10000 owners have budgets: set `per_owner_usd` in the settings"));
        }
        Ok(OwnerRecord { owner, budget_usd, updated_at: now })
    }
}
