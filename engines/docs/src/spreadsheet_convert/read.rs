//! Reading of workbooks.

use std::collections::BTreeMap;
use std::io::Cursor;

use calamine::{Data, DataRef, ExcelDateTime, Ods, Reader, SheetType, Xlsx};
use muster_engine::prelude::*;
use muster_engine::stack;
use serde_json::json;

use super::archive::{self, Kind};
use super::{Output, SheetOut, cell_name, column_name};

/// Largest file, table and text of formulas.
const MAX_FILE: usize = 8 << 20;
const MAX_CELLS: u64 = 500_000;
const MAX_SHEETS: usize = 256;
/// Most bytes that are parsed: sheets may share an entry of the archive.
const MAX_PARSED: u64 = 512 << 20;
const MAX_FORMULAS: usize = 4 << 20;
/// Most merged cells that are reported.
const MAX_MERGED: usize = 50;
/// Parsers of XML do not recurse; this is for what they call.
const STACK: usize = 8 << 20;
/// Whole numbers beyond this are not exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

type Position = (u32, u32);

/// Used cells of a sheet, with formulas.
#[derive(Default)]
struct Cells {
    values: BTreeMap<Position, Value>,
    formulas: BTreeMap<Position, String>,
    /// Where the table ends, beyond the last cell.
    end: Position,
}

pub(super) fn read(
    bytes: &[u8],
    sheet: Option<&str>,
    range: Option<&str>,
    header: bool,
    cx: &Context,
) -> Result<Output, Failure> {
    if bytes.len() > MAX_FILE {
        return Err(Failure::too_large(format!("file: is over {} MiB", MAX_FILE >> 20)));
    }
    if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        let message = "is a binary workbook (XLS) or an encrypted one: save it as XLSX without a password";
        return Err(Failure::invalid(&["file"], message));
    }
    let range = range.map(parse_range).transpose()?;
    let broken = || Failure::invalid(&["file"], "is a damaged workbook: its reader cannot go on");
    stack::on_stack(cx, STACK, broken, || {
        let (kind, largest) = archive::check(bytes)?;
        match kind {
            Kind::Xlsx => xlsx(bytes, largest, sheet, range, header),
            Kind::Ods => ods(bytes, sheet, range, header),
        }
    })
}

fn damaged(why: impl std::fmt::Display) -> Failure {
    let why: String = why.to_string().chars().take(120).collect();
    Failure::invalid(&["file"], format!("is a damaged workbook: {why}"))
}

fn chosen(names: &[String], sheet: Option<&str>) -> Result<usize, Failure> {
    if names.len() > MAX_SHEETS {
        return Err(Failure::too_large(format!("file: has more than {MAX_SHEETS} sheets")));
    }
    let Some(sheet) = sheet else {
        return if names.is_empty() { Err(damaged("it has no sheet")) } else { Ok(0) };
    };
    names.iter().position(|name| name == sheet).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).take(20).collect();
        Failure::invalid(&["sheet"], format!("is no sheet of this workbook: it has {}", names.join(", ")))
    })
}

fn xlsx(bytes: &[u8], largest: u64, sheet: Option<&str>, range: Option<Area>, header: bool) -> Result<Output, Failure> {
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).map_err(damaged)?;
    let names = book.sheet_names();
    let kinds: Vec<SheetType> = book.sheets_metadata().iter().map(|sheet| sheet.typ).collect();
    let at = chosen(&names, sheet)?;
    if largest.saturating_mul(names.len() as u64) > MAX_PARSED {
        return Err(Failure::too_large("file: has too many large sheets: divide it"));
    }
    let mut warnings = Vec::new();
    let mut sheets = Vec::new();
    let mut table = Cells::default();
    for (nth, name) in names.iter().enumerate() {
        // A sheet of charts has no cells.
        if kinds.get(nth) != Some(&SheetType::WorkSheet) {
            sheets.push(SheetOut { name: name.clone(), rows: 0, columns: 0 });
            continue;
        }
        let mut reader = book.worksheet_cells_reader(name).map_err(damaged)?;
        let mut end = (0, 0);
        let mut used = 0_u64;
        while let Some(cell) = reader.next_cell().map_err(damaged)? {
            let position = cell.get_position();
            let value = match cell.get_value() {
                DataRef::Empty => continue,
                DataRef::SharedString(text) => json!(text),
                other => value(&Data::from(other.clone()), position, &mut warnings),
            };
            used += 1;
            if used > MAX_CELLS {
                return Err(too_many());
            }
            end = (end.0.max(position.0 + 1), end.1.max(position.1 + 1));
            if nth == at {
                table.values.insert(position, value);
            }
        }
        if nth == at {
            table.end = end;
        }
        sheets.push(SheetOut { name: name.clone(), rows: end.0.into(), columns: end.1.into() });
    }
    let name = names.get(at).cloned().unwrap_or_default();
    if let Ok(mut reader) = book.worksheet_cells_reader(&name) {
        let mut length = 0;
        while let Some(cell) = reader.next_formula().map_err(damaged)? {
            if cell.get_value().is_empty() {
                continue;
            }
            length += cell.get_value().len();
            if length > MAX_FORMULAS {
                warnings.push("truncated: not all formulas are listed".to_owned());
                break;
            }
            let (row, column) = cell.get_position();
            table.end = (table.end.0.max(row + 1), table.end.1.max(column + 1));
            table.formulas.insert((row, column), cell.get_value().clone());
        }
    }
    if let Ok(merged) = book.merge_cells_by_sheet_name(&name) {
        for area in merged.iter().take(MAX_MERGED) {
            warnings.push(format!("merged: {}:{}", cell_name(area.start), cell_name(area.end)));
        }
        if merged.len() > MAX_MERGED {
            warnings.push(format!("merged: {} more areas", merged.len() - MAX_MERGED));
        }
    }
    finish(table, sheets, range, header, warnings)
}

fn ods(bytes: &[u8], sheet: Option<&str>, range: Option<Area>, header: bool) -> Result<Output, Failure> {
    let mut book: Ods<_> = Ods::new(Cursor::new(bytes)).map_err(damaged)?;
    let names = book.sheet_names();
    let at = chosen(&names, sheet)?;
    let mut warnings = Vec::new();
    let mut sheets = Vec::new();
    let mut table = Cells::default();
    for (nth, name) in names.iter().enumerate() {
        let cells = book.worksheet_range(name).map_err(damaged)?;
        let (top, left) = cells.start().unwrap_or_default();
        let end = cells.end().map_or((0, 0), |(row, column)| (row + 1, column + 1));
        sheets.push(SheetOut { name: name.clone(), rows: end.0.into(), columns: end.1.into() });
        if nth != at {
            continue;
        }
        table.end = end;
        for (row, column, cell) in cells.used_cells() {
            let place = |from: u32, at: usize| from.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
            let position = (place(top, row), place(left, column));
            table.values.insert(position, value(cell, position, &mut warnings));
            if table.values.len() as u64 > MAX_CELLS {
                return Err(too_many());
            }
        }
        let formulas = book.worksheet_formula(name).map_err(damaged)?;
        let (top, left) = formulas.start().unwrap_or_default();
        let mut length = 0;
        for (row, column, formula) in formulas.used_cells().filter(|(_, _, formula)| !formula.is_empty()) {
            length += formula.len();
            if length > MAX_FORMULAS {
                warnings.push("truncated: not all formulas are listed".to_owned());
                break;
            }
            let place = |from: u32, at: usize| from.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
            table.formulas.insert((place(top, row), place(left, column)), formula.clone());
        }
    }
    finish(table, sheets, range, header, warnings)
}

fn too_many() -> Failure {
    Failure::too_large(format!("file: a sheet has more than {MAX_CELLS} cells"))
}

/// Numbers as numbers, times as ISO 8601, errors as their names.
fn value(cell: &Data, position: Position, warnings: &mut Vec<String>) -> Value {
    match cell {
        Data::Int(number) => json!(number),
        Data::Float(number) if number.fract() == 0.0 && number.abs() < EXACT => json!(*number as i64),
        Data::Float(number) if number.is_finite() => json!(number),
        Data::Float(_) => {
            warnings.push(format!("error: {} is no finite number", cell_name(position)));
            Value::Null
        }
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => json!(text),
        Data::Bool(truth) => json!(truth),
        Data::DateTime(time) => json!(iso(time)),
        Data::Error(error) => {
            if warnings.len() < MAX_MERGED {
                warnings.push(format!("error: {} is {error}", cell_name(position)));
            }
            json!(error.to_string())
        }
        Data::Empty => Value::Null,
    }
}

fn iso(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        let seconds = (time.as_f64() * 86_400.0 * 1_000.0).round() / 1_000.0;
        return format!("PT{seconds}S");
    }
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    if time.as_f64().fract() == 0.0 {
        return date;
    }
    let milli = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    let clock = format!("{hour:02}:{minute:02}:{second:02}{milli}");
    // A time of no day.
    if time.as_f64() < 1.0 { clock } else { format!("{date}T{clock}") }
}

fn finish(
    table: Cells,
    sheets: Vec<SheetOut>,
    range: Option<Area>,
    header: bool,
    mut warnings: Vec<String>,
) -> Result<Output, Failure> {
    let (from, to) = match range {
        Some(area) => (area.from, (area.to.0.min(table.end.0), area.to.1.min(table.end.1))),
        None => ((0, 0), table.end),
    };
    let (rows, columns) = (to.0.saturating_sub(from.0), to.1.saturating_sub(from.1));
    if u64::from(rows) * u64::from(columns) > MAX_CELLS {
        let message =
            format!("the table has {rows} rows of {columns} columns, more than {MAX_CELLS} cells: give a range");
        return Err(Failure::too_large(message));
    }
    let mut out = vec![vec![Value::Null; columns as usize]; rows as usize];
    let within = |(row, column): &Position| (from.0..to.0).contains(row) && (from.1..to.1).contains(column);
    for ((row, column), value) in table.values.into_iter().filter(|(position, _)| within(position)) {
        let place = out.get_mut((row - from.0) as usize).and_then(|cells| cells.get_mut((column - from.1) as usize));
        if let Some(place) = place {
            *place = value;
        }
    }
    if header && let Some(names) = out.first() {
        let mut seen: Vec<&Value> = Vec::new();
        for (at, name) in names.iter().enumerate().take(1_000) {
            let column = column_name(from.1 + at as u32);
            if name.is_null() || name == "" {
                warnings.push(format!("header: column {column} has no name"));
            } else if seen.contains(&name) {
                warnings.push(format!("header: column {column} has the name of an earlier one"));
            } else {
                seen.push(name);
            }
        }
    }
    let formulas = table.formulas.into_iter().filter(|(position, _)| within(position));
    let formulas = formulas.map(|(position, formula)| (cell_name(position), formula)).collect();
    warnings.truncate(200);
    Ok(Output { sheets, rows: out, formulas, file: None, warnings })
}

/// Rows and columns from the first to behind the last.
#[derive(Debug, Clone, Copy)]
struct Area {
    from: Position,
    to: Position,
}

/// Reads `A1:C10` or `B2`.
fn parse_range(text: &str) -> Result<Area, Failure> {
    let wrong = || Failure::invalid(&["range"], "must be cells such as A1:C10");
    let text = text.trim().replace('$', "").to_ascii_uppercase();
    let (from, to) = text.split_once(':').unwrap_or((&text, &text));
    let (from, to) = (parse_cell(from).ok_or_else(wrong)?, parse_cell(to).ok_or_else(wrong)?);
    if to.0 < from.0 || to.1 < from.1 {
        return Err(Failure::invalid(&["range"], "must begin at the top left cell"));
    }
    Ok(Area { from, to: (to.0 + 1, to.1 + 1) })
}

fn parse_cell(text: &str) -> Option<Position> {
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let (letters, digits) = text.split_at_checked(digits)?;
    if letters.is_empty() || letters.len() > 3 || digits.len() > 7 {
        return None;
    }
    let mut column = 0_u32;
    for letter in letters.bytes() {
        column = column * 26 + u32::from(letter.checked_sub(b'A').filter(|letter| *letter < 26)?) + 1;
    }
    let row: u32 = digits.parse().ok()?;
    (row > 0 && row <= 1_048_576 && column <= 16_384).then(|| (row - 1, column - 1))
}
