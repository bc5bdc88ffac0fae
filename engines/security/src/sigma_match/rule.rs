//! A rule: its head and its selections.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use super::condition::{Condition, Names};
use super::fields::{Field, Text};

/// Maximum number of values in a rule.
const MAX_VALUES: usize = 5_000;

/// A rule that can be run.
pub(super) struct Rule {
    pub id: String,
    pub title: String,
    pub level: String,
    pub tags: Vec<String>,
    selections: BTreeMap<String, Selection>,
    conditions: Vec<Condition>,
}

/// A named part of `detection`.
enum Selection {
    /// All fields must match.
    Fields(Vec<Field>),
    /// One of these must match.
    Any(Vec<Selection>),
    /// A text that stands in any value.
    Keyword(Text),
}

impl Rule {
    /// Reads a rule; the error says what is wrong or not supported.
    pub(super) fn read(text: &str, at: usize, field_map: &BTreeMap<String, String>) -> Result<Self, String> {
        let rule: Value = serde_saphyr::from_str(text).map_err(|error| format!("is no YAML: {error}"))?;
        if rule.get("correlation").is_some() {
            return Err("correlation rules are not supported: give the rules that they name".to_owned());
        }
        let detection = rule.get("detection").and_then(Value::as_object).ok_or("has no `detection`")?;
        let mut selections = BTreeMap::new();
        let mut values = 0;
        for (name, part) in detection.iter().filter(|(name, _)| !matches!(name.as_str(), "condition" | "timeframe")) {
            let selection = Selection::read(part, field_map, &mut values, 0).map_err(|why| format!("{name}: {why}"))?;
            selections.insert(name.clone(), selection);
        }
        let names: Names<'_> = selections.keys().map(String::as_str).collect();
        let written: Vec<&str> = match detection.get("condition") {
            Some(Value::String(condition)) => vec![condition],
            Some(Value::Array(conditions)) => conditions.iter().filter_map(Value::as_str).collect(),
            _ => return Err("detection has no `condition`".to_owned()),
        };
        if written.is_empty() {
            return Err("`condition` is empty".to_owned());
        }
        let conditions =
            written.into_iter().map(|condition| Condition::read(condition, &names)).collect::<Result<_, _>>()?;
        let text = |name: &str| rule.get(name).and_then(Value::as_str).map(str::to_owned);
        let tags = rule
            .get("tags")
            .and_then(Value::as_array)
            .map(|tags| tags.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Ok(Self {
            id: text("id").unwrap_or_else(|| at.to_string()),
            title: text("title").unwrap_or_else(|| format!("rule {at}")),
            level: text("level").unwrap_or_default(),
            tags: tags.unwrap_or_default(),
            selections,
            conditions,
        })
    }

    pub(super) fn matches(&self, event: &Value) -> bool {
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        let mut holds = |name: &str| match self.selections.get_key_value(name) {
            Some((name, selection)) => *known.entry(name).or_insert_with(|| selection.matches(event)),
            None => false,
        };
        self.conditions.iter().any(|condition| condition.holds(&mut holds))
    }
}

impl Selection {
    fn read(
        part: &Value,
        field_map: &BTreeMap<String, String>,
        values: &mut usize,
        depth: usize,
    ) -> Result<Self, String> {
        if depth > 4 {
            return Err("is nested too deeply".to_owned());
        }
        match part {
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| Field::read(name, value, field_map, values))
                    .collect::<Result<_, _>>();
                Self::checked(Self::Fields(fields?), *values)
            }
            Value::Array(items) => {
                let items =
                    items.iter().map(|item| Self::read(item, field_map, values, depth + 1)).collect::<Result<_, _>>();
                Self::checked(Self::Any(items?), *values)
            }
            Value::String(keyword) => {
                *values += 1;
                Ok(Self::Keyword(Text::keyword(keyword)))
            }
            Value::Number(number) => Ok(Self::Keyword(Text::keyword(&number.to_string()))),
            _ => Err("must be a map of fields, or a list".to_owned()),
        }
    }

    fn checked(selection: Self, values: usize) -> Result<Self, String> {
        if values > MAX_VALUES { Err(format!("has more than {MAX_VALUES} values")) } else { Ok(selection) }
    }

    fn matches(&self, event: &Value) -> bool {
        match self {
            Self::Fields(fields) => fields.iter().all(|field| field.matches(event)),
            Self::Any(selections) => selections.iter().any(|selection| selection.matches(event)),
            Self::Keyword(text) => any_text(event, &|value| text.matches(value)),
        }
    }
}

/// Whether a text of an event, at any depth, fulfils a test.
fn any_text(value: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text),
        Value::Number(number) => test(&number.to_string()),
        Value::Array(items) => items.iter().any(|item| any_text(item, test)),
        Value::Object(members) => members.values().any(|member| any_text(member, test)),
        Value::Null | Value::Bool(_) => false,
    }
}
