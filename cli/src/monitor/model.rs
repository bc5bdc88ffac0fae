//! Pure: what a monitor knows, what a key makes it do, and what a frame tells it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use muster_core::Millis;
use serde_json::{Value, json};

use super::keys::Key;

/// How long an ended task is still shown.
const SHOWN_AFTER_ITS_END: Duration = Duration::from_secs(60);
/// Lines of logs that are kept.
const LINES: usize = 500;
/// Longest text that is typed.
const TYPED: usize = 4_000;

const ENDED: [&str; 5] = ["succeeded", "failed", "timed_out", "killed", "rejected"];
pub(super) const MODES: [&str; 3] = ["steer", "interrupt", "agent"];

/// A task as it is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Row {
    pub(super) agent: String,
    pub(super) status: String,
    pub(super) percent: Option<u64>,
    /// What it is at, such as a step's name.
    pub(super) phase: String,
    pub(super) created_at: Option<Millis>,
    ended_at: Option<Millis>,
}

/// What the keys mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Table,
    /// A filter is typed.
    Filter,
    /// To kill that task is to be confirmed.
    Confirm(String),
    /// An instruction for that task is typed; the number is its mode's among [`MODES`].
    Instruct(String, usize, String),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    Quit,
    /// A request; its `id` is put in by whoever sends it.
    Send(Ask, Value),
}

/// What a request was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    Connect,
    /// A command of that name, of that task.
    Command(&'static str, String),
    Logs,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Since {
    epoch: String,
    offset: u64,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) tasks: BTreeMap<String, Row>,
    pub(super) selected: Option<String>,
    pub(super) filter: String,
    pub(super) mode: Mode,
    /// The task whose logs are shown.
    pub(super) logs_of: Option<String>,
    pub(super) logs: VecDeque<String>,
    pub(super) metrics: Option<Value>,
    /// What happened last, for people.
    pub(super) note: String,
    pub(super) online: bool,
    /// Where it stands in each channel, to go on from there.
    positions: BTreeMap<String, Since>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            tasks: BTreeMap::new(),
            selected: None,
            filter: String::new(),
            mode: Mode::Table,
            logs_of: None,
            logs: VecDeque::new(),
            metrics: None,
            note: "connecting".to_owned(),
            online: false,
            positions: BTreeMap::new(),
        }
    }
}

impl Model {
    /// The first frame of a connection: everything is subscribed to, from where it was left.
    pub(super) fn connect(&self) -> Act {
        let mut subs = serde_json::Map::new();
        let logs = self.logs_of.as_ref().map(|task| logs_of(task));
        let wanted = ["agents", "agents:metrics"].into_iter().map(str::to_owned).chain(logs);
        for channel in wanted {
            let mut options = json!({ "snapshot": true });
            let since = self.positions.get(&channel).filter(|_| channel != "agents:metrics");
            if let (Some(Since { epoch, offset }), Some(options)) = (since, options.as_object_mut()) {
                options.insert("since".to_owned(), json!({ "epoch": epoch, "offset": offset }));
            }
            subs.insert(channel, options);
        }
        let client = concat!("muster-monitor/", env!("CARGO_PKG_VERSION"));
        Act::Send(Ask::Connect, json!({ "connect": { "client": client, "subs": subs } }))
    }

    /// The tasks that the filter lets through, the oldest first.
    pub(super) fn shown(&self) -> Vec<(&String, &Row)> {
        let wanted = self.filter.to_lowercase();
        let fits = |id: &str, row: &Row| {
            wanted.is_empty() || [id, &row.agent, &row.status].iter().any(|text| text.to_lowercase().contains(&wanted))
        };
        let mut shown: Vec<_> = self.tasks.iter().filter(|(id, row)| fits(id, row)).collect();
        shown.sort_by_key(|(id, row)| (row.created_at, (*id).clone()));
        shown
    }

    /// Time passed: tasks that ended a while ago are shown no more.
    pub(super) fn tick(&mut self, now: Millis) {
        self.tasks.retain(|_, row| row.ended_at.is_none_or(|at| now.since(at) < SHOWN_AFTER_ITS_END));
        self.keep_selection();
    }

    pub(super) fn lost(&mut self, why: String) {
        self.online = false;
        self.note = why;
    }

    /// A key was pressed.
    pub(super) fn key(&mut self, key: Key) -> Vec<Act> {
        match std::mem::replace(&mut self.mode, Mode::Table) {
            Mode::Table => self.in_table(key),
            Mode::Filter => self.in_filter(key),
            Mode::Confirm(task) => match key {
                Key::Char('y' | 'Y') => vec![command("agent.kill", task, json!({}))],
                _ => Vec::new(),
            },
            Mode::Instruct(task, mode, text) => self.in_instruction(key, task, mode, text),
        }
    }

    fn in_table(&mut self, key: Key) -> Vec<Act> {
        let selected = self.selected.clone();
        match (key, selected) {
            (Key::Char('q') | Key::Interrupt, _) => vec![Act::Quit],
            (Key::Up | Key::Char('k'), _) => self.step(-1),
            (Key::Down | Key::Char('j'), _) => self.step(1),
            (Key::Char('/'), _) => {
                self.mode = Mode::Filter;
                Vec::new()
            }
            (Key::Escape, _) => {
                self.filter.clear();
                Vec::new()
            }
            (Key::Char('l'), Some(task)) => self.logs_key(&task),
            (Key::Char('p'), Some(task)) => vec![command("agent.pause", task, json!({}))],
            (Key::Char('P'), Some(task)) => vec![command("agent.pause", task, json!({ "now": true }))],
            (Key::Char('r'), Some(task)) => vec![command("agent.resume", task, json!({}))],
            (Key::Char('x'), Some(task)) => {
                self.mode = Mode::Confirm(task);
                Vec::new()
            }
            (Key::Char('d'), Some(task)) => {
                self.mode = Mode::Instruct(task, 0, String::new());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn in_filter(&mut self, key: Key) -> Vec<Act> {
        match key {
            Key::Enter => {}
            Key::Escape | Key::Interrupt => self.filter.clear(),
            other => {
                self.mode = Mode::Filter;
                typed(&mut self.filter, other);
            }
        }
        self.keep_selection();
        Vec::new()
    }

    fn in_instruction(&mut self, key: Key, task: String, mode: usize, mut text: String) -> Vec<Act> {
        match key {
            Key::Escape | Key::Interrupt => Vec::new(),
            Key::Enter if text.trim().is_empty() => Vec::new(),
            Key::Enter => self.redirect(task, mode, &text),
            Key::Tab => {
                self.mode = Mode::Instruct(task, (mode + 1) % MODES.len(), text);
                Vec::new()
            }
            other => {
                typed(&mut text, other);
                self.mode = Mode::Instruct(task, mode, text);
                Vec::new()
            }
        }
    }

    /// With the mode `agent` the first word names who takes over.
    fn redirect(&mut self, task: String, mode: usize, text: &str) -> Vec<Act> {
        let name = MODES.get(mode).copied().unwrap_or_default();
        let args = match (name, text.trim().split_once(' ')) {
            ("agent", Some((agent, instruction))) => {
                json!({ "mode": name, "agent": agent, "instruction": instruction.trim() })
            }
            ("agent", None) => {
                self.note = "write the agent, a space, then what it is to do".to_owned();
                self.mode = Mode::Instruct(task, mode, text.to_owned());
                return Vec::new();
            }
            _ => json!({ "mode": name, "instruction": text.trim() }),
        };
        vec![command("agent.redirect", task, args)]
    }

    fn step(&mut self, by: isize) -> Vec<Act> {
        let shown: Vec<String> = self.shown().into_iter().map(|(id, _)| id.clone()).collect();
        let at = self.selected.as_ref().and_then(|id| shown.iter().position(|known| known == id)).unwrap_or(0);
        let next = at.saturating_add_signed(by).min(shown.len().saturating_sub(1));
        self.selected = shown.get(next).cloned();
        match (&self.logs_of, self.selected.clone()) {
            (Some(of), Some(task)) if *of != task => self.follow_logs(Some(task)),
            _ => Vec::new(),
        }
    }

    fn logs_key(&mut self, task: &str) -> Vec<Act> {
        let shown = self.logs_of.as_deref() == Some(task);
        self.follow_logs((!shown).then(|| task.to_owned()))
    }

    fn follow_logs(&mut self, task: Option<String>) -> Vec<Act> {
        let mut acts = Vec::new();
        if let Some(old) = self.logs_of.take() {
            let channel = logs_of(&old);
            self.positions.remove(&channel);
            acts.push(Act::Send(Ask::Other, json!({ "unsubscribe": { "ch": channel } })));
        }
        self.logs.clear();
        if let Some(task) = &task {
            acts.push(Act::Send(Ask::Logs, json!({ "subscribe": { "ch": logs_of(task), "snapshot": true } })));
        }
        self.logs_of = task;
        acts
    }

    /// A task that is shown is selected, where there is one.
    fn keep_selection(&mut self) {
        let shown: Vec<String> = self.shown().into_iter().map(|(id, _)| id.clone()).collect();
        if !self.selected.as_ref().is_some_and(|selected| shown.contains(selected)) {
            self.selected = shown.first().cloned();
        }
    }

    /// A frame that is no reply.
    pub(super) fn push(&mut self, frame: &Value, now: Millis) {
        let Some(channel) = frame.get("ch").and_then(Value::as_str) else { return };
        let offset = frame.get("off").or_else(|| frame.get("pos")).or_else(|| frame.pointer("/conflated/to"));
        if let (Some(offset), Some(since)) = (offset.and_then(Value::as_u64), self.positions.get_mut(channel)) {
            since.offset = since.offset.max(offset);
        }
        if let Some(why) = frame.pointer("/unsubscribed/reason").and_then(Value::as_str) {
            self.note = format!("{channel} ended: {why}");
        }
        if let (Some(from), Some(to)) = (number(frame, "/conflated/from"), number(frame, "/conflated/to")) {
            if channel.ends_with(":logs") {
                self.line(format!("… {} lines were left out", (to + 1).saturating_sub(from)));
            }
            return;
        }
        if let Some(name) = frame.get("ev").and_then(Value::as_str) {
            self.event(channel, name, frame, now);
        }
    }

    fn event(&mut self, channel: &str, name: &str, frame: &Value, now: Millis) {
        let data = frame.get("data").unwrap_or(&Value::Null);
        match name {
            "metrics" => self.metrics = Some(data.clone()),
            "log" if channel.ends_with(":logs") => self.line(text(data, "text")),
            "task.state" => {
                let row = self.tasks.entry(text(data, "task_id")).or_insert_with(|| Row {
                    created_at: frame.get("ts").and_then(Value::as_str).and_then(Millis::parse_rfc3339),
                    ..Row::default()
                });
                (row.agent, row.status) = (text(data, "agent"), text(data, "to"));
                row.ended_at = ENDED.contains(&row.status.as_str()).then_some(now);
                self.keep_selection();
            }
            "task.progress" => {
                if let Some(row) = self.tasks.get_mut(&text(data, "task_id")) {
                    row.percent = number(data, "/progress/percent");
                    row.phase = data.get("progress").map(|progress| text(progress, "phase")).unwrap_or_default();
                }
            }
            "control.applied" | "control.superseded" | "control.missed" => {
                self.note = format!("{} {}", text(data, "task_id"), name.trim_start_matches("control."));
            }
            _ => {}
        }
    }

    /// The reply to a request, or its refusal.
    pub(super) fn reply(&mut self, ask: &Ask, frame: &Value) {
        let Some(ok) = frame.get("ok") else {
            let said = frame.pointer("/error/message").and_then(Value::as_str).unwrap_or("refused");
            let status = frame.pointer("/error/details/status").and_then(Value::as_str);
            let status = status.map(|status| format!(" (it is {status})")).unwrap_or_default();
            self.note = match ask {
                Ask::Command(name, task) => format!("{name} of {task}: {said}{status}"),
                _ => said.to_owned(),
            };
            return;
        };
        match ask {
            Ask::Connect => {
                self.online = true;
                "connected".clone_into(&mut self.note);
                for (channel, sub) in ok.get("subs").and_then(Value::as_object).into_iter().flatten() {
                    self.stands(channel, sub);
                }
            }
            Ask::Command(name, task) => {
                self.note = format!("{name} of {task}: {}, {}", text(ok, "phase"), text(ok, "effective"));
            }
            Ask::Logs => {
                self.stands(&text(ok, "ch"), ok);
            }
            Ask::Other => {}
        }
    }

    /// A subscription stands: with a state, that is all there is.
    fn stands(&mut self, channel: &str, sub: &Value) {
        let Some(epoch) = sub.get("epoch").and_then(Value::as_str) else {
            if let Some(why) = sub.pointer("/error/message").and_then(Value::as_str) {
                self.note = format!("{channel}: {why}");
            }
            return;
        };
        let offset = number(sub, "/offset").unwrap_or(0);
        // What was missed comes behind the reply, so the position is not the reply's yet.
        if sub.get("recovered") != Some(&Value::Bool(true)) {
            self.positions.insert(channel.to_owned(), Since { epoch: epoch.to_owned(), offset });
        }
        let Some(state) = sub.get("state").and_then(Value::as_array) else { return };
        match channel {
            "agents" => {
                self.tasks = state.iter().filter_map(row).collect();
                self.keep_selection();
            }
            _ if self.logs_of.as_ref().is_some_and(|task| channel == logs_of(task)) => {
                self.logs = state.iter().filter_map(|item| Some(text(item.get("data")?, "text"))).collect();
            }
            "agents:metrics" => self.metrics = state.first().and_then(|item| item.get("data")).cloned(),
            _ => {}
        }
    }

    fn line(&mut self, line: String) {
        self.logs.push_back(line);
        while self.logs.len() > LINES {
            self.logs.pop_front();
        }
    }
}

/// A task of a snapshot.
fn row(item: &Value) -> Option<(String, Row)> {
    let data = item.get("data")?;
    let id = item.get("id")?.as_str()?.to_owned();
    let row = Row {
        agent: text(data, "agent"),
        status: text(data, "status"),
        percent: number(data, "/progress/percent"),
        phase: data.get("progress").map(|progress| text(progress, "phase")).unwrap_or_default(),
        created_at: data.get("created_at").and_then(Value::as_str).and_then(Millis::parse_rfc3339),
        ended_at: None,
    };
    Some((id, row))
}

fn logs_of(task: &str) -> String {
    format!("tasks:{task}:logs")
}

fn command(name: &'static str, task: String, args: Value) -> Act {
    let body = json!({ "command": { "name": name, "target": task, "args": args } });
    Act::Send(Ask::Command(name, task), body)
}

fn typed(text: &mut String, key: Key) {
    match key {
        Key::Char(letter) if text.len() < TYPED => text.push(letter),
        Key::Backspace => drop(text.pop()),
        _ => {}
    }
}

pub(super) fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}
