//! Syntax trees of source code: language detection and parsing.

mod detect;

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree, TreeCursor};

pub use super::language::Language;
use super::language::MAX_SOURCE;
pub use detect::choose;
use muster_engine::Failure;

/// Maximum tree depth of engines whose library traverses it recursively.
pub const MAX_NESTING: usize = 1_000;
/// A parser reports its progress about every 100 operations: for source code once per 60 to 100 bytes, and once per 30
/// if nearly all of it is errors. Parsing that takes several times as long is aborted.
const LEAST_REPORTS: usize = 2_000;
const BYTES_OF_A_REPORT: usize = 8;

impl Language {
    pub fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
        }
    }
}

/// Parses `source`, the value of the field `field`.
///
/// # Errors
/// `TooLarge` if it is too long, or takes more work than source code does.
pub fn parse(source: &str, language: Language, field: &str) -> Result<Tree, Failure> {
    if source.len() > MAX_SOURCE {
        return Err(Failure::too_large(format!("{field} is longer than {MAX_SOURCE} bytes: give a part of it")));
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).map_err(Failure::internal)?;
    let mut left = LEAST_REPORTS + source.len() / BYTES_OF_A_REPORT;
    let mut progress = |_: &tree_sitter::ParseState| match left.checked_sub(1) {
        Some(rest) => {
            left = rest;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = source.as_bytes();
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
    let message = || format!("{field} took too long to parse as {}: is it in this language?", language.name());
    tree.ok_or_else(|| Failure::too_large(message()))
}

/// A node's text.
pub fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// Moves to the next node in preorder, entering children if `down` is `Below::Enter`; returns how far up it moved, `None` at the
/// end.
pub fn advance(cursor: &mut TreeCursor<'_>, down: Below) -> Option<Moved> {
    if down == Below::Enter && cursor.goto_first_child() {
        return Some(Moved::Down);
    }
    let mut up = 0;
    loop {
        if cursor.goto_next_sibling() {
            return Some(Moved::Up(up));
        }
        if !cursor.goto_parent() {
            return None;
        }
        up += 1;
    }
}

/// Whether a traversal enters the current node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    Enter,
    Skip,
}

/// How a traversal reached the current node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    Down,
    /// Up by this many levels, then to the next sibling.
    Up(usize),
}

/// Parse errors of a tree.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// Number of error or missing nodes.
    pub count: usize,
    /// Maximum number of children of an error node.
    pub widest: u32,
}

pub fn errors(tree: &Tree) -> Errors {
    let mut cursor = tree.walk();
    let mut errors = Errors::default();
    loop {
        let node = cursor.node();
        errors.count += usize::from(node.is_error() || node.is_missing());
        if node.is_error() {
            errors.widest = errors.widest.max(node.child_count());
        }
        let below = if node.has_error() { Below::Enter } else { Below::Skip };
        if advance(&mut cursor, below).is_none() {
            return errors;
        }
    }
}

/// How deep a tree is.
pub fn depth(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let (mut depth, mut deepest) = (1_usize, 1);
    while let Some(moved) = advance(&mut cursor, Below::Enter) {
        match moved {
            Moved::Down => depth += 1,
            Moved::Up(levels) => depth = depth.saturating_sub(levels),
        }
        deepest = deepest.max(depth);
    }
    deepest
}
