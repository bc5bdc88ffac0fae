//! q189: code outline.

mod definitions;
mod doc;
#[cfg(test)]
mod tests;
mod traversal;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::syntax;
use crate::engine::call;
use crate::{Context, Engine, Failure, Family, Nature};

pub static ENGINE: Engine = Engine {
    number: 189,
    id: "code-outline",
    name: "Code outline",
    family: Family::Code,
    nature: Nature::Pure,
    summary: "Functions, classes, imports, doc comments and spans of a source file in Rust, Python, JavaScript, TypeScript, Go, Java or C.",
    inputs: &[
        "source:string:-:required",
        "language:enum(auto|rust|python|javascript|typescript|go|java|c):-:=auto",
        "filename:string:-:optional",
    ],
    outputs: &[
        "symbols:array<{name=string,kind=string,start=integer,end=integer,signature=string,doc=string,parent=string}>:-",
        "imports:array<string>:-",
        "errors:integer:-",
        "language:string:-",
    ],
    method: "tree-sitter grammars with tags queries per language; parse-error node count.",
    reference: "tree-sitter tags.scm corpora of each grammar; Language Server Protocol 3.17 SymbolKind",
    example: r#"{
        "source": "use std::fmt;\n\n/// A point.\npub struct Point { x: f64 }\n\nimpl Point {\n    /// Where it is.\n    pub fn x(&self) -> f64 { self.x }\n}\n",
        "filename": "point.rs"
    }"#,
    function: |input, context| call(outline, input, context),
    fields: OnceLock::new(),
};

/// Maximum number of symbols, and of imports, in one source.
const MAX_SYMBOLS: usize = 10_000;

/// Maximum length of a signature, in characters.
const MAX_SIGNATURE: usize = 300;
/// Maximum number of children of an error node around which symbols are searched: a query's time grows with its square.
const MAX_ERROR: u32 = 4_000;

#[derive(Deserialize)]
struct Input {
    source: String,
    language: String,
    filename: Option<String>,
}

#[derive(Serialize)]
struct Output {
    symbols: Vec<Symbol>,
    /// Imported paths in the language's own form: `std::fmt`, `os.path`, `react`, `stdio.h`.
    imports: Vec<String>,
    errors: usize,
    language: &'static str,
}

#[derive(Serialize)]
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

fn outline(input: Input, context: &Context) -> Result<Output, Failure> {
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
