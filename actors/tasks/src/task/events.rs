//! What the feed is told of tasks.

use std::sync::Arc;

use serde_json::json;

use super::record::{JournalEntry, TaskRecord};
use super::tray::{News, Tray};
use muster_core::Millis;
use muster_core::event::{Event, EventAttributes};

/// The channel of all tasks.
pub(super) const AGENTS: &str = "agents";

/// The channel of the tasks of one agent.
pub(super) fn channel_of(agent: &str) -> String {
    format!("{AGENTS}:{agent}")
}

/// The channel of one task.
pub(super) fn channel(id: &str) -> String {
    format!("tasks:{id}")
}

fn owned(owner: &Arc<str>) -> EventAttributes {
    EventAttributes { owner: Some(Arc::clone(owner)), ..EventAttributes::default() }
}

/// The event of a journal entry: steps and ends concern who looks at the task, the rest everybody.
pub(super) fn of(entry: &JournalEntry, (id, agent): (&str, &str), owner: &Arc<str>) -> Event {
    let channels = match entry.event.as_str() {
        "task.step" | "task.end" => vec![channel(id)],
        _ => vec![AGENTS.to_owned(), channel_of(agent), channel(id)],
    };
    Event::new(&entry.event, entry.at, channels, &entry.data).with(owned(owner))
}

/// How far a task is.
pub(super) fn progress(record: &TaskRecord, owner: &Arc<str>, now: Millis) -> Event {
    let data = json!({ "task_id": record.id, "revision": record.revision, "progress": record.progress });
    let channels = vec![AGENTS.to_owned(), channel_of(&record.agent), channel(&record.id)];
    Event::new("task.progress", now, channels, &data).with(owned(owner)).conflated()
}

/// What a task's steps told.
pub(super) fn news(tray: &Tray, news: News, now: Millis) -> Vec<Event> {
    let mut events = Vec::with_capacity(news.lines.len() + 1);
    if !news.delta.is_empty() {
        let data = json!({ "task_id": &*tray.id, "text": news.delta });
        events.push(Event::new("task.delta", now, vec![channel(&tray.id)], &data));
    }
    let logs = format!("tasks:{}:logs", tray.id);
    for line in news.lines {
        let data = json!({
            "task_id": &*tray.id, "step": line.step, "level": line.level, "text": line.text, "n": line.n,
        });
        events.push(Event::new("log", line.at, vec![logs.clone()], &data));
    }
    events.into_iter().map(|event| event.with(owned(&tray.owner)).conflated()).collect()
}
