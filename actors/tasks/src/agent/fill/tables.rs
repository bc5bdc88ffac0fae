//! Tables in Markdown and CSV, by the names of their columns.

use std::ops::Range;

use muster_engines::grammar::{Member, Prim, Type};
use muster_kernel_words::quantities::{self, quantities};
use serde_json::{Map, Value};

use super::Search;
use crate::agent::parameter::{Parameter, problems_of};

/// Most rows and columns of a table.
const MAX_ROWS: usize = 50_000;
const MAX_COLUMNS: usize = 100;

struct Table<'a> {
    header: Vec<Cell<'a>>,
    rows: Vec<Vec<&'a str>>,
    span: Range<usize>,
    /// The line before it, which may name the parameter.
    title: &'a str,
}

pub(in crate::agent) struct Cell<'a> {
    /// In lower case, with `_` between words, without the unit.
    pub(in crate::agent) name: String,
    /// The unit after the name in brackets, if any.
    pub(in crate::agent) unit: Option<&'a str>,
}

pub(super) fn fill(search: &mut Search<'_>) {
    let text = search.text;
    let mut tables = markdown(text);
    for fence in &search.fences {
        let csv = matches!(fence.label, "" | "csv" | "text") || search.parameters.iter().any(|p| p.name == fence.label);
        let taken = search.found.iter().any(|filled| filled.span == fence.span);
        if let Some(mut table) =
            csv.then(|| comma_separated(fence.body, fence.span.clone())).flatten().filter(|_| !taken)
        {
            let named = search.parameters.iter().any(|p| p.name == fence.label);
            let opening = text.get(..fence.span.start).and_then(|text| text.rfind("```")).unwrap_or_default();
            table.title = if named { fence.label } else { line_before(text, opening) };
            tables.push(table);
        }
    }
    for table in &tables {
        let read = |parameter: &Parameter| rows(&parameter.kind, table);
        let title = super::labels::plain(table.title);
        let is_titled = |parameter: &Parameter| {
            let phrases = super::labels::phrases(parameter);
            phrases.iter().any(|(phrase, _)| super::labels::occurrences(&title, phrase).next().is_some())
        };
        let (open, missing) = (&search.open, &search.missing);
        let fits: Vec<(&Parameter, Value, usize)> = search
            .parameters
            .iter()
            .filter(|parameter| open.contains(parameter.name.as_str()))
            // One with a default only by its name.
            .filter(|parameter| missing.contains(parameter.name.as_str()) || is_titled(parameter))
            .filter_map(|parameter| read(parameter).map(|(value, columns)| (parameter, value, columns)))
            .filter(|(parameter, value, _)| problems_of(parameter, value).is_empty())
            .collect();
        let titled: Vec<usize> =
            (0..fits.len()).filter(|at| fits.get(*at).is_some_and(|(parameter, ..)| is_titled(parameter))).collect();
        let most = fits.iter().map(|(.., columns)| *columns).max();
        let widest: Vec<usize> =
            (0..fits.len()).filter(|at| fits.get(*at).map(|(.., columns)| *columns) == most).collect();
        let chosen = match (&titled[..], &widest[..]) {
            ([at], _) | ([], [at]) => Some(*at),
            _ => None,
        };
        if let Some((parameter, value, _)) = chosen.and_then(|at| fits.into_iter().nth(at)) {
            search.take(parameter, value, "table", table.span.clone());
        }
    }
    for table in tables {
        search.blank(&table.span);
    }
}

/// Reads the rows of a table as the type of a parameter; also returns how many columns were used.
fn rows(kind: &Type, table: &Table<'_>) -> Option<(Value, usize)> {
    let Type::Array(item) = kind else { return None };
    match &**item {
        Type::Record(members) => {
            let mut columns = Vec::new();
            // "id | km | hours" where a record has an id and a map of numbers.
            let is_map = |member: &&Member| member.kind == Type::Map(Box::new(Type::Prim(Prim::Number)));
            let unnamed = |member: &&Member| table.header.iter().all(|cell| cell.name != member.name);
            let map = members.iter().filter(is_map).find(unnamed);
            for member in members.iter().filter(|member| map.is_none_or(|map| map.name != member.name)) {
                let column = table.header.iter().position(|cell| cell.name == member.name);
                match column {
                    Some(at) => columns.push((at, member)),
                    None if member.optional => {}
                    None => return None,
                }
            }
            let is_free = |at: &usize| map.is_some() && columns.iter().all(|(used, _)| used != at);
            let free: Vec<usize> = (0..table.header.len()).filter(is_free).collect();
            if map.is_some() && free.is_empty() {
                return None;
            }
            // A table of other things may have an `id` too.
            let used = columns.len() + free.len();
            if used < table.header.len().div_ceil(2) {
                return None;
            }
            let row = |cells: &Vec<&str>| {
                let mut object = Map::new();
                for (at, member) in &columns {
                    let cell = cells.get(*at).copied().unwrap_or_default();
                    if cell.is_empty() && member.optional {
                        continue;
                    }
                    object.insert(member.name.clone(), value(cell, member, table.header.get(*at)?.unit)?);
                }
                if let Some(map) = map {
                    let mut values = Map::new();
                    for at in &free {
                        let cell = cells.get(*at).copied().unwrap_or_default();
                        if !cell.is_empty() {
                            values.insert(table.header.get(*at)?.name.clone(), number(cell, "", None)?.into());
                        }
                    }
                    object.insert(map.name.clone(), values.into());
                }
                Some(Value::Object(object))
            };
            Some((table.rows.iter().map(row).collect::<Option<Vec<_>>>()?.into(), used))
        }
        // Rows of any form are objects by the names of the columns.
        Type::Prim(Prim::Any) => {
            let row = |cells: &Vec<&str>| -> Value {
                let entries = table.header.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
                Value::Object(entries.map(|(header, cell)| (header.name.clone(), any(cell))).collect())
            };
            Some((table.rows.iter().map(row).collect(), table.header.len()))
        }
        _ => None,
    }
}

pub(in crate::agent) fn value(cell: &str, member: &Member, unit: Option<&str>) -> Option<Value> {
    match &member.kind {
        Type::Prim(Prim::Number) => number(cell, &member.unit, unit).map(Value::from),
        Type::Prim(Prim::Integer) => {
            let number =
                number(cell, &member.unit, unit).filter(|number| number.fract() == 0.0 && number.abs() < 9e15)?;
            Some((number as i64).into())
        }
        Type::Prim(Prim::Boolean) => match cell.to_lowercase().as_str() {
            "true" | "yes" | "y" => Some(true.into()),
            "false" | "no" | "n" => Some(false.into()),
            _ => None,
        },
        Type::Prim(Prim::String | Prim::Datetime | Prim::Date | Prim::Bytes) => Some(cell.into()),
        Type::Prim(Prim::Any) => Some(any(cell)),
        Type::Enum(words) => {
            let lower = cell.to_lowercase();
            words.iter().find(|word| word.to_lowercase() == lower).map(|word| word.as_str().into())
        }
        Type::Array(item) if **item == Type::Prim(Prim::String) => {
            let items = cell.split([',', ';']).map(str::trim).filter(|item| !item.is_empty());
            Some(items.map(Value::from).collect())
        }
        _ => serde_json::from_str(cell).ok(),
    }
}

/// Reads a number, converted from the unit of the cell or of the header; a unit that does not convert gives none.
fn number(cell: &str, wanted: &str, header: Option<&str>) -> Option<f64> {
    let plain = cell.trim().replace('\u{2212}', "-");
    let (value, unit) = match plain.parse::<f64>() {
        Ok(value) => (value, header.and_then(named)),
        Err(_) => match &quantities(&plain)[..] {
            [one] if one.start == 0 && one.end == plain.len() => {
                (one.value, one.unit.or_else(|| header.and_then(named)))
            }
            _ => return None,
        },
    };
    let converted = match (unit, quantities::unit(wanted)) {
        (Some(from), Some(to)) => quantities::convert(value, from, to)?,
        // A unit where none, or an unknown one, is wanted: the same symbol is the same unit.
        (Some(from), None) if !wanted.is_empty() && from.symbol != wanted => return None,
        _ if header.is_some_and(|header| unit.is_none() && header != wanted && !wanted.is_empty()) => return None,
        _ => value,
    };
    converted.is_finite().then_some(converted)
}

/// A number, or a text: one with a sign or zeros before it, as of a telephone, is a text.
fn any(cell: &str) -> Value {
    serde_json::from_str::<serde_json::Number>(cell).map_or_else(|_| cell.into(), Value::Number)
}

fn named(unit: &str) -> Option<&'static quantities::Unit> {
    match &quantities(&format!("1 {unit}"))[..] {
        [one] => one.unit,
        _ => None,
    }
}

pub(in crate::agent) fn header(cell: &str) -> Cell<'_> {
    let (name, unit) = match cell.split_once(['(', '[']) {
        Some((name, unit)) => (name, Some(unit.trim_end_matches([')', ']']).trim())),
        None => (cell, None),
    };
    let name = name.trim().trim_matches(['*', '`', '"']).to_lowercase().replace([' ', '-'], "_");
    Cell { name, unit: unit.filter(|unit| !unit.is_empty()) }
}

/// Tables with a header and a line of dashes (GitHub Flavored Markdown 0.29, 4.10).
fn markdown(text: &str) -> Vec<Table<'_>> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at..at + line.len(), line.trim()));
        at += line.len();
    }
    let cells = |line: &'_ str| -> Vec<Range<usize>> {
        let inner = line.strip_prefix('|').unwrap_or(line);
        let lead = line.len() - inner.len();
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        let mut from = lead;
        inner
            .split('|')
            .map(|cell| {
                let span = from..from + cell.len();
                from += cell.len() + 1;
                span
            })
            .collect()
    };
    let trimmed = |line: &'_ str| -> Vec<String> {
        cells(line).into_iter().map(|span| line.get(span).unwrap_or_default().trim().to_owned()).collect()
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at + 2 < lines.len() + 1 {
        let (Some((first, head)), Some((_, rule))) = (lines.get(at), lines.get(at + 1)) else { break };
        let is_rule = rule.contains('-') && rule.contains('|') && rule.bytes().all(|byte| b"|-: ".contains(&byte));
        let columns = if head.contains('|') { trimmed(head).len() } else { 0 };
        if !is_rule || columns == 0 || columns > MAX_COLUMNS || trimmed(rule).len() != columns {
            at += 1;
            continue;
        }
        let mut last = at + 2;
        let mut rows = Vec::new();
        while let Some((_, line)) = lines.get(last)
            && line.contains('|')
            && rows.len() < MAX_ROWS
        {
            let row: Vec<&str> =
                cells(line).into_iter().map(|span| line.get(span).unwrap_or_default().trim()).collect();
            rows.push(row);
            last += 1;
        }
        let end = lines.get(last - 1).map_or(first.end, |(span, _)| span.end);
        let head: Vec<&str> = cells(head).into_iter().map(|span| head.get(span).unwrap_or_default()).collect();
        if !rows.is_empty() {
            let header = head.into_iter().map(header).collect();
            found.push(Table { header, rows, span: first.start..end, title: line_before(text, first.start) });
        }
        at = last;
    }
    found
}

/// The last line with words before a place.
fn line_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default().trim_end().trim_end_matches('`').trim_end();
    before.rsplit('\n').next().unwrap_or_default().trim()
}

/// A block with a header and rows of the same number of fields (RFC 4180; quotes around a field are taken off, and a
/// field with a comma in quotes makes it no table).
fn comma_separated(body: &str, span: Range<usize>) -> Option<Table<'_>> {
    let mut lines = body.lines().filter(|line| !line.trim().is_empty());
    let head = lines.next()?;
    let separator = [',', ';', '\t'].into_iter().find(|separator| head.contains(*separator))?;
    let fields =
        |line| -> Vec<&str> { str::split(line, separator).map(|cell| cell.trim().trim_matches('"')).collect() };
    let header: Vec<Cell<'_>> = fields(head).into_iter().map(header).collect();
    let named = header.iter().all(|cell| cell.name.starts_with(char::is_alphabetic));
    if !named || header.len() > MAX_COLUMNS {
        return None;
    }
    let mut rows = Vec::new();
    for line in lines.take(MAX_ROWS) {
        let row = fields(line);
        if row.len() != header.len() {
            return None;
        }
        rows.push(row);
    }
    (!rows.is_empty()).then_some(Table { header, rows, span, title: "" })
}
