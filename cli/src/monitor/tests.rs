//! Tests of the monitor without a server and without a terminal.

use muster_core::Millis;
use serde_json::{Value, json};

use super::keys::Key;
use super::model::{Action, ENDED_TASKS_VISIBLE, Mode, MonitorModel, Request};
use super::view::{self, Style};

const NOW: Millis = Millis(1_763_690_000_000);

fn snapshot(tasks: &[(&str, &str)]) -> Value {
    let item = |(at, (id, status)): (usize, &(&str, &str))| {
        let created = NOW.plus(std::time::Duration::from_secs(at as u64)).rfc3339();
        json!({ "id": id, "version": 1, "data": { "task_id": id, "agent": "code-reviewer", "status": status,
            "created_at": created, "instruction": "Sum it up", "progress": { "percent": 50, "phase": "complexity" } } })
    };
    let state: Vec<_> = tasks.iter().enumerate().map(item).collect();
    json!({ "id": 1, "ok": { "subs": { "agents": { "epoch": "k3v9", "offset": 7, "recovered": false, "state": state } } } })
}

fn connected(tasks: &[(&str, &str)]) -> MonitorModel {
    let mut model = MonitorModel::default();
    model.reply(&Request::Connect, &snapshot(tasks));
    model
}

fn state(offset: u64, id: &str, to: &str) -> Value {
    json!({ "ch": "agents", "off": offset, "ev": "task.state", "ts": NOW.rfc3339(),
        "data": { "task_id": id, "agent": "code-reviewer", "from": "running", "to": to, "reason": "" } })
}

fn sent(actions: &[Action]) -> Vec<Value> {
    let frame = |action: &Action| match action {
        Action::Send(_, frame) => Some(frame.clone()),
        Action::Quit | Action::Run(..) => None,
    };
    actions.iter().filter_map(frame).collect()
}

fn type_text(model: &mut MonitorModel, text: &str) {
    for letter in text.chars() {
        assert!(model.key(Key::Char(letter)).is_empty());
    }
}

#[test]
fn a_snapshot_then_events_are_the_table() {
    let mut model = connected(&[("task_1", "running"), ("task_2", "queued")]);
    assert!(model.online);
    assert_eq!(model.selected.as_deref(), Some("task_1"), "something is selected");
    model.push(&state(8, "task_2", "running"), NOW);
    model.push(&state(9, "task_3", "queued"), NOW);
    let statuses: Vec<_> = model.visible().into_iter().map(|(id, row)| (id.as_str(), row.status.as_str())).collect();
    // The one that was made last is last, whatever its name.
    assert_eq!(statuses, [("task_1", "running"), ("task_3", "queued"), ("task_2", "running")]);
    let progress = json!({ "ch": "agents", "off": 10, "ev": "task.progress", "data": { "task_id": "task_2",
        "progress": { "percent": 75, "phase": "write-up" } } });
    model.push(&progress, NOW);
    assert_eq!((model.tasks["task_2"].percent, model.tasks["task_2"].phase.as_str()), (Some(75), "write-up"));
}

#[test]
fn the_tasks_that_ended_last_remain_visible() {
    let mut model = connected(&[("task_1", "running"), ("task_2", "running")]);
    let listed = |nth: usize| {
        let at = NOW.plus(std::time::Duration::from_secs(nth as u64)).rfc3339();
        json!({ "task_id": format!("old_{nth:02}"), "agent": "debugger", "status": "failed", "task": "Why?",
            "created_at": at, "finished_at": at })
    };
    model.ended(&(0..ENDED_TASKS_VISIBLE).map(listed).collect::<Vec<_>>());
    assert_eq!(model.tasks.len(), 2 + ENDED_TASKS_VISIBLE);
    assert_eq!(model.tasks["old_09"].instruction, "Why?");
    let later = NOW.plus(std::time::Duration::from_secs(1_000));
    model.push(&state(8, "task_1", "killed"), later);
    assert!(!model.tasks.contains_key("old_00") && model.tasks.contains_key("old_01"), "the oldest makes room");
    // A new snapshot has the live tasks only; those that ended stay.
    model.reply(&Request::Connect, &snapshot(&[("task_2", "running")]));
    assert_eq!(model.tasks.len(), 1 + ENDED_TASKS_VISIBLE);
    assert_eq!(model.tasks["task_1"].status, "killed");
    let row = view::table(&model, later);
    assert!(row.contains("INSTRUCTION") && row.contains("Sum it up") && row.contains("Why?"), "{row}");
}

#[test]
fn each_key_sends_its_command() {
    let mut model = connected(&[("task_1", "running"), ("task_2", "running")]);
    for (key, name, args) in [
        ('p', "agent.pause", json!({})),
        ('P', "agent.pause", json!({ "now": true })),
        ('r', "agent.resume", json!({})),
    ] {
        let sent = sent(&model.key(Key::Char(key)));
        assert_eq!(sent, [json!({ "command": { "name": name, "target": "task_1", "args": args } })], "{key}");
    }
    model.key(Key::Down);
    assert!(model.key(Key::Char('x')).is_empty(), "a confirmation is required");
    assert_eq!(model.mode, Mode::Confirm("task_2".to_owned()));
    assert!(model.key(Key::Char('n')).is_empty());
    assert_eq!(model.mode, Mode::Table);
    model.key(Key::Char('x'));
    let killed = sent(&model.key(Key::Char('y')));
    assert_eq!(killed[0]["command"], json!({ "name": "agent.kill", "target": "task_2", "args": {} }));
    assert_eq!(model.key(Key::Char('q')), [Action::Quit]);
}

#[test]
fn a_task_is_begun_by_its_agents_id() {
    let mut model = connected(&[]);
    model.agents = ["debugger", "fleet-router", "model-router"].map(str::to_owned).to_vec();
    model.key(Key::Char('n'));
    type_text(&mut model, "fl");
    let prompt = |model: &MonitorModel| {
        let lines = view::screen(model, (120, 24), NOW);
        lines.into_iter().rev().nth(1).unwrap().text
    };
    assert!(prompt(&model).ends_with("agent and task: fl_  fleet-router"), "{}", prompt(&model));
    assert!(model.key(Key::Tab).is_empty() && model.key(Key::Enter).is_empty());
    assert_eq!(model.mode, Mode::Run("fleet-router ".to_owned()), "a task is missing");
    type_text(&mut model, "two vans, nine stops");
    let begun = Action::Run("fleet-router".to_owned(), "two vans, nine stops".to_owned());
    assert_eq!(model.key(Key::Enter), [begun]);
    assert_eq!(model.mode, Mode::Table);
    model.key(Key::Char('n'));
    assert!(model.key(Key::Escape).is_empty() && model.mode == Mode::Table);
}

#[test]
fn an_instruction_is_typed_and_its_mode_selected() {
    let mut model = connected(&[("task_1", "running")]);
    model.key(Key::Char('d'));
    assert!(model.key(Key::Enter).is_empty() && model.mode == Mode::Table, "nothing typed, nothing sent");
    model.key(Key::Char('d'));
    type_text(&mut model, "tests firsx");
    model.key(Key::Backspace);
    type_text(&mut model, "t");
    let steered = sent(&model.key(Key::Enter));
    assert_eq!(steered[0]["command"]["args"], json!({ "mode": "steer", "instruction": "tests first" }));
    model.key(Key::Char('d'));
    model.key(Key::Tab);
    model.key(Key::Tab);
    type_text(&mut model, "json-wrangler");
    assert!(model.key(Key::Enter).is_empty(), "an agent without an instruction");
    type_text(&mut model, " tidy it");
    let handed = sent(&model.key(Key::Enter));
    let args = json!({ "mode": "agent", "agent": "json-wrangler", "instruction": "tidy it" });
    assert_eq!(handed[0]["command"]["args"], args);
    model.key(Key::Char('d'));
    assert!(model.key(Key::Escape).is_empty() && model.mode == Mode::Table);
}

#[test]
fn a_filter_narrows_and_the_selection_stays_within() {
    let mut model = connected(&[("task_1", "running"), ("task_2", "paused"), ("task_3", "running")]);
    model.key(Key::Char('/'));
    type_text(&mut model, "PAUS");
    assert_eq!(model.selected.as_deref(), Some("task_2"));
    model.key(Key::Enter);
    assert_eq!(model.visible().len(), 1);
    model.key(Key::Down);
    assert_eq!(model.selected.as_deref(), Some("task_2"));
    model.key(Key::Escape);
    assert_eq!(model.visible().len(), 3);
}

#[test]
fn logs_follow_the_selection_and_begin_with_earlier_lines() {
    let mut model = connected(&[("task_1", "running"), ("task_2", "running")]);
    let opened = sent(&model.key(Key::Char('l')));
    assert_eq!(opened, [json!({ "subscribe": { "ch": "tasks:task_1:logs", "snapshot": true } })]);
    let item = |n: u64| json!({ "id": n.to_string(), "version": n, "data": { "n": n, "text": format!("line {n}") } });
    let subscribed = json!({ "ok": { "ch": "tasks:task_1:logs", "epoch": "k3v9", "offset": 250, "recovered": false,
        "state": [item(249), item(250)] } });
    model.reply(&Request::Logs, &subscribed);
    let log = json!({ "ch": "tasks:task_1:logs", "off": 251, "ev": "log", "data": { "text": "line 251" } });
    model.push(&log, NOW);
    model.push(&json!({ "ch": "tasks:task_1:logs", "conflated": { "from": 252, "to": 260 } }), NOW);
    assert_eq!(model.logs, ["line 249", "line 250", "line 251", "… 9 lines were left out"]);
    let moved = sent(&model.key(Key::Char('j')));
    assert_eq!(moved[0], json!({ "unsubscribe": { "ch": "tasks:task_1:logs" } }));
    assert_eq!(moved[1], json!({ "subscribe": { "ch": "tasks:task_2:logs", "snapshot": true } }));
    assert!(model.logs.is_empty());
}

#[test]
fn a_lost_connection_resumes_at_its_last_position() {
    let mut model = connected(&[("task_1", "running")]);
    model.push(&state(8, "task_1", "paused"), NOW);
    model.push(&json!({ "ch": "agents", "pos": 12 }), NOW);
    model.lost("the connection ended".to_owned());
    assert!(!model.online);
    let connect = &model.connect()["connect"]["subs"];
    assert_eq!(connect["agents"]["since"], json!({ "epoch": "k3v9", "offset": 12 }));
    assert!(connect["agents:metrics"].get("since").is_none(), "figures have no past");
    // Resumed, the table stays, and its position is what comes next.
    let resumed = json!({ "id": 1, "ok": { "subs": { "agents": { "epoch": "k3v9", "offset": 20, "recovered": true, "pubs": 8 } } } });
    model.reply(&Request::Connect, &resumed);
    assert_eq!(model.tasks.len(), 1);
    assert_eq!(model.connect()["connect"]["subs"]["agents"]["since"]["offset"], 12);
    // Where it cannot go on, the state is the whole table.
    model.reply(&Request::Connect, &snapshot(&[("task_9", "running")]));
    assert_eq!(model.tasks.keys().collect::<Vec<_>>(), ["task_9"]);
}

#[test]
fn a_rejected_command_is_reported_with_the_present_status() {
    let mut model = connected(&[("task_1", "running")]);
    let refused =
        json!({ "error": { "code": 2409, "message": "the task has ended", "details": { "status": "killed" } } });
    model.reply(&Request::Command("agent.pause", "task_1".to_owned()), &refused);
    assert_eq!(model.note, "agent.pause of task_1: the task has ended (it is killed)");
    let accepted = json!({ "ok": { "phase": "accepted", "effective": "boundary" } });
    model.reply(&Request::Command("agent.pause", "task_1".to_owned()), &accepted);
    assert_eq!(model.note, "agent.pause of task_1: accepted, boundary");
}

#[test]
fn the_screen_fits_shows_the_selected_task_and_no_control_character() {
    let tasks: Vec<_> = (0..50).map(|n| (format!("task_{n:02}"), "running")).collect();
    let tasks: Vec<_> = tasks.iter().map(|(id, status)| (id.as_str(), *status)).collect();
    let mut model = connected(&tasks);
    for _ in 0..40 {
        model.key(Key::Down);
    }
    model.key(Key::Char('l'));
    let log =
        json!({ "ch": "tasks:task_40:logs", "off": 1, "ev": "log", "data": { "text": "red \u{1b}[31m bell \u{7}" } });
    model.push(&log, NOW);
    for size in [(80, 24), (40, 10), (200, 60), (10, 3)] {
        let lines = view::screen(&model, size, NOW);
        assert!(lines.len() <= size.1 && lines.iter().all(|line| line.text.chars().count() <= size.0), "{size:?}");
        assert!(lines.iter().all(|line| !line.text.chars().any(char::is_control)), "{size:?}");
        if size.1 >= 10 {
            let selected: Vec<_> = lines.iter().filter(|line| line.style == Style::Selected).collect();
            assert!(selected.len() == 1 && selected[0].text.starts_with("task_40"), "{size:?}: {selected:?}");
        }
    }
    let row = &view::table(&model, NOW.plus(std::time::Duration::from_secs(3_700)));
    assert!(row.lines().nth(1).unwrap().ends_with("50%    1h01m  complexity     Sum it up"), "{row}");
}

#[test]
fn an_event_is_one_line() {
    let line = view::event(&state(8, "task_1", "paused")).unwrap();
    assert_eq!(line, format!("{} agents task.state task_1 code-reviewer running -> paused", NOW.rfc3339()));
    let log = json!({ "ch": "tasks:task_1:logs", "ev": "log", "ts": "t", "data": { "level": "info", "text": "a\nb" } });
    assert_eq!(view::event(&log).unwrap(), "t tasks:task_1:logs log info: a\u{b7}b");
    assert_eq!(view::event(&json!({ "id": 1, "ok": {} })), None);
    assert_eq!(view::event(&json!({ "ch": "agents", "pos": 7 })), None);
}
