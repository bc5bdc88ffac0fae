//! Kind of a statement, and whether it writes.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, Select, SetExpr, Statement, Visit as _, Visitor};

/// Its first words in lower case: `select`, `create-table`.
pub(super) fn kind(statement: &Statement) -> String {
    let known = match statement {
        Statement::Query(query) => return body(&query.body).to_owned(),
        Statement::CreateTable(_) => "create-table",
        Statement::CreateView(_) => "create-view",
        Statement::CreateIndex(_) => "create-index",
        Statement::CreateFunction(_) => "create-function",
        Statement::CreateTrigger(_) => "create-trigger",
        Statement::CreateProcedure { .. } => "create-procedure",
        Statement::StartTransaction { .. } => "begin",
        Statement::Drop { object_type, .. } => return words(&format!("drop {object_type}"), 2),
        Statement::Insert(insert) if insert.replace_into => "replace",
        Statement::Insert(_) => "insert",
        Statement::AlterTable(_) => "alter-table",
        other => {
            let text = other.to_string();
            let more = ["create", "alter", "drop", "show", "set"].iter().any(|first| words(&text, 1) == *first);
            return words(&text, if more { 2 } else { 1 });
        }
    };
    known.to_owned()
}

fn words(text: &str, count: usize) -> String {
    text.split_whitespace().take(count).map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

fn body(body: &SetExpr) -> &'static str {
    match body {
        SetExpr::Values(_) => "values",
        SetExpr::Table(_) => "table",
        SetExpr::Insert(_) => "insert",
        SetExpr::Update(_) => "update",
        SetExpr::Delete(_) => "delete",
        SetExpr::Merge(_) => "merge",
        SetExpr::Query(query) => self::body(&query.body),
        SetExpr::Select(_) | SetExpr::SetOperation { .. } => "select",
    }
}

/// Returns whether the statement may change data, structure or permissions. Unknown statements count as writes.
pub(super) fn writes(statement: &Statement) -> bool {
    match statement {
        Statement::Query(_) => statement.visit(&mut Writes).is_break(),
        Statement::Explain { analyze, statement, .. } => *analyze && writes(statement),
        Statement::ExplainTable { .. }
        | Statement::Use(_)
        | Statement::Set(_)
        | Statement::StartTransaction { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint { .. }
        | Statement::ReleaseSavepoint { .. }
        | Statement::Declare { .. }
        | Statement::Fetch { .. }
        | Statement::Open(_)
        | Statement::Close { .. }
        | Statement::Pragma { .. }
        | Statement::Print(_)
        | Statement::Return(_)
        | Statement::Prepare { .. }
        | Statement::Deallocate { .. } => false,
        other => words(&other.to_string(), 1) != "show",
    }
}

/// Finds writes inside a query: `WITH gone AS (DELETE ... RETURNING ...)`, `SELECT ... INTO`.
struct Writes;

impl Visitor for Writes {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match &*query.body {
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.into.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
