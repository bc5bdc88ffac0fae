//! Applies a JSON Patch (RFC 6902) operation by operation and reports every conflict.

use json_patch::PatchOperation;
use json_patch::jsonptr::Pointer;
use serde_json::Value;

use super::Change;
use muster_engine::Failure;
use muster_engine::{Problem, ProblemKind};

/// Maximum number of operations.
const MAX_OPERATIONS: usize = 10_000;
/// Maximum number of reported conflicts.
const MAX_CONFLICTS: usize = 50;
/// Maximum depth of a document.
const MAX_DEPTH: usize = 127;
/// Maximum size of a document: nodes, plus one per 16 bytes of text. A copy into itself doubles it.
const MAX_SIZE: usize = 2_000_000;

impl Change {
    pub fn of(operation: &PatchOperation) -> Self {
        let op = match operation {
            PatchOperation::Add(_) => "add",
            PatchOperation::Remove(_) => "remove",
            PatchOperation::Replace(_) => "replace",
            PatchOperation::Move(_) => "move",
            PatchOperation::Copy(_) => "copy",
            PatchOperation::Test(_) => "test",
        };
        Self { op, path: operation.path().to_string() }
    }
}

/// Applies the patch.
///
/// # Errors
/// `Invalid` with each operation that is malformed or conflicts with the document. After a conflict the remaining
/// operations are tried without the failed one.
pub fn apply(mut document: Value, patch: &Value) -> Result<(Value, Vec<Change>), Failure> {
    let operations = read(patch)?;
    let mut size = size(&document);
    let mut conflicts = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        grow(&document, operation, &mut size)?;
        if let Some(why) = conflict(&mut document, operation) {
            let change = Change::of(operation);
            let message = format!("{} at {:?} conflicts with the document: {why}", change.op, change.path);
            conflicts.push(problem(at, message));
            if conflicts.len() == MAX_CONFLICTS {
                break;
            }
        }
    }
    if conflicts.is_empty() {
        Ok((document, operations.iter().map(Change::of).collect()))
    } else {
        Err(Failure::Invalid { problems: conflicts })
    }
}

fn problem(at: usize, message: String) -> Problem {
    Problem {
        loc: vec!["patch".to_owned(), at.to_string()],
        message,
        kind: ProblemKind::ValueError,
        input: Value::Null,
    }
}

fn read(patch: &Value) -> Result<Vec<PatchOperation>, Failure> {
    let Value::Array(items) = patch else {
        return Err(Failure::invalid(&["patch"], "must be an array of operations (RFC 6902), or kind merge-patch"));
    };
    if items.len() > MAX_OPERATIONS {
        return Err(Failure::too_large(format!("the patch has more than {MAX_OPERATIONS} operations")));
    }
    let (mut operations, mut problems) = (Vec::with_capacity(items.len()), Vec::new());
    for (at, item) in items.iter().enumerate() {
        match PatchOperation::deserialize_from(item) {
            Ok(operation) => operations.push(operation),
            Err(error) => problems.push(problem(at, format!("is not an operation of RFC 6902: {error}"))),
        }
    }
    problems.truncate(MAX_CONFLICTS);
    if problems.is_empty() { Ok(operations) } else { Err(Failure::Invalid { problems }) }
}

trait DeserializeFrom: Sized {
    fn deserialize_from(value: &Value) -> Result<Self, String>;
}

impl DeserializeFrom for PatchOperation {
    fn deserialize_from(value: &Value) -> Result<Self, String> {
        // A tagged enum would also accept an array.
        if !value.is_object() {
            return Err("must be an object".to_owned());
        }
        serde::Deserialize::deserialize(value).map_err(|error: serde_json::Error| error.to_string())
    }
}

/// Checks the size limits before an operation enlarges the document.
fn grow(document: &Value, operation: &PatchOperation, size_now: &mut usize) -> Result<(), Failure> {
    let source = |from: &Pointer| document.pointer(from.as_str());
    let (value, more) = match operation {
        PatchOperation::Add(add) => (Some(&add.value), true),
        PatchOperation::Replace(replace) => (Some(&replace.value), true),
        PatchOperation::Copy(copy) => (source(&copy.from), true),
        PatchOperation::Move(moved) => (source(&moved.from), false),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => (None, false),
    };
    let Some(value) = value else { return Ok(()) };
    if operation.path().count().saturating_add(depth(value)) > MAX_DEPTH {
        return Err(Failure::too_large(format!("the patch nests the document more than {MAX_DEPTH} deep")));
    }
    if more {
        *size_now = size_now.saturating_add(size(value));
    }
    if *size_now > MAX_SIZE {
        return Err(Failure::too_large(format!("the patch makes the document larger than {MAX_SIZE} values")));
    }
    Ok(())
}

fn conflict(document: &mut Value, operation: &PatchOperation) -> Option<String> {
    if let PatchOperation::Test(test) = operation {
        return match document.pointer(test.path.as_str()) {
            None => Some("there is nothing".to_owned()),
            Some(found) if same(found, &test.value) => None,
            Some(found) => Some(format!("it is {}", display(found))),
        };
    }
    json_patch::patch(document, std::slice::from_ref(operation)).err().map(|error| error.kind.to_string())
}

fn display(value: &Value) -> String {
    let text = value.to_string();
    let end = text.floor_char_boundary(100);
    text.get(..end).map_or(String::new(), |head| if end < text.len() { format!("{head}…") } else { head.to_owned() })
}

/// RFC 6902, section 4.6: numbers are equal where their values are, whether written 1 or 1.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let found = |(key, one)| other.get(key).is_some_and(|other| same(one, other));
            one.len() == other.len() && one.iter().all(found)
        }
        (left, right) => left == right,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 16,
        Value::Array(items) => items.iter().map(size).fold(1, usize::saturating_add),
        Value::Object(object) => object.values().map(size).fold(1, usize::saturating_add),
        _ => 1,
    }
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(object) => object.values().map(depth).max(),
        _ => return 0,
    };
    below.unwrap_or_default() + 1
}
