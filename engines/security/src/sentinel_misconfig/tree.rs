//! YAML, TOML and JSON as one tree, and traversals of it.

use serde_json::Value;

use crate::mask::masked;
use muster_engine::Failure;

/// Maximum nesting.
const MAX_DEPTH: usize = 64;

pub(super) fn yaml(text: &str) -> Result<Value, Failure> {
    // A snippet of the file may hold a secret.
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Failure::invalid(&["config"], format!("is no YAML: {}", masked(&error.to_string()))))
}

/// Documents of a stream, without empty ones.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, Failure> {
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    for line in text.lines() {
        match (line.trim_end() == "---", parts.last_mut()) {
            (false, Some(part)) => part.push(line),
            _ => parts.push(Vec::new()),
        }
    }
    let parts = parts.into_iter().map(|lines| lines.join("\n"));
    parts
        .filter(|part| part.lines().any(|l| !l.trim().is_empty() && !l.trim().starts_with('#')))
        .map(|part| yaml(&part))
        .collect()
}

/// Parses JSON, TOML or YAML.
pub(super) fn any(text: &str) -> Result<Value, Failure> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    if let Ok(table) = toml::from_str::<toml::Table>(text) {
        return serde_json::to_value(table).map_err(Failure::internal);
    }
    match yaml(text) {
        Ok(value) if value.is_object() || value.is_array() => Ok(value),
        _ => Err(Failure::invalid(&["config"], "is not JSON, TOML or YAML: set its kind, or fix its syntax")),
    }
}

/// All named values with their paths.
pub(super) fn leaves(value: &Value) -> Vec<(String, String, &Value)> {
    fn flatten_into<'a>(value: &'a Value, path: &str, depth: usize, out: &mut Vec<(String, String, &'a Value)>) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    out.push((path.clone(), key.clone(), value));
                    flatten_into(value, &path, depth + 1, out);
                }
            }
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(at, item)| flatten_into(item, &format!("{path}[{at}]"), depth + 1, out));
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    flatten_into(value, "", 0, &mut out);
    out
}

pub(super) fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}

pub(super) fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// A list of texts, or a single text.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns whether an image has no tag, or `latest`, and no digest.
pub(super) fn unpinned_image(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    !image.contains('@') && !image.contains('$') && (!name.contains(':') || name.ends_with(":latest"))
}
