//! Which tools a message calls for, by the words that both have in common.
//!
//! A small model that may either call a tool or write text nearly always writes text, so that a client which leaves the
//! choice to it (`tool_choice` is `auto`) gets no calls at all. For such a client the choice is made here.

use std::collections::HashSet;

use serde_json::Value;

use crate::Tool;

/// Words that say nothing about a subject, in messages and in descriptions of tools.
const COMMON: [&str; 72] = [
    "about", "all", "also", "and", "any", "are", "ask", "based", "call", "can", "could", "current", "data", "did",
    "does", "example", "find", "for", "from", "function", "get", "given", "give", "had", "has", "have", "her", "here",
    "him", "how", "into", "its", "let", "list", "make", "may", "me", "must", "name", "need", "not", "now", "one",
    "our", "out", "please", "result", "return", "say", "set", "should", "show", "tell", "that", "the", "them", "there",
    "this", "tool", "use", "user", "value", "was", "want", "what", "when", "which", "who", "will", "with", "would",
    "you",
];
/// Bytes of a message that are looked at.
const MAX_TEXT: usize = 64 << 10;
/// Depth of a schema up to which its words count.
const MAX_DEPTH: usize = 8;

/// Returns the tools that share a word with the message.
pub(super) fn relevant<'a>(message: &str, tools: &'a [Tool]) -> Vec<&'a Tool> {
    let mut asked = HashSet::new();
    let end = message.floor_char_boundary(MAX_TEXT);
    words(message.get(..end).unwrap_or_default(), &mut asked);
    let fits = |tool: &&Tool| {
        let mut own = HashSet::new();
        words(&tool.name, &mut own);
        words(tool.description.as_deref().unwrap_or_default(), &mut own);
        schema_words(&tool.parameters, MAX_DEPTH, &mut own);
        !own.is_disjoint(&asked)
    };
    tools.iter().filter(fits).collect()
}

/// The names of the parameters and their descriptions.
fn schema_words(schema: &Value, depth: usize, into: &mut HashSet<String>) {
    let Some(schema) = schema.as_object().filter(|_| depth > 0) else { return };
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        words(description, into);
    }
    for (name, parameter) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        words(name, into);
        schema_words(parameter, depth - 1, into);
    }
}

/// Adds the words of a text, in lower case and without a plural's ending. Names such as `getWeather` and `get_weather`
/// are split.
fn words(text: &str, into: &mut HashSet<String>) {
    let mut word = String::new();
    let mut after_lower = false;
    for c in text.chars().chain([' ']) {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_lower) {
            take(&mut word, into);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
}

fn take(word: &mut String, into: &mut HashSet<String>) {
    let word = std::mem::take(word);
    let singular = word.strip_suffix('s').filter(|stem| !stem.ends_with('s')).unwrap_or(&word);
    let tells = singular.chars().count() > 2 && !singular.chars().all(|c| c.is_ascii_digit());
    let common = |word: &str| COMMON.contains(&word);
    if tells && !common(&word) && !common(singular) {
        into.insert(singular.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, parameters: Value) -> Tool {
        Tool { name: name.to_owned(), description: Some(description.to_owned()), parameters, strict: None }
    }

    #[test]
    fn a_tool_is_called_for_by_its_name_its_description_or_its_parameters() {
        let place = json!({ "type": "object", "properties": { "place": { "type": "string",
            "description": "The city and state, e.g. San Francisco, CA" } } });
        let tools = [
            tool("getWeather", "Get the current weather in a given location", place),
            tool("open_shelters", "List what is open now", json!({})),
        ];
        for (message, expected) in [
            ("How is the WEATHER today?", vec!["getWeather"]),
            ("Which city is hotter today?", vec!["getWeather"]),
            ("Is there a shelter near the river?", vec!["open_shelters"]),
            ("The weather at the shelters, please.", vec!["getWeather", "open_shelters"]),
            ("What is the capital of Australia?", vec![]),
            ("Get the list of what is given, and use it now.", vec![]),
            ("", vec![]),
        ] {
            let names: Vec<_> = relevant(message, &tools).iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, expected, "{message}");
        }
    }
}
