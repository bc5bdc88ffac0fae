//! Completes missing required params from the instruction's text if it contains them as data: a JSON object of params,
//! or fenced blocks. Prose is not interpreted here; a model that plans does that itself.

use serde_json::{Map, Value};

use super::parameter::{Accepted, Parameter, problems_of};
use muster_engines::grammar::{Prim, Type};

/// Maximum length of a text that is searched, in bytes.
const MAX_TEXT: usize = 1024 * 1024;

/// A fenced block of Markdown.
#[derive(Debug, PartialEq, Eq)]
struct Fence<'a> {
    /// Text after the opening fence.
    label: &'a str,
    body: &'a str,
}

/// Fills missing params: 1. by name from a JSON object, which is the whole text or a fenced block (or its member
/// `params`); 2. a text parameter from the block labelled with its name; 3. the only missing text parameter from the
/// only block.
pub(super) fn from_text(parameters: &[Parameter], accepted: &mut Accepted, task: &str) {
    if accepted.missing.is_empty() || task.len() > MAX_TEXT {
        return;
    }
    let fences = fences(task);
    let objects: Vec<Map<String, Value>> =
        std::iter::once(task).chain(fences.iter().map(|fence| fence.body)).filter_map(object).collect();
    let texts = |name: &String| {
        parameters.iter().any(|parameter| parameter.name == *name && parameter.kind == Type::Prim(Prim::String))
    };
    let missing_texts: Vec<String> = accepted.missing.iter().filter(|name| texts(name)).cloned().collect();
    let only = match (missing_texts.as_slice(), fences.as_slice()) {
        ([name], [fence]) if objects.is_empty() => Some((name.clone(), fence.body)),
        _ => None,
    };
    let found = |name: &String| -> Option<Value> {
        if let Some(value) = objects.iter().find_map(|object| object.get(name)) {
            return Some(value.clone());
        }
        if !missing_texts.contains(name) {
            return None;
        }
        let labelled = fences.iter().find(|fence| fence.label == name.as_str()).map(|fence| fence.body);
        let body = labelled.or_else(|| only.as_ref().filter(|(only, _)| only == name).map(|(_, body)| *body));
        body.map(|body| body.to_owned().into())
    };
    let (params, mut still) = (&mut accepted.params, Vec::new());
    for name in accepted.missing.drain(..) {
        let parameter = parameters.iter().find(|parameter| parameter.name == name);
        match (parameter, found(&name)) {
            (Some(parameter), Some(value)) if !value.is_null() && problems_of(parameter, &value).is_empty() => {
                params.insert(name, value);
            }
            _ => still.push(name),
        }
    }
    accepted.missing = still;
}

/// Parses an object of params: the text itself, or its member `params`.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let mut object: Map<String, Value> = serde_json::from_str(text).ok()?;
    match object.remove("params") {
        Some(Value::Object(params)) => Some(params),
        Some(other) => {
            object.insert("params".to_owned(), other);
            Some(object)
        }
        None => Some(object),
    }
}

/// Returns the blocks between lines of three backticks (CommonMark 0.31, 4.5, in the form commonly used).
fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(label) = line.trim_end().strip_prefix("```") {
            match open.take() {
                None => open = Some((label.trim(), end)),
                Some((label, begin)) => found.push(Fence { label, body: text.get(begin..at).unwrap_or_default() }),
            }
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parameter::accept;
    use super::*;

    fn filled(parameters: &[&str], task: &str) -> Accepted {
        let parameters: Vec<Parameter> = parameters.iter().map(|text| Parameter::parse(text).unwrap()).collect();
        let mut accepted = accept(&parameters, Value::Null, task);
        from_text(&parameters, &mut accepted, task);
        accepted
    }

    #[test]
    fn a_task_that_is_an_object_provides_its_params() {
        let accepted = filled(&["a:integer:required", "b:any:required"], r#"{"params": {"a": 3, "b": [1]}}"#);
        assert_eq!(Value::Object(accepted.params), json!({ "a": 3, "b": [1] }));
        assert!(accepted.missing.is_empty());
    }

    #[test]
    fn a_block_labelled_with_a_name_provides_that_text() {
        let task = "Review this.\n```patch\n--- a\n+++ b\n```\nand\n```source\nfn f() {}\n```\n";
        let accepted = filled(&["patch:string:required", "source:string:required"], task);
        assert_eq!(Value::Object(accepted.params), json!({ "patch": "--- a\n+++ b\n", "source": "fn f() {}\n" }));
    }

    #[test]
    fn the_only_block_provides_the_only_missing_text() {
        let accepted = filled(&["config:string:required"], "Check it:\n```yaml\na: 1\n```");
        assert_eq!(Value::Object(accepted.params), json!({ "config": "a: 1\n" }));
    }

    #[test]
    fn prose_and_invalid_values_provide_nothing() {
        for task in ["Check my configuration", "{\"a\": \"three\"}", "```\n{\"a\": null}\n```", "```a\nnever closed"] {
            assert_eq!(filled(&["a:integer:required"], task).missing, ["a"], "{task}");
        }
    }
}
