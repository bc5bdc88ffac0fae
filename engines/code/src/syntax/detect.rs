//! Detects the language of a text.

use tree_sitter::Tree;

use super::{Below, Language, advance, parse};
use crate::language::sample;
use muster_engine::prelude::*;

/// Parses a source in the named language, else in that of the file name, else in the best fitting one: the one with the
/// least unparsed text, and of these the one whose typical line beginnings occur most.
///
/// # Errors
/// As [`parse`].
pub fn choose(
    source: &str,
    named: &str,
    filename: Option<&str>,
    context: &Context,
) -> Result<(Language, Tree), Failure> {
    let reported = Language::by_name(named).or_else(|| filename.and_then(Language::of_filename));
    match reported {
        Some(Language::TypeScript) => {
            let tree = parse(source, Language::TypeScript, "source")?;
            if !tree.root_node().has_error() {
                return Ok((Language::TypeScript, tree));
            }
            let tsx = parse(source, Language::Tsx, "source")?;
            let better = unread(&tsx) < unread(&tree);
            Ok(if better { (Language::Tsx, tsx) } else { (Language::TypeScript, tree) })
        }
        Some(language) => Ok((language, parse(source, language, "source")?)),
        None => guess(source, context),
    }
}

fn guess(source: &str, context: &Context) -> Result<(Language, Tree), Failure> {
    let sample = sample(source);
    let mut best: Option<(usize, usize, Language)> = None;
    for (language, alike) in Language::alike(sample) {
        // A text that cannot be parsed in a language is not written in it.
        let Ok(tree) = parse(sample, language, "source") else { continue };
        let (lost, unlike) = (unread(&tree), usize::MAX - alike);
        if best.is_none_or(|(least, fewest, _)| (lost, unlike) < (least, fewest)) {
            best = Some((lost, unlike, language));
        }
    }
    let message = "is in none of the languages: name the one it should be read as in language";
    let (_, _, language) = best.ok_or_else(|| Failure::invalid(&["source"], message))?;
    context.warn(format!("the language was guessed: {}", language.name()));
    Ok((language, parse(source, language, "source")?))
}

/// Number of bytes in errors, plus one per missing node.
fn unread(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut unread = 0;
    loop {
        let node = cursor.node();
        let below = match (node.is_error(), node.has_error()) {
            (true, _) => {
                unread += node.byte_range().len().max(1);
                Below::Skip
            }
            (false, true) => Below::Enter,
            (false, false) => Below::Skip,
        };
        unread += usize::from(node.is_missing());
        if advance(&mut cursor, below).is_none() {
            return unread;
        }
    }
}
