//! Who pays for a call and what they may use, by the present records of keys, teams and owners.

use muster_gateway::{SharedBudget, Spend};
use muster_identity::keys::{KeyRecord, Keys};
use muster_limits::ledger::nanos_of_usd;
use muster_providers::{ModelRules, Usage};

use crate::config;

/// Returns who pays for a call of a key.
pub fn spend(keys: &Keys, budget: &config::Budget, key: &KeyRecord, tags: Vec<String>, max_usage: Usage) -> Spend {
    let team = key.team.as_deref().map(|id| {
        // A team with keys is never deleted: one that is not there grants nothing.
        let usd = keys.team(id).map_or(Some(0.0), |team| team.budget_usd);
        SharedBudget { id: id.to_owned(), limit: usd.map(nanos_of_usd) }
    });
    let owner_limit = owner_budget(keys, budget, &key.owner).map(nanos_of_usd);
    Spend {
        key_id: key.id.clone(),
        key_limit: key.budget_usd.map(nanos_of_usd),
        owner: Some(SharedBudget { id: key.owner.clone(), limit: owner_limit }),
        team,
        tags,
        models: rules(keys, key),
        call_limit: None,
        max_usage,
    }
}

/// Brings who pays for a call of a task up to date: its key may have been changed since the task was started.
pub fn refresh(keys: &Keys, budget: &config::Budget, paid: &mut Spend) {
    if let Some(key) = keys.present(&paid.key_id) {
        let fresh = spend(keys, budget, &key, std::mem::take(&mut paid.tags), paid.max_usage);
        *paid = Spend { call_limit: paid.call_limit, ..fresh };
    } else if let Some(owner) = &mut paid.owner {
        owner.limit = owner_budget(keys, budget, &owner.id).map(nanos_of_usd);
    }
}

/// Returns the budget of an owner in USD: the one set at run time, else that of the settings.
pub fn owner_budget(keys: &Keys, budget: &config::Budget, owner: &str) -> Option<f64> {
    keys.owner_budget(owner).or_else(|| budget.of_owner(owner))
}

/// Returns the models that a key may use, by its own list and that of its team.
pub fn rules(keys: &Keys, key: &KeyRecord) -> ModelRules {
    let team = key.team.as_deref().and_then(|team| keys.team(team));
    ModelRules::of([&key.models[..], team.as_ref().map_or(&[], |team| &team.models[..])])
}
