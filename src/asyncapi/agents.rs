//! The events of agents and tasks, and the commands on them (contract 4, q62).

use serde_json::{Value, json};

use super::events::{Data, EventRow};

/// Besides the messages' own examples: what is asked of agents. They get replies of the same form.
pub(super) fn requests(name: &str) -> Vec<Value> {
    match name {
        "subscribe" => vec![
            json!({ "id": 2, "subscribe": { "ch": "agents", "filter": { "types": ["task.state", "control.applied"] } } }),
            json!({ "id": 2, "subscribe": { "ch": "agents:metrics" } }),
        ],
        "history" => vec![json!({ "id": 5, "history": { "ch": "agents", "limit": 200 } })],
        // Of a task that is not there: refused.
        "command" => COMMANDS
            .iter()
            .map(|(name, ..)| {
                json!({ "id": 7, "command": { "name": name, "target": "task_01J", "args": arguments(name),
                    "idem": format!("{name}-1") } })
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Each command of a task, with what it takes besides `reason` and `if_seq`.
const COMMANDS: [(&str, &[&str], &str); 4] = [
    ("agent.pause", &["now"], "Pauses at the next step; `now` aborts the step in flight, which runs again on resume"),
    ("agent.resume", &[], "Goes on"),
    ("agent.kill", &[], "Ends the task, and the step in flight at once"),
    (
        "agent.redirect",
        &["mode", "instruction", "agent"],
        "A new instruction: `steer` joins at the next step, `interrupt` plans anew at once, `agent` hands over",
    ),
];

fn arguments(name: &str) -> Value {
    match name {
        "agent.pause" => json!({ "now": true, "reason": "operator" }),
        "agent.redirect" => json!({ "mode": "steer", "instruction": "Look at the tests first" }),
        _ => json!({ "reason": "operator" }),
    }
}

fn argument(name: &str) -> Value {
    match name {
        "now" => json!({ "type": "boolean", "default": false }),
        "mode" => json!({ "enum": ["steer", "interrupt", "agent"], "default": "steer" }),
        "if_seq" => json!({ "type": "integer", "minimum": 0,
            "description": "Only if the task is still at this `seq`" }),
        _ => json!({ "type": "string" }),
    }
}

/// The commands, with the forms of their answers.
pub(super) fn commands() -> Vec<Value> {
    let command = |(name, takes, summary): &(&str, &[&str], &str)| {
        let takes = takes.iter().chain(&["reason", "if_seq"]);
        let properties: serde_json::Map<_, _> = takes.map(|it| ((*it).to_owned(), argument(it))).collect();
        json!({
            "name": name,
            "summary": summary,
            "target": "The task's identifier",
            "args": { "type": "object", "properties": properties, "additionalProperties": false },
            "x-first-phase": [
                { "ok": { "task_id": "task_01J", "request_id": "c1f0", "phase": "accepted", "effective": "boundary",
                    "status": "pausing", "seq": 12 } },
                { "error": { "code": 2409, "reason": "conflict", "message": "the task has ended", "retryable": false,
                    "details": { "phase": "refused", "status": "succeeded" } } },
            ],
            "x-second-phase": "one event `control.applied`, `control.superseded` or `control.missed` with the same `idem`",
        })
    };
    COMMANDS.iter().map(command).collect()
}

const TASKS: &[&str] = &["agents", "agents:{id}", "tasks:{id}"];

const fn row(
    channels: &'static [&'static str],
    names: &'static [&'static str],
    summary: &'static str,
    example: fn() -> Value,
) -> EventRow {
    EventRow { channels, names, summary, data: Data::Example(example), may_be_left_out: false }
}

/// An event that a subscriber that is behind may miss.
const fn passing(row: EventRow) -> EventRow {
    EventRow { may_be_left_out: true, ..row }
}

/// The events of agents and their tasks, and notices of the server.
pub(super) const EVENTS: [EventRow; 10] = [
    row(TASKS, &["task.state"], "The status of a task changed", state),
    passing(row(TASKS, &["task.progress"], "A task made progress", progress)),
    row(TASKS, &["control.applied", "control.superseded", "control.missed"], "The outcome of a command", control),
    row(&["tasks:{id}"], &["task.step"], "The status of a step changed", step),
    passing(row(&["tasks:{id}"], &["task.delta"], "Text that the task wrote", delta)),
    row(&["tasks:{id}"], &["task.end"], "The task ended", end),
    passing(row(&["tasks:{id}:logs"], &["log"], "A line of the log of a task", log)),
    passing(row(&["agents:metrics"], &["metrics"], "Figures of the agent platform", metrics)),
    row(&["system"], &["breaker.changed"], "The circuit breaker of a provider changed", breaker),
    row(&["system"], &["supervisor.restarted"], "An actor was restarted", restarted),
];

fn state() -> Value {
    json!({ "task_id": "task_01J", "agent": "code-reviewer", "from": "running", "to": "paused", "reason": "operator",
        "revision": 1 })
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
    json!({ "provider": "openai", "from": "closed", "to": "open", "reason": "failures" })
}

fn restarted() -> Value {
    json!({ "actor": "limits/rate-0", "restarts": 1, "why": "panicked" })
}
