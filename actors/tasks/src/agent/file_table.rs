//! Lists and tables from files of the workspace: CSV, TSV, JSON, JSON Lines, and lines of text.
//!
//! `{"file": "data.csv"}` stands for a list, a list of records or a map of columns. `column` chooses a column, `columns`
//! several, `by` divides the values of `column` into groups, and `skip_missing` leaves out rows without a value.

use muster_engines::grammar::{self, Member, Prim, Range, Type};
use serde_json::{Map, Value};

use super::commits;
use super::fill::tables;

/// Extensions of data with a structure.
pub(super) const TABLES: &[&str] = &["csv", "tsv", "json", "jsonl", "ndjson"];
/// Most columns that an error lists.
const MAX_NAMED: usize = 30;
/// Most groups of a column.
const MAX_GROUPS: usize = 100;
/// What a table writes for a missing value.
const MISSING: [&str; 8] = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "-"];

/// Marks a reference that is the whole of a parameter, beside other references in one input.
pub(super) const WHOLE: &str = "whole_param";
/// Usual other names of members of records.
const OTHER_NAMES: [(&str, &[&str]); 7] = [
    ("id", &["_id", "doc_id", "docid", "key", "name", "city", "place", "site", "station"]),
    ("lat", &["latitude"]),
    ("lon", &["longitude", "lng", "long"]),
    ("time", &["timestamp", "datetime", "date_time", "date"]),
    ("user", &["username", "user_name", "login", "account"]),
    ("ip", &["ip_address", "source_ip", "src_ip", "client_ip", "remote_addr"]),
    ("source", &["source_ip", "src_ip", "src", "client_ip", "remote_addr"]),
];

/// A reference to a file, with what is taken from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FileReference<'v> {
    pub(super) path: &'v str,
    column: Option<&'v str>,
    columns: Option<&'v Vec<Value>>,
    by: Option<&'v str>,
    row: Option<u64>,
    skip_missing: bool,
}

impl<'v> FileReference<'v> {
    /// Returns the reference that a value is; `None` for other values.
    pub(super) fn of(value: &'v Value) -> Option<Self> {
        let object = value.as_object()?;
        let path = object.get("file")?.as_str()?;
        let known = |name: &str| matches!(name, "file" | "column" | "columns" | "by" | "row" | "skip_missing" | WHOLE);
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        object.keys().all(|name| known(name)).then_some(Self {
            path,
            column: text("column"),
            columns: object.get("columns").and_then(Value::as_array),
            by: text("by"),
            row: object.get("row").and_then(Value::as_u64),
            skip_missing: object.get("skip_missing") == Some(&Value::Bool(true)),
        })
    }

    /// Whether the whole content of the file is meant.
    pub(super) fn is_whole(&self) -> bool {
        self.column.is_none() && self.columns.is_none() && self.by.is_none() && self.row.is_none()
    }

    /// Whether its name says that it is data with a structure.
    pub(super) fn is_data(&self) -> bool {
        ends_with(self.path, TABLES)
    }
}

/// Whether a path ends with one of these extensions, in any case.
pub(super) fn ends_with(path: &str, extensions: &[&str]) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

struct Table<'t> {
    path: &'t str,
    header: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// Returns what a file gives a place of this type. The error says what the file lacks.
pub(super) fn value(kind: &Type, file: &FileReference<'_>, bytes: &[u8]) -> Result<Value, String> {
    let path = file.path;
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{path} is not text in UTF-8"))?;
    let text = text.trim_start_matches('\u{feff}');
    let parse =
        |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("{path} is not JSON: {error}"));
    let parsed = if ends_with(path, &["json"]) {
        parse(text)?
    } else if ends_with(path, &["jsonl", "ndjson"]) {
        text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect::<Result<Value, _>>()?
    } else if file.is_whole() && !file.is_data() && *kind == Type::Array(Box::new(Type::Prim(Prim::String))) {
        return Ok(text.lines().filter(|line| !line.trim().is_empty()).map(Value::from).collect());
    } else if file.is_whole() && !file.is_data() && commits::are_wanted(kind) {
        return commits::read(text).map(|(commits, _)| commits).ok_or_else(|| format!("{path} has no log of git"));
    } else if file.is_whole() && !file.is_data() && is_fields(kind) {
        return header_fields(text).ok_or_else(|| format!("{path} has no lines `name: value`"));
    } else {
        return delimited(path, text).and_then(|table| of_table(kind, file, &table));
    };
    if file.is_whole() && grammar::check(kind, Range::default(), &parsed).is_empty() {
        return Ok(parsed);
    }
    objects(path, &parsed).ok_or_else(|| unfit(kind, path)).and_then(|table| of_table(kind, file, &table))
}

/// Whether a type is a map of lists of texts, as header fields of HTTP are.
pub(super) fn is_fields(kind: &Type) -> bool {
    *kind == Type::Map(Box::new(Type::Array(Box::new(Type::Prim(Prim::String)))))
}

/// Header fields of HTTP (RFC 9110, 5): lines `name: value` after a status line, of which a name may have several.
pub(super) fn header_fields(text: &str) -> Option<Value> {
    let mut fields = Map::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("HTTP/")) {
        // Of `curl -v`.
        let line = line.strip_prefix("< ").unwrap_or(line);
        let (name, value) = line.split_once(':')?;
        let is_token = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte));
        if !is_token {
            return None;
        }
        let values = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        values.as_array_mut()?.push(value.trim().into());
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

fn unfit(kind: &Type, path: &str) -> String {
    format!("{path} does not have the form that is needed: {kind}")
}

fn of_table(kind: &Type, file: &FileReference<'_>, table: &Table<'_>) -> Result<Value, String> {
    match kind {
        Type::Prim(Prim::Any) if file.column.is_none() => Ok(table.records()),
        Type::Prim(_) => {
            let at = table.chosen(file, false)?;
            let row = usize::try_from(file.row.unwrap_or(0)).unwrap_or(usize::MAX);
            let cell = table.rows.get(row).and_then(|row| row.get(at));
            let cell = cell.ok_or_else(|| format!("{} has no row {}", table.path, row + 1))?;
            Ok(if *kind == Type::Prim(Prim::String) { text(cell).into() } else { typed(cell) })
        }
        Type::Array(item) => match &**item {
            Type::Record(members) => records(members, file, table),
            Type::Prim(Prim::Any) if file.column.is_none() => Ok(table.records()),
            Type::Array(inner) => match file.by {
                Some(by) => groups(file, by, table),
                None => {
                    let is_number = **inner != Type::Prim(Prim::Any);
                    let columns = table.several(file, is_number)?;
                    let rows = columns.rows(table, file, is_number)?;
                    Ok(rows.into_iter().map(Value::from).collect())
                }
            },
            // One of the groups.
            _ if file.by.is_some() && file.row.is_some() => {
                let all = groups(file, file.by.unwrap_or_default(), table)?;
                let at = usize::try_from(file.row.unwrap_or_default()).unwrap_or(usize::MAX);
                Ok(all.get(at).cloned().unwrap_or_else(|| Value::Array(Vec::new())))
            }
            item => {
                let is_number = matches!(item, Type::Prim(Prim::Number | Prim::Integer));
                let at = table.chosen(file, is_number)?;
                let rows = Columns(vec![at]).rows(table, file, is_number)?;
                let cells = rows.into_iter().flatten();
                Ok(match item {
                    Type::Prim(Prim::Any | Prim::Number | Prim::Integer) => cells.collect(),
                    _ => cells.map(|cell| Value::from(text(&cell))).collect(),
                })
            }
        },
        Type::Map(item) => match &**item {
            Type::Array(inner) => {
                let is_number = matches!(**inner, Type::Prim(Prim::Number | Prim::Integer));
                let columns = table.several(file, is_number)?;
                let rows = columns.rows(table, file, is_number)?;
                let entry = |(at, column): (usize, &usize)| {
                    let cells = rows.iter().filter_map(|row| row.get(at).cloned()).collect();
                    (table.header.get(*column).cloned().unwrap_or_default(), cells)
                };
                Ok(Value::Object(columns.0.iter().enumerate().map(entry).collect()))
            }
            _ => Err(unfit(kind, table.path)),
        },
        Type::Record(_) | Type::Enum(_) => Err(unfit(kind, table.path)),
    }
}

/// Positions of columns.
struct Columns(Vec<usize>);

impl Columns {
    /// Returns the cells of these columns by row. A row without a value is left out or an error.
    fn rows(&self, table: &Table<'_>, file: &FileReference<'_>, numbers: bool) -> Result<Vec<Vec<Value>>, String> {
        let mut rows = Vec::new();
        'rows: for (number, row) in table.rows.iter().enumerate() {
            let mut cells = Vec::new();
            for at in &self.0 {
                let cell = typed(row.get(*at).unwrap_or(&Value::Null));
                if (numbers && !cell.is_number()) || (file.skip_missing && cell.is_null()) {
                    if file.skip_missing {
                        continue 'rows;
                    }
                    let name = table.header.get(*at).map(String::as_str).unwrap_or_default();
                    return Err(format!(
                        "{}, row {}: the column {name:?} has no number; \"skip_missing\": true leaves out such rows",
                        table.path,
                        number + 1
                    ));
                }
                cells.push(cell);
            }
            rows.push(cells);
        }
        Ok(rows)
    }
}

impl Table<'_> {
    fn find(&self, name: &str) -> Result<usize, String> {
        let exact = self.header.iter().position(|column| column == name);
        let like = || self.header.iter().position(|column| column.eq_ignore_ascii_case(name));
        exact
            .or_else(like)
            .ok_or_else(|| format!("{} has no column {name:?}; it has {}", self.path, self.names(|_| true)))
    }

    fn names(&self, wanted: impl Fn(usize) -> bool) -> String {
        let names = self.header.iter().enumerate().filter(|(at, _)| wanted(*at)).map(|(_, name)| name.as_str());
        names.take(MAX_NAMED).collect::<Vec<_>>().join(", ")
    }

    /// Whether a column has numbers, and nothing else but missing values.
    fn is_numeric(&self, at: usize) -> bool {
        let mut found = false;
        self.rows.iter().all(|row| {
            let cell = typed(row.get(at).unwrap_or(&Value::Null));
            found |= cell.is_number();
            cell.is_number() || cell.is_null()
        }) && found
    }

    /// The column that is named, or the only one that fits.
    fn chosen(&self, file: &FileReference<'_>, numbers: bool) -> Result<usize, String> {
        if let Some(name) = file.column {
            return self.find(name);
        }
        let fits = |at: &usize| !numbers || self.is_numeric(*at);
        match (0..self.header.len()).filter(fits).collect::<Vec<_>>()[..] {
            [one] => Ok(one),
            [] => Err(format!("{} has no column of numbers; it has {}", self.path, self.names(|_| true))),
            _ => Err(format!(
                "{} has several columns: choose one with \"column\", of {}",
                self.path,
                self.names(|at| fits(&at))
            )),
        }
    }

    /// The columns that are named, or all that fit.
    fn several(&self, file: &FileReference<'_>, numbers: bool) -> Result<Columns, String> {
        let named = file.columns.map(|names| names.iter().map(|name| self.find(name.as_str().unwrap_or_default())));
        if let Some(named) = named {
            return Ok(Columns(named.collect::<Result<_, _>>()?));
        }
        if let Some(name) = file.column {
            return Ok(Columns(vec![self.find(name)?]));
        }
        let fits: Vec<usize> = (0..self.header.len()).filter(|at| !numbers || self.is_numeric(*at)).collect();
        if fits.is_empty() {
            return Err(format!("{} has no column of numbers; it has {}", self.path, self.names(|_| true)));
        }
        Ok(Columns(fits))
    }

    /// Rows as objects.
    fn records(&self) -> Value {
        let record = |row: &Vec<Value>| -> Value {
            let entries = self.header.iter().cloned().zip(row.iter().map(typed));
            Value::Object(entries.collect::<Map<_, _>>())
        };
        self.rows.iter().map(record).collect()
    }
}

/// The values of a column, divided by the values of another.
fn groups(file: &FileReference<'_>, by: &str, table: &Table<'_>) -> Result<Value, String> {
    let (value, by) = (table.chosen(file, true)?, table.find(by)?);
    let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
    for row in &table.rows {
        let name = row.get(by).map(text).unwrap_or_default();
        let Some(cell) = row.get(value).map(typed).filter(Value::is_number) else {
            if file.skip_missing {
                continue;
            }
            return Err(format!(
                "{}: a row of the group {name:?} has no number; \"skip_missing\": true leaves out such rows",
                table.path
            ));
        };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(cell),
            None => groups.push((name, vec![cell])),
        }
        if groups.len() > MAX_GROUPS {
            return Err(format!("{}: more than {MAX_GROUPS} groups", table.path));
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(groups.into_iter().map(|(_, values)| Value::from(values)).collect())
}

fn is_key(member: &Member) -> bool {
    member.name == "id" && member.kind == Type::Prim(Prim::String)
}

fn records(members: &[Member], file: &FileReference<'_>, table: &Table<'_>) -> Result<Value, String> {
    let header: Vec<tables::Cell<'_>> = table.header.iter().map(|name| tables::header(name)).collect();
    let mut columns = Vec::new();
    for member in members {
        let chosen = file.column.filter(|_| member.name == "value").map(|column| table.find(column)).transpose()?;
        let others = OTHER_NAMES.iter().find(|(name, _)| *name == member.name).map_or(&[][..], |(_, others)| others);
        let own = || header.iter().position(|cell| cell.name == member.name);
        let other = || header.iter().position(|cell| others.contains(&cell.name.as_str()));
        match chosen.or_else(own).or_else(other) {
            Some(at) => columns.push((at, member)),
            None if member.optional => {}
            // A table without keys has the numbers of its rows.
            None if is_key(member) => columns.push((usize::MAX, member)),
            None => {
                return Err(format!(
                    "{} has no column {:?}; it has {}",
                    table.path,
                    member.name,
                    table.names(|_| true)
                ));
            }
        }
    }
    let row = |(number, row): (usize, &Vec<Value>)| {
        let mut object = Map::new();
        for (at, member) in &columns {
            let row_number = Value::String((number + 1).to_string());
            let cell = row.get(*at).unwrap_or(if is_key(member) { &row_number } else { &Value::Null });
            if member.optional && typed(cell).is_null() {
                continue;
            }
            let unit = header.get(*at).and_then(|cell| cell.unit);
            let value = match cell {
                Value::String(cell) => tables::value(cell, member, unit),
                other if member.kind == Type::Prim(Prim::String) => Some(text(other).into()),
                other => Some(other.clone()),
            };
            if file.skip_missing && value.is_none() {
                return Ok(None);
            }
            let value = value.ok_or_else(|| {
                let (name, shown) = (table.header.get(*at).unwrap_or(&member.name), text(cell));
                format!(
                    "{}, row {}: {shown:?} in the column {name:?} is not {}; \"skip_missing\": true leaves out such rows",
                    table.path,
                    number + 1,
                    member.kind
                )
            })?;
            object.insert(member.name.clone(), value);
        }
        Ok(Some(Value::Object(object)))
    };
    table.rows.iter().enumerate().map(row).filter_map(Result::transpose).collect::<Result<Value, String>>()
}

/// A cell as a number, a text, or null where it says that there is no value.
fn typed(cell: &Value) -> Value {
    let Value::String(cell) = cell else { return cell.clone() };
    let cell = cell.trim();
    if MISSING.contains(&cell) {
        return Value::Null;
    }
    // A number with leading zeros, as a postal code, is a text.
    let number = cell.strip_prefix('+').unwrap_or(cell);
    let pointed = number.starts_with('.').then(|| format!("0{number}"));
    let parsed = serde_json::from_str::<serde_json::Number>(pointed.as_deref().unwrap_or(number));
    parsed.map_or_else(|_| cell.into(), Value::Number)
}

fn text(cell: &Value) -> String {
    match cell {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A list of JSON objects as a table.
fn objects<'t>(path: &'t str, value: &Value) -> Option<Table<'t>> {
    let items = value.as_array().filter(|items| !items.is_empty() && items.iter().all(Value::is_object))?;
    let mut header: Vec<String> = Vec::new();
    for name in items.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !header.contains(name) {
            header.push(name.clone());
        }
    }
    let row = |item: &Value| header.iter().map(|name| item.get(name).cloned().unwrap_or_default()).collect();
    let rows = items.iter().map(row).collect();
    Some(Table { path, header, rows })
}

/// A table with a header (RFC 4180), separated by commas, semicolons, tabs or bars.
fn delimited<'t>(path: &'t str, text: &str) -> Result<Table<'t>, String> {
    let text = text.trim_start_matches(['\r', '\n']);
    let first = text.lines().next().unwrap_or_default();
    let count = |separator: &char| first.matches(*separator).count();
    let separator = ['\t', ';', '|', ','].into_iter().max_by_key(count).unwrap_or(',');
    let mut lines = fields(text, separator).into_iter();
    let header = lines.next().filter(|header| header.iter().any(|name| !name.trim().is_empty()));
    let header: Vec<String> = header
        .ok_or_else(|| format!("{path} is not a table: it has no line with the names of columns"))?
        .into_iter()
        .map(|name| name.trim().to_owned())
        .collect();
    let mut rows = Vec::new();
    for (number, mut row) in lines.enumerate() {
        // Programs leave out what is empty at the end of a line.
        row.resize_with(row.len().max(header.len()), String::new);
        if row.len() != header.len() {
            return Err(format!(
                "{path}, row {}: {} fields, where the header has {}",
                number + 1,
                row.len(),
                header.len()
            ));
        }
        rows.push(row.into_iter().map(Value::String).collect());
    }
    Ok(Table { path, header, rows })
}

/// Splits lines into fields; a field in quotes may contain separators and line ends. Empty lines are left out.
fn fields(text: &str, separator: char) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted || field.trim().is_empty() => quoted = !quoted,
            '\n' | '\r' if !quoted => {
                row.push(std::mem::take(&mut field));
                end(&mut rows, &mut row);
            }
            c if c == separator && !quoted => row.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    row.push(field);
    end(&mut rows, &mut row);
    rows
}

fn end(rows: &mut Vec<Vec<String>>, row: &mut Vec<String>) {
    let row = std::mem::take(row);
    if row.len() > 1 || row.iter().any(|field| !field.trim().is_empty()) {
        rows.push(row);
    }
}

#[cfg(test)]
mod tests;
