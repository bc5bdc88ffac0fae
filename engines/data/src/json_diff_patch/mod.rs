//! q111: JSON diff and patch.

mod apply;
mod diff;
#[cfg(test)]
mod tests;

use serde_json::Value;

use muster_engine::prelude::*;

/// Maximum number of reported differences between the result and the expected document.
const MAX_TOLD: usize = 20;

#[derive(Input)]
pub struct Input {
    before: Value,
    after: Option<Value>,
    patch: Option<Value>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
enum Kind {
    JsonPatch,
    MergePatch,
}

#[derive(Output)]
pub struct Output {
    /// The patch of the input, or the one from `before` to `after`.
    patch: Value,
    result: Value,
    /// The operations; for a merge patch, its effect as operations.
    changes: Vec<Change>,
    /// Whether `result` equals `after` if the input has both; otherwise whether it equals `before`.
    identical: bool,
}

#[derive(Debug, PartialEq, Output)]
struct Change {
    op: &'static str,
    path: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let Input { before, after, patch, kind } = input;
    match (patch, after) {
        (None, None) => Err(Failure::invalid(&["after"], "is required without a patch: set one of them")),
        (None, Some(after)) => compared(before, after, kind, context),
        (Some(patch), after) => patched(before, patch, after, kind, context),
    }
}

fn compared(before: Value, after: Value, kind: Kind, context: &Context) -> Result<Output, Failure> {
    let operations = diff::operations(&before, &after);
    let changes = operations.iter().map(Change::of).collect();
    let identical = operations.is_empty();
    if kind == Kind::JsonPatch {
        let patch = serde_json::to_value(operations).map_err(Failure::internal)?;
        return Ok(Output { patch, result: after, changes, identical });
    }
    let patch = diff::merge_patch(&before, &after);
    let mut result = before;
    json_patch::merge(&mut result, &patch);
    if result != after {
        context.warn("after has members that are null, which a merge patch cannot express: use a JSON patch");
    }
    Ok(Output { patch, result, changes, identical })
}

fn patched(
    before: Value,
    patch: Value,
    after: Option<Value>,
    kind: Kind,
    context: &Context,
) -> Result<Output, Failure> {
    let (result, changes) = if kind == Kind::MergePatch {
        let mut result = before.clone();
        json_patch::merge(&mut result, &patch);
        let changes = diff::operations(&before, &result).iter().map(Change::of).collect();
        (result, changes)
    } else {
        apply::apply(before.clone(), &patch)?
    };
    if let Some(after) = &after {
        for change in diff::operations(&result, after).iter().take(MAX_TOLD).map(Change::of) {
            context.warn(format!("the result is not what was expected: {} at {:?}", change.op, change.path));
        }
    }
    let identical = result == after.unwrap_or(before);
    Ok(Output { patch, result, changes, identical })
}
