//! Checks whether prose is supported by the outputs of engines. Pure.
//!
//! Each number, each value that looks like an identifier, each path and each quotation must occur in the outputs of an
//! engine that its paragraph (or its heading) names, at most rounded or in another notation; and what a sentence states
//! about a named field must not contradict that field's value. Everything else counts as language and is not checked.

mod claims;
mod contradict;
mod facts;
mod figures;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub(super) use facts::Facts;

use claims::{Block, Claim};
use facts::Source;

/// Maximum number of reasons reported for one text.
const MAX_REASONS: usize = 20;
/// Maximum length of prose that is checked, in bytes.
const MAX_PROSE: usize = 64 * 1024;

/// Returns why prose is rejected; empty if it is not.
pub(super) fn check(facts: &Facts, prose: &str) -> Vec<String> {
    if prose.trim().is_empty() {
        return vec!["the text is empty".to_owned()];
    }
    if prose.len() > MAX_PROSE {
        return vec![format!("the text is longer than {MAX_PROSE} bytes")];
    }
    let mut reasons = Vec::new();
    let mut heading: Vec<usize> = Vec::new();
    for block in claims::blocks(prose) {
        let named = facts.named(block.text);
        if block.heading {
            heading.clone_from(&named);
        }
        let named = if named.is_empty() { heading.clone() } else { named };
        check_block(facts, &block, &named, &mut reasons);
        if reasons.len() >= MAX_REASONS {
            break;
        }
    }
    reasons.truncate(MAX_REASONS);
    reasons
}

fn check_block(facts: &Facts, block: &Block<'_>, named: &[usize], reasons: &mut Vec<String>) {
    let claims = claims::read(block.text);
    let sources: Vec<&Source> = named.iter().filter_map(|at| facts.sources.get(*at)).collect();
    let mut reported = BTreeSet::new();
    let mut unnamed = None;
    for claim in &claims {
        if reasons.len() >= MAX_REASONS {
            return;
        }
        if facts.is_own_word(claim) || !reported.insert(claim.words().to_owned()) {
            continue;
        }
        let here = sources.iter().any(|source| source.supports(claim));
        if here || facts.inputs.supports(claim) {
            continue;
        }
        match facts.sources.iter().find(|source| source.supports(claim)) {
            None => reasons.push(format!("{} is in no output", claim.words())),
            Some(source) if sources.is_empty() => {
                unnamed.get_or_insert_with(|| (claim.words().to_owned(), source.label.clone()));
            }
            Some(source) => {
                reasons.push(format!(
                    "{} is not from the engine named beside it, but from {}",
                    claim.words(),
                    source.label
                ));
            }
        }
    }
    if let Some((words, label)) = unnamed {
        reasons.push(format!("the paragraph with {words} does not name the engine that it is from ({label})"));
    }
    reasons.extend(contradict::find(&sources, block.text));
}

impl Claim {
    /// Returns the claim as written.
    fn words(&self) -> &str {
        match self {
            Self::Number { words, .. } | Self::Value { words } => words,
        }
    }
}
