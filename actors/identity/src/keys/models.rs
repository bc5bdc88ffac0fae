//! Lists of the models that a key or a team may use. Pure.
//!
//! An entry is the name of a model, of an alias or of a family, or `provider/model`, or `provider/*` for everything that a
//! provider serves. What names stand for is up to the gateway.

use muster_core::{Error, Kind};

/// Maximum number of entries of a list.
const MAX_ENTRIES: usize = 100;
/// Maximum number of characters of an entry.
const MAX_CHARACTERS: usize = 200;

/// Removes duplicates from a list of models.
///
/// # Errors
/// `Invalid` if there are too many entries or one has a wrong form.
pub(super) fn checked(mut models: Vec<String>) -> Result<Vec<String>, Error> {
    let invalid =
        |message: &str, input: serde_json::Value| Err(Error::field(Kind::Invalid, &["body", "models"], message, input));
    if models.len() > MAX_ENTRIES {
        return invalid("must have at most 100 entries: name a family or `provider/*`", models.len().into());
    }
    for entry in &models {
        let plain = entry.chars().all(|letter| letter.is_ascii_graphic());
        let star = match entry.strip_suffix("/*") {
            Some(provider) => !provider.is_empty() && !provider.contains('*'),
            None => !entry.contains('*'),
        };
        if entry.is_empty() || entry.len() > MAX_CHARACTERS || !plain || !star {
            let message = "must be names of models, aliases or families, `provider/model` or `provider/*`";
            return invalid(message, entry.clone().into());
        }
    }
    models.sort_unstable();
    models.dedup();
    Ok(models)
}

/// Returns whether a list allows nothing beyond another one, by its entries alone; an empty list allows everything.
pub(super) fn is_within(list: &[String], bound: &[String]) -> bool {
    let covered = |entry: &String| {
        let provider = entry.split_once('/').map(|(provider, _)| format!("{provider}/*"));
        bound.contains(entry) || provider.is_some_and(|all| bound.contains(&all))
    };
    bound.is_empty() || (!list.is_empty() && list.iter().all(covered))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|&entry| entry.to_owned()).collect()
    }

    #[test]
    fn entries_are_names_or_all_of_a_provider() {
        assert_eq!(checked(list(&["b", "a", "b", "p/*", "p/q/m"])), Ok(list(&["a", "b", "p/*", "p/q/m"])));
        for bad in ["", "*", "gpt-*", "/*", "a b", "ü", "*/m", &"x".repeat(201)] {
            assert!(checked(list(&[bad])).is_err(), "{bad}");
        }
        assert!(checked((0..101).map(|n| n.to_string()).collect()).is_err());
    }

    #[test]
    fn a_list_is_within_another_one_if_each_entry_is() {
        for (inner, outer, within) in [
            (&["a"][..], &[][..], true),
            (&[], &["a"], false),
            (&["a"], &["a", "b"], true),
            (&["c"], &["a", "b"], false),
            (&["p/m"], &["p/*"], true),
            (&["p/*"], &["p/m"], false),
            (&["q/m"], &["p/*"], false),
        ] {
            assert_eq!(is_within(&list(inner), &list(outer)), within, "{inner:?} {outer:?}");
        }
    }
}
