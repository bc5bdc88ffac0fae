//! q139: detection rules (Sigma).
//!
//! An own reading of the specification of rules 2.x: selections, lists, keywords, wildcards, conditions, and the modifiers
//! that `fields.rs` lists. Correlation rules, `expand`, aggregations after a pipe and `near` are reported as errors.

mod condition;
mod fields;
mod rule;

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use self::rule::Rule;

/// Maximum number of rules, of events and of rules times events.
const MAX_RULES: usize = 1_000;
const MAX_EVENTS: usize = 50_000;
const MAX_PAIRS: usize = 2_000_000;
/// Maximum length of a rule, in bytes.
const MAX_RULE: usize = 65_536;
/// Maximum number of matches that are listed.
const MAX_MATCHES: usize = 10_000;

#[derive(Debug, Input)]
pub struct Input {
    rules: Vec<String>,
    events: Vec<Value>,
    field_map: BTreeMap<String, String>,
}

#[derive(Debug, Output)]
pub struct Output {
    matches: Vec<Match>,
    counts: BTreeMap<String, usize>,
    errors: Vec<RuleError>,
}

#[derive(Debug, Output)]
struct Match {
    rule: String,
    title: String,
    level: String,
    event: usize,
    tags: Vec<String>,
}

#[derive(Debug, Output)]
struct RuleError {
    rule: usize,
    message: String,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { rules, events, field_map } = input;
    if rules.len() > MAX_RULES || events.len() > MAX_EVENTS || rules.len().saturating_mul(events.len()) > MAX_PAIRS {
        let message = format!(
            "at most {MAX_RULES} rules, {MAX_EVENTS} events and {MAX_PAIRS} pairs of both are allowed: send events in parts"
        );
        return Err(Failure::too_large(message));
    }
    if let Some(at) = rules.iter().position(|rule| rule.len() > MAX_RULE) {
        return Err(Failure::too_large(format!("rules[{at}] has more than {MAX_RULE} bytes")));
    }
    let (mut matches, mut counts, mut errors) = (Vec::new(), BTreeMap::new(), Vec::new());
    let mut left_out = 0_usize;
    for (at, text) in rules.iter().enumerate() {
        let rule = match Rule::read(text, at, &field_map) {
            Ok(rule) => rule,
            Err(message) => {
                errors.push(RuleError { rule: at, message });
                continue;
            }
        };
        for (number, event) in events.iter().enumerate().filter(|(_, event)| rule.matches(event)) {
            let _ = event;
            *counts.entry(rule.title.clone()).or_default() += 1;
            if matches.len() == MAX_MATCHES {
                left_out += 1;
                continue;
            }
            matches.push(Match {
                rule: rule.id.clone(),
                title: rule.title.clone(),
                level: rule.level.clone(),
                event: number,
                tags: rule.tags.clone(),
            });
        }
    }
    if left_out > 0 {
        cx.warn(format!("truncated: {left_out} further matches are only counted"));
    }
    cx.assume("every rule is run over every event: `logsource` does not choose events");
    matches.sort_by_key(|found| found.event);
    Ok(Output { matches, counts, errors })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matched(detection: &str, event: Value) -> bool {
        let rule = format!("title: t\nlogsource: {{product: test}}\ndetection:\n{detection}\n");
        let output = run(
            Input { rules: vec![rule.clone()], events: vec![event], field_map: BTreeMap::new() },
            &Context::default(),
        )
        .unwrap();
        assert!(output.errors.is_empty(), "{rule}: {:?}", output.errors);
        !output.matches.is_empty()
    }

    /// Semantics as the specification of rules 2.x describes them.
    #[test]
    fn modifiers_follow_the_specification() {
        for (field, value, event, expected) in [
            ("a|contains", "'oo'", json!({ "a": "xFOOx" }), true),
            ("a|startswith", "xf", json!({ "a": "xFOOx" }), true),
            ("a|endswith", "xf", json!({ "a": "xFOOx" }), false),
            ("a", "'x*x'", json!({ "a": "xFOOx" }), true),
            ("a", "'x?OOx'", json!({ "a": "xFOOx" }), true),
            ("a", r"'x\*x'", json!({ "a": "xFOOx" }), false),
            ("a|cased", "xfoox", json!({ "a": "xFOOx" }), false),
            ("a|re", "'^x[FO]+x$'", json!({ "a": "xFOOx" }), true),
            ("a|re|i", "'^XFO+x$'", json!({ "a": "xfoox" }), true),
            ("a|cidr", "10.0.0.0/8", json!({ "a": "10.2.3.4" }), true),
            ("a|cidr", "10.0.0.0/8", json!({ "a": "11.2.3.4" }), false),
            ("a|gt", "5", json!({ "a": 6 }), true),
            ("a|lte", "5", json!({ "a": "5" }), true),
            ("a|exists", "true", json!({ "a": null }), true),
            ("a|exists", "false", json!({ "b": 1 }), true),
            ("a", "null", json!({ "b": 1 }), true),
            ("a", "5", json!({ "a": "5" }), true),
            ("a.b", "c", json!({ "a": { "b": "C" } }), true),
            ("a|contains|all", "[oo, xf]", json!({ "a": "xFOOx" }), true),
            ("a|contains|all", "[oo, zz]", json!({ "a": "xFOOx" }), false),
            ("a|base64|contains", "foobar", json!({ "a": "x Zm9vYmFy y" }), true),
            ("a|base64offset|contains", "bar", json!({ "a": "Zm9vYmFyYmF6" }), true),
            ("a|windash|contains", "' -f'", json!({ "a": "tar /f x" }), true),
            // pySigma 2.0.1: each value matches by one of its dashes or offsets.
            ("a|windash|contains|all", "[' -f', ' -g']", json!({ "a": "tar /f -g x" }), true),
            ("a|windash|contains|all", "[' -f', ' -g']", json!({ "a": "tar /f x" }), false),
            ("a|base64offset|contains|all", "[bar, baz]", json!({ "a": "Zm9vYmFyYmF6" }), true),
            ("a|fieldref", "b", json!({ "a": "X", "b": "x" }), true),
        ] {
            assert_eq!(
                matched(&format!("  sel:\n    {field}: {value}\n  condition: sel"), event.clone()),
                expected,
                "{field}: {value} on {event}"
            );
        }
    }

    #[test]
    fn conditions_follow_the_specification() {
        let detection = |condition: &str| {
            format!("  sel_a:\n    a: 1\n  sel_b:\n    b: 1\n  filter:\n    c: 1\n  condition: {condition}")
        };
        for (condition, event, expected) in [
            ("sel_a and sel_b", json!({ "a": 1 }), false),
            ("sel_a or sel_b and filter", json!({ "a": 1 }), true),
            ("(sel_a or sel_b) and not filter", json!({ "b": 1, "c": 1 }), false),
            ("1 of sel_*", json!({ "b": 1 }), true),
            ("all of sel_*", json!({ "b": 1 }), false),
            ("all of them", json!({ "a": 1, "b": 1, "c": 1 }), true),
            ("1 of them", json!({}), false),
            ("not 1 of sel_*", json!({}), true),
        ] {
            assert_eq!(matched(&detection(condition), event.clone()), expected, "{condition} on {event}");
        }
        assert!(matched(
            "  keywords:\n    - 'foo'\n    - 'bar'\n  condition: keywords",
            json!({ "x": { "y": ["a BAR b"] } })
        ));
        assert!(matched("  sel:\n    - a: 1\n    - b: 2\n  condition: sel", json!({ "b": 2 })));
    }

    #[test]
    fn what_is_not_supported_is_an_error() {
        for rule in [
            "title: t",
            "title: t\ndetection:\n  sel:\n    a: 1\n  condition: sel | count() > 5",
            "title: t\ndetection:\n  sel:\n    a|expand: '%x%'\n  condition: sel",
            "title: t\ndetection:\n  sel:\n    a|re: '('\n  condition: sel",
            "title: t\ndetection:\n  sel:\n    a: 1\n  condition: other",
            "title: t\ndetection:\n  sel:\n    a: 1\n  condition: sel and",
            "title: t\ncorrelation:\n  type: event_count",
            "[",
        ] {
            let output = run(
                Input { rules: vec![rule.to_owned()], events: vec![json!({})], field_map: BTreeMap::new() },
                &Context::default(),
            )
            .unwrap();
            assert_eq!(output.errors.len(), 1, "{rule}");
        }
    }

    #[test]
    fn a_field_map_renames_fields() {
        let rule = "title: t\ndetection:\n  sel:\n    CommandLine: x\n  condition: sel".to_owned();
        let map = BTreeMap::from([("CommandLine".to_owned(), "process.args".to_owned())]);
        let output = run(
            Input { rules: vec![rule], events: vec![json!({ "process": { "args": "X" } })], field_map: map },
            &Context::default(),
        )
        .unwrap();
        assert_eq!(output.counts["t"], 1);
    }
}
