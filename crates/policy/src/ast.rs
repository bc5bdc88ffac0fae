//! The syntax tree.

use std::fmt;

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) annotations: Vec<(String, String)>,
    pub(crate) effect: Effect,
    pub(crate) principal: Scope,
    pub(crate) action: Scope,
    pub(crate) resource: Scope,
    pub(crate) conditions: Vec<Condition>,
    /// Line on which it begins.
    pub(crate) line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Permit,
    Forbid,
}

/// What a rule requires of the principal, the action or the resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Any,
    /// It is one of these. There are no groups, so that `in` means the same as `==`.
    OneOf(Vec<Entity>),
    /// It is of this type, and one of these if there are any.
    Is(String, Option<Entity>),
}

/// `when` or `unless`, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The value that the expression must have.
    pub(crate) wanted: bool,
    pub(crate) expression: Expr,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entity {
    pub(crate) kind: String,
    pub(crate) id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variable {
    Principal,
    Action,
    Resource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
}

/// An expression. Chains of one operator are lists, so that the depth of a tree is that of its brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expr {
    Bool(bool),
    Long(i64),
    Text(String),
    Entity(Entity),
    Variable(Variable),
    /// A member of the context.
    Fact(String),
    /// Whether the context has a member.
    HasFact(String),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Equal(Box<Expr>, Box<Expr>),
    NotEqual(Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// The first operand and what is done with each further one, from left to right.
    Compute(Box<Expr>, Vec<(Arithmetic, Expr)>),
    In(Box<Expr>, Box<Expr>),
    Is(Box<Expr>, String),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Set(Vec<Expr>),
    /// `a.contains(b)`.
    Contains(Box<Expr>, Box<Expr>),
    /// `a.containsAll(b)`.
    ContainsAll(Box<Expr>, Box<Expr>),
    /// `a.containsAny(b)`.
    ContainsAny(Box<Expr>, Box<Expr>),
    /// `a.isEmpty()`.
    IsEmpty(Box<Expr>),
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{:?}", self.kind, self.id)
    }
}
