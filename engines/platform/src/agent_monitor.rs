//! q62: one frame of the monitor of agents.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    agents: Vec<String>,
    states: Vec<String>,
    log_lines: i64,
}

#[derive(Output)]
pub struct Output {
    agents: Vec<Row>,
    queue: BTreeMap<String, i64>,
    totals: BTreeMap<String, f64>,
    logs: Vec<String>,
}

#[derive(Output)]
struct Row {
    id: String,
    task_id: String,
    agent: String,
    state: String,
    progress: f64,
    step: String,
    started_at: Timestamp,
    tokens: i64,
    cost_usd: f64,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let request = serde_json::json!({
        "agents": input.agents, "states": input.states, "log_lines": input.log_lines,
    });
    let frame = match cx.ask(Need::Tasks { request })? {
        Answer::Given(frame) => frame,
        Answer::Refused { why } => {
            cx.warn(format!("refused: no task is shown, because {why}"));
            Value::Null
        }
    };
    let items = |name: &str| frame.get(name).and_then(Value::as_array).into_iter().flatten();
    let members = |name: &str| frame.get(name).and_then(Value::as_object).into_iter().flatten();
    Ok(Output {
        agents: items("agents").map(row).collect::<Result<_, _>>()?,
        queue: members("queue").filter_map(|(name, count)| Some((name.clone(), count.as_i64()?))).collect(),
        totals: members("totals").filter_map(|(name, sum)| Some((name.clone(), sum.as_f64()?))).collect(),
        logs: items("logs").filter_map(|line| line.as_str().map(str::to_owned)).collect(),
    })
}

/// Reads a row of the server's answer. One that lacks a member is a fault of the server.
fn row(row: &Value) -> Result<Row, Failure> {
    let missing = |name: &str| Failure::internal(format!("a task of the monitor has no `{name}`"));
    let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| missing(name));
    let number = |name: &str| row.get(name).and_then(Value::as_f64).ok_or_else(|| missing(name));
    Ok(Row {
        id: text("id")?,
        task_id: text("task_id")?,
        agent: text("agent")?,
        state: text("state")?,
        progress: number("progress")?,
        step: text("step")?,
        started_at: text("started_at")?.parse().map_err(|_| missing("started_at"))?,
        tokens: row.get("tokens").and_then(Value::as_i64).ok_or_else(|| missing("tokens"))?,
        cost_usd: number("cost_usd")?,
    })
}

#[cfg(test)]
mod tests {
    use muster_engine::Answered;
    use serde_json::json;

    use super::*;

    fn input(log_lines: i64) -> Input {
        Input { agents: Vec::new(), states: vec!["running".to_owned()], log_lines }
    }

    fn need() -> Need {
        Need::Tasks { request: json!({ "agents": [], "states": ["running"], "log_lines": 2 }) }
    }

    #[test]
    fn the_answer_of_the_server_is_the_frame() {
        let task = json!({
            "id": "task_1", "task_id": "task_1", "agent": "data-cleaner", "state": "running", "progress": 40,
            "step": "profile", "started_at": "2026-01-01T00:00:00.000Z", "tokens": 12, "cost_usd": 0.5,
        });
        let frame = json!({
            "agents": [task], "queue": { "running": 1 }, "totals": { "tasks": 1, "tokens": 12, "cost_usd": 0.5 },
            "logs": ["2026-01-01T00:00:01.000Z task_1 begun"],
        });
        let cx = Context::default().with_answers(vec![Answered { need: need(), answer: Answer::Given(frame) }]);
        let output = run(input(2), &cx).unwrap();
        assert_eq!((output.agents[0].agent.as_str(), output.agents[0].tokens), ("data-cleaner", 12));
        assert_eq!((output.queue["running"], output.totals["cost_usd"], output.logs.len()), (1, 0.5, 1));
        let broken = json!({ "agents": [{ "id": "task_1" }] });
        let cx = Context::default().with_answers(vec![Answered { need: need(), answer: Answer::Given(broken) }]);
        assert!(matches!(run(input(2), &cx), Err(Failure::Internal { .. })));
    }

    #[test]
    fn a_caller_without_rights_sees_nothing_and_learns_why() {
        let why = "the caller has no scope".to_owned();
        let cx = Context::default().with_answers(vec![Answered { need: need(), answer: Answer::Refused { why } }]);
        let output = run(input(2), &cx).unwrap();
        assert!(output.agents.is_empty() && output.queue.is_empty());
        assert!(cx.into_warnings()[0].contains("no scope"));
    }
}
