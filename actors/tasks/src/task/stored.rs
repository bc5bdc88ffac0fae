//! How tasks are stored: what changes often is small, what is large is written once.
//!
//! In `Tree::Tasks`: `live/{id}` and `done/{id}` hold the record, `by/{owner}/{id}` finds an owner's, `args/{id}` and
//! `out/{id}` hold what is too large to be written anew with each change. In `Tree::Steps`: `{id}/{index}` holds what a
//! finished step gave. In `Tree::TaskLog`: `{id}/{seq}` holds the journal entries of one change, by the first one's `seq`.

use std::sync::Arc;

use muster_store::{Encoding, Op, PageRequest, Rec, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{JournalEntry, StepKind, TaskRecord};
use super::state::{Inner, Task};
use super::work::Finished;

/// Longer than this, in bytes, and it is kept beside the record.
const LARGE: usize = 2 << 10;

pub(super) const LIVE: &str = "live/";
pub(super) const DONE: &str = "done/";

/// A record as it stands in `live/` and `done/`.
#[derive(Debug, Serialize, Deserialize)]
struct Hot {
    record: TaskRecord,
    inner: Inner,
    /// `task` and `params` are in `args/`.
    args: bool,
    /// `result` and `partial` are in `out/`.
    out: bool,
}

/// [`Hot`] as it is written: a record is not copied for it.
#[derive(Serialize)]
struct HotRef<'a> {
    record: &'a TaskRecord,
    inner: &'a Inner,
    args: bool,
    out: bool,
}

impl Record for Hot {
    const TREE: Tree = Tree::Tasks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

#[derive(Debug, Serialize, Deserialize)]
struct Args {
    task: String,
    params: Value,
}

impl Record for Args {
    const TREE: Tree = Tree::Tasks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

#[derive(Debug, Serialize, Deserialize)]
struct Out {
    result: Option<Value>,
    partial: Option<String>,
}

impl Record for Out {
    const TREE: Tree = Tree::Tasks;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

#[derive(Debug, Serialize, Deserialize)]
struct Entries(Vec<JournalEntry>);

impl Record for Entries {
    const TREE: Tree = Tree::TaskLog;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// What a finished step gave, as it stands in `Tree::Steps`.
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

    pub(super) fn finished(self) -> Finished {
        let Self { index, name, kind, revision, output } = self;
        Finished { index, name, kind, revision, output }
    }
}

fn key(prefix: &str, id: &str) -> Vec<u8> {
    [prefix.as_bytes(), id.as_bytes()].concat()
}

/// The key that finds a task by its owner.
pub(super) fn by_owner(owner: &str) -> String {
    format!("by/{owner}/")
}

/// Whether a task's arguments are kept beside its record.
pub(super) fn args_are_large(record: &TaskRecord) -> bool {
    let params = serde_json::to_vec(&record.params).map_or(usize::MAX, |bytes| bytes.len());
    record.task.len().saturating_add(params) > LARGE
}

/// The writes of a task that is new, beside those of its first change.
///
/// # Errors
/// It is too large to be stored.
pub(super) fn first_ops(record: &TaskRecord, args_apart: bool, ops: &mut Vec<Op>) -> Result<(), StoreError> {
    let empty = Rec { schema: 1, bytes: Vec::new() };
    ops.push(Op::Put { tree: Tree::Tasks, key: key(&by_owner(&record.owner.id), &record.id), rec: empty });
    if args_apart { args_op(record, ops) } else { Ok(()) }
}

/// # Errors
/// It is too large to be stored.
pub(super) fn args_op(record: &TaskRecord, ops: &mut Vec<Op>) -> Result<(), StoreError> {
    let rec = Args { task: record.task.clone(), params: record.params.clone() }.encode()?;
    ops.push(Op::Put { tree: Tree::Tasks, key: key("args/", &record.id), rec });
    Ok(())
}

/// The writes of a change: the record, where it belongs now, and what was journalled.
///
/// # Errors
/// It is too large to be stored.
pub(super) fn ops(
    task: &mut Task,
    args_apart: bool,
    entries: Vec<JournalEntry>,
    ops: &mut Vec<Op>,
) -> Result<(), StoreError> {
    let id = task.record.id.clone();
    let ended = task.record.status.ended();
    let rec = hot(task, args_apart, ops)?;
    ops.push(Op::Put { tree: Tree::Tasks, key: key(if ended { DONE } else { LIVE }, &id), rec });
    if ended {
        ops.push(Op::Delete { tree: Tree::Tasks, key: key(LIVE, &id) });
    }
    if let Some(first) = entries.first().map(|entry| entry.seq) {
        let rec = Entries(entries).encode()?;
        ops.push(Op::Put { tree: Tree::TaskLog, key: log_key(&id, first), rec });
    }
    Ok(())
}

/// The record without what is kept beside it; that is put back before this returns.
fn hot(task: &mut Task, args_apart: bool, ops: &mut Vec<Op>) -> Result<Rec, StoreError> {
    let record = &mut task.record;
    let args = args_apart.then(|| (std::mem::take(&mut record.task), std::mem::take(&mut record.params)));
    let out = Out { result: record.result.take(), partial: record.partial.take() };
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
    if !apart && let Some(Out { result, partial }) = out.take() {
        (record.result, record.partial) = (result, partial);
    }
    let whole = HotRef { record, inner: &task.inner, args: args_apart, out: apart };
    let bytes = serde_json::to_vec(&whole).map_err(|why| StoreError::BadRequest(format!("tasks: {why}")));
    if let Some((text, params)) = args {
        (record.task, record.params) = (text, params);
    }
    if let Some(Out { result, partial }) = out {
        (record.result, record.partial) = (result, partial);
    }
    encoded?;
    Ok(Rec { schema: Hot::SCHEMA, bytes: bytes? })
}

/// Reads a record with what is kept beside it.
///
/// # Errors
/// It cannot be read.
pub(super) fn decode(store: &StoreHandle, rec: &Rec) -> Result<(Task, bool), StoreError> {
    let Hot { mut record, inner, args, out } = Hot::decode(rec)?;
    if args && let Some(rec) = store.get(Tree::Tasks, &key("args/", &record.id))? {
        Args { task: record.task, params: record.params } = Args::decode(&rec)?;
    }
    if out && let Some(rec) = store.get(Tree::Tasks, &key("out/", &record.id))? {
        Out { result: record.result, partial: record.partial } = Out::decode(&rec)?;
    }
    Ok((Task { record, inner }, args))
}

/// An ended task.
///
/// # Errors
/// It cannot be read.
pub(super) fn ended(store: &StoreHandle, id: &str) -> Result<Option<Task>, StoreError> {
    let rec = store.get(Tree::Tasks, &key(DONE, id))?;
    rec.map(|rec| decode(store, &rec).map(|(task, _)| task)).transpose()
}

fn log_key(id: &str, seq: u64) -> Vec<u8> {
    format!("{id}/{seq:016x}").into_bytes()
}

/// At most `limit` journal entries behind `after`, in order.
///
/// # Errors
/// They cannot be read.
pub(super) fn entries(
    store: &StoreHandle,
    id: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<JournalEntry>, StoreError> {
    let prefix = format!("{id}/").into_bytes();
    // The change that `after` belongs to may hold more: begin with the last one that does not begin behind it.
    let before = PageRequest::of(1).starting_at(Some(log_key(id, after.saturating_add(1)))).descending();
    let first = store.entries(Tree::TaskLog, prefix.clone(), before).next().transpose()?.map(|(key, _)| key);
    let mut found = Vec::new();
    for entries in store.records::<Entries>(prefix, PageRequest::of(limit.clamp(1, 200)).starting_at(first)).values() {
        found.extend(entries?.0.into_iter().filter(|entry| entry.seq > after));
        if found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// What a task's finished steps gave, in their order.
///
/// # Errors
/// They cannot be read.
pub(super) fn steps(store: &StoreHandle, id: &str) -> Result<Vec<Finished>, StoreError> {
    let steps = store.records::<StoredStep>(format!("{id}/"), PageRequest::of(200)).values();
    steps.map(|step| step.map(StoredStep::finished)).collect()
}

/// Every live task, as it was last written.
///
/// # Errors
/// They cannot be read.
pub(super) fn live(store: &StoreHandle) -> Result<Vec<(Task, bool)>, StoreError> {
    store.entries(Tree::Tasks, LIVE, PageRequest::default()).map(|entry| decode(store, &entry?.1)).collect()
}

/// Deletes everything of an ended task that stands in `Tree::Tasks`.
pub(super) fn keys_of(record: &TaskRecord) -> Vec<Op> {
    let keys = [DONE, "args/", "out/"].map(|prefix| key(prefix, &record.id));
    let owner = key(&by_owner(&record.owner.id), &record.id);
    keys.into_iter().chain([owner]).map(|key| Op::Delete { tree: Tree::Tasks, key }).collect()
}
