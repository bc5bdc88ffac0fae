//! q105: CSV profile.

mod cell;
mod column;
mod dialect;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use column::{Column, Summary};
use dialect::Dialect;
use muster_engine::prelude::*;

/// Maximum number of columns; wider rows are rejected.
const MAX_COLUMNS: usize = 1_000;
/// Maximum number of columns whose pairs are tried as keys if no single column is one.
const MAX_PAIRED: usize = 12;
/// Share of missing values above which a column is reported.
const SPARSE: f64 = 0.05;

#[derive(Input)]
pub struct Input {
    csv: String,
    delimiter: Option<String>,
    header: bool,
    sample_rows: f64,
}

#[derive(Output)]
pub struct Output {
    dialect: DialectFound,
    /// Rows of the whole text; columns are profiled by the first `sample_rows`.
    rows: usize,
    columns: Vec<Summary>,
    candidate_keys: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Output)]
struct DialectFound {
    delimiter: String,
    quote: String,
    header: bool,
}

pub fn run(input: Input, _context: &Context) -> Result<Output, Failure> {
    let mut warnings = Vec::new();
    let text = input.csv.strip_prefix('\u{feff}').unwrap_or(&input.csv);
    if text.len() < input.csv.len() {
        warnings.push("the text begins with a byte order mark, which was skipped".to_owned());
    }
    let dialect = dialect::detect(text, wanted(input.delimiter.as_deref())?);
    let sample = input.sample_rows as usize;
    let table = read(text, dialect, input.header, sample)?;
    let names = names(table.header.as_ref(), table.width, &mut warnings);
    warnings.extend(table.warnings());

    let mut columns: Vec<Column> = names.into_iter().map(Column::named).collect();
    for row in &table.rows {
        columns.iter_mut().enumerate().for_each(|(at, column)| column.see(row.get(at).unwrap_or_default()));
    }
    let candidate_keys = keys(&columns, &table.rows);
    if !input.header {
        suspect_header(&table.rows, &columns, &mut warnings);
    }
    columns.iter().for_each(|column| column.warn(SPARSE, &mut warnings));
    let dialect = DialectFound {
        delimiter: char::from(dialect.delimiter).to_string(),
        quote: char::from(dialect.quote).to_string(),
        header: input.header,
    };
    let columns = columns.into_iter().map(Column::summary).collect();
    Ok(Output { dialect, rows: table.total, columns, candidate_keys, warnings })
}

fn wanted(delimiter: Option<&str>) -> Result<Option<u8>, Failure> {
    match delimiter.map(str::as_bytes) {
        None => Ok(None),
        Some([byte]) if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'"') => Ok(Some(*byte)),
        Some(_) => Err(Failure::invalid(&["delimiter"], "must be one ASCII character, such as a comma or a tab")),
    }
}

#[derive(Default)]
struct Table {
    header: Option<csv::StringRecord>,
    rows: Vec<csv::StringRecord>,
    width: usize,
    total: usize,
    /// Number of rows with a different width, and the first of them, from 1.
    ragged: (usize, usize),
}

impl Table {
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let (count, first) = self.ragged;
        if count > 0 {
            warnings.push(format!("{count} rows have not as many fields as the first record, first row {first}"));
        }
        if self.total > self.rows.len() {
            warnings.push(format!("columns are described by the first {} of {} rows", self.rows.len(), self.total));
        }
        let distinct: HashSet<Vec<&str>> = self.rows.iter().map(|row| row.iter().collect()).collect();
        if distinct.len() < self.rows.len() {
            warnings.push(format!("{} rows repeat an earlier row", self.rows.len() - distinct.len()));
        }
        warnings
    }
}

fn read(text: &str, dialect: Dialect, header: bool, sample: usize) -> Result<Table, Failure> {
    let mut table = Table::default();
    let mut expected = None;
    for record in dialect.reader(text.as_bytes()).records() {
        let record = record.map_err(|error| Failure::invalid(&["csv"], format!("cannot be read: {error}")))?;
        if record.len() > MAX_COLUMNS {
            return Err(Failure::too_large(format!("a row has {} fields: {MAX_COLUMNS} are the most", record.len())));
        }
        let expected = *expected.get_or_insert(record.len());
        table.width = table.width.max(record.len());
        if header && table.header.is_none() {
            table.header = Some(record);
            continue;
        }
        table.total += 1;
        if record.len() != expected {
            table.ragged = (table.ragged.0 + 1, if table.ragged.0 == 0 { table.total } else { table.ragged.1 });
        }
        if table.rows.len() < sample {
            table.rows.push(record);
        }
    }
    Ok(table)
}

/// A distinct name per column.
fn names(header: Option<&csv::StringRecord>, width: usize, warnings: &mut Vec<String>) -> Vec<String> {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut names: Vec<String> = Vec::with_capacity(width);
    for at in 0..width {
        let header_name = header.map(|header| header.get(at).unwrap_or_default().trim());
        let name = match header_name {
            Some("") => {
                warnings.push(format!("column {} has no name", at + 1));
                format!("column_{}", at + 1)
            }
            Some(name) => name.to_owned(),
            None => format!("column_{}", at + 1),
        };
        let seen = used.entry(name.clone()).or_default();
        *seen += 1;
        if *seen > 1 {
            warnings.push(format!("the name {name} is used more than once"));
        }
        // As pandas names them: a, a.1, a.2.
        names.push(if *seen > 1 { format!("{name}.{}", *seen - 1) } else { name });
    }
    names
}

/// Columns with distinct values in all rows; if there are none, pairs of columns, joined by `+`.
fn keys(columns: &[Column], rows: &[csv::StringRecord]) -> Vec<String> {
    let single: Vec<String> =
        columns.iter().filter(|column| column.is_key(rows.len())).map(|column| column.name.clone()).collect();
    if !single.is_empty() || rows.len() < 2 {
        return single;
    }
    let whole: Vec<(usize, &Column)> =
        columns.iter().enumerate().filter(|(_, column)| column.missing == 0).take(MAX_PAIRED).collect();
    let mut pairs = Vec::new();
    for (position, (left, one)) in whole.iter().enumerate() {
        for (right, other) in whole.iter().skip(position + 1) {
            let mut seen = HashSet::new();
            if rows.iter().all(|row| seen.insert((row.get(*left), row.get(*right)))) {
                pairs.push(format!("{}+{}", one.name, other.name));
            }
        }
    }
    pairs
}

/// Warns of a text row above numbers when no header was declared.
fn suspect_header(rows: &[csv::StringRecord], columns: &[Column], warnings: &mut Vec<String>) {
    let Some(first) = rows.first().filter(|_| rows.len() > 1) else { return };
    let above = |(at, column): (usize, &Column)| column.only_first_is_text(first.get(at).unwrap_or_default());
    if columns.iter().enumerate().any(above) {
        warnings.push("the first row looks like a header: set header to true".to_owned());
    }
}
