//! What an issuer may grant and take away, and which values keys and teams may have. Pure.

use super::messages::{KeyIssuer, NewKey};
use super::models;
use super::record::{KeyRecord, Role};
use muster_core::{Error, Kind, Millis};

const MAX_NAME: usize = 100;
/// Maximum number of characters of an owner's name.
pub(super) const MAX_OWNER: usize = 200;
/// Longest time for which an answer may be cached, in seconds: 30 days.
const MAX_CACHE_SECONDS: u64 = 30 * 24 * 3600;

/// Returns a request for a key with the same rights.
pub(super) fn grants(record: &KeyRecord) -> NewKey {
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
        team: record.team.clone(),
        models: record.models.clone(),
        cache_seconds: record.cache_seconds,
    }
}

pub(super) fn invalid(field: &str, msg: &str, input: serde_json::Value) -> Error {
    Error::field(Kind::Invalid, &["body", field], msg, input)
}

pub(super) fn check_name(name: &str) -> Result<(), Error> {
    if name.trim().is_empty() || name.chars().count() > MAX_NAME {
        return Err(invalid("name", "must have 1 to 100 characters", name.into()));
    }
    Ok(())
}

pub(super) fn check_budget(budget_usd: Option<f64>) -> Result<(), Error> {
    if budget_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
        return Err(invalid("budget_usd", "must be 0 or more", serde_json::Value::Null));
    }
    Ok(())
}

pub(super) fn check_cache(seconds: Option<u64>) -> Result<(), Error> {
    match seconds.filter(|seconds| *seconds > MAX_CACHE_SECONDS) {
        Some(seconds) => Err(invalid("cache_seconds", "must be 0 to 2592000, which is 30 days", seconds.into())),
        None => Ok(()),
    }
}

/// Checks the values of a key, apart from its expiry, which may lie in the past once the key exists.
pub(super) fn check(new: &NewKey) -> Result<(), Error> {
    check_name(&new.name)?;
    if new.owner.chars().count() > MAX_OWNER {
        return Err(invalid("owner", "must have at most 200 characters", serde_json::Value::Null));
    }
    if new.scopes.is_empty() {
        return Err(invalid("scopes", "must contain at least one scope", serde_json::json!([])));
    }
    check_budget(new.budget_usd)?;
    check_cache(new.cache_seconds)
}

pub(super) fn check_expiry(expires_at: Option<Millis>, now: Millis) -> Result<(), Error> {
    match expires_at.filter(|at| *at <= now) {
        Some(at) => Err(invalid("expires_at", "must be in the future", at.rfc3339().into())),
        None => Ok(()),
    }
}

/// The error for an issuer that lacks what it would grant or take away.
fn lacking(what: &str, right: &str) -> Result<(), Error> {
    Err(Error::new(Kind::Forbidden, format!("your key cannot {what} {right}: it does not have it itself")))
}

/// Returns whether an issuer is the operator, or has the role `super_admin`.
pub(super) fn is_super(issuer: &KeyIssuer) -> bool {
    match issuer {
        KeyIssuer::Operator => true,
        KeyIssuer::Key(key) => key.roles.contains(&Role::SuperAdmin),
    }
}

/// Checks that an issuer has the scopes, roles and plans of a key.
pub(super) fn check_rights(new: &NewKey, issuer: &KeyRecord, what: &str) -> Result<(), Error> {
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
pub(super) fn check_within(new: &NewKey, issuer: &KeyRecord) -> Result<(), Error> {
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
    if let Some(team) = &issuer.team
        && new.team.as_ref() != Some(team)
    {
        return lacking(format!("use outside its own team, {team}"));
    }
    if !models::is_within(&new.models, &issuer.models) {
        return lacking(format!("models beyond its own, which are {}", issuer.models.join(", ")));
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

/// Checks that an issuer may replace a key by another version of it.
///
/// A `super_admin` may set budgets, limits, models, team, expiry and owner of any key. Everybody else needs the rights of
/// the key as it is, and everything that the changed key would grant. Nobody adds a scope, a role or a plan that they lack.
pub(super) fn check_edit(old: &NewKey, new: &NewKey, issuer: &KeyIssuer) -> Result<(), Error> {
    let KeyIssuer::Key(key) = issuer else { return Ok(()) };
    if is_super(issuer) {
        let added = NewKey {
            scopes: new.scopes.iter().filter(|scope| !old.scopes.contains(scope)).copied().collect(),
            roles: new.roles.iter().filter(|role| !old.roles.contains(role)).copied().collect(),
            plan_a: if new.plan_a > old.plan_a { new.plan_a } else { key.plan_a },
            plan_b: if new.plan_b > old.plan_b { new.plan_b } else { key.plan_b },
            ..NewKey::default()
        };
        return check_rights(&added, key, "grant");
    }
    check_rights(old, key, "edit a key with")?;
    let renamed = NewKey { name: old.name.clone(), cache_seconds: old.cache_seconds, ..new.clone() };
    if renamed == *old { Ok(()) } else { check_within(new, key) }
}

/// Checks that an issuer may change what a team grants to its keys: those of the team itself may not, nor those that are
/// bound to less.
pub(super) fn check_team(
    id: &str,
    budget_usd: Option<f64>,
    models: &[String],
    issuer: &KeyIssuer,
) -> Result<(), Error> {
    let KeyIssuer::Key(key) = issuer else { return Ok(()) };
    if is_super(issuer) {
        return Ok(());
    }
    if key.team.as_deref() == Some(id) {
        let message = "a key does not change the team that it belongs to: use a key with the role `super_admin`";
        return Err(Error::new(Kind::Forbidden, message));
    }
    if let Some(own) = key.budget_usd
        && budget_usd.is_none_or(|usd| usd > own)
    {
        return lacking("grant", &format!("a budget over its own, {own} USD"));
    }
    if !models::is_within(models, &key.models) {
        return lacking("grant", &format!("models beyond its own, which are {}", key.models.join(", ")));
    }
    Ok(())
}
