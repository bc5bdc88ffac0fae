//! The state of the monitor, and how keys and frames change it. Pure.

use std::collections::{BTreeMap, VecDeque};

use muster_core::Millis;
use serde_json::{Value, json};

use super::keys::Key;
use super::run_form;

/// Number of ended tasks that remain visible, those that ended last.
pub(super) const ENDED_TASKS_VISIBLE: usize = 10;
/// Number of log lines that are kept.
const MAX_LOG_LINES: usize = 500;
/// Longest text input, in bytes.
const MAX_INPUT_BYTES: usize = 4_000;

/// The statuses of tasks that have ended.
pub(super) const ENDED: [&str; 5] = ["succeeded", "failed", "timed_out", "killed", "rejected"];
pub(super) const MODES: [&str; 3] = ["steer", "interrupt", "agent"];

/// A task in the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TaskRow {
    pub(super) agent: String,
    pub(super) status: String,
    pub(super) percent: Option<u64>,
    /// Present phase, such as the name of a step.
    pub(super) phase: String,
    /// The latest instruction.
    pub(super) instruction: String,
    pub(super) created_at: Option<Millis>,
    ended_at: Option<Millis>,
}

/// What keys do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Table,
    /// Keys edit the filter.
    Filter,
    /// A key confirms killing this task or cancels.
    Confirm(String),
    /// Keys edit the id of an agent and a task for it.
    Run(String),
    /// Keys edit an instruction for this task. The number is the index of the mode in [`MODES`].
    Instruct(String, usize, String),
}

/// An effect of a key or of the connection.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Quit,
    /// Begins a task of this agent.
    Run(String, String),
    /// Sends a request. The sender adds its `id`.
    Send(Request, Value),
}

/// The kind of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Connect,
    /// A command with this name for this task.
    Command(&'static str, String),
    Logs,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    epoch: String,
    offset: u64,
}

#[derive(Debug)]
pub(super) struct MonitorModel {
    pub(super) tasks: BTreeMap<String, TaskRow>,
    pub(super) selected: Option<String>,
    pub(super) filter: String,
    pub(super) mode: Mode,
    /// Task whose logs are visible.
    pub(super) logs_of: Option<String>,
    pub(super) logs: VecDeque<String>,
    pub(super) metrics: Option<Value>,
    /// The last message for the user.
    pub(super) note: String,
    pub(super) online: bool,
    /// Ids of the agents that can be run.
    pub(super) agents: Vec<String>,
    /// Last position in each channel, to resume from.
    positions: BTreeMap<String, Position>,
}

impl Default for MonitorModel {
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
            agents: Vec::new(),
            positions: BTreeMap::new(),
        }
    }
}

impl MonitorModel {
    /// Returns the first frame of a connection, which subscribes to all channels from their last positions.
    pub(super) fn connect(&self) -> Value {
        let mut subs = serde_json::Map::new();
        let logs = self.logs_of.as_ref().map(|task| log_channel(task));
        let wanted = ["agents", "agents:metrics"].into_iter().map(str::to_owned).chain(logs);
        for channel in wanted {
            let mut options = json!({ "snapshot": true });
            let since = self.positions.get(&channel).filter(|_| channel != "agents:metrics");
            if let (Some(Position { epoch, offset }), Some(options)) = (since, options.as_object_mut()) {
                options.insert("since".to_owned(), json!({ "epoch": epoch, "offset": offset }));
            }
            subs.insert(channel, options);
        }
        let client = concat!("muster-monitor/", env!("CARGO_PKG_VERSION"));
        json!({ "connect": { "client": client, "subs": subs } })
    }

    /// Returns the tasks that match the filter, oldest first.
    pub(super) fn visible(&self) -> Vec<(&String, &TaskRow)> {
        let wanted = self.filter.to_lowercase();
        let fits = |id: &str, row: &TaskRow| {
            wanted.is_empty() || [id, &row.agent, &row.status].iter().any(|text| text.to_lowercase().contains(&wanted))
        };
        let mut visible: Vec<_> = self.tasks.iter().filter(|(id, row)| fits(id, row)).collect();
        visible.sort_by_key(|(id, row)| (row.created_at, (*id).clone()));
        visible
    }

    /// Adds tasks that have ended, as the server lists them.
    pub(super) fn ended(&mut self, tasks: &[Value]) {
        for task in tasks {
            let time = |name: &str| task.get(name).and_then(Value::as_str).and_then(Millis::parse_rfc3339);
            let row = TaskRow {
                agent: text(task, "agent"),
                status: text(task, "status"),
                percent: number(task, "/progress/percent"),
                phase: task.get("progress").map(|progress| text(progress, "phase")).unwrap_or_default(),
                instruction: text(task, "task"),
                created_at: time("created_at"),
                ended_at: Some(time("finished_at").unwrap_or(Millis(0))),
            };
            // What the feed says about a task is newer.
            self.tasks.entry(text(task, "task_id")).or_insert(row);
        }
        self.keep_last_ended();
    }

    /// Removes ended tasks but the last ones.
    fn keep_last_ended(&mut self) {
        let mut ended: Vec<(Millis, String)> =
            self.tasks.iter().filter_map(|(id, row)| Some((row.ended_at?, id.clone()))).collect();
        ended.sort_unstable();
        let surplus = ended.len().saturating_sub(ENDED_TASKS_VISIBLE);
        for (_, id) in ended.into_iter().take(surplus) {
            self.tasks.remove(&id);
        }
        self.keep_selection();
    }

    pub(super) fn lost(&mut self, why: String) {
        self.online = false;
        self.note = why;
    }

    /// Handles a key. Returns its effects.
    pub(super) fn key(&mut self, key: Key) -> Vec<Action> {
        match std::mem::replace(&mut self.mode, Mode::Table) {
            Mode::Table => self.in_table(key),
            Mode::Filter => self.in_filter(key),
            Mode::Run(text) => self.in_run_form(key, text),
            Mode::Confirm(task) => match key {
                Key::Char('y' | 'Y') => vec![command("agent.kill", task, json!({}))],
                _ => Vec::new(),
            },
            Mode::Instruct(task, mode, text) => self.in_instruction(key, task, mode, text),
        }
    }

    fn in_table(&mut self, key: Key) -> Vec<Action> {
        let selected = self.selected.clone();
        match (key, selected) {
            (Key::Char('q') | Key::Interrupt, _) => vec![Action::Quit],
            (Key::Up | Key::Char('k'), _) => self.step(-1),
            (Key::Down | Key::Char('j'), _) => self.step(1),
            (Key::Char('/'), _) => {
                self.mode = Mode::Filter;
                Vec::new()
            }
            (Key::Char('n'), _) => {
                self.mode = Mode::Run(String::new());
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

    fn in_filter(&mut self, key: Key) -> Vec<Action> {
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

    fn in_run_form(&mut self, key: Key, mut text: String) -> Vec<Action> {
        match key {
            Key::Escape | Key::Interrupt => return Vec::new(),
            Key::Tab => text = run_form::completed(&text, &self.agents),
            Key::Enter => match run_form::split(&text) {
                Some((agent, task)) => {
                    self.note = format!("{agent} is asked to begin");
                    return vec![Action::Run(agent.to_owned(), task.to_owned())];
                }
                None => "enter the id of an agent, a space and the task".clone_into(&mut self.note),
            },
            other => typed(&mut text, other),
        }
        self.mode = Mode::Run(text);
        Vec::new()
    }

    fn in_instruction(&mut self, key: Key, task: String, mode: usize, mut text: String) -> Vec<Action> {
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

    /// Redirects a task. In the mode `agent` the first word of the text is the new agent.
    fn redirect(&mut self, task: String, mode: usize, text: &str) -> Vec<Action> {
        let name = MODES.get(mode).copied().unwrap_or_default();
        let args = match (name, text.trim().split_once(' ')) {
            ("agent", Some((agent, instruction))) => {
                json!({ "mode": name, "agent": agent, "instruction": instruction.trim() })
            }
            ("agent", None) => {
                self.note = "enter the name of an agent, a space and an instruction".to_owned();
                self.mode = Mode::Instruct(task, mode, text.to_owned());
                return Vec::new();
            }
            _ => json!({ "mode": name, "instruction": text.trim() }),
        };
        vec![command("agent.redirect", task, args)]
    }

    fn step(&mut self, by: isize) -> Vec<Action> {
        let ids: Vec<String> = self.visible().into_iter().map(|(id, _)| id.clone()).collect();
        let at = self.selected.as_ref().and_then(|id| ids.iter().position(|known| known == id)).unwrap_or(0);
        let next = at.saturating_add_signed(by).min(ids.len().saturating_sub(1));
        self.selected = ids.get(next).cloned();
        match (&self.logs_of, self.selected.clone()) {
            (Some(of), Some(task)) if *of != task => self.follow_logs(Some(task)),
            _ => Vec::new(),
        }
    }

    fn logs_key(&mut self, task: &str) -> Vec<Action> {
        let is_open = self.logs_of.as_deref() == Some(task);
        self.follow_logs((!is_open).then(|| task.to_owned()))
    }

    fn follow_logs(&mut self, task: Option<String>) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some(old) = self.logs_of.take() {
            let channel = log_channel(&old);
            self.positions.remove(&channel);
            actions.push(Action::Send(Request::Other, json!({ "unsubscribe": { "ch": channel } })));
        }
        self.logs.clear();
        if let Some(task) = &task {
            actions.push(Action::Send(
                Request::Logs,
                json!({ "subscribe": { "ch": log_channel(task), "snapshot": true } }),
            ));
        }
        self.logs_of = task;
        actions
    }

    /// Selects the first visible task if the selected one is not visible.
    fn keep_selection(&mut self) {
        let ids: Vec<String> = self.visible().into_iter().map(|(id, _)| id.clone()).collect();
        if !self.selected.as_ref().is_some_and(|selected| ids.contains(selected)) {
            self.selected = ids.first().cloned();
        }
    }

    /// Handles a frame that is not a reply.
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
                let row = self.tasks.entry(text(data, "task_id")).or_insert_with(|| TaskRow {
                    created_at: frame.get("ts").and_then(Value::as_str).and_then(Millis::parse_rfc3339),
                    ..TaskRow::default()
                });
                (row.agent, row.status) = (text(data, "agent"), text(data, "to"));
                row.ended_at = ENDED.contains(&row.status.as_str()).then_some(now);
                if let Some(instruction) = data.get("instruction").and_then(Value::as_str) {
                    instruction.clone_into(&mut row.instruction);
                }
                self.keep_last_ended();
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

    /// Handles the reply to a request.
    pub(super) fn reply(&mut self, request: &Request, frame: &Value) {
        let Some(ok) = frame.get("ok") else {
            let detail = frame.pointer("/error/message").and_then(Value::as_str).unwrap_or("refused");
            let status = frame.pointer("/error/details/status").and_then(Value::as_str);
            let status = status.map(|status| format!(" (it is {status})")).unwrap_or_default();
            self.note = match request {
                Request::Command(name, task) => format!("{name} of {task}: {detail}{status}"),
                _ => detail.to_owned(),
            };
            return;
        };
        match request {
            Request::Connect => {
                self.online = true;
                "connected".clone_into(&mut self.note);
                for (channel, sub) in ok.get("subs").and_then(Value::as_object).into_iter().flatten() {
                    self.subscribed(channel, sub);
                }
            }
            Request::Command(name, task) => {
                self.note = format!("{name} of {task}: {}, {}", text(ok, "phase"), text(ok, "effective"));
            }
            Request::Logs => {
                self.subscribed(&text(ok, "ch"), ok);
            }
            Request::Other => {}
        }
    }

    /// Handles the result of a subscription. A snapshot replaces the present state.
    fn subscribed(&mut self, channel: &str, sub: &Value) {
        let Some(epoch) = sub.get("epoch").and_then(Value::as_str) else {
            if let Some(why) = sub.pointer("/error/message").and_then(Value::as_str) {
                self.note = format!("{channel}: {why}");
            }
            return;
        };
        let offset = number(sub, "/offset").unwrap_or(0);
        // Missed events follow the reply, so the position advances with them instead.
        if sub.get("recovered") != Some(&Value::Bool(true)) {
            self.positions.insert(channel.to_owned(), Position { epoch: epoch.to_owned(), offset });
        }
        let Some(state) = sub.get("state").and_then(Value::as_array) else { return };
        match channel {
            "agents" => {
                self.tasks.retain(|_, row| row.ended_at.is_some());
                self.tasks.extend(state.iter().filter_map(row));
                self.keep_selection();
            }
            _ if self.logs_of.as_ref().is_some_and(|task| channel == log_channel(task)) => {
                self.logs = state.iter().filter_map(|item| Some(text(item.get("data")?, "text"))).collect();
            }
            "agents:metrics" => self.metrics = state.first().and_then(|item| item.get("data")).cloned(),
            _ => {}
        }
    }

    fn line(&mut self, line: String) {
        self.logs.push_back(line);
        while self.logs.len() > MAX_LOG_LINES {
            self.logs.pop_front();
        }
    }
}

/// Parses a task of a snapshot.
fn row(item: &Value) -> Option<(String, TaskRow)> {
    let data = item.get("data")?;
    let id = item.get("id")?.as_str()?.to_owned();
    let row = TaskRow {
        agent: text(data, "agent"),
        status: text(data, "status"),
        percent: number(data, "/progress/percent"),
        phase: data.get("progress").map(|progress| text(progress, "phase")).unwrap_or_default(),
        created_at: data.get("created_at").and_then(Value::as_str).and_then(Millis::parse_rfc3339),
        instruction: text(data, "instruction"),
        ended_at: None,
    };
    Some((id, row))
}

fn log_channel(task: &str) -> String {
    format!("tasks:{task}:logs")
}

fn command(name: &'static str, task: String, args: Value) -> Action {
    let body = json!({ "command": { "name": name, "target": task, "args": args } });
    Action::Send(Request::Command(name, task), body)
}

fn typed(text: &mut String, key: Key) {
    match key {
        Key::Char(letter) if text.len() < MAX_INPUT_BYTES => text.push(letter),
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
