//! Veto rules: what no approval can permit, written in Cedar.
//!
//! [`compile`] reads a text within bounds and checks it against the schema of [`SCHEMA`]; [`Rules::judge`] returns the rules
//! that forbid a request. Cedar skips a rule whose evaluation fails, which would let a request pass because its `forbid`
//! is broken; here **a rule that errs vetoes**, whatever its effect.
//!
//! The crate knows nothing of the product: facts come as [`Facts`], and nothing here reads a file, a clock or randomness.

#![warn(missing_docs)]

mod bounds;
mod error;
mod facts;
mod rules;
mod schema;

pub use bounds::{MAX_DEPTH, MAX_RULES, MAX_TEXT};
pub use error::PolicyError;
pub use facts::Facts;
pub use rules::{NO_PERMIT, Rules, Veto, compile};
pub use schema::SCHEMA;

/// The rules that are in force where no others are configured.
pub const DEFAULT_RULES: &str = include_str!("../rules/default.cedar");
