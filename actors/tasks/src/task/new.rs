//! Validation of run requests and controls, and creation of task records.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use ulid::Ulid;

use super::executor::{Admission, TaskView};
use super::messages::{Control, NewTask, Requester, Verb};
use super::record::{Basis, Estimate, Owner, Progress, Status, TaskRecord, Usage};
use muster_core::ids::IdKind;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Maximum length of an instruction, in bytes.
const MAX_TEXT: usize = 64 << 10;
/// Maximum length of a redirect instruction, in bytes: a record contains up to 256 of them.
const MAX_REDIRECT: usize = 8 << 10;
/// Maximum length of `request_id` and reason, in bytes.
const MAX_NAME: usize = 512;
/// Maximum size of params, in bytes as JSON.
const MAX_PARAMS: usize = 1 << 20;
/// Maximum run time of a task, in seconds.
const MAX_TIMEOUT: u32 = 86_400;
/// Number of bits for the sequence number within a millisecond.
const NUMBERS: u32 = 16;

fn invalid(field: &str, msg: String, input: Value) -> Error {
    Error::field(Kind::Invalid, &["body", field], msg, input)
}

fn check_text(field: &str, text: &str, most: usize) -> Result<(), Error> {
    if text.len() > most {
        return Err(invalid(field, format!("must have at most {most} bytes"), json!(text.len())));
    }
    Ok(())
}

/// Validates a run request.
///
/// # Errors
///
/// `Invalid`.
pub(super) fn check(new: &NewTask) -> Result<(), Error> {
    if !(1..=MAX_TIMEOUT).contains(&new.timeout_seconds) {
        let msg = format!("must be from 1 to {MAX_TIMEOUT}");
        return Err(invalid("timeout_seconds", msg, json!(new.timeout_seconds)));
    }
    check_text("task", &new.task, MAX_TEXT)?;
    let params = serde_json::to_vec(&new.params).map_or(usize::MAX, |bytes| bytes.len());
    if params > MAX_PARAMS {
        return Err(invalid("params", format!("must have at most {MAX_PARAMS} bytes"), json!(params)));
    }
    Ok(())
}

/// Validates a control.
///
/// # Errors
///
/// `Invalid`.
pub(super) fn check_control(control: &Control) -> Result<(), Error> {
    if control.request_id.is_empty() {
        return Err(invalid("request_id", "must not be empty".to_owned(), json!("")));
    }
    check_text("request_id", &control.request_id, MAX_NAME)?;
    check_text("reason", control.reason.as_deref().unwrap_or_default(), MAX_NAME)?;
    if let Verb::Redirect { instruction, .. } = &control.verb {
        if instruction.trim().is_empty() {
            return Err(invalid(
                "instruction",
                "must not be empty: it states what to do instead".to_owned(),
                json!(""),
            ));
        }
        check_text("instruction", instruction, MAX_REDIRECT)?;
    }
    Ok(())
}

/// Creates an identifier, which sorts after every earlier one, and returns it with its time.
pub(super) fn mint(last: &AtomicU64, now: Millis) -> (String, Millis) {
    let next = |last: u64| (now.0 << NUMBERS).max(last.saturating_add(1));
    let before =
        last.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(next(last))).unwrap_or_else(|last| last);
    let (stamp, number) = (next(before) >> NUMBERS, next(before) & ((1 << NUMBERS) - 1));
    let random = Ulid::generate().random() & u128::from(u64::MAX);
    let ulid = Ulid::from_parts(stamp, u128::from(number) << 64 | random);
    (format!("{}_{ulid}", IdKind::Task.prefix()), Millis(stamp))
}

/// A new task, and its view.
pub(super) struct NewRecord {
    pub(super) record: TaskRecord,
    pub(super) view: TaskView,
}

/// Returns a key's monthly budget in billionths of a US dollar.
fn budget_nanos(by: &By) -> Option<u64> {
    let By::Key(key) = by else { return None };
    key.budget_usd.map(|usd| (usd.max(0.0) * 1e9).round() as u64)
}

/// Returns the owner of a key; a user pays as an owner under the user's identifier.
fn payer(by: &By) -> Option<String> {
    match by {
        By::Key(key) => Some(key.owner.clone()),
        By::Person(person) => Some(person.user_id.to_string()),
        By::Device(_) | By::System => None,
    }
}

pub(super) fn new_record(
    id: String,
    created_at: Millis,
    new: NewTask,
    requester: &Requester,
    admission: &Admission,
) -> NewRecord {
    let owner = Owner {
        id: requester.by.id().to_owned(),
        budget_nanos: budget_nanos(&requester.by),
        payer: payer(&requester.by),
    };
    let record = TaskRecord {
        id,
        agent: new.agent,
        status: Status::Pending,
        task: new.task,
        params: admission.params.clone(),
        priority: new.priority,
        timeout_seconds: new.timeout_seconds,
        owner,
        revision: 0,
        attempt: 0,
        seq: 0,
        created_at,
        queued_at: None,
        started_at: None,
        finished_at: None,
        deadline_at: None,
        ran_ms: 0,
        paused_ms: 0,
        progress: Progress {
            percent: Some(0),
            completed_steps: 0,
            total_steps: admission.total_steps,
            phase: Status::Pending.name().to_owned(),
            basis: if admission.total_steps.is_some() { Basis::Measured } else { Basis::Estimated },
            updated_at: created_at,
        },
        estimate: Estimate { p50_seconds: 0, p90_seconds: 0, samples: 0, queue_seconds: 0 },
        waiting: None,
        instructions: Vec::new(),
        controls: Vec::new(),
        steps: Vec::new(),
        result: None,
        partial: None,
        error: None,
        recovered: false,
        usage: Usage::default(),
    };
    let view = TaskView {
        task_id: record.id.clone(),
        agent: record.agent.clone(),
        task: record.task.clone(),
        params: record.params.clone(),
        owner: record.owner.clone(),
        created_at,
        revision: 0,
        instructions: Vec::new(),
        done: Vec::new(),
    };
    NewRecord { record, view }
}
