//! The gate that a model's text passes before anybody sees it: a function of
//! the facts that it was given and of what it wrote.
//!
//! A model may put facts in other words, and nothing else. Its text must begin
//! with the call to action; each sentence that says anything clinical must have
//! the number of a citation; every number, drug, dose and condition must be one
//! of the facts; and it must neither reassure nor name another level. A word
//! that is neither in the facts nor in a list of plain words is refused too:
//! conditions have more names than any list of them. What is refused wrongly
//! costs a model's wording; the rules' text stands in.

mod citations;
mod facts;
mod level;
mod lists;
mod plain;
mod prompt;
mod redact;
mod terms;
mod translation;
mod words;

pub use facts::{FactSheet, Statement};
pub use prompt::{instructions, refused_because, translation_instructions};
pub use redact::redact;
pub use translation::check_translation;

use crate::base::Base;
use citations::{Cited, cited_sentences};
use std::collections::BTreeSet;

/// A check that a model's text fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// It does not begin with the call to action, word for word.
    CallDropped,
    /// A clinical sentence has no citation.
    Uncited,
    /// A citation has a number that no source has.
    UnknownCitation,
    /// A number is not one of the facts.
    Number,
    /// A drug is not one of the facts.
    Drug,
    /// A dose is not one of the facts, or stands in a text for the public.
    Dose,
    /// A condition, or any other term, is not one of the facts.
    Condition,
    /// It plays something down, or denies what nobody denied.
    Reassurance,
    /// It names another level of care.
    Level,
    /// It speaks of its instructions, or as somebody told it to.
    Instructions,
    /// It is empty, too long, or has addresses or markup.
    Form,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 11] = [
        Self::CallDropped,
        Self::Uncited,
        Self::UnknownCitation,
        Self::Number,
        Self::Drug,
        Self::Dose,
        Self::Condition,
        Self::Reassurance,
        Self::Level,
        Self::Instructions,
        Self::Form,
    ];

    /// Its name in answers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallDropped => "call_dropped",
            Self::Uncited => "uncited",
            Self::UnknownCitation => "unknown_citation",
            Self::Number => "number",
            Self::Drug => "drug",
            Self::Dose => "dose",
            Self::Condition => "condition",
            Self::Reassurance => "reassurance",
            Self::Level => "level",
            Self::Instructions => "instructions",
            Self::Form => "form",
        }
    }

    /// Reason that a model receives whose text failed it.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::CallDropped => "the text must begin with callToAction, word for word",
            Self::Uncited => "a sentence had no citation such as [1]",
            Self::UnknownCitation => "a citation had a number that is not in the facts",
            Self::Number => "a number was not one of the facts",
            Self::Drug => "a medicine was not one of the facts",
            Self::Dose => "a dose was not one of the facts, or the reader may not be told doses",
            Self::Condition => "a condition or another term was not one of the facts",
            Self::Reassurance => "the text reassured, or denied what was not denied",
            Self::Level => "the text named another level of care than callToAction",
            Self::Instructions => "the text spoke of instructions, rules or of itself",
            Self::Form => "the text was empty, longer than 4,000 characters, or had addresses or markup",
        }
    }
}

/// Longest text of a model, in characters.
const MAX_CHARACTERS: usize = 4_000;

/// Checks a text. Returns the explanation without the call to action.
///
/// # Errors
/// Every check that fails, each once.
pub fn check(base: &Base, facts: &FactSheet, text: &str) -> Result<String, Vec<Check>> {
    let mut failed = BTreeSet::new();
    let visible = words::visible(text);
    if !words::well_formed(&visible, MAX_CHARACTERS) {
        failed.insert(Check::Form);
    }
    let explanation = match facts.without_call(&visible) {
        Some(rest) => rest,
        None => {
            failed.insert(Check::CallDropped);
            visible.as_str()
        }
    };
    if explanation.trim().is_empty() {
        failed.insert(Check::Form);
    }
    let sentences = cited_sentences(explanation);
    for sentence in &sentences {
        failed.extend(sentence_fails(base, facts, sentence));
    }
    failed.extend(level::fails(facts, explanation));
    if failed.is_empty() { Ok(explanation.trim().to_owned()) } else { Err(failed.into_iter().collect()) }
}

fn sentence_fails(base: &Base, facts: &FactSheet, sentence: &Cited) -> BTreeSet<Check> {
    let mut failed = BTreeSet::new();
    if sentence.cites.iter().any(|n| !facts.cites(*n)) {
        failed.insert(Check::UnknownCitation);
    }
    let valid = sentence.cites.iter().any(|n| facts.cites(*n));
    if !valid && terms::is_clinical(base, facts, &sentence.text) {
        failed.insert(Check::Uncited);
    }
    failed.extend(terms::fails(base, facts, &sentence.text));
    failed
}

#[cfg(test)]
mod tests;
