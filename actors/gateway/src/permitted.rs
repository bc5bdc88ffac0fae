//! Removes the routes to models that the paying key or its team does not allow.

use muster_core::{Error, Kind};
use muster_providers::{ModelRules, Registry};

use super::chain::Route;
use super::messages::ChainError;

/// Number of names of models that an error contains.
const NAMED: usize = 20;

/// Returns the routes that the rules allow, among them fallbacks. A model that the request itself names must be allowed.
///
/// # Errors
/// `ModelNotAllowed` if a named model is not allowed, or nothing is left.
pub(super) fn permitted(
    registry: &Registry,
    mut routes: Vec<Route>,
    requested: &[String],
    rules: Option<&ModelRules>,
) -> Result<Vec<Route>, ChainError> {
    let Some(rules) = rules.filter(|rules| !rules.allow_all()) else { return Ok(routes) };
    for name in requested.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let own = registry.own_candidates(name).unwrap_or_default();
        if !own.is_empty() && !own.iter().any(|candidate| registry.allows(rules, candidate)) {
            return Err(not_allowed(name, rules));
        }
    }
    routes.retain(|route| registry.allows(rules, &route.candidate));
    if routes.is_empty() {
        return Err(not_allowed(requested.first().map_or("default", |name| name.trim()), rules));
    }
    Ok(routes)
}

fn not_allowed(name: &str, rules: &ModelRules) -> ChainError {
    let lists = rules.lists().map(|list| {
        let more = if list.len() > NAMED { ", …" } else { "" };
        format!("{}{more}", list.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", "))
    });
    let message = format!(
        "this key may not use the model {name:?}: it is limited to {}; GET /v1/models lists what it may use",
        lists.collect::<Vec<_>>().join(", and of these to ")
    );
    let error = Error::field(Kind::ModelNotAllowed, &["body", "model"], message.clone(), name.into());
    ChainError { error: Error { message, ..error }, attempts: Vec::new() }
}
