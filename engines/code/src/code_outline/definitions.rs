//! Definitions and imports found by a language's query.

use std::collections::HashMap;
use std::sync::OnceLock;

use tree_sitter::{Node, Query, QueryCursor, StreamingIterator, Tree};

use crate::syntax::{Language, text};
use muster_engine::Failure;

/// The queries: `@name` is a definition's name, `@parent` its owner if that is not the enclosing node, and the
/// definition itself is captured by its kind. `@import` is a path, `@from` its base. If two patterns match one node,
/// the first counts.
const QUERIES: [(Language, &str); 8] = [
    (Language::Rust, include_str!("queries/rust.scm")),
    (Language::Python, include_str!("queries/python.scm")),
    (Language::JavaScript, include_str!("queries/javascript.scm")),
    (Language::TypeScript, include_str!("queries/typescript.scm")),
    (Language::Tsx, include_str!("queries/typescript.scm")),
    (Language::Go, include_str!("queries/go.scm")),
    (Language::Java, include_str!("queries/java.scm")),
    (Language::C, include_str!("queries/c.scm")),
];

/// Kinds of definitions; `scope` is not reported, but owns functions.
const KINDS: [&str; 13] = [
    "class",
    "struct",
    "enum",
    "interface",
    "scope",
    "function",
    "method",
    "constructor",
    "module",
    "constant",
    "variable",
    "type",
    "macro",
];

#[derive(Default)]
pub(super) struct Definitions {
    /// By node id.
    pub definitions: HashMap<usize, Definition>,
    pub imports: Vec<String>,
}

pub(super) struct Definition {
    pub kind: &'static str,
    pub name: String,
    pub parent: Option<String>,
    pattern: usize,
}

fn query(language: Language) -> Result<&'static Query, Failure> {
    static READ: [OnceLock<Result<Query, String>>; 8] = [const { OnceLock::new() }; 8];
    let pair = QUERIES.iter().zip(&READ).find(|((known, _), _)| *known == language);
    let ((_, text), read) = pair.ok_or_else(|| Failure::internal("a language without a query"))?;
    let query = read.get_or_init(|| Query::new(&language.grammar(), text).map_err(|error| error.to_string()));
    query.as_ref().map_err(Failure::internal)
}

pub(super) fn find(tree: &Tree, source: &str, language: Language) -> Result<Definitions, Failure> {
    let query = query(language)?;
    let (mut found, mut imports) = (Definitions::default(), Vec::new());
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches(query, tree.root_node(), source.as_bytes());
    while let Some(matched) = matches.next() {
        let captured = |name: &str| {
            let capture = matched
                .captures()
                .iter()
                .find(|capture| query.capture_names().get(capture.index as usize) == Some(&name));
            capture.map(|capture| capture.node)
        };
        if let Some(node) = captured("import") {
            imports.push((node.start_byte(), import(text(node, source), captured("from"), source)));
            continue;
        }
        let kind = KINDS.iter().find_map(|kind| captured(kind).map(|node| (*kind, node)));
        let (Some((kind, node)), Some(name)) = (kind, captured("name")) else { continue };
        let definition = Definition {
            kind,
            name: text(name, source).trim_matches(['"', '\'']).to_owned(),
            parent: captured("parent").map(|parent| text(parent, source).to_owned()),
            pattern: matched.pattern_index,
        };
        let earlier = found.definitions.get(&node.id()).is_some_and(|known| known.pattern <= definition.pattern);
        if !earlier {
            found.definitions.insert(node.id(), definition);
        }
    }
    imports.sort();
    found.imports = imports.into_iter().map(|(_, path)| path).collect();
    Ok(found)
}

fn import(path: &str, from: Option<Node<'_>>, source: &str) -> String {
    let path = path.trim_start_matches("import").trim_end_matches(';').trim_matches(['"', '\'', '`', '<', '>']);
    let path = path.split_whitespace().filter(|word| *word != "static").collect::<Vec<_>>().join(" ");
    match from.map(|from| text(from, source)) {
        // A relative module ends in its own dot: `from . import x`.
        Some(from) if from.ends_with('.') => format!("{from}{path}"),
        Some(from) => format!("{from}.{path}"),
        None => path,
    }
}
