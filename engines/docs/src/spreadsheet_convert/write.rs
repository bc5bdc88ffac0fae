//! Writing of XLSX.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, XlsxError};

use super::{Output, SheetOut, cell_name};

/// Most sheets, cells of all, and bytes of texts.
const MAX_SHEETS: usize = 100;
const MAX_CELLS: usize = 100_000;
const MAX_TEXT: usize = 8 << 20;
/// Longest text of a cell in UTF-16, and most rows and columns.
const MAX_CELL: usize = 32_767;
const MAX_ROWS: usize = 1_048_576;
const MAX_COLUMNS: usize = 16_384;
/// Numbers are of double precision.
const EXACT: u64 = 1 << 53;
const MAX_WARNINGS: usize = 100;

pub(super) fn write(tables: BTreeMap<String, Vec<Vec<Value>>>, header: bool) -> Result<Output, Failure> {
    if tables.is_empty() {
        return Err(Failure::invalid(&["tables"], "has no sheet to write"));
    }
    if tables.len() > MAX_SHEETS {
        return Err(Failure::too_large(format!("tables: at most {MAX_SHEETS} sheets")));
    }
    let cells: usize = tables.values().flatten().map(Vec::len).sum();
    if cells > MAX_CELLS {
        return Err(Failure::too_large(format!("tables: at most {MAX_CELLS} cells together, and there are {cells}")));
    }
    let mut writer = Writer {
        bold: Format::new().set_bold(),
        quoted: Format::new().set_quote_prefix(),
        header,
        text: 0,
        warnings: Vec::new(),
    };
    let mut book = Workbook::new();
    // The file follows from the input alone.
    let created = ExcelDateTime::from_ymd(2000, 1, 1).map_err(Failure::internal)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&created));
    let mut sheets = Vec::new();
    for (name, rows) in &tables {
        let sheet = book.add_worksheet();
        sheet.set_name(name).map_err(|error| Failure::invalid(&["tables", name], error.to_string()))?;
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        if rows.len() > MAX_ROWS || columns > MAX_COLUMNS {
            return Err(Failure::too_large(format!(
                "tables: a sheet has at most {MAX_ROWS} rows of {MAX_COLUMNS} columns"
            )));
        }
        for (row, values) in rows.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                writer.cell(sheet, name, (row, column), value)?;
            }
        }
        if header && rows.len() > 1 {
            sheet.set_freeze_panes(1, 0).map_err(Failure::internal)?;
        }
        sheets.push(SheetOut { name: name.clone(), rows: rows.len() as u64, columns: columns as u64 });
    }
    // Names of sheets that differ in case only are found when the book is put together.
    let file = book.save_to_buffer().map_err(|error| Failure::invalid(&["tables"], error.to_string()))?;
    Ok(Output {
        sheets,
        rows: Vec::new(),
        formulas: BTreeMap::new(),
        file: Some(Bytes(file)),
        warnings: writer.warnings,
    })
}

struct Writer {
    bold: Format,
    quoted: Format,
    header: bool,
    text: usize,
    warnings: Vec<String>,
}

impl Writer {
    fn cell(
        &mut self,
        sheet: &mut rust_xlsxwriter::Worksheet,
        name: &str,
        (row, column): (usize, usize),
        value: &Value,
    ) -> Result<(), Failure> {
        let at = |why: String| Failure::invalid(&["tables", name, &row.to_string(), &column.to_string()], why);
        let place = (u32::try_from(row).unwrap_or(u32::MAX), u16::try_from(column).unwrap_or(u16::MAX));
        let place_name = cell_name((place.0, place.1.into()));
        let written: Result<_, XlsxError> = match value {
            Value::Null => return Ok(()),
            Value::Bool(truth) => sheet.write_boolean(place.0, place.1, *truth),
            Value::Number(number) => {
                let exact = number
                    .as_i64()
                    .map_or_else(|| number.as_u64().is_none_or(|n| n <= EXACT), |n| n.unsigned_abs() <= EXACT);
                match number.as_f64().filter(|number| exact && number.is_finite()) {
                    Some(number) => sheet.write_number(place.0, place.1, number),
                    None => {
                        self.warn(format!(
                            "precision: {place_name} of {name} has more digits than a number: it is a text"
                        ));
                        sheet.write_string(place.0, place.1, number.to_string())
                    }
                }
            }
            Value::String(text) => {
                if text.encode_utf16().count() > MAX_CELL {
                    return Err(at(format!("is longer than the {MAX_CELL} characters of a cell")));
                }
                self.text += text.len();
                if self.text > MAX_TEXT {
                    return Err(Failure::too_large(format!("tables: more than {} MiB of text", MAX_TEXT >> 20)));
                }
                if is_formula(text) {
                    // It is a text also where somebody edits it or saves the sheet as CSV from there.
                    self.warn(format!("formula: {place_name} of {name} begins like a formula: it is marked as text"));
                    sheet.write_string_with_format(place.0, place.1, text, &self.quoted)
                } else if self.header && row == 0 {
                    sheet.write_string_with_format(place.0, place.1, text, &self.bold)
                } else {
                    sheet.write_string(place.0, place.1, text)
                }
            }
            Value::Array(_) | Value::Object(_) => {
                return Err(at("must be a text, a number, true, false or null".to_owned()));
            }
        };
        written.map(|_| ()).map_err(|error| at(error.to_string()))
    }

    fn warn(&mut self, text: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(text);
        }
    }
}

/// The first characters that OWASP's guidance on formula injection names.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}
