//! Where a setting with an invalid value was set: a line of the file, or a variable.

use toml::de::{DeTable, DeValue};

use super::ConfigError;
use super::load::PREFIX;

/// Adds to an invalid setting where it was set. `variables` are the names of those that were read.
pub(super) fn positioned(error: ConfigError, text: &str, file: &str, variables: &[String]) -> ConfigError {
    let ConfigError::Bad { setting, why } = error else { return error };
    let variable = variables.iter().find(|variable| names(variable, &setting));
    match (variable, line_of(text, &setting)) {
        (Some(variable), _) => {
            ConfigError::InEnvironment { variable: variable.clone(), why: format!("{setting}: {why}") }
        }
        (None, Some(line)) => ConfigError::InFile { path: file.to_owned(), line, why: format!("{setting}: {why}") },
        (None, None) => ConfigError::Bad { setting, why },
    }
}

/// Returns whether a variable sets a setting, or the section or table that contains it.
fn names(variable: &str, setting: &str) -> bool {
    let path = variable.trim_start_matches(PREFIX).to_lowercase().replace("__", ".");
    setting.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the line of a setting such as `llm.slots` or `provider one: price`, from 1; `None` if the file does not set it.
fn line_of(text: &str, setting: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (table, path) = match setting.strip_prefix("provider ").and_then(|rest| rest.split_once(": ")) {
        Some((id, path)) => (provider(document.get_ref(), id)?, path),
        None => (document.get_ref(), setting),
    };
    let at = deepest(table, path)?;
    Some(text.get(..at).unwrap_or_default().matches('\n').count() + 1)
}

fn provider<'a>(document: &'a DeTable<'a>, id: &str) -> Option<&'a DeTable<'a>> {
    let tables = document.get("provider")?.get_ref().as_array()?.iter().filter_map(|value| value.get_ref().as_table());
    let is = |table: &&DeTable<'_>| table.get("id").and_then(|value| value.get_ref().as_str()) == Some(id);
    tables.into_iter().find(is)
}

/// Returns the position of the last key of a path that the table has.
fn deepest(mut table: &DeTable<'_>, path: &str) -> Option<usize> {
    let mut at = None;
    for part in path.split('.') {
        let Some((key, value)) = table.get_key_value(part) else { break };
        at = Some(key.span().start);
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# first\n[llm]\nmodel = \"none\"\nslots = 0\n\n[limits.agent]\ncontrol = 0\n\n[[provider]]\nid = \"one\"\n\
                        [[provider]]\nid = \"two\"\nbase_url = \"x\"\n[budget]\nmodels = { a = -1 }\n";

    #[test]
    fn a_setting_is_found_by_its_path() {
        for (setting, line) in [
            ("llm.slots", Some(4)),
            ("limits.agent.control", Some(7)),
            ("provider two: base_url", Some(13)),
            ("budget.models", Some(15)),
            ("budget.models.a", Some(15)),
            ("provider three: base_url", None),
            ("server.listen", None),
        ] {
            assert_eq!(line_of(TEXT, setting), line, "{setting}");
        }
    }

    #[test]
    fn a_variable_takes_precedence_over_the_file() {
        let bad = || ConfigError::Bad { setting: "llm.slots".to_owned(), why: "takes 1 to 64".to_owned() };
        let shown = |variables: &[&str]| {
            let variables: Vec<_> = variables.iter().map(|&name| name.to_owned()).collect();
            positioned(bad(), TEXT, "config.toml", &variables).to_string()
        };
        assert_eq!(shown(&["MUSTER__LLM__MODEL"]), "config.toml, line 4: llm.slots: takes 1 to 64");
        assert_eq!(shown(&["MUSTER__LLM__SLOTS"]), "MUSTER__LLM__SLOTS: llm.slots: takes 1 to 64");
    }
}
