//! q106: SQL over tables.

mod guard;
mod logic;
mod plan;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use gluesql_core::ast::{Expr, Statement};
use gluesql_core::data::Value as Cell;
use gluesql_core::prelude::{Payload, execute, parse, translate};
use gluesql_core::store::Planner as _;
use serde_json::Value;

use muster_engine::prelude::*;
use muster_engine::stack::{STACK, on_stack};
use store::Tables;

/// A table is an array of objects; or of arrays or CSV lines below a header row.
#[derive(Input)]
pub struct Input {
    tables: BTreeMap<String, Vec<Value>>,
    sql: String,
    limit: f64,
}

#[derive(Output)]
pub struct Output {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    row_count: usize,
    /// More rows exist than the limit.
    truncated: bool,
    plan: Vec<String>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    guard::text(&input.sql)?;
    let tables = Tables::read(input.tables)?;
    let limit = input.limit as usize;
    let fallen = || wrong("SQL", "an expression cannot be computed: look at its functions' arguments and formats");
    let output = on_stack(context, STACK, fallen, || answer(tables, &input.sql, limit))?;
    if output.truncated {
        context.warn(format!("only the first {limit} rows are returned: raise limit for more, or page by OFFSET"));
    }
    Ok(output)
}

fn answer(mut tables: Tables, sql: &str, limit: usize) -> Result<Output, Failure> {
    let mut statements = parse(sql).map_err(|error| wrong("SQL", &error.to_string()))?;
    let statement = match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => translate(&statement).map_err(|error| wrong("SQL", &error.to_string()))?,
        _ => return Err(Failure::invalid(&["sql"], "must be one statement")),
    };
    let Statement::Query(mut query) = statement else {
        return Err(Failure::invalid(&["sql"], "may only read: give one SELECT or VALUES"));
    };
    guard::check(&query, &tables)?;
    query = logic::three_valued(&query)?;
    // One more than returned, to detect truncation.
    query.limit.get_or_insert(Expr::Value(Cell::I64(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1))));

    let plan = tables.plan(Statement::Query(query).into()).map_err(refused)?;
    let payload = execute(&mut tables, &guard::count_joined(&plan)?).map_err(refused)?;
    let Payload::Select { labels, rows } = payload else {
        return Err(Failure::invalid(&["sql"], "gives no rows: name the columns that are wanted"));
    };
    let truncated = rows.len() > limit;
    let json = |cell: Cell| Value::try_from(cell).map_err(|error| wrong("SQL", &error.to_string()));
    let rows = rows.into_iter().take(limit).map(|row| row.into_iter().map(json).collect());
    let rows: Vec<Vec<Value>> = rows.collect::<Result<_, Failure>>()?;
    Ok(Output { columns: labels, row_count: rows.len(), rows, truncated, plan: plan::lines(&plan)? })
}

fn wrong(what: &str, why: &str) -> Failure {
    Failure::invalid(&["sql"], format!("is not a supported {what}: {why}"))
}

fn refused(error: gluesql_core::error::Error) -> Failure {
    match error {
        gluesql_core::error::Error::StorageMsg(message) if message == store::TOO_MANY => Failure::too_large(message),
        error => wrong("SQL", &error.to_string()),
    }
}
