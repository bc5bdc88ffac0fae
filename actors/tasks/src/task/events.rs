//! Feed events of tasks.

use std::sync::Arc;

use serde_json::json;

use super::record::{JournalEntry, TaskRecord};
use super::step_output::{StepOutputBuffer, UnpublishedOutput};
use crate::engine::EngineProgress;
use muster_core::Millis;
use muster_core::event::{Event, EventAttributes};

/// The channel of all tasks.
pub(super) const AGENTS: &str = "agents";

/// Returns the channel of an agent's tasks.
pub(super) fn channel_of(agent: &str) -> String {
    format!("{AGENTS}:{agent}")
}

/// Returns the channel of a task.
pub(super) fn channel(id: &str) -> String {
    format!("tasks:{id}")
}

fn owned(owner: &Arc<str>) -> EventAttributes {
    EventAttributes { owner: Some(Arc::clone(owner)), ..EventAttributes::default() }
}

/// Returns the event of a journal entry. Steps and ends are published on the task's channel only, the others on all
/// three.
pub(super) fn of(entry: &JournalEntry, (id, agent): (&str, &str), owner: &Arc<str>) -> Event {
    let channels = match entry.event.as_str() {
        "task.step" | "task.end" => vec![channel(id)],
        _ => vec![AGENTS.to_owned(), channel_of(agent), channel(id)],
    };
    Event::new(&entry.event, entry.at, channels, &entry.data).with(owned(owner))
}

/// Returns a progress event.
pub(super) fn progress(record: &TaskRecord, owner: &Arc<str>, now: Millis) -> Event {
    let data = json!({ "task_id": record.id, "revision": record.revision, "progress": record.progress });
    let channels = vec![AGENTS.to_owned(), channel_of(&record.agent), channel(&record.id)];
    Event::new("task.progress", now, channels, &data).with(owned(owner)).conflated()
}

/// Returns the events for output of a task's steps.
pub(super) fn unpublished(buffer: &StepOutputBuffer, unpublished: UnpublishedOutput, now: Millis) -> Vec<Event> {
    let mut events = Vec::with_capacity(unpublished.lines.len() + 2);
    if !unpublished.delta.is_empty() {
        let data = json!({ "task_id": &*buffer.id, "text": unpublished.delta });
        events.push(Event::new("task.delta", now, vec![channel(&buffer.id)], &data));
    }
    if let Some((step, EngineProgress { done, total, phase })) = unpublished.progress {
        let data = json!({ "task_id": &*buffer.id, "step": step, "done": done, "total": total, "phase": phase });
        events.push(Event::new("task.step_progress", now, vec![channel(&buffer.id)], &data));
    }
    let logs = format!("tasks:{}:logs", buffer.id);
    for line in unpublished.lines {
        let data = json!({
            "task_id": &*buffer.id, "step": line.step, "level": line.level, "text": line.text, "n": line.n,
        });
        events.push(Event::new("log", line.at, vec![logs.clone()], &data));
    }
    events.into_iter().map(|event| event.with(owned(&buffer.owner)).conflated()).collect()
}
