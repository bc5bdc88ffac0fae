//! Values as Markdown for people: tables, lists, places, numbers with units; no JSON.

use muster_engines::grammar::{Member, Prim, Type};
use serde_json::{Map, Value};

use super::prompt::cut;

/// Maximum number of rows, of columns, and of items of a list.
const MAX_ROWS: usize = 20;
const MAX_COLUMNS: usize = 8;
/// Maximum size of a cell and of an item, in bytes.
const MAX_CELL: usize = 160;
const MAX_ITEM: usize = 400;
/// A list of at most this many short items is one line.
const SHORT_LIST: usize = 12;

/// Returns a value as Markdown.
pub(super) fn value(value: &Value, kind: &Type, unit: &str) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) if text.trim().is_empty() => "none".to_owned(),
        Value::String(line) if !line.contains('\n') && document(line).is_none() => line.clone(),
        Value::String(text) if is_markdown(text) => demoted(text),
        Value::String(text) if document(text).is_some() => document(text).unwrap_or_default(),
        // The fence is longer than any inside.
        Value::String(text) => {
            let ticks = "`".repeat(longest_run(text).max(2) + 1);
            format!("{ticks}\n{}\n{ticks}", text.trim_end_matches('\n'))
        }
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => list(items, item_kind(kind), unit),
        Value::Object(entries) if entries.is_empty() => "none".to_owned(),
        Value::Object(entries) => object(entries, kind),
        scalar => inline(scalar, unit),
    }
}

/// Returns a param that was taken from the instruction as a line.
pub(super) fn filled(filled: &Value) -> String {
    let text = |name: &str| filled.get(name).and_then(Value::as_str).unwrap_or_default();
    let value = filled.get("value").map_or_else(String::new, |value| match value {
        Value::Array(items) if items.iter().any(Value::is_object) => format!("a list of {}", items.len()),
        other => inline(other, ""),
    });
    format!("`{}` is {} (from “{}”)", text("param"), cut(&value, MAX_CELL), text("evidence"))
}

/// Returns a param that has its default as a line.
pub(super) fn default(default: &Value) -> String {
    let text = |name: &str| default.get(name).and_then(Value::as_str).unwrap_or_default();
    let value = default.get("value").map_or_else(String::new, |value| inline(value, text("unit")));
    format!("`{}` is {}", text("param"), cut(&value, MAX_CELL))
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
        if items.len() <= SHORT_LIST && shown.iter().all(|item| item.len() <= 24) {
            return shown.join(", ");
        }
        let lines = shown.iter().take(MAX_ROWS).map(|item| format!("- {item}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    if items.len() > MAX_ROWS {
        text.push_str(&format!("\n\n… and {} more, {} in all", items.len() - MAX_ROWS, items.len()));
    }
    text
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
        lines.push(format!("- **{}:**{shown}", words(name)));
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
            let part = |name: &str| entries.get(name).map(number).unwrap_or_default();
            return format!("{}, {}", part("lat"), part("lon"));
        }
        Value::Object(entries) if is_shape(entries) => return shape(entries),
        Value::Object(entries) => {
            let shown = entries.iter().filter(|(_, value)| !value.is_null());
            let shown = shown.map(|(name, value)| format!("{} {}", words(name), inline(value, "")));
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
        ("Point", Some([lon, lat, ..])) => format!("{}, {}", number(lat), number(lon)),
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
        "-" | "base64" | "hex" | "utc" | "iana" | "iso639" | "iso639-1" | "iso3166" | "iso4217" | "yaml" | "osv"
        | "base32" | "pem-or-secret" | "pem-or-base64" | "hex-or-base64" | "iso8601-duration" => "",
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
mod tests {
    use muster_engines::grammar::parse_type;
    use serde_json::json;

    use super::*;

    fn shown(value: &Value, kind: &str, unit: &str) -> String {
        super::value(value, &parse_type(kind).unwrap(), unit)
    }

    #[test]
    fn records_are_tables_with_units_and_places() {
        let rows =
            json!([{ "path": "a.rs", "line": 3, "text": "a | b" }, { "path": "b.rs", "line": 9, "text": "c\nd" }]);
        assert_eq!(
            shown(&rows, "array<{path=string,line=integer,text=string}>", ""),
            "| place | text |\n|---|---|\n| `a.rs:3` | a \\| b |\n| `b.rs:9` | c d |"
        );
        let rows = json!([{ "speed": 12.3456789, "at": { "lat": 47.5, "lon": 8.25 }, "tags": ["x", "y"] }]);
        assert_eq!(
            shown(&rows, "array<{at=latlon,speed=number[m/s],tags=array<string>}>", ""),
            "| at | speed (m/s) | tags |\n|---|---|---|\n| 47.5, 8.25 | 12.3457 | x, y |"
        );
        let many: Vec<Value> = (0..30).map(|n| json!({ "n": n })).collect();
        assert!(shown(&many.into(), "array<{n=integer}>", "").ends_with("… and 10 more, 30 in all"));
    }

    #[test]
    fn scalars_lists_and_objects_have_no_json() {
        for (value, kind, unit, wanted) in [
            (json!(31.5), "number", "degC", "31.5 °C"),
            (json!(0.1 + 0.2), "number", "", "0.3"),
            (json!(1_234_567.891), "number", "", "1234568"),
            (json!(5), "integer", "-", "5"),
            (json!(true), "boolean", "", "yes"),
            (json!(null), "string", "", "–"),
            (json!([]), "array<string>", "", "none"),
            (json!([1, 2.5]), "array<number>", "", "1, 2.5"),
            (json!({ "lat": 1, "lon": 2 }), "latlon", "deg", "1, 2"),
            (
                json!({ "type": "Polygon", "coordinates": [[[0, 0], [1, 1], [0, 0]]] }),
                "geometry",
                "",
                "Polygon of 3 points (GeoJSON in the outputs)",
            ),
            (
                json!({ "b": { "x_y": 1 }, "a": [{ "c": 1 }] }),
                "any",
                "",
                "- **a:**\n\n| c |\n|---|\n| 1 |\n\n- **b:** x y 1",
            ),
            (json!("# T\n\ntext"), "string", "", "### T\n\ntext"),
            (json!("src/\n  main.rs"), "string", "", "```\nsrc/\n  main.rs\n```"),
        ] {
            let text = shown(&value, kind, unit);
            assert_eq!(text, wanted);
            assert!(!text.contains("{\"") && !text.contains("\":"), "{text}");
        }
    }
}
