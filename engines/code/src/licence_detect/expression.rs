//! SPDX licence expressions (SPDX 2.3, Annex D).

use std::collections::BTreeSet;

use spdx::Expression;
use spdx::expression::{ExprNode, Operator};
use spdx::identifiers::{EXCEPTIONS, LICENSES};

use muster_engine::prelude::*;

#[derive(Debug, Output)]
pub(super) struct Described {
    pub valid: bool,
    /// Identifiers as in SPDX's list and no superfluous brackets; for an invalid expression its probable meaning, or
    /// empty.
    pub normalised: String,
    /// Licence names, without exceptions.
    pub licences: Vec<String>,
}

pub(super) fn describe(text: &str, context: &Context) -> Described {
    let (valid, parsed) = match parse(text) {
        Ok(parsed) => (true, Some(parsed)),
        Err(error) => {
            context.warn(format!("invalid: the expression cannot be read: {error}"));
            let meant = Expression::canonicalize(text).ok().flatten();
            (false, meant.and_then(|meant| parse(&meant).ok()))
        }
    };
    let licences: BTreeSet<String> = parsed
        .iter()
        .flat_map(Expression::requirements)
        .map(|requirement| requirement.req.license.to_string())
        .collect();
    Described {
        valid,
        normalised: parsed.as_ref().map(written).unwrap_or_default(),
        licences: licences.into_iter().collect(),
    }
}

/// Parses an expression. Identifiers may be in any case (Annex D.2), operators only in capitals; deprecated identifiers
/// such as `GPL-2.0` are known.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mode = spdx::ParseMode { allow_deprecated: true, ..spdx::ParseMode::STRICT };
    Expression::parse_mode(&cased(text), mode).map_err(|error| error.reason.to_string())
}

/// Writes each identifier as in the list.
fn cased(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    let mut cased = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        cased.push_str(listed(word).unwrap_or(word));
        let end = after.find(is_word).unwrap_or(after.len());
        let (between, after) = after.split_at(end);
        cased.push_str(between);
        rest = after;
    }
    cased
}

fn listed(word: &str) -> Option<&'static str> {
    let licences = LICENSES.iter().map(|licence| licence.name);
    licences.chain(EXCEPTIONS.iter().map(|exception| exception.name)).find(|name| name.eq_ignore_ascii_case(word))
}

/// Converts from postfix form, with brackets where operators are mixed.
fn written(expression: &Expression) -> String {
    let mut stack: Vec<(Option<Operator>, String)> = Vec::new();
    for node in expression.iter() {
        match node {
            ExprNode::Req(requirement) => stack.push((None, requirement.req.to_string())),
            ExprNode::Op(operator) => {
                let (Some(right), Some(left)) = (stack.pop(), stack.pop()) else { continue };
                let side = |(inner, text): (Option<Operator>, String)| match inner {
                    Some(inner) if inner != *operator => format!("({text})"),
                    _ => text,
                };
                let word = if *operator == Operator::And { "AND" } else { "OR" };
                stack.push((Some(*operator), format!("{} {word} {}", side(left), side(right))));
            }
        }
    }
    stack.pop().map(|(_, text)| text).unwrap_or_default()
}
