//! The events of agents and tasks, and the commands that control them (contract 4, q62).

use muster_tasks::task::{Outcome, Progress, Status, StepStatus};
use serde_json::{Value, json};
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::event_schemas::{of, words};
use super::events::{Data, EventRow};
use crate::agents::control::{ControlBody, ControlCommand, PauseBody, RedirectBody};

/// Returns the examples of a request that concern agents; their replies have the same shape as that of the request's own
/// example.
pub(super) fn requests(name: &str) -> Vec<Value> {
    match name {
        "subscribe" => vec![
            json!({ "id": 2, "subscribe": { "ch": "agents", "filter": { "types": ["task.state", "control.applied"] } } }),
            json!({ "id": 2, "subscribe": { "ch": "agents:metrics" } }),
        ],
        "history" => vec![json!({ "id": 5, "history": { "ch": "agents", "limit": 200 } })],
        // The task does not exist, so each command is rejected.
        "command" => ControlCommand::ALL
            .iter()
            .map(|command| {
                let name = command.name();
                json!({ "id": 7, "command": { "name": name, "target": "task_01J", "args": arguments(*command),
                    "idem": format!("{name}-1") } })
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns the summary of a command.
fn summary(command: ControlCommand) -> &'static str {
    match command {
        ControlCommand::Pause => "Pauses a task at the next step boundary, or at once with `now`",
        ControlCommand::Resume => "Returns a paused task to the queue",
        ControlCommand::Kill => "Ends a task; the step in progress is aborted at once",
        ControlCommand::Redirect => "Gives a task a new instruction, or hands it over to another agent",
    }
}

/// Returns example arguments of a command.
fn arguments(command: ControlCommand) -> Value {
    match command {
        ControlCommand::Pause => json!({ "now": true, "reason": "operator" }),
        ControlCommand::Redirect => json!({ "mode": "steer", "instruction": "Look at the tests first" }),
        ControlCommand::Resume | ControlCommand::Kill => json!({ "reason": "operator" }),
    }
}

/// Returns the schema of the arguments of a command: that of the body of the same control over HTTP.
fn schema(command: ControlCommand) -> RefOr<Schema> {
    match command {
        ControlCommand::Pause => PauseBody::schema(),
        ControlCommand::Redirect => RedirectBody::schema(),
        ControlCommand::Resume | ControlCommand::Kill => ControlBody::schema(),
    }
}

/// Returns the commands, with the forms of their replies.
pub(super) fn commands() -> Vec<Value> {
    let command = |command: &ControlCommand| {
        json!({
            "name": command.name(),
            "summary": summary(*command),
            "target": "Identifier of the task",
            "args": schema(*command),
            "x-first-phase": [
                { "ok": { "task_id": "task_01J", "request_id": "c1f0", "phase": "accepted", "effective": "boundary",
                    "status": "pausing", "seq": 12 } },
                { "error": { "code": 2409, "reason": "conflict", "message": "the task has ended", "retryable": false,
                    "details": { "phase": "refused", "status": "succeeded" } } },
                { "error": { "code": 2400, "reason": "bad_request", "message": "instruction: is required",
                    "retryable": false, "details": { "fields": [{ "type": "missing",
                        "loc": ["command", "args", "instruction"], "msg": "is required", "input": null }] } } },
            ],
            "x-second-phase": "one event `control.applied`, `control.superseded` or `control.missed` with the same `idem`",
        })
    };
    ControlCommand::ALL.iter().map(command).chain(crate::disaster::described_commands()).collect()
}

const TASKS: &[&str] = &["agents", "agents:{id}", "tasks:{id}"];

const fn row(
    channels: &'static [&'static str],
    names: &'static [&'static str],
    summary: &'static str,
    example: fn() -> Value,
    types: fn() -> Value,
) -> EventRow {
    EventRow { channels, names, summary, data: Data::Example(example, types), may_be_left_out: false }
}

/// Marks an event whose publications may be dropped for a slow subscriber.
const fn passing(row: EventRow) -> EventRow {
    EventRow { may_be_left_out: true, ..row }
}

/// The events of agents and their tasks, and notices of the server.
pub(super) const EVENTS: [EventRow; 11] = [
    row(
        TASKS,
        &["task.state"],
        "The status of a task changed; the first event of a task has its instruction, at most 200 characters",
        state,
        || json!({ "from": of::<Status>(), "to": of::<Status>() }),
    ),
    passing(row(
        TASKS,
        &["task.progress"],
        "A task made progress",
        progress,
        || json!({ "progress": of::<Progress>() }),
    )),
    row(
        TASKS,
        &["control.applied", "control.superseded", "control.missed"],
        "The outcome of a command",
        control,
        || json!({ "verb": words(["pause", "resume", "kill", "redirect"]), "outcome": of::<Outcome>() }),
    ),
    row(
        &["tasks:{id}"],
        &["task.step"],
        "The status of a step changed",
        step,
        || json!({ "status": of::<StepStatus>() }),
    ),
    passing(row(
        &["tasks:{id}"],
        &["task.step_progress"],
        "How far the engine of a long step has come; `total` is 0 if it is not known",
        step_progress,
        || json!({}),
    )),
    passing(row(&["tasks:{id}"], &["task.delta"], "Text that the task wrote", delta, || json!({}))),
    row(&["tasks:{id}"], &["task.end"], "The task ended", end, || json!({ "status": of::<Status>() })),
    passing(row(
        &["tasks:{id}:logs"],
        &["log"],
        "A line of the log of a task",
        log,
        || json!({ "level": words(["debug", "info", "warn", "error"]) }),
    )),
    passing(row(
        &["agents:metrics"],
        &["metrics"],
        "Metrics of the agent platform",
        metrics,
        || json!({ "breakers": { "type": "object", "additionalProperties": breaker_state() } }),
    )),
    row(
        &["system"],
        &["breaker.changed"],
        "The circuit breaker of a provider, or of one of its models, changed",
        breaker,
        || json!({ "from": breaker_state(), "to": breaker_state() }),
    ),
    row(&["system"], &["supervisor.restarted"], "An actor was restarted", restarted, || json!({})),
];

fn breaker_state() -> Value {
    words(["closed", "open", "half_open"])
}

fn state() -> Value {
    json!({ "task_id": "task_01J", "agent": "code-reviewer", "from": "running", "to": "paused", "reason": "operator",
        "revision": 1, "instruction": "Count the errors by hour" })
}

fn progress() -> Value {
    json!({ "task_id": "task_01J", "revision": 1, "progress": { "percent": 50, "completed_steps": 2, "total_steps": 4,
        "phase": "complexity", "basis": "measured", "updated_at": "2026-11-21T03:00:00.000Z" } })
}

fn control() -> Value {
    json!({ "task_id": "task_01J", "idem": "c1f0", "verb": "pause", "outcome": "applied" })
}

fn step() -> Value {
    json!({ "task_id": "task_01J", "index": 1, "name": "complexity", "status": "succeeded", "ms": 12, "attempt": 1 })
}

fn step_progress() -> Value {
    json!({ "task_id": "task_01J", "step": 1, "done": 4000, "total": 10000, "phase": "search" })
}

fn delta() -> Value {
    json!({ "task_id": "task_01J", "text": "The first finding is" })
}

fn end() -> Value {
    json!({ "task_id": "task_01J", "status": "succeeded" })
}

fn log() -> Value {
    json!({ "task_id": "task_01J", "n": 17, "step": 1, "level": "info", "text": "read 12 files" })
}

fn metrics() -> Value {
    json!({ "running": 3, "pending": 0, "queued": 0, "paused": 1, "waiting": 0, "retrying": 0, "oldest_seconds": 4, "workers": 2, "per_second": 1.5, "p50_ms": 120, "p99_ms": 900,
        "tokens_per_s": 40.0, "breakers": { "openai": "closed" } })
}

fn breaker() -> Value {
    json!({ "provider": "openai", "model": "gpt-5.6", "from": "closed", "to": "open", "reason": "failures" })
}

fn restarted() -> Value {
    json!({ "actor": "limits/rate-0", "restarts": 1, "why": "panicked" })
}
