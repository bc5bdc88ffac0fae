//! q62: one frame of the monitor of agents.

use muster_core::page::PageParams;
use muster_tasks::task::{Filter, LogLine, Requester, Status, TaskRecord};
use serde_json::{Map, Value, json};

use super::EffectParts;

/// Pages of tasks that one frame of the monitor shows.
const MAX_PAGES: usize = 5;
const PAGE: usize = 200;
const NANOS_PER_USD: f64 = 1e9;

impl EffectParts {
    /// Returns one frame of the monitor, of the tasks that the caller may see.
    pub(super) async fn frame(&self, request: Value, watcher: Option<Requester>) -> Result<Value, String> {
        let requester = watcher.ok_or("the caller has neither the scope `agents` nor the permission `agents:read`")?;
        let names = |field: &str| -> Vec<String> {
            let items = request.get(field).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let (agents, states) = (names("agents"), names("states"));
        let wanted = |status: &Status| {
            if states.is_empty() { !status.ended() } else { states.iter().any(|name| name == status.name()) }
        };
        let filter = Filter { status: Status::ALL.into_iter().filter(wanted).collect(), ..Filter::default() };
        let (mut found, mut after) = (Vec::new(), None);
        if !filter.status.is_empty() {
            for _ in 0..MAX_PAGES {
                let page = PageParams { limit: PAGE, after };
                let page = self.tasks.list(filter.clone(), page, &requester).await.map_err(|error| error.message)?;
                found.extend(page.items.into_iter().filter(|task| agents.is_empty() || agents.contains(&task.agent)));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        let lines = request.get("log_lines").and_then(Value::as_u64).unwrap_or_default();
        let logs = self.logs(&found, usize::try_from(lines).unwrap_or(usize::MAX), &requester).await;
        let mut queue = Map::new();
        for task in &found {
            let count = queue.get(task.status.name()).and_then(Value::as_u64).unwrap_or_default();
            queue.insert(task.status.name().to_owned(), json!(count + 1));
        }
        let tokens = found.iter().map(|task| task.usage.prompt + task.usage.completion).sum::<u64>();
        // The sum of no numbers is −0.
        let cost = found.iter().map(cost_usd).fold(0.0, |sum, cost| sum + cost);
        Ok(json!({
            "agents": found.iter().map(shown).collect::<Vec<_>>(), "queue": queue, "logs": logs,
            "totals": { "tasks": found.len(), "tokens": tokens, "cost_usd": cost },
        }))
    }

    /// Returns the newest log lines of these tasks, oldest first.
    async fn logs(&self, tasks: &[TaskRecord], count: usize, requester: &Requester) -> Vec<String> {
        let mut lines: Vec<(LogLine, &str)> = Vec::new();
        if count > 0 {
            for task in tasks {
                // A task that has ended meanwhile has none.
                let of_task = self.tasks.logs(&task.id, requester, 0, usize::MAX).await.unwrap_or_default();
                let skipped = of_task.len().saturating_sub(count);
                lines.extend(of_task.into_iter().skip(skipped).map(|line| (line, task.id.as_str())));
            }
        }
        lines.sort_by_key(|(line, _)| line.at);
        let skipped = lines.len().saturating_sub(count);
        lines
            .into_iter()
            .skip(skipped)
            .map(|(line, task)| format!("{} {task} {}", line.at.rfc3339(), line.text))
            .collect()
    }
}

fn cost_usd(task: &TaskRecord) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "an amount to be shown")]
    let nanos = task.usage.cost_nanos as f64;
    nanos / NANOS_PER_USD
}

fn shown(task: &TaskRecord) -> Value {
    json!({
        "id": task.id, "task_id": task.id, "agent": task.agent, "state": task.status.name(),
        "progress": task.progress.percent.unwrap_or_default(), "step": task.progress.phase,
        "started_at": task.started_at.unwrap_or(task.created_at).rfc3339(),
        "tokens": task.usage.prompt + task.usage.completion, "cost_usd": cost_usd(task),
    })
}
