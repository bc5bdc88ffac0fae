//! Files of the workspace in place of contents.
//!
//! Where a param or a member of one is a text or base64, `{"file": "path/in/workspace"}` stands for the content of that file.
//! A record with `path` and without its content (`source`, `content` or `text`) is completed from the file of that path.
//! A list or a map takes the rows or columns of a file ([`file_table`]), and so does an input of any type, if that is the
//! whole input. The files are read when a step begins, below the workspace folder only.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use muster_engines::Engine;
use muster_engines::grammar::{Member, Prim, Type};
use serde_json::{Map, Value};

use super::failure;
use super::file_table::{self, FileReference, WHOLE};
use crate::engine::{EngineCaller, EngineRunner};
use crate::task::StepError;

/// Members of a record that hold the content of its `path`.
pub(super) const CONTENTS: [&str; 3] = ["source", "content", "text"];
/// Most files of one step, and their maximum size together, in bytes.
const MAX_FILES: usize = 200;
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A place that takes the content of a file.
enum Place<'v> {
    /// The whole value.
    Value { path: &'v str, kind: Prim },
    /// Rows or columns of the file.
    Table(FileReference<'v>),
    /// A member of a record.
    Member { path: &'v str, name: &'v str },
}

/// Returns the file that is the whole of an input of any type.
fn document<'v>(kind: &Type, value: &'v Value) -> Option<FileReference<'v>> {
    FileReference::of(value).filter(|file| *kind == Type::Prim(Prim::Any) && file.is_data())
}

/// Returns what a value of this type takes from a file.
fn place<'v>(kind: &'v Type, value: &'v Value) -> Option<Place<'v>> {
    match kind {
        Type::Prim(kind @ (Prim::String | Prim::Bytes)) => {
            let file = FileReference::of(value)?;
            let is_cell = *kind == Prim::String && !file.is_whole();
            Some(if is_cell { Place::Table(file) } else { Place::Value { path: file.path, kind: *kind } })
        }
        Type::Array(_) => FileReference::of(value).map(Place::Table),
        Type::Prim(Prim::Any) => FileReference::of(value).filter(|_| value.get(WHOLE).is_some()).map(Place::Table),
        // A map of texts may have a key `file`.
        Type::Map(item) if matches!(**item, Type::Array(_)) => FileReference::of(value).map(Place::Table),
        Type::Record(members) => {
            let object = value.as_object()?;
            let path = object.get("path")?.as_str()?;
            let member = members.iter().find(|member| is_content(member) && !object.contains_key(&member.name))?;
            Some(Place::Member { path, name: &member.name })
        }
        _ => None,
    }
}

fn is_content(member: &Member) -> bool {
    !member.optional && CONTENTS.contains(&member.name.as_str()) && member.kind == Type::Prim(Prim::String)
}

/// Returns the value with contents that any file could have, for validation; `None` if it refers to no file.
pub(super) fn stand_in(kind: &Type, value: &Value) -> Option<Value> {
    let mut paths = Vec::new();
    collect(kind, value, &mut paths);
    (!paths.is_empty()).then(|| replaced(kind, value, &|_| None).unwrap_or_default())
}

fn collect<'v>(kind: &'v Type, value: &'v Value, paths: &mut Vec<&'v str>) {
    match place(kind, value) {
        Some(Place::Value { path, .. } | Place::Member { path, .. }) => paths.push(path),
        Some(Place::Table(file)) => return paths.push(file.path),
        None => {}
    }
    match (kind, value) {
        (Type::Array(item), Value::Array(items)) => items.iter().for_each(|value| collect(item, value, paths)),
        (Type::Map(item), Value::Object(entries)) => entries.values().for_each(|value| collect(item, value, paths)),
        (Type::Record(members), Value::Object(object)) => {
            for member in members {
                if let Some(value) = object.get(&member.name) {
                    collect(&member.kind, value, paths);
                }
            }
        }
        _ => {}
    }
}

/// Puts the contents in their places; without contents, what any file could have. The error names the file whose content
/// does not fit.
fn replaced(kind: &Type, value: &Value, content: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Value, String> {
    let text = |path: &str| -> Result<Value, String> {
        let bytes = content(path).unwrap_or_default();
        String::from_utf8(bytes).map(Value::String).map_err(|_| format!("{path} is not text in UTF-8"))
    };
    match place(kind, value) {
        Some(Place::Value { path, kind: Prim::Bytes }) => {
            return Ok(STANDARD.encode(content(path).unwrap_or_default()).into());
        }
        Some(Place::Value { path, .. }) => return text(path),
        Some(Place::Member { path, name }) => {
            let mut object = value.as_object().cloned().unwrap_or_default();
            object.insert(name.to_owned(), text(path)?);
            return Ok(Value::Object(object));
        }
        Some(Place::Table(file)) => {
            return match (content(file.path), kind) {
                (Some(bytes), kind) => file_table::value(kind, &file, &bytes),
                (None, Type::Array(_)) => Ok(Value::Array(Vec::new())),
                (None, Type::Map(_) | Type::Prim(Prim::Any)) => Ok(Value::Object(Map::new())),
                (None, _) => Ok(Value::String(String::new())),
            };
        }
        None => {}
    }
    match (kind, value) {
        (Type::Array(item), Value::Array(items)) => items.iter().map(|value| replaced(item, value, content)).collect(),
        (Type::Map(item), Value::Object(entries)) => {
            let entry = |(name, value): (&String, &Value)| Ok((name.clone(), replaced(item, value, content)?));
            entries.iter().map(entry).collect::<Result<Map<_, _>, String>>().map(Value::Object)
        }
        (Type::Record(members), Value::Object(object)) => {
            let mut object = object.clone();
            for member in members {
                if let Some(value) = object.get(&member.name) {
                    let value = replaced(&member.kind, value, content)?;
                    object.insert(member.name.clone(), value);
                }
            }
            Ok(Value::Object(object))
        }
        (_, value) => Ok(value.clone()),
    }
}

/// Returns an engine's input with the contents of the files to which it refers.
pub(super) fn load(
    engine: &'static Engine,
    step: &str,
    input: Value,
    runner: std::sync::Arc<dyn EngineRunner>,
    caller: EngineCaller,
) -> BoxFuture<'static, Result<Value, StepError>> {
    let step = step.to_owned();
    Box::pin(async move {
        let Value::Object(mut fields) = input else { return Ok(input) };
        let inputs = || engine.fields().inputs.iter();
        let paths: Vec<String> = {
            let mut found = Vec::new();
            inputs().for_each(|field| {
                if let Some(value) = fields.get(&field.name) {
                    found.extend(document(&field.kind, value).map(|file| file.path));
                    collect(&field.kind, value, &mut found);
                }
            });
            found.into_iter().map(str::to_owned).collect()
        };
        if paths.is_empty() {
            return Ok(Value::Object(fields));
        }
        let failed = |error: muster_core::Error| failure::engine(&step, "the workspace", error);
        let too_large = |what: String| failed(muster_core::Error::new(muster_core::Kind::TooLarge, what));
        let mut contents: HashMap<String, Vec<u8>> = HashMap::new();
        let mut bytes = 0;
        for path in paths {
            if contents.contains_key(&path) {
                continue;
            }
            if contents.len() >= MAX_FILES {
                return Err(too_large(format!("more than {MAX_FILES} files")));
            }
            let content = runner.workspace_file(path.clone(), caller.clone()).await.map_err(failed)?;
            bytes += content.len();
            if bytes > MAX_BYTES {
                return Err(too_large(format!("the files have more than {MAX_BYTES} bytes together")));
            }
            contents.insert(path, content);
        }
        let content = |path: &str| contents.get(path).cloned();
        for field in inputs() {
            if let Some(value) = fields.get(&field.name) {
                let value = match document(&field.kind, value) {
                    Some(file) => {
                        let bytes = contents.get(file.path).map(Vec::as_slice).unwrap_or_default();
                        file_table::value(&field.kind, &file, bytes)
                    }
                    None => replaced(&field.kind, value, &content),
                };
                let value = value.map_err(|why| failed(muster_core::Error::new(muster_core::Kind::Invalid, why)))?;
                fields.insert(field.name.clone(), value);
            }
        }
        Ok(Value::Object(fields))
    })
}
