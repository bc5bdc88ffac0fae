//! Measures an archive before a reader of spreadsheets opens it: readers allocate by what a file declares.

use std::io::{Cursor, Read};

use muster_engine::prelude::*;
use zip::ZipArchive;

/// Most entries, and most bytes that they inflate to together.
const MAX_ENTRIES: usize = 2_000;
const MAX_INFLATED: u64 = 32 << 20;
/// Most rows times columns of the tables that the sheets of an ODS file become, and most bytes of their cells: readers
/// write out what is repeated.
const MAX_ODS_CELLS: u64 = 1_000_000;
const MAX_ODS_BYTES: u64 = 64 << 20;

/// Kind of workbook.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Xlsx,
    Ods,
}

fn damaged(why: impl std::fmt::Display) -> Failure {
    Failure::invalid(&["file"], format!("is a damaged workbook: {why}"))
}

/// Inflates every entry within the bound, and checks what readers reserve memory by. Returns the size of the largest entry
/// too.
pub(super) fn check(bytes: &[u8]) -> Result<(Kind, u64), Failure> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    if archive.len() > MAX_ENTRIES {
        return Err(Failure::too_large(format!("file: has more than {MAX_ENTRIES} entries")));
    }
    let (mut left, mut largest) = (MAX_INFLATED, 0);
    let mut kind = None;
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.to_ascii_lowercase();
        let mut content = Vec::new();
        let read = (&mut entry).take(left + 1).read_to_end(&mut content).map_err(damaged)? as u64;
        left = left
            .checked_sub(read)
            .ok_or_else(|| Failure::too_large(format!("file: inflates to more than {} MiB", MAX_INFLATED >> 20)))?;
        largest = largest.max(read);
        if name.ends_with("content.xml") {
            check_ods(&content)?;
        }
        check_declared_strings(&content)?;
        kind = match name.as_str() {
            "content.xml" => Some(Kind::Ods),
            "[content_types].xml" => kind.or(Some(Kind::Xlsx)),
            _ => kind,
        };
    }
    let kind =
        kind.ok_or_else(|| Failure::invalid(&["file"], "is a ZIP archive without a workbook: XLSX and ODS are read"))?;
    Ok((kind, largest))
}

/// A table of shared strings declares their number, and each takes five bytes at least.
fn check_declared_strings(content: &[u8]) -> Result<(), Failure> {
    let name = b"uniqueCount";
    for at in content.windows(name.len()).enumerate().filter(|(_, window)| *window == name).map(|(at, _)| at) {
        let count = number_behind(content.get(at + name.len()..).unwrap_or_default());
        if count.is_none_or(|count| count > content.len() as u64 / 4 + 16) {
            return Err(damaged("it declares more shared texts than it has"));
        }
    }
    Ok(())
}

/// Sums the tables that the sheets of an ODS file become where repetitions are written out. Counts rather too much: the
/// reader must not find a cell that was not counted.
fn check_ods(content: &[u8]) -> Result<(), Failure> {
    let too_large = || {
        let bytes = MAX_ODS_BYTES >> 20;
        Failure::too_large(format!("file: its sheets have more than {MAX_ODS_CELLS} cells, or {bytes} MiB in cells"))
    };
    let (mut cells, mut bytes) = (0_u64, 0_u64);
    let mut sheet = OdsSheet::default();
    for tag in content.split(|byte| *byte == b'<').skip(1) {
        let end = tag.iter().position(|byte| *byte == b'>').unwrap_or(tag.len());
        let (tag, text) = tag.split_at_checked(end).unwrap_or((tag, &[]));
        let named = |name: &[u8]| tag.starts_with(name);
        if named(b"table:table-row") && !named(b"table:table-rows") {
            sheet.row(repeated(tag, b"number-rows-repeated")?);
        } else if named(b"table:table-cell") || named(b"table:covered-table-cell") {
            let has_value =
                contains(tag, b"office:") || contains(tag, b"formula") || !tag.ends_with(b"/") || text.len() > 1;
            sheet.cell(repeated(tag, b"number-columns-repeated")?, has_value);
        } else if named(b"table:table") && !named(b"table:table-") {
            cells = cells.saturating_add(sheet.area());
            sheet = OdsSheet::default();
        }
        bytes = bytes.saturating_add(sheet.copies.saturating_mul((tag.len() + text.len()) as u64));
        if cells.saturating_add(sheet.area()) > MAX_ODS_CELLS || bytes > MAX_ODS_BYTES {
            return Err(too_large());
        }
    }
    Ok(())
}

/// The part of a sheet that was seen.
#[derive(Default)]
struct OdsSheet {
    /// Rows before the present one, its repetitions, and its columns.
    rows: u64,
    repeats: u64,
    columns: u64,
    /// Whether the present row has a value, rows up to the last that has one, and columns of the widest.
    used: bool,
    used_rows: u64,
    width: u64,
    /// Cells that the present cell becomes.
    copies: u64,
}

impl OdsSheet {
    fn row(&mut self, repeats: u64) {
        self.rows = self.rows.saturating_add(self.repeats);
        (self.repeats, self.columns, self.used, self.copies) = (repeats, 0, false, 0);
    }

    fn cell(&mut self, repeats: u64, has_value: bool) {
        self.columns = self.columns.saturating_add(repeats);
        self.copies = if has_value { repeats.saturating_mul(self.repeats) } else { 0 };
        if has_value {
            self.used = true;
            self.width = self.width.max(self.columns);
        }
        if self.used {
            self.used_rows = self.used_rows.max(self.rows.saturating_add(self.repeats));
        }
    }

    fn area(&self) -> u64 {
        self.used_rows.saturating_mul(self.width)
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

/// The value of a repetition; 1 without one.
fn repeated(tag: &[u8], name: &[u8]) -> Result<u64, Failure> {
    let Some(at) = tag.windows(name.len()).position(|window| window == name) else { return Ok(1) };
    let count = number_behind(tag.get(at + name.len()..).unwrap_or_default());
    count.ok_or_else(|| damaged("a repetition is no number"))
}

/// The value of an attribute, behind its name.
fn number_behind(text: &[u8]) -> Option<u64> {
    let digits: Vec<u8> = text
        .iter()
        .copied()
        .skip_while(|byte| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'"' | b'\''))
        .take_while(|byte| !matches!(byte, b'"' | b'\'' | b'>'))
        .take(40)
        .collect();
    std::str::from_utf8(&digits).ok()?.trim().parse().ok()
}
