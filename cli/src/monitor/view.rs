//! Renders the state of the monitor as lines. Pure.

use muster_core::Millis;
use serde_json::Value;

use super::model::{MODES, Mode, MonitorModel, TaskRow, text};
use super::run_form;

/// Style of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Header,
    Selected,
}

/// A line of text without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) style: Style,
}

const KEYS: &str = "j/k select  p pause  P pause now  r resume  x kill  d redirect  n new  l logs  / filter  q quit";

/// Renders the screen. The result has at most `height` lines of at most `width` characters.
pub(super) fn screen(model: &MonitorModel, (width, height): (usize, usize), now: Millis) -> Vec<Line> {
    let mut lines = vec![line(head(model), Style::Header), line(table_head(), Style::Header)];
    let tasks = model.visible();
    let instruction = model.selected.as_ref().and_then(|id| model.tasks.get(id)).map(|row| &row.instruction);
    let below = 2 + usize::from(instruction.is_some()) + usize::from(model.logs_of.is_some()) * (height / 3);
    let available = height.saturating_sub(lines.len() + below).max(1);
    let at = tasks.iter().position(|(id, _)| model.selected.as_ref() == Some(id)).unwrap_or(0);
    let from = at.saturating_sub(available.saturating_sub(1));
    for (id, row) in tasks.iter().skip(from).take(available) {
        let style = if model.selected.as_ref() == Some(id) { Style::Selected } else { Style::Plain };
        lines.push(line(task_line(id, row, now), style));
    }
    if let Some(task) = &model.logs_of {
        lines.push(line(format!("logs of {task}"), Style::Header));
        let available = (height / 3).saturating_sub(1);
        let logs = model.logs.iter().skip(model.logs.len().saturating_sub(available));
        lines.extend(logs.map(|text| line(format!("  {text}"), Style::Plain)));
    }
    if let Some(instruction) = instruction {
        lines.push(line(format!("instruction: {instruction}"), Style::Plain));
    }
    lines.push(line(prompt(model), Style::Header));
    lines.push(line(KEYS.to_owned(), Style::Plain));
    lines.truncate(height);
    lines.into_iter().map(|it| Line { text: it.text.chars().take(width).collect(), ..it }).collect()
}

/// Renders the table as plain text.
pub(super) fn table(model: &MonitorModel, now: Millis) -> String {
    let rows = model.visible().into_iter().map(|(id, row)| clean(&task_line(id, row, now)));
    std::iter::once(table_head()).chain(rows).map(|row| format!("{}\n", row.trim_end())).collect()
}

/// Renders an event as one line, or `None` if the frame is not an event.
pub(super) fn event(frame: &Value) -> Option<String> {
    let (channel, name) = (frame.get("ch")?.as_str()?, frame.get("ev").and_then(Value::as_str));
    let Some(name) = name else {
        let range = frame.get("conflated")?;
        return Some(clean(&format!("- {channel} left_out {range}")));
    };
    let data = frame.get("data").unwrap_or(&Value::Null);
    let detail = match name {
        "task.state" => {
            let state = |name| text(data, name);
            format!("{} {} {} -> {} {}", state("task_id"), state("agent"), state("from"), state("to"), state("reason"))
        }
        "log" => format!("{}: {}", text(data, "level"), text(data, "text")),
        _ => data.to_string(),
    };
    Some(clean(format!("{} {channel} {name} {detail}", text(frame, "ts")).trim_end()))
}

fn head(model: &MonitorModel) -> String {
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
    format!("{:<31} {:<22} {:<10} {:>5} {:>8}  {:<14} INSTRUCTION", "TASK", "AGENT", "STATUS", "DONE", "AGE", "PHASE")
}

fn task_line(id: &str, row: &TaskRow, now: Millis) -> String {
    let done = row.percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent}%"));
    let age = row.created_at.map_or_else(|| "-".to_owned(), |at| age(now.since(at).as_secs()));
    let TaskRow { agent, status, phase, instruction, .. } = row;
    format!("{id:<31} {agent:<22} {status:<10} {done:>5} {age:>8}  {phase:<14} {instruction}")
}

/// Formats a duration in seconds.
fn age(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

fn prompt(model: &MonitorModel) -> String {
    match &model.mode {
        Mode::Table if model.filter.is_empty() => model.note.clone(),
        Mode::Table => format!("filter {:?} (Esc clears it)  {}", model.filter, model.note),
        Mode::Filter => format!("/{}_", model.filter),
        Mode::Run(typed) => {
            format!("run [Tab completes] agent and task: {typed}_  {}", run_form::hint(typed, &model.agents))
        }
        Mode::Confirm(task) => format!("kill {task}? y confirms, any other key cancels"),
        Mode::Instruct(task, mode, typed) => {
            let mode = MODES.get(*mode).copied().unwrap_or_default();
            let hint = if mode == "agent" { "agent and instruction" } else { "instruction" };
            format!("redirect {task} [{mode}, Tab changes the mode] {hint}: {typed}_")
        }
    }
}

fn line(text: String, style: Style) -> Line {
    Line { text: clean(&text), style }
}

/// Replaces control characters, so that text from tasks cannot control the terminal.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{b7}' } else { letter }).collect()
}
