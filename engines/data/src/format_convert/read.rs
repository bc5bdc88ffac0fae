//! Readers of all formats.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ciborium::Value as Cbor;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::document::{Document, Notes, insert};
use super::{Format, wrong, xml};
use muster_engine::Failure;

/// Maximum nesting of a document.
const MAX_DEPTH: usize = 128;

pub fn read(content: &str, from: Format) -> Result<Document, Failure> {
    let document = match from {
        Format::Json => serde_json::from_str(content).map_err(|error| no("JSON", error))?,
        Format::Yaml => yaml(content)?,
        Format::Toml => toml::from_str(content).map_err(|error| no("TOML", without_source(&error, content)))?,
        Format::Csv => csv(content)?,
        Format::Xml => xml::read(content)?,
        Format::Ndjson => ndjson(content)?,
        Format::Cbor => cbor(&bytes(content)?)?,
        Format::Msgpack => msgpack(&bytes(content)?)?,
    };
    if depth(&document.value) > MAX_DEPTH {
        return Err(Failure::too_large(format!("the document is nested more than {MAX_DEPTH} deep")));
    }
    Ok(document)
}

fn no(format: &str, error: impl std::fmt::Display) -> Failure {
    wrong(format!("is no {format}: {error}"))
}

/// What is wrong and where, without the line itself, which may hold a secret.
fn without_source(error: &toml::de::Error, content: &str) -> String {
    let before = error.span().and_then(|span| content.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(object) => object.values().map(depth).max(),
        _ => return 0,
    };
    below.unwrap_or_default() + 1
}

fn bytes(content: &str) -> Result<Vec<u8>, Failure> {
    let bare: String = content.split_ascii_whitespace().collect();
    STANDARD.decode(bare).map_err(|error| wrong(format!("must be base64 of the bytes: {error}")))
}

fn together(documents: Vec<Document>) -> Document {
    let mut notes = Notes::default();
    documents.iter().for_each(|document| notes.add(document.notes));
    Document { value: documents.into_iter().map(|document| document.value).collect(), notes }
}

fn yaml(content: &str) -> Result<Document, Failure> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    let mut documents: Vec<Document> =
        serde_saphyr::from_multiple_with_options(content, options).map_err(|error| no("YAML", error))?;
    match documents.len() {
        0 => Ok(Document::default()),
        1 => Ok(documents.pop().unwrap_or_default()),
        _ => {
            let mut all = together(documents);
            all.notes.add(Notes::SEVERAL);
            Ok(all)
        }
    }
}

/// JSON values, one per line.
fn ndjson(content: &str) -> Result<Document, Failure> {
    let lines = content.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| wrong(format!("is no NDJSON: line {}: {error}", at + 1)))
    };
    lines.map(read).collect::<Result<_, _>>().map(together)
}

/// Rows as objects, named by the header. Values written as JSON numbers or booleans become those.
fn csv(content: &str) -> Result<Document, Failure> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    let mut reader = csv::Reader::from_reader(content.as_bytes());
    let names = reader.headers().map_err(|error| no("CSV", error))?.clone();
    let (mut rows, mut notes) = (Vec::new(), Notes::default());
    for record in reader.records() {
        let record = record.map_err(|error| no("CSV", error))?;
        let mut row = Map::new();
        for (name, field) in names.iter().zip(&record) {
            if field.is_empty() {
                notes.add(Notes::EMPTY);
            }
            let key = Document { value: name.into(), notes: Notes::default() };
            insert(&mut row, key, typed(field), &mut notes);
        }
        rows.push(Value::Object(row));
    }
    Ok(Document { value: rows.into(), notes })
}

fn typed(field: &str) -> Value {
    let value = match serde_json::from_str(field) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ if field.is_empty() => return Value::Null,
        _ => return field.into(),
    };
    let written = value.to_string();
    if written == field { value } else { field.into() }
}

fn msgpack(bytes: &[u8]) -> Result<Document, Failure> {
    let mut rest = bytes;
    let mut documents = Vec::new();
    while !rest.is_empty() {
        let mut deserializer = rmp_serde::Deserializer::new(&mut rest);
        deserializer.set_max_depth(MAX_DEPTH);
        documents.push(Document::deserialize(&mut deserializer).map_err(|error| no("MessagePack", error))?);
    }
    one(documents, "MessagePack")
}

fn cbor(bytes: &[u8]) -> Result<Document, Failure> {
    let mut rest = bytes;
    let mut documents = Vec::new();
    while !rest.is_empty() {
        let value: Cbor = ciborium::from_reader(&mut rest).map_err(|error| no("CBOR", error))?;
        documents.push(of_cbor(value));
    }
    one(documents, "CBOR")
}

fn one(mut documents: Vec<Document>, format: &str) -> Result<Document, Failure> {
    if documents.len() > 1 {
        let mut all = together(documents);
        all.notes.add(Notes::SEVERAL);
        return Ok(all);
    }
    documents.pop().ok_or_else(|| wrong(format!("is not {format}: it is empty")))
}

/// RFC 8949, section 6.1: bignums and bytes as numbers or text, tags dropped.
fn of_cbor(value: Cbor) -> Document {
    let plain = |value: Value| Document { value, notes: Notes::default() };
    match value {
        Cbor::Integer(number) => {
            let number = i128::from(number);
            let whole = i64::try_from(number).map(Value::from).or_else(|_| u64::try_from(number).map(Value::from));
            whole.map_or_else(|_| Document::float(number as f64), plain)
        }
        Cbor::Bytes(bytes) => Document::bytes(&bytes),
        Cbor::Float(number) => Document::float(number),
        Cbor::Text(text) => plain(text.into()),
        Cbor::Bool(truth) => plain(truth.into()),
        Cbor::Tag(tag, inner) => tagged(tag, *inner),
        Cbor::Array(items) => together(items.into_iter().map(of_cbor).collect()),
        Cbor::Map(entries) => {
            let (mut map, mut notes) = (Map::new(), Notes::default());
            for (key, value) in entries {
                let value = of_cbor(value);
                notes.add(value.notes);
                insert(&mut map, of_cbor(key), value.value, &mut notes);
            }
            Document { value: Value::Object(map), notes }
        }
        _ => Document::default(),
    }
}

/// Tags 2 and 3 are big integers, 0 is a time as text; others are dropped.
fn tagged(tag: u64, inner: Cbor) -> Document {
    if let (2 | 3, Cbor::Bytes(bytes)) = (tag, &inner) {
        let number = bytes.iter().fold(0.0, |number, byte| number * 256.0 + f64::from(*byte));
        let mut document = Document::float(if tag == 2 { number } else { -1.0 - number });
        document.notes.add(Notes::GREAT);
        return document;
    }
    let mut document = of_cbor(inner);
    document.notes.add(if tag == 0 { Notes::TIMES } else { Notes::TAGS });
    document
}
