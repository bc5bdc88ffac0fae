//! Which language a text is in.

use tree_sitter::Tree;

use super::{Below, Language, advance, parse};
use crate::code::language::sample;
use crate::{Context, Failure};

/// The tree of a source in the language that is named, or else told by a file's name, or else the one that fits best:
/// whose parse leaves out the least, and of such the one whose lines begin like the source's.
///
/// # Errors
/// As [`parse`].
pub fn choose(
    source: &str,
    named: &str,
    filename: Option<&str>,
    context: &Context,
) -> Result<(Language, Tree), Failure> {
    let told = Language::by_name(named).or_else(|| filename.and_then(Language::of_filename));
    match told {
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
        // What cannot be parsed as a language is not in it.
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

/// Bytes in errors, and a byte for each thing that is missing.
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
