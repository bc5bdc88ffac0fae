//! A document and its references.

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(super) const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// Maximum length of a chain of references.
const MAX_HOPS: usize = 32;

pub(super) struct Document {
    pub root: Value,
}

impl Document {
    pub(super) fn new(root: Value) -> Self {
        Self { root }
    }

    /// Iterates over the paths as written, with their resolved path items.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&str, &Value)> {
        let paths = self.root.get("paths").and_then(Value::as_object).into_iter().flatten();
        paths.filter(|(path, _)| path.starts_with('/')).map(|(path, item)| (path.as_str(), self.resolved(item)))
    }

    /// Iterates over path, method, path item and operation.
    pub(super) fn operations(&self) -> impl Iterator<Item = (&str, &'static str, &Value, &Value)> {
        self.paths().flat_map(|(path, item)| {
            METHODS.into_iter().filter_map(move |method| Some((path, method, item, item.get(method)?)))
        })
    }

    /// Resolves a reference within the document; returns the value itself if it is none or dangling.
    pub(super) fn resolved<'d>(&'d self, value: &'d Value) -> &'d Value {
        let mut at = value;
        for _ in 0..MAX_HOPS {
            let Some(target) = reference(at).and_then(|reference| self.target(reference)) else { break };
            at = target;
        }
        at
    }

    pub(super) fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(&percent_decoded(pointer))
    }
}

pub(super) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Entries of an object's field; empty if it is not an object.
pub(super) fn entries<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
    value.get(field).and_then(Value::as_object).map(Map::iter).into_iter().flatten()
}

pub(super) fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or(false)
}

/// Names of a path's parameters, in order.
pub(super) fn template(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)).collect()
}

/// A path with empty parameter names: clients do not depend on them.
pub(super) fn shape(path: &str) -> String {
    let mut parts = path.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shape, part| format!("{shape}{{}}{}", part.split_once('}').map_or("", |(_, rest)| rest)))
}
