//! The controls that are applied to the tasks, and their outcomes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use crate::monitor::{Accepted, Monitor};
use crate::{ControlBench, Failure, upstream};

/// Concurrent commands in phases without mutual waits.
const CONCURRENCY: usize = 4;
/// The instructions of three redirects of a task, in order.
const DIRECTIONS: [&str; 3] = ["look at the roof", "then at the doors", "then at the cellar"];

/// Durations in milliseconds.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn add(&mut self, from: Instant, to: Instant) {
        self.0.push(to.saturating_duration_since(from).as_secs_f64() * 1e3);
    }

    fn json(mut self) -> Value {
        self.0.sort_by(f64::total_cmp);
        let at = |share: f64| self.0.get(((self.0.len() as f64 - 1.0) * share) as usize).copied();
        json!({ "p50_ms": at(0.5), "p99_ms": at(0.99), "most_ms": self.0.last() })
    }
}

/// Kills tasks one after the other, a few at a time.
pub async fn kill(bench: &ControlBench, numbers: Range<usize>, idems: &mut Vec<String>) -> Result<Value, Failure> {
    let killed = stream::iter(numbers.clone()).map(|number| async move {
        let (monitor, id, idem) = (bench.monitor(number)?, bench.id(number), format!("kill-{number}"));
        let accepted = monitor.command("kill", id, json!({}), &idem).await?;
        let (applied, ended) = (monitor.end_of(&idem).await?, monitor.task_end(id).await?);
        crate::wait_until("the provider's connection is closed", || bench.streams.left(number).is_some()).await?;
        Ok::<_, Failure>((idem, accepted, applied, ended, bench.streams.left(number)))
    });
    let killed: Vec<_> = killed.buffer_unordered(CONCURRENCY).try_collect().await?;
    let [mut answer, mut event, mut end, mut closed] = [(); 4].map(|()| Times::default());
    for (idem, Accepted { sent, answered }, applied, ended, left) in killed {
        idems.push(idem);
        answer.add(sent, answered);
        event.add(sent, applied);
        end.add(sent, ended);
        left.into_iter().for_each(|left| closed.add(sent, left));
    }
    Ok(json!({
        "count": numbers.len(), "answer": answer.json(), "control_applied": event.json(), "task_end": end.json(),
        "connection_closed": closed.json(),
    }))
}

/// Tasks pause in the middle of their models' answers: the text that monitors received before must be kept.
pub async fn pause(bench: &ControlBench, numbers: Range<usize>, idems: &mut Vec<String>) -> Result<Value, Failure> {
    let paused = stream::iter(numbers).map(|number| async move {
        let (monitor, id, idem) = (bench.monitor(number)?, bench.id(number), format!("pause-{number}"));
        let streamed = monitor.words(id);
        let accepted = monitor.command("pause", id, json!({ "now": true }), &idem).await?;
        let applied = monitor.end_of(&idem).await?;
        let task = bench.task(number).await?;
        let partial = task.get("partial").and_then(Value::as_str).unwrap_or_default();
        let words = u64::try_from(partial.split_whitespace().count())?;
        let kept = words >= streamed && words > 0 && partial == upstream::text(words);
        let is_paused = task.get("status").and_then(Value::as_str) == Some("paused");
        Ok::<_, Failure>((idem, accepted, applied, kept && is_paused))
    });
    let paused: Vec<_> = paused.buffer_unordered(CONCURRENCY).try_collect().await?;
    let (mut event, mut kept) = (Times::default(), 0_usize);
    let count = paused.len();
    for (idem, Accepted { sent, .. }, applied, is_kept) in paused {
        idems.push(idem);
        event.add(sent, applied);
        kept += usize::from(is_kept);
    }
    Ok(json!({ "count": count, "text_kept": kept, "control_applied": event.json() }))
}

/// Three redirects of each task, then its model's answer ends: the next request has to bring all three, in their order.
pub async fn redirect(bench: &ControlBench, numbers: Range<usize>, idems: &mut Vec<String>) -> Result<Value, Failure> {
    let redirected = stream::iter(numbers).map(|number| async move {
        let (monitor, id) = (bench.monitor(number)?, bench.id(number));
        let idems = [0, 1, 2].map(|at| format!("redirect-{number}-{at}"));
        for (idem, direction) in idems.iter().zip(DIRECTIONS) {
            monitor.command("redirect", id, json!({ "instruction": direction }), idem).await?;
        }
        bench.streams.finish(number);
        monitor.task_end(id).await?;
        let joined = joined_in_order(bench, number) && ended_in_order(monitor, &idems).await?;
        Ok::<_, Failure>((idems, joined))
    });
    let redirected: Vec<_> = redirected.buffer_unordered(CONCURRENCY).try_collect().await?;
    let in_order = redirected.iter().filter(|(_, in_order)| *in_order).count();
    let count = redirected.len();
    idems.extend(redirected.into_iter().flat_map(|(idems, _)| idems));
    Ok(json!({ "tasks": count, "in_order": in_order }))
}

fn joined_in_order(bench: &ControlBench, number: usize) -> bool {
    let again = bench.streams.later_requests(number);
    let Some(first) = again.first() else { return false };
    let at = DIRECTIONS.map(|direction| first.find(direction));
    at.iter().all(Option::is_some) && at.is_sorted()
}

async fn ended_in_order(monitor: &Monitor, idems: &[String; 3]) -> Result<bool, Failure> {
    let mut at = Vec::new();
    for idem in idems {
        at.push(monitor.end_of(idem).await?);
    }
    Ok(at.is_sorted())
}

/// Controls that wait for a boundary, and a kill that overtakes them.
pub async fn overtake(bench: &ControlBench, numbers: Range<usize>, idems: &mut Vec<String>) -> Result<(), Failure> {
    let overtaken = stream::iter(numbers).map(|number| async move {
        let (monitor, id) = (bench.monitor(number)?, bench.id(number));
        let idems = ["steered", "held", "ended"].map(|mutex| format!("{mutex}-{number}"));
        let [steered, held, ended] = &idems;
        monitor.command("redirect", id, json!({ "instruction": DIRECTIONS.concat() }), steered).await?;
        monitor.command("pause", id, json!({}), held).await?;
        monitor.command("kill", id, json!({}), ended).await?;
        Ok::<_, Failure>(idems)
    });
    let overtaken: Vec<_> = overtaken.buffer_unordered(CONCURRENCY).try_collect().await?;
    idems.extend(overtaken.into_iter().flatten());
    Ok(())
}

/// Whether each monitor saw one end of each control that was accepted.
pub async fn ends(bench: &ControlBench, idems: &[String]) -> Result<Value, Failure> {
    let state = |monitor: &Monitor| {
        let ends = monitor.state.ends.lock().map(|ends| ends.len());
        ends.is_ok_and(|ends| ends >= idems.len())
    };
    let patience = Duration::from_secs(30);
    let all = crate::wait_until("every monitor saw every control end", || bench.monitors.iter().all(state));
    // What is missing is counted below.
    let _ = tokio::time::timeout(patience, all).await;
    let (mut missing, mut doubled, mut disagreeing) = (0, 0, 0);
    let mut outcomes = BTreeMap::<String, usize>::new();
    for idem in idems {
        let mut first = None;
        for monitor in &bench.monitors {
            let ends = monitor.state.ends.lock().map_err(|_| "a monitor broke")?;
            let ends = ends.get(idem).map(Vec::as_slice).unwrap_or_default();
            missing += usize::from(ends.is_empty());
            doubled += usize::from(ends.len() > 1);
            if let Some((outcome, _)) = ends.first() {
                disagreeing += usize::from(first.get_or_insert_with(|| outcome.clone()) != outcome);
            }
        }
        *outcomes.entry(first.unwrap_or_else(|| "none".to_owned())).or_default() += 1;
    }
    Ok(json!({
        "accepted": idems.len(), "outcomes": outcomes, "missing": missing, "doubled": doubled, "disagreeing": disagreeing,
    }))
}
