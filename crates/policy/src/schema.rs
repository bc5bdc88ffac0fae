//! The schema that rules are checked against.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cedar_policy::{PolicySet, Schema};

/// The schema in Cedar's own notation: entity types, facts and the known actions.
pub const SCHEMA: &str = include_str!("../rules/schema.cedarschema");

/// Builds the schema for a text: an approval may be of any action, so those that rules name are known too.
///
/// # Errors
/// What Cedar says of the schema, which only an action's name can cause.
pub(crate) fn for_rules(rules: &PolicySet) -> Result<Schema, String> {
    let (known, _) = Schema::from_cedarschema_str(SCHEMA).map_err(|error| error.to_string())?;
    let listed: BTreeSet<String> = known.actions().map(|action| action.id().unescaped().to_owned()).collect();
    let named: BTreeSet<String> = rules
        .policies()
        .flat_map(cedar_policy::Policy::entity_literals)
        .filter(|entity| entity.type_name().to_string() == "Action")
        .map(|action| action.id().unescaped().to_owned())
        .filter(|name| !listed.contains(name) && is_action(name))
        .collect();
    if named.is_empty() {
        return Ok(known);
    }
    let mut text = SCHEMA.to_owned();
    for name in named {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "action \"{name}\" appliesTo {{ principal: [Principal], resource: [Resource], context: Facts }};"
        );
    }
    Schema::from_cedarschema_str(&text).map(|(schema, _)| schema).map_err(|error| error.to_string())
}

/// Returns whether a text can be the name of an action, such as `deploy.release`.
fn is_action(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    (1..=128).contains(&name.len()) && name.chars().all(fits)
}
