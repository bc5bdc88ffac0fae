//! Turns definitions into symbols, with their scopes and doc comments.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::definitions::{Definition, Definitions};
use super::{MAX_SYMBOLS, Symbol, doc, one_line};
use crate::syntax::{Below, Language, Moved, advance, text};

/// Nodes that may be between a comment and its definition.
const ATTRIBUTES: [&str; 3] = ["attribute_item", "decorator", "marker_annotation"];
/// A comment before one of these documents the definition inside.
const WRAPPERS: [&str; 10] = [
    "ambient_declaration",
    "const_declaration",
    "declaration",
    "decorated_definition",
    "export_statement",
    "expression_statement",
    "lexical_declaration",
    "type_declaration",
    "var_declaration",
    "variable_declaration",
];

/// A node whose children are being visited.
#[derive(Default)]
struct Frame {
    /// Doc comments of this node that no definition has taken yet, if it is a wrapper.
    docs: Vec<Range<usize>>,
    /// Comments among its children with nothing after them yet, and the last row at which they are adjacent.
    pending: Vec<Range<usize>>,
    pending_row: usize,
    /// Last row of the last child that is not a comment.
    code_row: Option<usize>,
    is_wrapper: bool,
    is_scope: bool,
}

struct Traversal<'a> {
    source: &'a str,
    language: Language,
    definitions: &'a Definitions,
    frames: Vec<Frame>,
    /// Names of the enclosing definitions, and whether functions in them are methods.
    scopes: Vec<(&'a str, bool)>,
    symbols: Vec<Symbol>,
}

/// Returns symbols in source order; at most one more than the limit.
pub(super) fn symbols(tree: &Tree, source: &str, language: Language, definitions: &Definitions) -> Vec<Symbol> {
    let frames = vec![Frame::default()];
    let mut traversal = Traversal { source, language, definitions, frames, scopes: Vec::new(), symbols: Vec::new() };
    let mut cursor = tree.walk();
    loop {
        let frame = traversal.visit(cursor.node());
        let below = if frame.is_some() { Below::Enter } else { Below::Skip };
        let leaf = cursor.node().child_count() == 0;
        match frame {
            Some(frame) if !leaf => traversal.frames.push(frame),
            Some(frame) if frame.is_scope => drop(traversal.scopes.pop()),
            _ => {}
        }
        match advance(&mut cursor, below) {
            Some(Moved::Down) => {}
            Some(Moved::Up(levels)) => (0..levels).for_each(|_| traversal.leave()),
            None => return traversal.symbols,
        }
        if traversal.symbols.len() > MAX_SYMBOLS {
            return traversal.symbols;
        }
    }
}

impl<'a> Traversal<'a> {
    fn leave(&mut self) {
        if self.frames.pop().is_some_and(|frame| frame.is_scope) {
            self.scopes.pop();
        }
    }

    /// Enters a node and returns its frame.
    fn visit(&mut self, node: Node<'_>) -> Option<Frame> {
        let around = self.frames.last_mut()?;
        if node.kind().ends_with("comment") {
            around.comment(node);
            return None;
        }
        if !node.is_named() {
            return Some(Frame::default());
        }
        if ATTRIBUTES.contains(&node.kind()) {
            around.pending_row = node.end_position().row;
            return None;
        }
        let mut docs = std::mem::take(&mut around.pending);
        if around.pending_row + 1 < node.start_position().row {
            docs.clear();
        }
        if docs.is_empty() && around.is_wrapper {
            docs = std::mem::take(&mut around.docs);
        }
        around.code_row = Some(last_row(node));
        let definition = self.definitions.definitions.get(&node.id());
        if let Some(definition) = definition {
            self.define(node, definition, &docs);
        }
        let is_wrapper = WRAPPERS.contains(&node.kind());
        Some(Frame { docs, is_wrapper, is_scope: definition.is_some(), ..Frame::default() })
    }

    fn define(&mut self, node: Node<'_>, definition: &'a Definition, docs: &[Range<usize>]) {
        let (parent, in_type) = self.scopes.last().copied().unwrap_or_default();
        let is_type = matches!(definition.kind, "class" | "struct" | "enum" | "interface" | "scope");
        self.scopes.push((&definition.name, is_type));
        let kind = match definition.kind {
            "scope" => return,
            "function" if in_type => "method",
            kind => kind,
        };
        let comments = docs.iter().filter_map(|range| self.source.get(range.clone()));
        let doc = doc::docstring(node, self.source, self.language)
            .unwrap_or_else(|| doc::of_comments(comments, self.language));
        self.symbols.push(Symbol {
            name: definition.name.clone(),
            kind,
            start: node.start_position().row + 1,
            end: last_row(node) + 1,
            signature: signature(node, self.source),
            doc,
            parent: definition.parent.clone().unwrap_or_else(|| parent.to_owned()),
        });
    }
}

impl Frame {
    fn comment(&mut self, node: Node<'_>) {
        // A comment after code on the same line documents that code.
        if self.code_row == Some(node.start_position().row) {
            return;
        }
        if self.pending_row + 1 < node.start_position().row {
            self.pending.clear();
        }
        self.pending.push(node.byte_range());
        self.pending_row = last_row(node);
    }
}

/// Last row of a node; a final line break belongs to the line that it ends.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}

/// Declaration before the body, on one line.
fn signature(node: Node<'_>, source: &str) -> String {
    let whole = text(node, source);
    let head = match body(node) {
        Some(body) => source.get(node.start_byte()..body.start_byte()).unwrap_or(whole),
        None => whole.split_once('{').map_or(whole, |(head, _)| head),
    };
    one_line(head)
}

fn body(node: Node<'_>) -> Option<Node<'_>> {
    let of_value = |field: &str| own_body(node.child_by_field_name(field)?);
    let declared = || {
        let declarator = node.named_child(0).filter(|child| child.kind() == "variable_declarator")?;
        own_body(declarator.child_by_field_name("value")?)
    };
    own_body(node).or_else(|| of_value("value")).or_else(|| of_value("right")).or_else(declared)
}

fn own_body(node: Node<'_>) -> Option<Node<'_>> {
    // The fields of a tuple struct are its whole body.
    node.child_by_field_name("body").filter(|body| body.kind() != "ordered_field_declaration_list")
}
