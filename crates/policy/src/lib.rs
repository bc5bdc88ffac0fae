//! Veto rules: what no approval can permit, written in Cedar (<https://docs.cedarpolicy.com>).
//!
//! [`compile`] reads a text within bounds and checks it against the schema of [`SCHEMA`]; [`Rules::judge`] returns the rules
//! that forbid a request. Cedar skips a rule whose evaluation fails, which would let a request pass because its `forbid`
//! is broken; here **a rule that errs vetoes**, whatever its effect.
//!
//! Taken is the part of Cedar that the schema has a use for: scopes, `when` and `unless`, Booleans, integers with checked
//! arithmetic, texts, entities and sets. Entities have no attributes and no groups, and no fact is a text, so attributes,
//! hierarchies, `like`, records, extension functions and templates are refused by name. Cedar's own implementation judges
//! the same rules in `tests/governance/test_policy.py`; docs/decisions/0039 says why it is not used here.
//!
//! The crate knows nothing of the product: facts come as [`Facts`], and nothing here reads a file, a clock or randomness.

#![warn(missing_docs)]

mod ast;
mod bounds;
mod check;
mod error;
mod evaluate;
mod facts;
mod lexer;
mod parser;
mod rules;

pub use bounds::{MAX_DEPTH, MAX_RULES, MAX_TEXT};
pub use error::PolicyError;
pub use facts::Facts;
pub use rules::{NO_PERMIT, Rules, Veto, compile};

/// The rules that are in force where no others are configured.
pub const DEFAULT_RULES: &str = include_str!("../rules/default.cedar");
/// The schema that rules are checked against, in Cedar's own notation: types of entities, facts and the known actions.
pub const SCHEMA: &str = include_str!("../rules/schema.cedarschema");
