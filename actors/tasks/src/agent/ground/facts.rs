//! Facts: everything in the outputs, by engine. Pure.

use std::collections::HashMap;

use muster_engines::grammar::Type;
use serde_json::{Map, Value};

use super::claims::Claim;
use super::figures::{self, Figure};
use crate::agent::agents::Agent;
use crate::agent::material::Material;

/// Maximum number of numbers and bytes of text kept of one engine's outputs.
const MAX_NUMBERS: usize = 200_000;
const MAX_TEXT: usize = 2 * 1024 * 1024;
/// Maximum number of distinct values of a column whose rows are counted.
const MAX_GROUPS: usize = 50;
/// Maximum depth of field names.
const MAX_DEPTH: usize = 4;

/// Facts of one engine, or of the inputs.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Label, such as `q187 repo-tree`.
    pub(super) label: String,
    /// Names by which prose may refer to it, in lower case.
    names: Vec<String>,
    /// Sorted.
    numbers: Vec<f64>,
    /// Keys and strings in lower case, one per line.
    text: String,
    /// Values of each field, by the field's name in words.
    pub(super) fields: HashMap<String, Vec<Fact>>,
    /// Allowed values of each field, by the field's name in words.
    pub(super) choices: HashMap<String, Vec<String>>,
}

/// The value of a field, as far as a sentence can express it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fact {
    Number(f64),
    /// Number of items.
    Count(f64),
    Truth(bool),
    Word(String),
}

/// All facts that prose may state.
#[derive(Debug)]
pub(in crate::agent) struct Facts {
    pub(super) sources: Vec<Source>,
    /// Params and the texts of the task: names from them may be mentioned, and numbers of the params.
    pub(super) inputs: Source,
    /// Words by which engines and the agent are referred to, in lower case.
    own: String,
}

impl Facts {
    pub(in crate::agent) fn of(
        agent: &Agent,
        material: &Material<'_>,
        params: &Map<String, Value>,
        task: &str,
    ) -> Self {
        let mut sources: Vec<Source> = Vec::new();
        let mut own = format!("{} {} {}", agent.name, agent.summary, agent.id);
        for used in &material.uses {
            let label = used.engine_step.label();
            let at = sources.iter().position(|source| source.label == label).unwrap_or_else(|| {
                let names = vec![format!("q{}", used.engine_step.number), used.engine_step.engine.to_lowercase()];
                sources.push(Source { label: label.clone(), names, ..Source::default() });
                sources.len() - 1
            });
            let Some(source) = sources.get_mut(at) else { continue };
            source.take(used.engine_step.output);
            source.read(&used.engine_step.warnings.join("\n"));
            source.read(used.engine_step.error.unwrap_or_default());
            own.push_str(&format!(" {label} {}", used.name));
            if let Some(engine) = agent.engine(used.engine_step.engine) {
                own.push_str(&format!(" {} {} {}", engine.name, engine.summary, engine.method));
                for field in &engine.fields().outputs {
                    if let Type::Enum(values) = &field.kind {
                        source.choices.insert(in_words(&field.name), values.clone());
                    }
                }
            }
        }
        sources.iter_mut().for_each(Source::close);
        let mut inputs = Source { label: "the params".to_owned(), ..Source::default() };
        params.values().for_each(|value| inputs.values(value));
        // From the instruction only names are taken: its figures are assumptions of its author.
        inputs.note(task);
        inputs.close();
        Self { sources, inputs, own: own.to_lowercase() }
    }

    /// Returns the sources that a text names.
    pub(super) fn named(&self, text: &str) -> Vec<usize> {
        let text = text.to_lowercase();
        let word = |c: char| c.is_alphanumeric() || c == '-';
        let names = |source: &Source| {
            source.names.iter().any(|name| {
                text.match_indices(name.as_str()).any(|(at, found)| {
                    let before = text.get(..at).and_then(|before| before.chars().next_back());
                    let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
                    !before.is_some_and(word) && !after.is_some_and(word)
                })
            })
        };
        self.sources.iter().enumerate().filter(|(_, source)| names(source)).map(|(at, _)| at).collect()
    }

    /// Returns whether a claim consists of words used for engines, which is not a claim about data.
    pub(super) fn is_own_word(&self, claim: &Claim) -> bool {
        match claim {
            Claim::Value { words } => has_word(&self.own, &words.to_lowercase()),
            Claim::Number { .. } => false,
        }
    }
}

impl Source {
    /// Returns whether the source contains the claim.
    pub(super) fn supports(&self, claim: &Claim) -> bool {
        match claim {
            Claim::Number { figure, .. } => self.has_number(*figure),
            Claim::Value { words } => self.has_value(words),
        }
    }

    fn has_number(&self, figure: Figure) -> bool {
        let around = |middle: f64, slack: f64| {
            let slack = slack + 1e-6 * middle.abs().max(1.0);
            let from = self.numbers.partition_point(|number| *number < middle - slack);
            self.numbers.iter().skip(from).take_while(move |number| **number <= middle + slack)
        };
        let mut middles = vec![(figure.value, figure.slack), (-figure.value, figure.slack)];
        if figure.percent {
            middles.extend([1.0, -1.0].map(|sign| (sign * figure.value / 100.0, figure.slack / 100.0)));
        }
        middles.into_iter().any(|(middle, slack)| around(middle, slack).any(|number| figure.states(*number)))
    }

    /// Searches for a value literally, as a call `f()`, a key and its value, or a file and its line.
    fn has_value(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let at_a_time = is_date(&words) && self.text.contains(&format!("{words}t"));
        if at_a_time || has_word(&self.text, &words) || has_word(&self.text, words.trim_end_matches("()")) {
            return true;
        }
        if let Some(figure) = figures::figure(&words) {
            return self.has_number(figure);
        }
        let part = |part: &str| match figures::figure(part.trim()) {
            Some(figure) => self.has_number(figure),
            None => has_word(&self.text, part.trim()) || matches!(part.trim(), "true" | "false" | "null"),
        };
        let pair = words.rsplit_once(':').or_else(|| words.split_once('='));
        pair.is_some_and(|(left, right)| {
            !left.trim().is_empty() && !right.trim().is_empty() && part(left.trim_matches('"')) && part(right)
        })
    }

    /// Adds an output: its values, and its fields by name.
    pub(super) fn take(&mut self, output: &Value) {
        self.values(output);
        self.names(output, 0);
    }

    fn number(&mut self, number: f64) {
        if self.numbers.len() < MAX_NUMBERS {
            self.numbers.push(number);
        }
    }

    fn note(&mut self, text: &str) {
        if self.text.len() + text.len() <= MAX_TEXT {
            self.text.push('\n');
            let small = text.to_lowercase();
            self.text.push_str(&small.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }

    /// Adds a text, and the numbers in it.
    fn read(&mut self, text: &str) {
        self.note(text);
        let pieces = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '%')));
        for piece in pieces {
            let piece = piece.trim_matches(['.', ',']);
            if let Some(figure) = figures::figure(piece) {
                self.number(figure.value);
            }
        }
    }

    fn values(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                self.note(&number.to_string());
                self.number(number.as_f64().unwrap_or_default());
            }
            Value::String(text) => self.read(text),
            Value::Array(items) => {
                self.number(items.len() as f64);
                self.groups(items);
                items.iter().for_each(|item| self.values(item));
            }
            Value::Object(entries) => {
                self.number(entries.len() as f64);
                for (key, value) in entries {
                    self.note(key);
                    self.values(value);
                }
            }
        }
    }

    /// Counts the rows of a table for each value of a column, such as findings of a severity.
    fn groups(&mut self, rows: &[Value]) {
        let mut counts: HashMap<(&str, String), usize> = HashMap::new();
        for (key, value) in rows.iter().filter_map(Value::as_object).flatten() {
            let value = match value {
                Value::String(text) if text.len() <= 40 => text.clone(),
                Value::Bool(truth) => truth.to_string(),
                _ => continue,
            };
            if counts.len() < MAX_GROUPS || counts.contains_key(&(key.as_str(), value.clone())) {
                *counts.entry((key, value)).or_default() += 1;
            }
        }
        counts.into_values().for_each(|count| self.number(count as f64));
    }

    fn names(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(entries) if depth < MAX_DEPTH => {
                for (key, value) in entries {
                    let fact = match value {
                        Value::Number(number) => number.as_f64().map(Fact::Number),
                        Value::Bool(truth) => Some(Fact::Truth(*truth)),
                        Value::String(word) if word.len() <= 40 => Some(Fact::Word(word.to_lowercase())),
                        Value::Array(items) => Some(Fact::Count(items.len() as f64)),
                        _ => None,
                    };
                    if let Some(fact) = fact {
                        self.fields.entry(in_words(key)).or_default().push(fact);
                    }
                    self.names(value, depth + 1);
                }
            }
            Value::Array(items) if depth < MAX_DEPTH => items.iter().for_each(|item| self.names(item, depth + 1)),
            _ => {}
        }
    }

    fn close(&mut self) {
        self.numbers.sort_by(f64::total_cmp);
        self.numbers.dedup();
    }
}

/// Returns a field's name in words: `max_depth` and `maxDepth` become `max depth`.
fn in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 2);
    let mut small = false;
    for c in name.chars() {
        if matches!(c, '_' | '-' | ' ') {
            words.push(' ');
        } else {
            if c.is_uppercase() && small {
                words.push(' ');
            }
            words.extend(c.to_lowercase());
        }
        small = c.is_lowercase();
    }
    words
}

/// Recognizes `2026-11-21`.
fn is_date(words: &str) -> bool {
    words.len() == 10
        && words
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
}

/// Returns whether the words occur in the text as complete words: `v1` does not occur in `v12`.
fn has_word(text: &str, words: &str) -> bool {
    if words.is_empty() {
        return false;
    }
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    let (first, last) = (words.chars().next().is_some_and(continues), words.chars().next_back().is_some_and(continues));
    text.match_indices(words).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        let continued = (first && before.is_some_and(continues)) || (last && after.is_some_and(continues));
        !continued
    })
}
