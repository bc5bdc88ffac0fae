//! Settings whose values are secrets: they are converted as they are, and a warning names them.

use serde_json::Value;

/// Maximum number of settings that the warning names.
const MAX_NAMED: usize = 10;

/// Returns the paths of settings with a secret's name and a text of their own, and of addresses with a password.
pub(super) fn find(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(value, "", "", &mut found);
    found
}

/// Describes what was found; `None` for nothing.
pub(super) fn warning(found: &[String]) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let named: Vec<&str> = found.iter().map(String::as_str).take(MAX_NAMED).collect();
    let more = found.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "secret: the content holds the values of {}{more} as they are: keep it out of reports and logs",
        named.join(", ")
    ))
}

fn walk(value: &Value, path: &str, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(member, &below, name, found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                walk(item, &format!("{path}[{at}]"), key, found);
            }
        }
        Value::String(text) if (names_secret(key) && is_value(text)) || holds_secret(text) => {
            found.push(path.to_owned())
        }
        Value::Number(_) if names_secret(key) => found.push(path.to_owned()),
        _ => {}
    }
}

fn names_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    let words = [
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "secret",
        "token",
        "api_key",
        "apikey",
        "private_key",
        "privatekey",
        "access_key",
        "credential",
    ];
    let about = [
        "_file",
        "_path",
        "_ttl",
        "_seconds",
        "_name",
        "_length",
        "_policy",
        "_url",
        "_expiry",
        "tokenizer",
        "max_token",
    ];
    words.iter().any(|word| name.contains(word)) && !about.iter().any(|word| name.contains(word))
}

/// A value of its own, not a reference to where it is kept.
fn is_value(text: &str) -> bool {
    let starts = ["$", "{{", "<", "/run/secrets", "vault:", "env:", "file:", "secret://", "arn:"];
    !text.is_empty() && !starts.iter().any(|start| text.starts_with(start))
}

/// A key in PEM, or an address with a password.
fn holds_secret(text: &str) -> bool {
    let with_password = |rest: &str| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, own)| is_value(own)))
    };
    (text.contains("-----BEGIN ") && text.contains("PRIVATE KEY"))
        || text.match_indices("://").any(|(at, sign)| text.get(at + sign.len()..).is_some_and(with_password))
}
