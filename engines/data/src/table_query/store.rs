//! Read-only tables for GlueSQL; every row read counts.

use std::cell::Cell as Counter;
use std::collections::BTreeMap;

use gluesql_core::ast::{ColumnDef, DataType, Expr};
use gluesql_core::data::{CustomFunction, Key, Schema, Value as Cell};
use gluesql_core::error::{Error, Result};
use gluesql_core::store::{
    AlterTable, CustomFunction as Functions, CustomFunctionMut, Index, IndexMut, Metadata, Planner, RowIter, Store,
    StoreMut, Transaction,
};
use serde_json::Value;

use muster_engine::Failure;

/// Maximum number of rows that a query may read and compare, over all joins and subqueries.
const MAX_STEPS: usize = 1_000_000;
/// Maximum number of rows of all tables.
const MAX_ROWS: usize = 100_000;
const MAX_COLUMNS: usize = 1_000;
pub const TOO_MANY: &str = "the query compares more than 1000000 rows: join on equal columns, or filter before joining";
/// Function that [`super::guard`] adds to every join condition to count comparisons.
pub const TICK: &str = "MUSTER_TICK";

#[derive(Debug)]
pub struct Tables {
    tables: BTreeMap<String, Table>,
    tick: CustomFunction,
    left: Counter<usize>,
}

#[derive(Debug)]
struct Table {
    schema: Schema,
    rows: Vec<Vec<Cell>>,
}

impl Tables {
    pub fn read(tables: BTreeMap<String, Vec<Value>>) -> std::result::Result<Self, Failure> {
        let rows: usize = tables.values().map(Vec::len).sum();
        if rows > MAX_ROWS {
            return Err(Failure::too_large(format!("the tables have {rows} rows: {MAX_ROWS} are the most")));
        }
        let read = tables.into_iter().map(|(name, rows)| table(&name, rows).map(|table| (name, table)));
        let body = Expr::Value(Cell::Bool(true));
        let tick = CustomFunction { func_name: TICK.to_owned(), args: Vec::new(), body };
        Ok(Self { tables: read.collect::<std::result::Result<_, Failure>>()?, tick, left: Counter::new(MAX_STEPS) })
    }

    /// Number of rows of all tables, and bytes of their longest text.
    pub fn size(&self) -> (usize, usize) {
        let text = |cell: &Cell| if let Cell::Str(text) = cell { text.len() } else { 40 };
        let cells = self.tables.values().flat_map(|table| table.rows.iter().flatten());
        (self.tables.values().map(|table| table.rows.len()).sum(), cells.map(text).max().unwrap_or_default())
    }

    /// Whether all texts are of ASCII.
    pub fn is_ascii(&self) -> bool {
        let plain = |cell: &Cell| !matches!(cell, Cell::Str(text) if !text.is_ascii());
        self.tables.values().flat_map(|table| table.rows.iter().flatten()).all(plain)
    }

    fn count(&self) -> Result<()> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| Error::StorageMsg(TOO_MANY.to_owned()))?;
        self.left.set(left);
        Ok(())
    }
}

fn table(name: &str, rows: Vec<Value>) -> std::result::Result<Table, Failure> {
    let (names, rows) = match rows.first() {
        Some(Value::Object(_)) => objects(name, rows)?,
        Some(Value::Array(_)) => arrays(name, rows)?,
        Some(Value::String(_)) => lines(name, &rows)?,
        None => (Vec::new(), Vec::new()),
        Some(_) => return Err(misshapen(name)),
    };
    if names.len() > MAX_COLUMNS {
        return Err(Failure::too_large(format!("{name} has {} columns: {MAX_COLUMNS} are the most", names.len())));
    }
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(names.len());
    for (at, column) in names.into_iter().enumerate() {
        let data_type = rows.iter().filter_map(|row| row.get(at)).find_map(data_type).unwrap_or(DataType::Text);
        columns.push(ColumnDef { name: column, data_type, nullable: true, default: None, unique: None, comment: None });
    }
    let schema = Schema {
        table_name: name.to_owned(),
        column_defs: Some(columns),
        indexes: Vec::new(),
        engine: None,
        foreign_keys: Vec::new(),
        comment: None,
    };
    Ok(Table { schema, rows })
}

type Rows = std::result::Result<(Vec<String>, Vec<Vec<Cell>>), Failure>;

fn misshapen(name: &str) -> Failure {
    let message = "must be rows that are all objects, or a row of names and rows that are all arrays or lines of CSV";
    Failure::invalid(&["tables", name], message)
}

fn cell(name: &str, value: Value) -> std::result::Result<Cell, Failure> {
    Cell::try_from(value).map_err(|error| Failure::invalid(&["tables", name], error.to_string()))
}

/// Columns are all keys, sorted; missing values are NULL.
fn objects(name: &str, rows: Vec<Value>) -> Rows {
    let mut columns: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        for key in row.as_object().ok_or_else(|| misshapen(name))?.keys() {
            if !columns.contains_key(key) {
                columns.insert(key.clone(), 0);
            }
        }
    }
    let cells = |row: Value| {
        let Value::Object(mut row) = row else { return Err(misshapen(name)) };
        columns.keys().map(|column| cell(name, row.remove(column).unwrap_or_default())).collect()
    };
    let rows = rows.into_iter().map(cells).collect::<std::result::Result<_, Failure>>()?;
    Ok((columns.into_keys().collect(), rows))
}

fn arrays(name: &str, rows: Vec<Value>) -> Rows {
    let mut rows = rows.into_iter().map(|row| if let Value::Array(row) = row { Ok(row) } else { Err(misshapen(name)) });
    let titles = rows.next().transpose()?.unwrap_or_default();
    let titles: Option<Vec<String>> = titles.iter().map(|title| title.as_str().map(str::to_owned)).collect();
    let titles = titles.ok_or_else(|| misshapen(name))?;
    let mut read = Vec::new();
    for row in rows {
        let row = row?;
        if row.len() > titles.len() {
            let message = format!("row {} has more fields than there are names", read.len() + 1);
            return Err(Failure::invalid(&["tables", name], message));
        }
        let padded = row.into_iter().chain(std::iter::repeat(Value::Null)).take(titles.len());
        read.push(padded.map(|value| cell(name, value)).collect::<std::result::Result<_, Failure>>()?);
    }
    Ok((titles, read))
}

/// Each text is a line, or one text has all lines. Empty fields are NULL; texts that parse as a number or boolean
/// become one.
fn lines(name: &str, rows: &[Value]) -> Rows {
    let lines: Option<Vec<&str>> = rows.iter().map(Value::as_str).collect();
    let text = lines.ok_or_else(|| misshapen(name))?.join("\n");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut records = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| Failure::invalid(&["tables", name], error.to_string()))?;
        let first = records.is_empty();
        let field = |text: &str| if first { Value::from(text.trim()) } else { typed(text) };
        records.push(record.iter().map(field).collect());
    }
    if records.len() > MAX_ROWS {
        return Err(Failure::too_large(format!("{name} has more than {MAX_ROWS} rows")));
    }
    arrays(name, records)
}

fn typed(text: &str) -> Value {
    match text.trim() {
        "" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        // A JSON number: 007 and +1 stay text.
        number => serde_json::from_str::<serde_json::Number>(number).map_or_else(|_| text.into(), Value::Number),
    }
}

fn data_type(cell: &Cell) -> Option<DataType> {
    match cell {
        Cell::Null => None,
        Cell::Bool(_) => Some(DataType::Boolean),
        Cell::I64(_) => Some(DataType::Int),
        Cell::F64(_) => Some(DataType::Float),
        Cell::Map(_) => Some(DataType::Map),
        Cell::List(_) => Some(DataType::List),
        _ => Some(DataType::Text),
    }
}

impl Store for Tables {
    fn fetch_schema(&self, table_name: &str) -> Result<Option<Schema>> {
        Ok(self.tables.get(table_name).map(|table| table.schema.clone()))
    }

    fn fetch_all_schemas(&self) -> Result<Vec<Schema>> {
        Ok(self.tables.values().map(|table| table.schema.clone()).collect())
    }

    fn fetch_data(&self, _table_name: &str, _key: &Key) -> Result<Option<Vec<Cell>>> {
        Ok(None)
    }

    fn scan_data<'a>(&'a self, table_name: &str) -> Result<RowIter<'a>> {
        let rows = self.tables.get(table_name).map(|table| table.rows.as_slice()).unwrap_or_default();
        let rows = rows.iter().zip(0_i64..).map(|(row, at)| {
            self.count()?;
            Ok((Key::I64(at), row.clone()))
        });
        Ok(Box::new(rows))
    }
}

impl Functions for Tables {
    fn fetch_function<'a>(&'a self, func_name: &str) -> Result<Option<&'a CustomFunction>> {
        if func_name != TICK {
            return Err(Error::StorageMsg(format!("there is no function {func_name}")));
        }
        self.count()?;
        Ok(Some(&self.tick))
    }

    fn fetch_all_functions(&self) -> Result<Vec<&CustomFunction>> {
        Ok(Vec::new())
    }
}

impl Planner for Tables {}
impl StoreMut for Tables {}
impl AlterTable for Tables {}
impl CustomFunctionMut for Tables {}
impl Index for Tables {}
impl IndexMut for Tables {}
impl Metadata for Tables {}
impl Transaction for Tables {}
