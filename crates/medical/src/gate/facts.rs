//! The facts that a model is given, and that its text is held against.

use super::words::{numbers, row_of, stem};
use crate::answer::chat::Consultation;
use crate::answer::common::TriageBlock;
use crate::answer::{Citation, Extracted};
use crate::assess::Assessment;
use crate::base::Base;
use crate::input::{Audience, Input};
use crate::text::{ConceptId, read, sentences};
use crate::triage::Level;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A statement with the numbers of its citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement {
    pub text: String,
    pub cite: Vec<usize>,
}

/// What a model may say. It has no word of the patient except those that were
/// recognised, and no name.
#[derive(Debug, Clone)]
pub struct FactSheet {
    call: String,
    level: Option<Level>,
    audience: Audience,
    /// Concept ids with their labels.
    present: Vec<(String, String)>,
    absent: Vec<(String, String)>,
    /// Recognised values, such as `systolic 120`.
    values: Vec<String>,
    statements: Vec<Statement>,
    valid: BTreeSet<usize>,
    pub(super) known: Known,
}

/// What is looked up of the facts.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Stems of all words.
    stems: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// All words in a row, sentence by sentence, with blanks around.
    rows: Vec<String>,
    pub(super) concepts: BTreeSet<ConceptId>,
    pub(super) denied: BTreeSet<ConceptId>,
    /// What was denied, with the word that denies it: `no fever`.
    denials: Vec<String>,
}

impl Known {
    fn add(&mut self, base: &Base, text: &str) {
        for sentence in sentences(text) {
            let row: Vec<&str> = sentence.tokens.iter().map(|token| token.word.as_str()).collect();
            self.stems.extend(row.iter().map(|word| stem(word)));
            self.numbers.extend(row.iter().flat_map(|word| numbers(word)));
            self.rows.push(format!(" {} ", row.join(" ")));
        }
        self.concepts.extend(read(&base.lexicon, text, &["en"]).findings.into_iter().map(|finding| finding.concept));
    }

    /// Adds something that was denied, so that a text may deny it too.
    fn deny(&mut self, name: &str) {
        for denial in ["no", "without"] {
            self.denials.push(format!("{} ", row_of(&format!("{denial} {name}")).trim()));
        }
    }

    /// Whether these normalised words begin by denying what was denied.
    pub(super) fn denies(&self, words: &str) -> bool {
        let row = format!("{words} ");
        self.denials.iter().any(|denied| row.starts_with(denied.as_str()))
    }

    #[cfg(test)]
    pub(super) fn add_for_test(&mut self, base: &Base, text: &str) {
        self.add(base, text);
    }

    /// Whether a word, in this or another form, is in the facts.
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.stems.contains(&stem(word))
    }

    pub(super) fn has_number(&self, number: &str) -> bool {
        self.numbers.contains(number)
    }

    /// Whether these normalised words are in the facts in a row.
    pub(super) fn has_row(&self, words: &str) -> bool {
        let row = format!(" {words} ");
        self.rows.iter().any(|known| known.contains(&row))
    }
}

impl FactSheet {
    /// Collects the facts of an answer.
    #[must_use]
    pub fn of(
        base: &Base,
        input: &Input,
        a: &Assessment,
        answer: &Consultation,
        triage: &TriageBlock,
        citations: &[Citation],
    ) -> Self {
        let extracted = Extracted::of(base, a);
        let mut statements: Vec<Statement> = Vec::new();
        let mut state = |text: String, cite: &[usize]| {
            if !cite.is_empty() {
                statements.push(Statement { text, cite: cite.to_vec() });
            }
        };
        for fired in &triage.fired_by {
            state(fired.message.clone(), &fired.cite);
        }
        for considered in &answer.considerations {
            state(format!("{}: {}", considered.title, considered.why), &considered.cite);
        }
        for advice in answer.actions.iter().chain(&answer.self_care).chain(&answer.safety_net) {
            let when = advice.when.as_ref().map_or_else(String::new, |when| format!(" ({when})"));
            state(format!("{}{when}", advice.text), &advice.cite);
        }
        let named = |list: &[crate::answer::extracted::Recognised]| {
            list.iter().map(|r| (r.concept.clone(), r.label.clone())).collect::<Vec<_>>()
        };
        let mut known = Known { denied: a.summary.absent.keys().copied().collect(), ..Known::default() };
        let recognised = [&a.summary.present, &a.summary.absent, &a.summary.past, &a.summary.family];
        for (concept, finding) in recognised.into_iter().flatten() {
            known.concepts.insert(*concept);
            known.add(base, base.lexicon.label(*concept));
            known.add(base, &finding.from);
        }
        for (concept, finding) in &a.summary.absent {
            known.deny(base.lexicon.label(*concept));
            known.deny(&finding.from);
        }
        let values: Vec<String> = a.said.iter().map(|(field, value, _)| format!("{field} {value}")).collect();
        let texts = statements.iter().map(|s| &s.text).chain(&values).chain([&triage.call_to_action]);
        texts.for_each(|text| known.add(base, text));
        Self {
            call: triage.call_to_action.clone(),
            level: triage.level,
            audience: input.audience,
            present: named(&extracted.present),
            absent: named(&extracted.absent),
            values,
            statements,
            valid: citations.iter().map(|citation| citation.n).collect(),
            known,
        }
    }

    /// Whether a model may be asked at all: below `emergency`, where something
    /// was assessed and there is something to explain.
    #[must_use]
    pub fn may_be_phrased(&self) -> bool {
        self.level.is_some_and(|level| level < Level::Emergency) && !self.statements.is_empty()
    }

    /// What a model is sent.
    #[must_use]
    pub fn to_json(&self, message: Option<&str>) -> Value {
        let named = |list: &[(String, String)]| {
            list.iter().map(|(concept, label)| json!({ "concept": concept, "label": label })).collect::<Vec<_>>()
        };
        let mut facts = json!({
            "callToAction": self.call,
            "level": self.level,
            "audience": if self.audience == Audience::Public { "public" } else { "professional" },
            "present": named(&self.present),
            "absent": named(&self.absent),
            "values": self.values,
            "statements": self.statements,
        });
        if let (Some(message), Some(members)) = (message, facts.as_object_mut()) {
            members.insert("message".to_owned(), Value::from(message));
        }
        facts
    }

    pub(super) fn cites(&self, n: usize) -> bool {
        self.valid.contains(&n)
    }

    pub(super) const fn level(&self) -> Option<Level> {
        self.level
    }

    pub(super) fn is_public(&self) -> bool {
        self.audience == Audience::Public
    }

    /// The text behind the call to action; `None` if it does not begin with it.
    pub(super) fn without_call<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.trim_start().strip_prefix(self.call.trim()).filter(|_| !self.call.trim().is_empty())
    }
}
