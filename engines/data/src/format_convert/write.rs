//! Writers of all formats.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::{Format, wrong, xml};
use muster_engine::Failure;

/// Maximum number of CSV columns.
const MAX_COLUMNS: usize = 10_000;

pub fn write(value: Value, to: Format, warnings: &mut Vec<String>) -> Result<String, Failure> {
    match to {
        Format::Json => Ok(value.to_string()),
        Format::Yaml => serde_saphyr::to_string(&value).map_err(Failure::internal),
        Format::Toml => toml(value, warnings),
        Format::Csv => csv(value, warnings),
        Format::Xml => xml::write(&value, warnings),
        Format::Ndjson => Ok(ndjson(value, warnings)),
        Format::Cbor => {
            let mut bytes = Vec::new();
            ciborium::into_writer(&value, &mut bytes).map_err(Failure::internal)?;
            Ok(STANDARD.encode(bytes))
        }
        Format::Msgpack => rmp_serde::to_vec(&value).map(|bytes| STANDARD.encode(bytes)).map_err(Failure::internal),
    }
}

fn ndjson(value: Value, warnings: &mut Vec<String>) -> String {
    let items = match value {
        Value::Array(items) => items,
        other => {
            warnings.push("NDJSON is a list: the one value became its only line".to_owned());
            vec![other]
        }
    };
    items.iter().map(|item| format!("{item}\n")).collect()
}

fn toml(mut value: Value, warnings: &mut Vec<String>) -> Result<String, Failure> {
    if !value.is_object() {
        return Err(wrong("is not a table, which a TOML document must be: put it under a key"));
    }
    let mut lost = (0, 0);
    without_null(&mut value, &mut lost);
    if lost.0 > 0 {
        warnings.push(format!("TOML has no null: {} were omitted", lost.0));
    }
    if lost.1 > 0 {
        warnings.push("integers past TOML's 64 bits became floating point and may have lost digits".to_owned());
    }
    toml::to_string(&value).map_err(|error| wrong(format!("cannot be TOML: {error}")))
}

/// Removes nulls and converts big integers to floats; counts both.
fn without_null(value: &mut Value, lost: &mut (usize, usize)) {
    match value {
        Value::Array(items) => {
            lost.0 += items.iter().filter(|item| item.is_null()).count();
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(|item| without_null(item, lost));
        }
        Value::Object(object) => {
            lost.0 += object.values().filter(|item| item.is_null()).count();
            object.retain(|_, item| !item.is_null());
            object.values_mut().for_each(|item| without_null(item, lost));
        }
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            lost.1 += 1;
            *value = number.as_f64().into();
        }
        _ => {}
    }
}

/// Objects by the union of names; arrays as rows; other values in one column.
fn csv(value: Value, warnings: &mut Vec<String>) -> Result<String, Failure> {
    let rows = match value {
        Value::Array(rows) => rows,
        other => vec![other],
    };
    let mut names: Map<String, Value> = Map::new();
    for key in rows.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !names.contains_key(key) {
            names.insert(key.clone(), Value::Null);
        }
    }
    if names.len() > MAX_COLUMNS {
        return Err(Failure::too_large(format!("there are more than {MAX_COLUMNS} columns")));
    }
    let mut sheet =
        Sheet { writer: csv::WriterBuilder::new().flexible(true).from_writer(Vec::new()), nested: 0, null: 0 };
    let tables = rows.iter().all(Value::is_array);
    if !tables {
        let titles = if names.is_empty() { vec!["value"] } else { names.keys().map(String::as_str).collect() };
        sheet.row(titles.into_iter().map(str::to_owned).collect())?;
    }
    for row in &rows {
        let fields = match row {
            Value::Array(fields) if tables => fields.iter().map(|field| sheet.field(field)).collect(),
            Value::Object(object) => {
                names.keys().map(|name| sheet.field(object.get(name).unwrap_or(&Value::Null))).collect()
            }
            other => vec![sheet.field(other)],
        };
        sheet.row(fields)?;
    }
    if sheet.nested > 0 {
        warnings.push(format!("CSV has no nesting: {} arrays and objects became JSON text", sheet.nested));
    }
    if sheet.null > 0 {
        warnings.push(format!("CSV has no null: {} fields are empty", sheet.null));
    }
    let bytes = sheet.writer.into_inner().map_err(Failure::internal)?;
    String::from_utf8(bytes).map_err(Failure::internal)
}

struct Sheet {
    writer: csv::Writer<Vec<u8>>,
    nested: usize,
    null: usize,
}

impl Sheet {
    fn row(&mut self, fields: Vec<String>) -> Result<(), Failure> {
        self.writer.write_record(fields).map_err(Failure::internal)
    }

    fn field(&mut self, value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Null => {
                self.null += 1;
                String::new()
            }
            Value::Array(_) | Value::Object(_) => {
                self.nested += 1;
                value.to_string()
            }
            other => other.to_string(),
        }
    }
}
