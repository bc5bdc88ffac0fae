//! Values as Markdown for people: tables, lists, places, numbers with units; no JSON.

use muster_engines::grammar::{Member, Prim, Type};
use serde_json::{Map, Value};

use super::prompt::cut;

/// Maximum number of rows, of columns, and of items of a list.
const MAX_ROWS: usize = 20;
const MAX_COLUMNS: usize = 8;
/// Maximum size of a cell and of an item, in bytes.
const MAX_CELL: usize = 240;
const MAX_ITEM: usize = 400;
/// Maximum size of a text in a block, in bytes.
const MAX_BLOCK: usize = 5 * 1024;
/// Most lines and levels of nested data.
const MAX_LINES: usize = 60;
const MAX_LEVELS: usize = 6;
/// Column with the keys of a map of records.
const NAME: &str = "name";
/// A list of at most this many short items is one line.
const SHORT_LIST: usize = 12;

/// Returns a value as Markdown.
pub(super) fn value(shown: &Value, kind: &Type, unit: &str) -> String {
    match shown {
        Value::Null => "–".to_owned(),
        Value::String(text) if text.trim().is_empty() => "none".to_owned(),
        Value::String(text) if text.starts_with("<svg") => {
            format!("A drawing (SVG, {} kB), which is in the outputs.", text.len().div_ceil(1000))
        }
        Value::String(line) if !line.contains('\n') && document(line).is_none() => line.clone(),
        Value::String(text) if is_markdown(text) => demoted(text),
        Value::String(text) if document(text).is_some() => document(text).unwrap_or_default(),
        // The fence is longer than any inside, and closed where the text is cut.
        Value::String(text) => {
            let ticks = "`".repeat(longest_run(text).max(2) + 1);
            format!("{ticks}\n{}\n{ticks}", cut(text.trim_end_matches('\n'), MAX_BLOCK))
        }
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => match &items[..] {
            [one @ (Value::Array(_) | Value::Object(_))] if *item_kind(kind) == Type::Prim(Prim::Any) => {
                value(one, item_kind(kind), unit)
            }
            items => list(items, item_kind(kind), unit),
        },
        Value::Object(entries) if entries.is_empty() => "none".to_owned(),
        Value::Object(entries) if *kind == Type::Prim(Prim::Any) && grid(entries).is_none() && depth(shown) > 3 => {
            nested(entries)
        }
        Value::Object(entries) => match grid(entries).or_else(|| table_of_map(entries, kind)) {
            Some(table) => table,
            None => object(entries, kind),
        },
        scalar => inline(scalar, unit),
    }
}

/// Params whose values are not written into a report.
const SECRETS: [&str; 7] = ["token", "jwks", "key", "secret", "sample_password", "totp_secret", "totp_code"];

/// Returns a param that was taken from the instruction as a line.
pub(super) fn filled(filled: &Value) -> String {
    let text = |name: &str| filled.get(name).and_then(Value::as_str).unwrap_or_default();
    let value = filled.get("value").map_or_else(String::new, |value| match value {
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            format!("a list of {}", items.len())
        }
        other => inline(other, ""),
    });
    if SECRETS.contains(&text("param")) {
        return format!("`{}` (a secret, which is not repeated)", text("param"));
    }
    let value = cut(&value, MAX_CELL);
    // What is in a table or block is not repeated.
    match text("by") {
        by @ ("table" | "list" | "block") => format!("`{}` is {value} (from a {by} of the text)", text("param")),
        _ => format!("`{}` is {value} (from “{}”)", text("param"), text("evidence")),
    }
}

/// Returns a param that has its default as a line.
pub(super) fn default(default: &Value) -> String {
    let text = |name: &str| default.get(name).and_then(Value::as_str).unwrap_or_default();
    let value = default.get("value").map_or_else(String::new, |value| inline(value, text("unit")));
    format!("`{}` is {}", text("param"), cut(&value, MAX_CELL))
}

/// How deeply objects and lists are nested.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Data of several levels as lists within lists.
fn nested(entries: &Map<String, Value>) -> String {
    fn add(name: &str, value: &Value, level: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(level);
        match value {
            Value::Object(entries) if level < MAX_LEVELS && !entries.is_empty() => {
                lines.push(format!("{indent}- **{name}:**"));
                entries.iter().for_each(|(name, value)| add(name, value, level + 1, lines));
            }
            other => lines.push(format!("{indent}- **{name}:** {}", cut(&inline(other, ""), MAX_ITEM))),
        }
    }
    let mut lines = Vec::new();
    entries.iter().for_each(|(name, value)| add(name, value, 0, &mut lines));
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    if more > 0 {
        lines.push(format!("- … and {more} more lines"));
    }
    lines.join("\n")
}

/// A text that is a JSON document, as a block.
fn document(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok().filter(|value: &Value| value.is_object() || value.is_array())?;
    Some(format!("```json\n{}\n```", serde_json::to_string_pretty(&value).ok()?))
}

fn item_kind(kind: &Type) -> &Type {
    match kind {
        Type::Array(item) => item,
        other => other,
    }
}

fn list(items: &[Value], kind: &Type, unit: &str) -> String {
    let rows: Vec<&Map<String, Value>> = items.iter().filter_map(Value::as_object).collect();
    let mut text = if rows.len() == items.len() && !rows.iter().any(|row| is_place(row) || is_shape(row)) {
        table(&rows, kind)
    } else {
        let shown: Vec<String> = items.iter().map(|item| cut(&inline(item, unit), MAX_ITEM)).collect();
        // The items of a list of lists are not one list.
        let nested = items.iter().any(Value::is_array);
        if !nested && items.len() <= SHORT_LIST && shown.iter().all(|item| item.len() <= 24) {
            return shown.join(if items.iter().any(Value::is_object) { "; " } else { ", " });
        }
        let lines = shown.iter().take(MAX_ROWS).map(|item| format!("- {item}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    text.push_str(&further(items.len()));
    text
}

/// Says how many rows are not shown; nothing where all are.
fn further(rows: usize) -> String {
    match rows.checked_sub(MAX_ROWS) {
        None | Some(0) => String::new(),
        Some(more) => format!("\n\n… and {more} more, {rows} in all"),
    }
}

/// Rows as a table, with the columns in the order in which the engine declares them. `path` and `line` become one place.
fn table(rows: &[&Map<String, Value>], kind: &Type) -> String {
    let members: &[Member] = if let Type::Record(members) = kind { members } else { &[] };
    let mut columns: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let others = rows.iter().take(MAX_ROWS).flat_map(|row| row.keys()).map(String::as_str);
    let mut others: Vec<&str> = others.filter(|name| !columns.contains(name)).collect();
    others.sort_unstable();
    others.dedup();
    columns.extend(others);
    columns.retain(|name| rows.iter().take(MAX_ROWS).any(|row| row.get(*name).is_some_and(|value| !value.is_null())));
    let place = columns.contains(&"path") && columns.contains(&"line");
    columns.retain(|name| !(place && *name == "line"));
    let left_out = columns.len().saturating_sub(MAX_COLUMNS);
    columns.truncate(MAX_COLUMNS);
    let unit = |name: &str| {
        let member = members.iter().find(|member| member.name == name);
        member.map(|member| shown_unit(&member.unit)).filter(|unit| !unit.is_empty())
    };
    let head = columns.iter().map(|name| match unit(name) {
        _ if place && *name == "path" => "place".to_owned(),
        Some(unit) => format!("{} ({unit})", words(name)),
        None => words(name),
    });
    let mut text = format!("| {} |\n|{}", head.collect::<Vec<_>>().join(" | "), "---|".repeat(columns.len()));
    for row in rows.iter().take(MAX_ROWS) {
        let cell = |name: &&str| {
            let value = row.get(*name).unwrap_or(&Value::Null);
            match row.get("line").filter(|_| place && *name == "path") {
                Some(line) => format!("`{}:{}`", inline(value, ""), inline(line, "")),
                None if matches!(*name, "lat" | "lon") && value.is_number() => degrees(value),
                None => inline(value, ""),
            }
        };
        let cells = columns.iter().map(cell).map(|text| escaped(&text));
        text.push_str(&format!("\n| {} |", cells.collect::<Vec<_>>().join(" | ")));
    }
    if left_out > 0 {
        text.push_str(&format!("\n\n({left_out} further columns are in the outputs)"));
    }
    text
}

/// Rows that are lists, with the names of their columns.
fn grid(entries: &Map<String, Value>) -> Option<String> {
    let (columns, rows) = (entries.get("columns")?.as_array()?, entries.get("rows")?.as_array()?);
    let is_grid = entries.len() == 2 && rows.iter().all(Value::is_array) && columns.iter().all(Value::is_string);
    if !is_grid || columns.is_empty() {
        return None;
    }
    let line = |cells: &[Value]| {
        let cells = cells.iter().take(MAX_COLUMNS).map(|cell| escaped(&inline(cell, "")));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut text = format!("{}\n|{}", line(columns), "---|".repeat(columns.len().min(MAX_COLUMNS)));
    for row in rows.iter().filter_map(Value::as_array).take(MAX_ROWS) {
        text.push_str(&format!("\n{}", line(row)));
    }
    if columns.len() > MAX_COLUMNS {
        text.push_str(&format!("\n\n({} further columns are in the outputs)", columns.len() - MAX_COLUMNS));
    }
    text.push_str(&further(rows.len()));
    Some(text)
}

/// Records by name, as a table whose first column is the name.
fn table_of_map(entries: &Map<String, Value>, kind: &Type) -> Option<String> {
    let (Type::Map(item), false) = (kind, entries.is_empty()) else { return None };
    let members: &[Member] = match &**item {
        Type::Record(members) => members,
        Type::Map(_) => &[],
        _ => return None,
    };
    let name = Member { name: NAME.to_owned(), kind: Type::Prim(Prim::String), optional: false, unit: String::new() };
    let kind = Type::Record(std::iter::once(name).chain(members.iter().cloned()).collect());
    let rows: Vec<Map<String, Value>> = entries
        .iter()
        .filter_map(|(name, row)| {
            let mut row = row.as_object()?.clone();
            row.insert(NAME.to_owned(), name.as_str().into());
            Some(row)
        })
        .collect();
    Some(table(&rows.iter().collect::<Vec<_>>(), &kind) + &further(rows.len()))
}

fn escaped(cell: &str) -> String {
    let line = cell.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, MAX_CELL).replace('|', "\\|")
}

fn object(entries: &Map<String, Value>, kind: &Type) -> String {
    if is_place(entries) || is_shape(entries) {
        return inline(&Value::Object(entries.clone()), "");
    }
    let members: &[Member] = if let Type::Record(members) = kind { members } else { &[] };
    let declared = members.iter().filter_map(|member| entries.get_key_value(&member.name));
    let others = entries.iter().filter(|(name, _)| !members.iter().any(|member| member.name == **name));
    let all: Vec<(&String, &Value)> = declared.chain(others).collect();
    let mut lines = Vec::new();
    for (name, inner) in all.iter().take(MAX_ROWS) {
        let member = members.iter().find(|member| member.name == **name);
        let (kind, unit) = member.map_or((&Type::Prim(Prim::Any), ""), |member| (&member.kind, member.unit.as_str()));
        let is_table = inner.as_array().is_some_and(|items| items.iter().any(Value::is_object));
        let shown = if is_table || inner.as_str().is_some_and(|text| text.contains('\n')) {
            let block = value(inner, kind, unit);
            format!("\n\n{block}\n")
        } else {
            format!(" {}", cut(&inline(inner, unit), MAX_ITEM))
        };
        // The keys of a map and of data are no names of ours.
        let name = if member.is_some() { words(name) } else { (*name).clone() };
        lines.push(format!("- **{name}:**{shown}"));
    }
    if all.len() > MAX_ROWS {
        lines.push(format!("- … and {} more, {} in all", all.len() - MAX_ROWS, all.len()));
    }
    lines.join("\n")
}

/// A value in one line.
pub(super) fn inline(value: &Value, unit: &str) -> String {
    let text = match value {
        Value::Null => return "–".to_owned(),
        Value::Bool(true) => return "yes".to_owned(),
        Value::Bool(false) => return "no".to_owned(),
        Value::Number(_) => number(value),
        Value::String(text) => return text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Array(items) if items.is_empty() => return "none".to_owned(),
        Value::Array(items) => {
            let shown: Vec<String> = items.iter().take(SHORT_LIST).map(|item| inline(item, "")).collect();
            let more = if items.len() > SHORT_LIST { format!(", … ({} in all)", items.len()) } else { String::new() };
            format!("{}{more}", shown.join(if items.iter().any(Value::is_object) { "; " } else { ", " }))
        }
        Value::Object(entries) if is_place(entries) => {
            let part = |name: &str| entries.get(name).map(degrees).unwrap_or_default();
            return format!("{}, {}", part("lat"), part("lon"));
        }
        Value::Object(entries) if is_shape(entries) => return shape(entries),
        Value::Object(entries) if lines(entries).is_some() => return lines(entries).unwrap_or_default(),
        Value::Object(entries) => {
            let shown = entries.iter().filter(|(_, value)| !value.is_null());
            let shown = shown.map(|(name, value)| format!("{}: {}", words(name), inline(value, "")));
            return shown.collect::<Vec<_>>().join(", ");
        }
    };
    let unit = shown_unit(unit);
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

/// A number with at most six significant digits after its point.
fn number(value: &Value) -> String {
    let Some(float) = value.as_f64().filter(|_| !value.is_i64() && !value.is_u64()) else { return value.to_string() };
    if float == 0.0 {
        return "0".to_owned();
    }
    let size = float.abs().log10().floor();
    if !(-5.0..15.0).contains(&size) {
        return format!("{float:.5e}");
    }
    let digits = (5.0 - size).max(0.0) as usize;
    let text = format!("{float:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A latitude or longitude, to about a metre.
fn degrees(value: &Value) -> String {
    let Some(degrees) = value.as_f64() else { return number(value) };
    let text = format!("{degrees:.5}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Lines of a file: `path`, with `start` and `end`.
fn lines(entries: &Map<String, Value>) -> Option<String> {
    let number = |name: &str| entries.get(name).and_then(Value::as_u64);
    let path = entries.get("path")?.as_str().filter(|_| entries.len() == 3)?;
    Some(format!("`{path}:{}-{}`", number("start")?, number("end")?))
}

fn is_place(entries: &Map<String, Value>) -> bool {
    entries.len() == 2
        && entries.get("lat").is_some_and(Value::is_number)
        && entries.get("lon").is_some_and(Value::is_number)
}

fn is_shape(entries: &Map<String, Value>) -> bool {
    entries.get("type").is_some_and(Value::is_string)
        && (entries.get("coordinates").is_some_and(Value::is_array)
            || entries.get("features").is_some_and(Value::is_array))
}

/// A shape of GeoJSON by its kind and size.
fn shape(entries: &Map<String, Value>) -> String {
    let kind = entries.get("type").and_then(Value::as_str).unwrap_or_default();
    if let Some(features) = entries.get("features").and_then(Value::as_array) {
        return format!("{} features on a map (GeoJSON in the outputs)", features.len());
    }
    let coordinates = entries.get("coordinates").unwrap_or(&Value::Null);
    match (kind, coordinates.as_array().map(Vec::as_slice)) {
        ("Point", Some([lon, lat, ..])) => format!("{}, {}", degrees(lat), degrees(lon)),
        _ => format!("{kind} of {} points (GeoJSON in the outputs)", points(coordinates)),
    }
}

fn points(coordinates: &Value) -> usize {
    match coordinates.as_array().map(Vec::as_slice) {
        Some([first, ..]) if first.is_number() => 1,
        Some(parts) => parts.iter().map(points).sum(),
        None => 0,
    }
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// A unit as people write it. Formats and counts are none.
pub(super) fn shown_unit(unit: &str) -> &str {
    match unit {
        "degC" => "°C",
        "deg" => "°",
        "m2" => "m²",
        "km2" => "km²",
        "m3" => "m³",
        "m3/s" => "m³/s",
        "ug/m3" => "µg/m³",
        "1/min" => "per min",
        "1/h" => "per h",
        "yr" => "years",
        "1e4kt2" => "10⁴ kt²",
        "d" => "days",
        "people/veh" => "people a vehicle",
        "-" | "money" | "base64" | "hex" | "utc" | "iana" | "iso639" | "iso639-1" | "iso3166" | "iso4217" | "yaml"
        | "osv" | "base32" | "pem-or-secret" | "pem-or-base64" | "hex-or-base64" | "iso8601-duration" => "",
        other => other,
    }
}

/// Whether a text of several lines is Markdown: headings, lists or tables.
fn is_markdown(text: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let marked =
        lines().filter(|line| line.starts_with(['#', '|']) || line.starts_with("- ") || line.starts_with("* "));
    let first = text.lines().next().unwrap_or_default();
    let indented = text.lines().any(|line| line.starts_with([' ', '\t', '└', '├', '│']));
    (first.starts_with("# ") || marked.count() * 2 > lines().count()) && !indented
}

/// Headings go below those of the report.
fn demoted(text: &str) -> String {
    let line = |line: &str| if line.starts_with('#') { format!("##{line}") } else { line.to_owned() };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests;
