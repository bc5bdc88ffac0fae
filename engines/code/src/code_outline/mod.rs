//! q189: code outline.

mod definitions;
mod doc;
#[cfg(test)]
mod tests;
mod traversal;

use super::syntax;
use muster_engine::prelude::*;

/// Maximum number of symbols, and of imports, in one source.
const MAX_SYMBOLS: usize = 10_000;

/// Maximum length of a signature, in characters.
const MAX_SIGNATURE: usize = 300;
/// Maximum number of children of an error node around which symbols are searched: a query's time grows with its square.
const MAX_ERROR: u32 = 4_000;

#[derive(Input)]
pub struct Input {
    source: String,
    language: String,
    filename: Option<String>,
}

#[derive(Output)]
pub struct Output {
    symbols: Vec<Symbol>,
    /// Imported paths in the language's own form: `std::fmt`, `os.path`, `react`, `stdio.h`.
    imports: Vec<String>,
    errors: usize,
    language: &'static str,
}

#[derive(Output)]
struct Symbol {
    name: String,
    /// SymbolKind of the Language Server Protocol in lower case, or `type` or `macro`, which it lacks.
    kind: &'static str,
    /// First line, from 1.
    start: usize,
    /// Last line.
    end: usize,
    /// Declaration before the body, on one line.
    signature: String,
    /// Text of the preceding comment, or the docstring.
    doc: String,
    /// Name of the enclosing symbol.
    parent: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let (language, tree) = syntax::choose(&input.source, &input.language, input.filename.as_deref(), context)?;
    let errors = syntax::errors(&tree);
    let found = if errors.widest <= MAX_ERROR {
        definitions::find(&tree, &input.source, language)?
    } else {
        context.warn(format!("most of it could not be read as {}: no symbols are reported", language.name()));
        definitions::Definitions::default()
    };
    let symbols = traversal::symbols(&tree, &input.source, language, &found);
    let output = Output { symbols, imports: found.imports, errors: errors.count, language: language.name() };
    Ok(bounded(output, context))
}

/// Enforces the limits on symbols and imports.
fn bounded(mut output: Output, context: &Context) -> Output {
    if output.symbols.len() > MAX_SYMBOLS || output.imports.len() > MAX_SYMBOLS {
        context.warn(format!("only the first {MAX_SYMBOLS} symbols and imports are reported"));
        output.symbols.truncate(MAX_SYMBOLS);
        output.imports.truncate(MAX_SYMBOLS);
    }
    output
}

/// Joins the declaration before a body to one line.
fn one_line(head: &str) -> String {
    let mut line = String::new();
    for word in head.split_whitespace() {
        if line.len() > MAX_SIGNATURE {
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.extend(word.chars().take(MAX_SIGNATURE));
    }
    let line: String = line.chars().take(MAX_SIGNATURE).collect();
    line.trim_end_matches([';', ':', ' ']).to_owned()
}
