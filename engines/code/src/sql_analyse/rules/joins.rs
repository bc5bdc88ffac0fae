//! Detects tables of one FROM clause that no condition links.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, JoinConstraint, JoinOperator, Select, TableFactor, visit_expressions};

use super::super::touched::last;
use super::{column, compares};

/// Union-find over linked names.
#[derive(Default)]
struct Links(BTreeMap<String, String>);

impl Links {
    fn root(&self, name: &str) -> String {
        let mut at = name;
        while let Some(next) = self.0.get(at).filter(|next| *next != at) {
            at = next;
        }
        at.to_owned()
    }

    fn link(&mut self, a: &str, b: &str) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.0.insert(b, a);
        }
    }
}

/// Returns the tables not linked to the first one, which are combined with every row. Conditions between unqualified
/// columns count for all tables, since their table is unknown.
pub(super) fn unlinked(select: &Select) -> Vec<String> {
    let (mut names, mut links) = (Vec::new(), Links::default());
    for table in &select.from {
        let Some(first) = name(&table.relation) else { return Vec::new() };
        names.push(first.clone());
        for join in &table.joins {
            let Some(next) = name(&join.relation) else { return Vec::new() };
            if !open(&join.join_operator) {
                links.link(&first, &next);
            }
            names.push(next);
        }
    }
    if names.len() < 2 || vague(select, &mut links) {
        return Vec::new();
    }
    let Some(root) = names.first().map(|first| links.root(first)) else { return Vec::new() };
    names.into_iter().filter(|name| links.root(name) != root).collect()
}

/// Adds the links of WHERE; returns true if unqualified columns are compared.
fn vague(select: &Select, links: &mut Links) -> bool {
    let Some(condition) = &select.selection else { return false };
    let found = visit_expressions(condition, |expr: &Expr| {
        let tables: Vec<String> = match expr {
            Expr::BinaryOp { op, .. } if compares(op) => tables(expr),
            Expr::Between { .. } | Expr::InList { .. } | Expr::InSubquery { .. } | Expr::Function(_) => tables(expr),
            _ => return ControlFlow::Continue(()),
        };
        if tables.iter().filter(|table| table.is_empty()).count() > usize::from(tables.len() == 1) {
            return ControlFlow::Break(());
        }
        if let [first, rest @ ..] = tables.as_slice() {
            rest.iter().for_each(|table| links.link(first, table));
        }
        ControlFlow::Continue(())
    });
    found.is_break()
}

/// Qualifiers of all columns of an expression; empty texts for unqualified ones.
fn tables(expr: &Expr) -> Vec<String> {
    let mut found = Vec::new();
    let _ = visit_expressions(expr, |expr: &Expr| {
        found.extend(column(expr).map(|(table, _)| table));
        ControlFlow::<()>::Continue(())
    });
    found
}

/// Name used in conditions; `None` for a table derived from the preceding ones, such as `LATERAL`.
fn name(factor: &TableFactor) -> Option<String> {
    match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            Some(alias.as_ref().map_or_else(|| last(name), |alias| alias.name.value.clone()).to_lowercase())
        }
        TableFactor::Derived { lateral: false, alias: Some(alias), .. } => Some(alias.name.value.to_lowercase()),
        _ => None,
    }
}

/// Returns whether a join has no condition and is not an explicit CROSS JOIN.
fn open(operator: &JoinOperator) -> bool {
    use JoinOperator::{FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter, StraightJoin};
    match operator {
        Join(on) | Inner(on) | Left(on) | LeftOuter(on) | Right(on) | RightOuter(on) | FullOuter(on)
        | StraightJoin(on) => matches!(on, JoinConstraint::None),
        _ => false,
    }
}
