//! Rules for error-prone patterns.

mod joins;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, ColumnDef, DataType, Expr, ObjectType, Select, SelectItem, Statement, Value, Visit as _, Visitor,
};

use super::Problem;

/// Nesting of a condition that is examined.
const MAX_CONDITION: usize = 16;

/// Column types declared by the input's own `CREATE TABLE`s, by lower-case name; `None` if two tables disagree.
#[derive(Default)]
pub(super) struct Types(BTreeMap<String, Option<Class>>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Class {
    Number,
    Text,
}

impl Types {
    pub(super) fn of(statements: &[Statement]) -> Self {
        let mut types = BTreeMap::new();
        for statement in statements {
            let Statement::CreateTable(table) = statement else { continue };
            for ColumnDef { name, data_type, .. } in &table.columns {
                let class = class(data_type);
                let known = types.entry(name.value.to_lowercase()).or_insert(class);
                if *known != class {
                    *known = None;
                }
            }
        }
        Self(types)
    }

    /// Without a definition, keys are assumed to be numbers.
    fn get(&self, column: &str) -> Option<Class> {
        let column = column.to_lowercase();
        let key = column == "id" || column.ends_with("_id");
        self.0.get(&column).copied().unwrap_or(key.then_some(Class::Number))
    }
}

fn class(data_type: &DataType) -> Option<Class> {
    let name = data_type.to_string().to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if begins(&["int", "bigint", "smallint", "tinyint", "mediumint", "numeric", "decimal", "real", "float", "double"]) {
        Some(Class::Number)
    } else if begins(&["char", "varchar", "text", "nvarchar", "nchar", "string", "clob"]) {
        Some(Class::Text)
    } else {
        None
    }
}

/// Returns the problems of one statement, in source order.
pub(super) fn check(statement: &Statement, types: &Types) -> Vec<Problem> {
    let mut check = Check { types, problems: Vec::new() };
    let _ = statement.visit(&mut check);
    check.problems
}

struct Check<'t> {
    types: &'t Types,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn report(&mut self, rule: &'static str, severity: &'static str, message: impl Into<String>) {
        let message = message.into();
        if !self.problems.iter().any(|problem| problem.rule == rule && problem.message == message) {
            self.problems.push(Problem { rule, severity, message });
        }
    }

    fn compared(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) {
        let (_, name) = column(left).or_else(|| column(right)).unwrap_or_default();
        if [left, right].into_iter().any(|side| matches!(literal(side), Some(Value::Null))) {
            self.report("null-comparison", "high", format!("`{op} NULL` is never true: write IS NULL or IS NOT NULL"));
        }
        let value = [left, right].into_iter().find_map(literal);
        match (self.types.get(&name), value) {
            (Some(Class::Number), Some(Value::SingleQuotedString(text))) => {
                self.report(
                    "implicit-cast",
                    "medium",
                    format!("{name} is a number and '{text}' a text: write it without quotes"),
                );
            }
            (Some(Class::Text), Some(Value::Number(text, _))) => {
                let message = format!("{name} is a text and {text} a number: an index on it is not used, so quote it");
                self.report("implicit-cast", "medium", message);
            }
            _ => {}
        }
    }

    fn like(&mut self, pattern: &Expr) {
        if let Some(Value::SingleQuotedString(text)) = literal(pattern)
            && text.starts_with(['%', '_'])
        {
            self.report(
                "leading-wildcard",
                "medium",
                format!("LIKE '{text}' reads every row: no index helps before a wildcard"),
            );
        }
    }

    fn star(&mut self, select: &Select) {
        if select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)))
        {
            self.report("select-star", "low", "SELECT * changes with the table: name the columns");
        }
    }

    fn concatenated(&mut self, left: &Expr, right: &Expr) {
        let text = |side: &Expr| match literal(side) {
            Some(Value::SingleQuotedString(text)) => Some(text.to_lowercase()),
            _ => None,
        };
        let sql = |text: &String| {
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            words.any(|word| matches!(word, "select" | "insert" | "update" | "delete" | "drop" | "where" | "exec"))
        };
        let (left, right) = (text(left), text(right));
        // Two adjacent literals contain no user input.
        if (left.is_none() || right.is_none()) && left.iter().chain(&right).any(sql) {
            let message = "SQL is put together from strings: use parameters, or quote_ident and quote_literal";
            self.report("string-concatenation", "high", message);
        }
    }
}

fn literal(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Value(value) => Some(&value.value),
        Expr::Nested(inner) => literal(inner),
        _ => None,
    }
}

/// The qualifier and name of a column.
fn column(expr: &Expr) -> Option<(String, String)> {
    match expr {
        Expr::Identifier(name) => Some((String::new(), name.value.clone())),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, name] => Some((table.value.to_lowercase(), name.value.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a condition holds for every row: there is none, a constant such as `1 = 1`, or one of its alternatives does.
fn unconditional(condition: Option<&Expr>, depth: usize) -> bool {
    match condition {
        None => true,
        Some(_) if depth > MAX_CONDITION => false,
        Some(Expr::Nested(inner)) => unconditional(Some(inner), depth + 1),
        Some(Expr::Value(value)) => matches!(value.to_string().to_lowercase().as_str(), "true" | "1"),
        Some(Expr::BinaryOp { left, op: BinaryOperator::Eq, right }) => {
            matches!((&**left, &**right), (Expr::Value(one), Expr::Value(other)) if one.to_string() == other.to_string())
        }
        Some(Expr::BinaryOp { left, op: BinaryOperator::Or, right }) => {
            unconditional(Some(left), depth + 1) || unconditional(Some(right), depth + 1)
        }
        Some(_) => false,
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

impl Visitor for Check<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        let unbounded = |verb: &str| {
            format!("{verb} without WHERE, or with one that always holds, changes every row: add a condition")
        };
        match statement {
            Statement::Delete(delete) if unconditional(delete.selection.as_ref(), 0) && delete.limit.is_none() => {
                self.report("write-without-where", "high", unbounded("DELETE"));
            }
            Statement::Update(update) if unconditional(update.selection.as_ref(), 0) && update.limit.is_none() => {
                self.report("write-without-where", "high", unbounded("UPDATE"));
            }
            Statement::Truncate(_) => self.report("destructive", "high", "TRUNCATE empties a table"),
            Statement::Drop { object_type, .. } if !matches!(object_type, ObjectType::Index | ObjectType::View) => {
                self.report("destructive", "high", format!("DROP {object_type} cannot be taken back"));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.star(select);
        let alone = joins::unlinked(select);
        if !alone.is_empty() {
            let message = format!("nothing links {} to the other tables: every row meets every row", alone.join(", "));
            self.report("cartesian-join", "high", message);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if compares(op) => self.compared(left, op, right),
            Expr::BinaryOp { left, op: BinaryOperator::StringConcat | BinaryOperator::Plus, right } => {
                self.concatenated(left, right);
            }
            Expr::BinaryOp { op: BinaryOperator::Or, left, right } if always(left) || always(right) => {
                self.report("tautology", "high", "OR with a condition that is always true selects every row");
            }
            Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("concat") => {
                if let sqlparser::ast::FunctionArguments::List(list) = &function.args {
                    let values: Vec<&Expr> = list.args.iter().filter_map(argument).collect();
                    values.windows(2).for_each(|pair| {
                        if let [left, right] = pair {
                            self.concatenated(left, right);
                        }
                    });
                }
            }
            Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } => self.like(pattern),
            Expr::InSubquery { negated: true, .. } => {
                let message = "NOT IN (SELECT ...) finds nothing once the query gives a NULL: write NOT EXISTS";
                self.report("not-in-subquery", "low", message);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn argument(argument: &sqlparser::ast::FunctionArg) -> Option<&Expr> {
    match argument {
        sqlparser::ast::FunctionArg::Unnamed(sqlparser::ast::FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// `1 = 1` and similar.
fn always(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => always(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            matches!((literal(left), literal(right)), (Some(left), Some(right)) if left == right)
        }
        Expr::Value(value) => value.value == Value::Boolean(true),
        _ => false,
    }
}
