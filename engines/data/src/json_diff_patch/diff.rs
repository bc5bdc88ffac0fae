//! Computes the difference of two documents as a JSON Patch or a merge patch.

use std::collections::HashMap;

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::{Map, Value};

/// Maximum size of the table for the longest common subsequence of two arrays; larger arrays are compared by index.
const MAX_CELLS: usize = 4_000_000;

/// Returns the operations that turn `before` into `after`, in order.
pub fn operations(before: &Value, after: &Value) -> Vec<PatchOperation> {
    let mut found = Vec::new();
    compare(before, after, &mut PointerBuf::new(), &mut found);
    found
}

fn compare(before: &Value, after: &Value, path: &mut PointerBuf, found: &mut Vec<PatchOperation>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => objects(before, after, path, found),
        (Value::Array(before), Value::Array(after)) => arrays(before, after, path, found),
        _ if before == after => {}
        _ => found.push(PatchOperation::Replace(ReplaceOperation { path: path.clone(), value: after.clone() })),
    }
}

fn below(path: &mut PointerBuf, step: &str, act: impl FnOnce(&mut PointerBuf)) {
    path.push_back(step);
    act(path);
    path.pop_back();
}

fn remove(path: &PointerBuf) -> PatchOperation {
    PatchOperation::Remove(RemoveOperation { path: path.clone() })
}

fn add(path: &PointerBuf, value: &Value) -> PatchOperation {
    PatchOperation::Add(AddOperation { path: path.clone(), value: value.clone() })
}

fn objects(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    path: &mut PointerBuf,
    found: &mut Vec<PatchOperation>,
) {
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        below(path, key, |path| found.push(remove(path)));
    }
    for (key, value) in after {
        below(path, key, |path| match before.get(key) {
            Some(old) => compare(old, value, path, found),
            None => found.push(add(path, value)),
        });
    }
}

/// One step of an alignment of two arrays.
#[derive(Clone, Copy)]
enum Step {
    Same,
    Gone,
    New,
}

/// Common elements stay; between them as many as possible are changed in place, the rest removed or added.
fn arrays(before: &[Value], after: &[Value], path: &mut PointerBuf, found: &mut Vec<PatchOperation>) {
    let (mut old, mut new) = (before.iter(), after.iter());
    let mut at = 0_usize;
    let steps = align(before, after);
    for gap in steps.chunk_by(|one, other| matches!(one, Step::Same) == matches!(other, Step::Same)) {
        if let Some(Step::Same) = gap.first() {
            old.by_ref().zip(new.by_ref()).take(gap.len()).for_each(drop);
            at += gap.len();
            continue;
        }
        let gone = gap.iter().filter(|step| matches!(step, Step::Gone)).count();
        let added = gap.len() - gone;
        for (old, new) in old.by_ref().take(gone.min(added)).zip(new.by_ref()) {
            below(path, &at.to_string(), |path| compare(old, new, path, found));
            at += 1;
        }
        for _ in old.by_ref().take(gone.saturating_sub(added)) {
            below(path, &at.to_string(), |path| found.push(remove(path)));
        }
        for value in new.by_ref().take(added.saturating_sub(gone)) {
            below(path, &at.to_string(), |path| found.push(add(path, value)));
            at += 1;
        }
    }
}

/// Longest common subsequence (Wagner and Fischer, 1974), after common prefix and suffix.
fn align(before: &[Value], after: &[Value]) -> Vec<Step> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut number = |value: &Value| {
        let next = numbers.len();
        *numbers.entry(value.to_string()).or_insert(next)
    };
    let old: Vec<usize> = before.iter().map(&mut number).collect();
    let new: Vec<usize> = after.iter().map(&mut number).collect();
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let old = old.get(head..old.len() - tail).unwrap_or_default();
    let new = new.get(head..new.len() - tail).unwrap_or_default();
    let mut steps = vec![Step::Same; head];
    middle(old, new, &mut steps);
    steps.extend(std::iter::repeat_n(Step::Same, tail));
    steps
}

fn middle(old: &[usize], new: &[usize], steps: &mut Vec<Step>) {
    let width = new.len() + 1;
    if old.len().saturating_add(1).saturating_mul(width) > MAX_CELLS {
        steps.extend(std::iter::repeat_n(Step::Gone, old.len()));
        steps.extend(std::iter::repeat_n(Step::New, new.len()));
        return;
    }
    // lengths[i][j]: of the longest subsequence that old[i..] and new[j..] have in common.
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let get = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or_default();
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let length = if one == other {
                get(&lengths, i + 1, j + 1) + 1
            } else {
                get(&lengths, i + 1, j).max(get(&lengths, i, j + 1))
            };
            if let Some(cell) = lengths.get_mut(i * width + j) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    loop {
        let step = match (old.get(i), new.get(j)) {
            (None, None) => break,
            (Some(one), Some(other)) if one == other => Step::Same,
            (Some(_), Some(_)) if get(&lengths, i + 1, j) >= get(&lengths, i, j + 1) => Step::Gone,
            (Some(_), None) => Step::Gone,
            (_, Some(_)) => Step::New,
        };
        i += usize::from(!matches!(step, Step::New));
        j += usize::from(!matches!(step, Step::Gone));
        steps.push(step);
    }
}

/// RFC 7396: removed members are null; anything but a pair of objects is replaced.
pub fn merge_patch(before: &Value, after: &Value) -> Value {
    let Value::Object(after) = after else { return after.clone() };
    let none = Map::new();
    let before = before.as_object().unwrap_or(&none);
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    let changed = changed.map(|(key, value)| {
        let patch = before.get(key).map_or_else(|| value.clone(), |old| merge_patch(old, value));
        (key.clone(), patch)
    });
    gone.chain(changed).collect()
}
