//! q247: spreadsheet reading and writing.

mod archive;
mod read;
mod write;

use std::collections::BTreeMap;

use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    operation: Operation,
    file: Option<Bytes>,
    sheet: Option<String>,
    range: Option<String>,
    tables: BTreeMap<String, Vec<Vec<Value>>>,
    header: bool,
}

#[derive(Clone, Copy, Words)]
enum Operation {
    Read,
    Write,
}

#[derive(Output)]
pub struct Output {
    sheets: Vec<SheetOut>,
    rows: Vec<Vec<Value>>,
    formulas: BTreeMap<String, String>,
    file: Option<Bytes>,
    warnings: Vec<String>,
}

#[derive(Output)]
struct SheetOut {
    name: String,
    rows: u64,
    columns: u64,
}

/// Reads a sheet of a workbook, or writes tables as one.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    match (input.operation, &input.file) {
        (Operation::Write, _) => write::write(input.tables, input.header),
        (Operation::Read, None) => Err(Failure::invalid(&["file"], "is required to read")),
        (Operation::Read, Some(Bytes(file))) => {
            read::read(file, input.sheet.as_deref(), input.range.as_deref(), input.header, cx)
        }
    }
}

/// Returns a name such as `B3`.
fn cell_name((row, column): (u32, u32)) -> String {
    format!("{}{}", column_name(column), row + 1)
}

fn column_name(column: u32) -> String {
    let mut name = Vec::new();
    let mut left = column;
    loop {
        name.insert(0, char::from(b'A' + (left % 26) as u8));
        if left < 26 {
            return name.into_iter().collect();
        }
        left = left / 26 - 1;
    }
}
