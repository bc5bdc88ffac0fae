//! Pure: what a monitor knows, as lines.

use muster_core::Millis;
use serde_json::Value;

use super::model::{MODES, Mode, Model, Row, text};

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Head,
    Selected,
}

/// A line without any control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) look: Look,
}

const KEYS: &str = "j/k select  p pause  P pause now  r resume  x kill  d redirect  l logs  / filter  q quit";

/// The screen: as many lines as it has at most, none longer than it is wide.
pub(super) fn screen(model: &Model, (width, height): (usize, usize), now: Millis) -> Vec<Line> {
    let mut lines = vec![line(head(model), Look::Head), line(table_head(), Look::Head)];
    let shown = model.shown();
    let below = 2 + usize::from(model.logs_of.is_some()) * (height / 3);
    let room = height.saturating_sub(lines.len() + below).max(1);
    let at = shown.iter().position(|(id, _)| model.selected.as_ref() == Some(id)).unwrap_or(0);
    let from = at.saturating_sub(room.saturating_sub(1));
    for (id, row) in shown.iter().skip(from).take(room) {
        let look = if model.selected.as_ref() == Some(id) { Look::Selected } else { Look::Plain };
        lines.push(line(of_task(id, row, now), look));
    }
    if let Some(task) = &model.logs_of {
        lines.push(line(format!("logs of {task}"), Look::Head));
        let room = (height / 3).saturating_sub(1);
        let logs = model.logs.iter().skip(model.logs.len().saturating_sub(room));
        lines.extend(logs.map(|text| line(format!("  {text}"), Look::Plain)));
    }
    lines.push(line(prompt(model), Look::Head));
    lines.push(line(KEYS.to_owned(), Look::Plain));
    lines.truncate(height);
    lines.into_iter().map(|it| Line { text: it.text.chars().take(width).collect(), ..it }).collect()
}

/// The table as text, for pipes.
pub(super) fn table(model: &Model, now: Millis) -> String {
    let rows = model.shown().into_iter().map(|(id, row)| clean(&of_task(id, row, now)));
    std::iter::once(table_head()).chain(rows).map(|row| format!("{}\n", row.trim_end())).collect()
}

/// An event as a line, for pipes.
pub(super) fn event(frame: &Value) -> Option<String> {
    let (channel, name) = (frame.get("ch")?.as_str()?, frame.get("ev").and_then(Value::as_str));
    let Some(name) = name else {
        let range = frame.get("conflated")?;
        return Some(clean(&format!("- {channel} left_out {range}")));
    };
    let data = frame.get("data").unwrap_or(&Value::Null);
    let said = match name {
        "task.state" => {
            let state = |name| text(data, name);
            format!("{} {} {} -> {} {}", state("task_id"), state("agent"), state("from"), state("to"), state("reason"))
        }
        "log" => format!("{}: {}", text(data, "level"), text(data, "text")),
        _ => data.to_string(),
    };
    Some(clean(format!("{} {channel} {name} {said}", text(frame, "ts")).trim_end()))
}

fn head(model: &Model) -> String {
    let online = if model.online { "live" } else { "OFFLINE" };
    let figure = |name: &str| match model.metrics.as_ref().and_then(|metrics| metrics.get(name)) {
        Some(Value::Number(number)) => format!("{name} {number}"),
        _ => format!("{name} -"),
    };
    let figures = ["running", "queued", "paused", "workers", "per_second", "p50_ms", "p99_ms", "tokens_per_s"];
    let figures: Vec<_> = figures.iter().map(|name| figure(name)).collect();
    format!("muster monitor  {online}  {}", figures.join("  "))
}

fn table_head() -> String {
    format!("{:<31} {:<22} {:<10} {:>5} {:>8}  PHASE", "TASK", "AGENT", "STATUS", "DONE", "AGE")
}

fn of_task(id: &str, row: &Row, now: Millis) -> String {
    let done = row.percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent}%"));
    let age = row.created_at.map_or_else(|| "-".to_owned(), |at| age(now.since(at).as_secs()));
    format!("{id:<31} {:<22} {:<10} {done:>5} {age:>8}  {}", row.agent, row.status, row.phase)
}

/// Seconds as people say them.
fn age(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

fn prompt(model: &Model) -> String {
    match &model.mode {
        Mode::Table if model.filter.is_empty() => model.note.clone(),
        Mode::Table => format!("filter {:?} (Esc ends it)  {}", model.filter, model.note),
        Mode::Filter => format!("/{}_", model.filter),
        Mode::Confirm(task) => format!("kill {task}? y kills it, any other key does not"),
        Mode::Instruct(task, mode, typed) => {
            let mode = MODES.get(*mode).copied().unwrap_or_default();
            let hint = if mode == "agent" { "agent and instruction" } else { "instruction" };
            format!("redirect {task} [{mode}, Tab changes it] {hint}: {typed}_")
        }
    }
}

fn line(text: String, look: Look) -> Line {
    Line { text: clean(&text), look }
}

/// What comes from tasks moves no cursor and rings no bell.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{b7}' } else { letter }).collect()
}
