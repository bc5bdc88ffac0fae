//! Computes all measures in one traversal of a tree.

use std::collections::HashSet;

use tree_sitter::{Node, Tree, TreeCursor};

use super::halstead::Halstead;
use super::kinds::{Role, decisions, operator, role};
use super::{Function, MAX_FUNCTIONS, function};
use crate::syntax::{Below, Language, Moved, advance, text};

/// Maximum number of enclosing functions to whose cognitive complexity a structure is added.
const MAX_ENCLOSING: usize = 32;

#[derive(Default)]
pub(super) struct Measurements<'s> {
    pub functions: Vec<Function>,
    pub halstead: Halstead<'s>,
    pub decisions: usize,
    /// Number of lines that contain more than comments.
    pub lines: usize,
}

/// A node whose children are visited.
#[derive(Clone, Copy, Default)]
struct Frame<'t> {
    node: Option<Node<'t>>,
    role: Role,
    /// Number of enclosing control structures and functions.
    nesting: usize,
    /// Whether this is part of an already counted chain of logical operators.
    in_chain: bool,
    in_string: bool,
    is_callee: bool,
    /// An `else` of an `if` or a loop, not of a `try`.
    is_counted_else: bool,
    opens_function: bool,
}

/// A function that encloses the current node.
struct Open {
    /// Its index in the list.
    at: usize,
    nesting: usize,
    is_recursive: bool,
}

struct Traversal<'s, 't> {
    source: &'s str,
    language: Language,
    measured: Measurements<'s>,
    frames: Vec<Frame<'t>>,
    open: Vec<Open>,
    last_row: Option<usize>,
}

pub(super) fn measure<'s>(tree: &Tree, source: &'s str, language: Language) -> Measurements<'s> {
    let frames = vec![Frame::default()];
    let mut traversal =
        Traversal { source, language, measured: Measurements::default(), frames, open: Vec::new(), last_row: None };
    let mut cursor = tree.walk();
    loop {
        let frame = traversal.visit(&cursor);
        let (below, is_leaf) = match frame {
            Some(_) => (Below::Enter, cursor.node().child_count() == 0),
            None => (Below::Skip, true),
        };
        match frame {
            Some(frame) if !is_leaf => traversal.frames.push(frame),
            Some(frame) if frame.opens_function => drop(traversal.open.pop()),
            _ => {}
        }
        match advance(&mut cursor, below) {
            Some(Moved::Down) => {}
            Some(Moved::Up(levels)) => (0..levels).for_each(|_| traversal.leave()),
            None => return traversal.measured,
        }
    }
}

impl<'s, 't> Traversal<'s, 't> {
    fn leave(&mut self) {
        if self.frames.pop().is_some_and(|frame| frame.opens_function) {
            self.open.pop();
        }
    }

    /// Enters a node and returns its frame.
    fn visit(&mut self, cursor: &TreeCursor<'t>) -> Option<Frame<'t>> {
        let (node, field) = (cursor.node(), cursor.field_name().unwrap_or_default());
        let around = *self.frames.last()?;
        if node.kind().ends_with("comment") {
            return None;
        }
        let is_string = is_string(node);
        if !around.in_string && (node.child_count() == 0 || is_string) {
            self.token(node, field, &around);
        }
        let mut frame = Frame { node: Some(node), in_string: around.in_string || is_string, ..Frame::default() };
        frame.is_callee = field == "function";
        if !node.is_named() {
            return Some(frame);
        }
        frame.role = role(node);
        let parent = around.node.map_or("", |node| node.kind());
        self.decide(decisions(node, parent, frame.role, self.language, self.source));
        frame.nesting = around.nesting + usize::from(self.nests(&around, field, frame.role));
        let is_else_if =
            frame.role == Role::If && (around.is_counted_else || (around.role == Role::If && field == "alternative"));
        match frame.role {
            Role::If if is_else_if => self.flat(frame.nesting),
            Role::If | Role::Loop | Role::Switch | Role::Catch | Role::Ternary => self.nested(frame.nesting),
            Role::Elif => self.flat(frame.nesting),
            Role::Else => {
                frame.is_counted_else = matches!(around.role, Role::If | Role::Loop);
                // `else if` counts once, at its `if`.
                let is_if = node.named_child(0).is_some_and(|child| role(child) == Role::If);
                if frame.is_counted_else && !is_if {
                    self.add(1);
                }
            }
            Role::Jump => self.add(1),
            Role::Logical => {
                if !around.in_chain {
                    self.add(sequences(node));
                }
                frame.in_chain = true;
            }
            Role::Parentheses => frame.in_chain = around.in_chain,
            Role::Function => frame.opens_function = self.open(node, around.node, frame.nesting),
            Role::Call => self.recursion(node),
            // In Go and Java the `else` is the statement itself.
            Role::None if around.role == Role::If && field == "alternative" => self.add(1),
            Role::None => {}
        }
        Some(frame)
    }

    /// Returns whether a node is one level deeper than the enclosing one.
    fn nests(&self, around: &Frame<'t>, field: &str, role: Role) -> bool {
        match around.role {
            Role::If | Role::Elif if matches!(field, "condition" | "initializer") => false,
            Role::If => !(field == "alternative" && matches!(role, Role::If | Role::Elif | Role::Else)),
            Role::Elif | Role::Catch => true,
            Role::Else => around.is_counted_else && role != Role::If,
            Role::Loop => field == "body",
            Role::Switch => !matches!(field, "condition" | "value" | "subject" | "initializer" | "alias"),
            Role::Ternary => field != "condition",
            // The body of a nested function; a decorator's only function counts as the decorator's own.
            Role::Function => self.open.len() > 1 && field == "body" && !self.is_decorated(around),
            _ => false,
        }
    }

    /// Campbell, appendix A, "Python: Decorators": a function that only defines another and returns it.
    fn is_decorated(&self, function: &Frame<'t>) -> bool {
        if self.language != Language::Python {
            return false;
        }
        // The frames above the function are its own, the outer body's and the outer function's.
        let outer = self.frames.iter().rev().nth(1).and_then(|frame| frame.node);
        let Some(block) = outer.filter(|outer| outer.kind() == "block") else { return false };
        block.named_child_count() == 2
            && block.named_child(0) == function.node
            && block.named_child(1).is_some_and(|last| last.kind() == "return_statement")
    }

    fn open(&mut self, node: Node<'t>, around: Option<Node<'t>>, nesting: usize) -> bool {
        let name = function::name(node, around, self.source);
        // An unnamed function belongs to the enclosing one.
        if (name.is_none() && !self.open.is_empty()) || self.measured.functions.len() > MAX_FUNCTIONS {
            return false;
        }
        let (start, end) = (node.start_position().row, node.end_position().row);
        self.open.push(Open { at: self.measured.functions.len(), nesting, is_recursive: false });
        self.measured.functions.push(Function {
            name: name.unwrap_or_else(|| "<anonymous>".to_owned()),
            start: start + 1,
            lines: end - start + 1,
            cyclomatic: 1,
            parameters: function::parameters(node, self.source),
            ..Function::default()
        });
        true
    }

    fn decide(&mut self, decisions: usize) {
        self.measured.decisions += decisions;
        if let Some(function) = self.open.last().and_then(|open| self.measured.functions.get_mut(open.at)) {
            function.cyclomatic += decisions;
        }
    }

    fn add(&mut self, increment: usize) {
        for open in self.open.iter().rev().take(MAX_ENCLOSING) {
            if let Some(function) = self.measured.functions.get_mut(open.at) {
                function.cognitive += increment;
            }
        }
    }

    /// Counts a structure with its nesting level.
    fn nested(&mut self, nesting: usize) {
        self.flat(nesting);
        for open in self.open.iter().rev().take(MAX_ENCLOSING) {
            if let Some(function) = self.measured.functions.get_mut(open.at) {
                function.cognitive += nesting - open.nesting;
            }
        }
    }

    /// Counts a structure without its nesting level.
    fn flat(&mut self, nesting: usize) {
        for open in self.open.iter().rev().take(MAX_ENCLOSING) {
            if let Some(function) = self.measured.functions.get_mut(open.at) {
                function.cognitive += 1;
                function.nesting = function.nesting.max(nesting - open.nesting + 1);
            }
        }
    }

    /// Counts a recursive call.
    fn recursion(&mut self, node: Node<'t>) {
        let Some(open) = self.open.last_mut().filter(|open| !open.is_recursive) else { return };
        let Some(function) = self.measured.functions.get_mut(open.at) else { return };
        let callee = node.child_by_field_name("function").or_else(|| node.child_by_field_name("name"));
        let Some(callee) = callee.map(|callee| text(callee, self.source)) else { return };
        let own = ["self.", "this.", "Self::", "cls."].iter().find_map(|own| callee.strip_prefix(own));
        let elsewhere = node.child_by_field_name("object").is_some_and(|object| text(object, self.source) != "this");
        if own.unwrap_or(callee) == function.name && !elsewhere {
            open.is_recursive = true;
            function.cognitive += 1;
        }
    }

    fn token(&mut self, node: Node<'t>, field: &str, around: &Frame<'t>) {
        let token = text(node, self.source);
        // A pair of brackets is one operator, counted at the opening bracket.
        if token.trim().is_empty() || matches!(token, ")" | "]" | "}") {
            self.line(node);
            return;
        }
        self.line(node);
        let parent = around.node.map_or("", |node| node.kind());
        let is_name = match field {
            "function" => true,
            "name" => around.role == Role::Function || parent == "method_invocation" || around.is_callee,
            "declarator" => parent == "function_declarator",
            "property" | "attribute" | "field" => around.is_callee,
            _ => false,
        };
        let is_type = node.kind().ends_with("_type") && node.kind() != "generic_type";
        if node.is_named() && !is_name && !is_type {
            self.measured.halstead.operand(token);
        } else {
            self.measured.halstead.operator(token);
        }
    }

    /// Counts the lines of a token.
    fn line(&mut self, node: Node<'t>) {
        let (start, end) = (node.start_position().row, node.end_position().row);
        let from = self.last_row.map_or(start, |last| start.max(last + 1));
        if end >= from {
            self.measured.lines += end - from + 1;
            self.last_row = Some(end);
        }
    }
}

fn is_string(node: Node<'_>) -> bool {
    node.is_named()
        && matches!(
            node.kind(),
            "string"
                | "string_literal"
                | "raw_string_literal"
                | "template_string"
                | "interpreted_string_literal"
                | "char_literal"
                | "character_literal"
                | "rune_literal"
        )
}

/// Counts sequences of equal operators in a chain, from left to right and through parentheses.
fn sequences(top: Node<'_>) -> usize {
    enum Step<'t> {
        Look(Node<'t>),
        Say(&'static str),
    }
    let mut ahead = vec![Step::Look(top)];
    let (mut sequences, mut last) = (0, None);
    let mut seen = HashSet::new();
    while let Some(step) = ahead.pop() {
        match step {
            Step::Say(operator) => {
                sequences += usize::from(last != Some(operator));
                last = Some(operator);
            }
            Step::Look(node) if seen.insert(node.id()) => match role(node) {
                Role::Logical => {
                    let (left, right) = (node.child_by_field_name("left"), node.child_by_field_name("right"));
                    ahead.extend(right.map(Step::Look));
                    ahead.extend(operator(node).map(Step::Say));
                    ahead.extend(left.map(Step::Look));
                }
                Role::Parentheses => ahead.extend(node.named_child(0).map(Step::Look)),
                _ => {}
            },
            Step::Look(_) => {}
        }
    }
    sequences
}
