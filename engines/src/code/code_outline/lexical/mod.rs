//! An outline without a grammar: words, brackets and indentation tell what is defined where; comments and strings are
//! known for what they are. It tells what is written as most people write it, and may miss what is not.

mod braces;
mod heads;
mod lex;
mod pair;
mod python;
mod scripts;
#[cfg(test)]
mod tests;
mod typed;

use super::{Input, Output, Symbol, bounded};
use crate::code::language::{Language, MAX_SOURCE, sample};
use crate::{Context, Failure};

/// What is found, in the order of the source.
#[derive(Default)]
struct Found {
    symbols: Vec<Symbol>,
    imports: Vec<String>,
}

pub(super) fn outline(input: &Input, context: &Context) -> Result<Output, Failure> {
    if input.source.len() > MAX_SOURCE {
        return Err(Failure::too_large(format!("source is longer than {MAX_SOURCE} bytes: give a part of it")));
    }
    let told = Language::by_name(&input.language)
        .or_else(|| input.filename.as_deref().and_then(Language::of_filename))
        .or_else(|| guess(&input.source, context));
    let message = "is in none of the languages: name the one it should be read as in language";
    let language = told.ok_or_else(|| Failure::invalid(&["source"], message))?;
    context.warn(
        "this build has no grammars: the outline is read from words, brackets and indentation, and may miss definitions",
    );
    let lexed = lex::lex(&input.source, language);
    let found = match language {
        Language::Python => python::read(&input.source, &lexed),
        _ => braces::read(&input.source, &lexed, language),
    };
    let Found { symbols, imports } = found;
    Ok(bounded(Output { symbols, imports, errors: lexed.errors, language: language.name() }, context))
}

/// The language whose lines begin like most of the source's.
fn guess(source: &str, context: &Context) -> Option<Language> {
    let best = Language::alike(sample(source)).filter(|(_, alike)| *alike > 0);
    // Of as many the first.
    let (language, _) = best.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    context.warn(format!("the language was guessed: {}", language.name()));
    Some(language)
}
