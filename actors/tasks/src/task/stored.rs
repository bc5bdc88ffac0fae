//! Storage of tasks: parts that change often are small, large parts are written once.
//!
//! In `Tree::Tasks`: `live/{id}` and `done/{id}` contain the record, `by/{owner}/{id}` is the index by owner, and
//! `args/{id}` and `out/{id}` contain parts too large to be written with each change. In `Tree::Steps`: `{id}/{index}`
//! contains the output of a finished step. In `Tree::TaskLog`: `{id}/{seq}` contains the journal entries of one change,
//! under the `seq` of the first one.

use std::sync::Arc;

use muster_store::{Encoding, Op, PageRequest, Rec, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::executor::FinishedStep;
use super::record::{JournalEntry, StepKind, TaskRecord};
use super::state::{Inner, Task};

/// Size in bytes beyond which a part is stored beside the record.
const LARGE: usize = 2 << 10;

pub(super) const LIVE: &str = "live/";
pub(super) const DONE: &str = "done/";

/// A record as stored under `live/` and `done/`.
#[derive(Debug, Serialize, Deserialize)]
struct StoredTask {
    record: TaskRecord,
    inner: Inner,
    /// `task` and `params` are stored under `args/`.
    args: bool,
    /// `result` and `partial` are stored under `out/`.
    out: bool,
}

/// [`StoredTask`] for serialization, without copying the record.
#[derive(Serialize)]
struct StoredTaskRef<'a> {
    record: &'a TaskRecord,
    inner: &'a Inner,
    args: bool,
    out: bool,
}

impl Record for StoredTask {
    const TREE: Tree = Tree::Tasks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredArgs {
    task: String,
    params: Value,
}

impl Record for StoredArgs {
    const TREE: Tree = Tree::Tasks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredOutcome {
    result: Option<Value>,
    partial: Option<String>,
}

impl Record for StoredOutcome {
    const TREE: Tree = Tree::Tasks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredEntries(Vec<JournalEntry>);

impl Record for StoredEntries {
    const TREE: Tree = Tree::TaskLog;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// The output of a finished step, as stored in `Tree::Steps`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredStep {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) kind: StepKind,
    pub(super) revision: u32,
    pub(super) output: Arc<Value>,
}

impl Record for StoredStep {
    const TREE: Tree = Tree::Steps;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

impl StoredStep {
    pub(super) fn op(id: &str, index: u32, rec: Rec) -> Op {
        Op::Put { tree: Tree::Steps, key: format!("{id}/{index:08x}").into_bytes(), rec }
    }

    pub(super) fn finished(self) -> FinishedStep {
        let Self { index, name, kind, revision, output } = self;
        FinishedStep { index, name, kind, revision, output }
    }
}

fn key(prefix: &str, id: &str) -> Vec<u8> {
    [prefix.as_bytes(), id.as_bytes()].concat()
}

/// Returns the key prefix of an owner's tasks.
pub(super) fn by_owner(owner: &str) -> String {
    format!("by/{owner}/")
}

/// Returns whether a task's arguments are stored beside its record.
pub(super) fn args_are_large(record: &TaskRecord) -> bool {
    let params = serde_json::to_vec(&record.params).map_or(usize::MAX, |bytes| bytes.len());
    record.task.len().saturating_add(params) > LARGE
}

/// Adds the writes of a new task, beside those of its first change.
///
/// # Errors
///
/// Fails if it is too large to be stored.
pub(super) fn first_ops(record: &TaskRecord, args_apart: bool, ops: &mut Vec<Op>) -> Result<(), StoreError> {
    let empty = Rec { schema: 1, bytes: Vec::new() };
    ops.push(Op::Put { tree: Tree::Tasks, key: key(&by_owner(&record.owner.id), &record.id), rec: empty });
    if args_apart { args_op(record, ops) } else { Ok(()) }
}

/// Adds the write of a task's arguments.
///
/// # Errors
///
/// Fails if they are too large to be stored.
pub(super) fn args_op(record: &TaskRecord, ops: &mut Vec<Op>) -> Result<(), StoreError> {
    let rec = StoredArgs { task: record.task.clone(), params: record.params.clone() }.encode()?;
    ops.push(Op::Put { tree: Tree::Tasks, key: key("args/", &record.id), rec });
    Ok(())
}

/// Adds the writes of a change: the record, its location, and its journal entries.
///
/// # Errors
///
/// Fails if they are too large to be stored.
pub(super) fn ops(
    task: &mut Task,
    args_apart: bool,
    entries: Vec<JournalEntry>,
    ops: &mut Vec<Op>,
) -> Result<(), StoreError> {
    let id = task.record.id.clone();
    let ended = task.record.status.ended();
    let rec = encode_task(task, args_apart, ops)?;
    ops.push(Op::Put { tree: Tree::Tasks, key: key(if ended { DONE } else { LIVE }, &id), rec });
    if ended {
        ops.push(Op::Delete { tree: Tree::Tasks, key: key(LIVE, &id) });
    }
    if let Some(first) = entries.first().map(|entry| entry.seq) {
        let rec = StoredEntries(entries).encode()?;
        ops.push(Op::Put { tree: Tree::TaskLog, key: log_key(&id, first), rec });
    }
    Ok(())
}

/// Encodes the record without the parts stored beside it, which are restored before this returns.
fn encode_task(task: &mut Task, args_apart: bool, ops: &mut Vec<Op>) -> Result<Rec, StoreError> {
    let record = &mut task.record;
    let args = args_apart.then(|| (std::mem::take(&mut record.task), std::mem::take(&mut record.params)));
    let out = StoredOutcome { result: record.result.take(), partial: record.partial.take() };
    let mut apart = false;
    let encoded = if out.result.is_some() || out.partial.is_some() {
        out.encode().map(|rec| {
            apart = rec.bytes.len() > LARGE;
            if apart {
                ops.push(Op::Put { tree: Tree::Tasks, key: key("out/", &record.id), rec });
            }
        })
    } else {
        Ok(())
    };
    let mut out = Some(out);
    if !apart && let Some(StoredOutcome { result, partial }) = out.take() {
        (record.result, record.partial) = (result, partial);
    }
    let whole = StoredTaskRef { record, inner: &task.inner, args: args_apart, out: apart };
    let bytes = serde_json::to_vec(&whole).map_err(|why| StoreError::BadRequest(format!("tasks: {why}")));
    if let Some((text, params)) = args {
        (record.task, record.params) = (text, params);
    }
    if let Some(StoredOutcome { result, partial }) = out {
        (record.result, record.partial) = (result, partial);
    }
    encoded?;
    Ok(Rec { schema: StoredTask::SCHEMA, bytes: bytes? })
}

/// Decodes a record with the parts stored beside it.
///
/// # Errors
///
/// Fails if they cannot be read.
pub(super) fn decode(store: &StoreHandle, rec: &Rec) -> Result<(Task, bool), StoreError> {
    let StoredTask { mut record, inner, args, out } = StoredTask::decode(rec)?;
    if args && let Some(rec) = store.get(Tree::Tasks, &key("args/", &record.id))? {
        StoredArgs { task: record.task, params: record.params } = StoredArgs::decode(&rec)?;
    }
    if out && let Some(rec) = store.get(Tree::Tasks, &key("out/", &record.id))? {
        StoredOutcome { result: record.result, partial: record.partial } = StoredOutcome::decode(&rec)?;
    }
    Ok((Task { record, inner }, args))
}

/// Returns an ended task.
///
/// # Errors
///
/// Fails if it cannot be read.
pub(super) fn ended(store: &StoreHandle, id: &str) -> Result<Option<Task>, StoreError> {
    let rec = store.get(Tree::Tasks, &key(DONE, id))?;
    rec.map(|rec| decode(store, &rec).map(|(task, _)| task)).transpose()
}

fn log_key(id: &str, seq: u64) -> Vec<u8> {
    format!("{id}/{seq:016x}").into_bytes()
}

/// Returns at most `limit` journal entries after `after`, in order.
///
/// # Errors
///
/// Fails if they cannot be read.
pub(super) fn entries(
    store: &StoreHandle,
    id: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<JournalEntry>, StoreError> {
    let prefix = format!("{id}/").into_bytes();
    // The change that contains `after` may contain later entries: begin with the last one that does not begin after it.
    let before = PageRequest::of(1).starting_at(Some(log_key(id, after.saturating_add(1)))).descending();
    let first = store.entries(Tree::TaskLog, prefix.clone(), before).next().transpose()?.map(|(key, _)| key);
    let mut found = Vec::new();
    for entries in
        store.records::<StoredEntries>(prefix, PageRequest::of(limit.clamp(1, 200)).starting_at(first)).values()
    {
        found.extend(entries?.0.into_iter().filter(|entry| entry.seq > after));
        if found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// Returns the outputs of a task's finished steps, in order.
///
/// # Errors
///
/// Fails if they cannot be read.
pub(super) fn steps(store: &StoreHandle, id: &str) -> Result<Vec<FinishedStep>, StoreError> {
    let steps = store.records::<StoredStep>(format!("{id}/"), PageRequest::of(200)).values();
    steps.map(|step| step.map(StoredStep::finished)).collect()
}

/// Returns every live task, as last written.
///
/// # Errors
///
/// Fails if they cannot be read.
pub(super) fn live(store: &StoreHandle) -> Result<Vec<(Task, bool)>, StoreError> {
    store.entries(Tree::Tasks, LIVE, PageRequest::default()).map(|entry| decode(store, &entry?.1)).collect()
}

/// Returns the writes that delete an ended task from `Tree::Tasks`.
pub(super) fn keys_of(record: &TaskRecord) -> Vec<Op> {
    let keys = [DONE, "args/", "out/"].map(|prefix| key(prefix, &record.id));
    let owner = key(&by_owner(&record.owner.id), &record.id);
    keys.into_iter().chain([owner]).map(|key| Op::Delete { tree: Tree::Tasks, key }).collect()
}
