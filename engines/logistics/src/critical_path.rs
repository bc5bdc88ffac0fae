//! q77: critical path and PERT.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::dist::normal_cdf;

use crate::bounds::{at_most, distinct};

const MAX_TASKS: usize = 5_000;
/// Float below which a task is critical, as a share of the duration of the plan.
const CRITICAL: f64 = 1e-9;
/// Bars that a diagram shows.
const MAX_BARS: usize = 200;

/// A task: a duration, or three estimates of it.
#[derive(Input)]
pub struct TaskInput {
    id: String,
    duration_h: Option<f64>,
    optimistic_h: Option<f64>,
    likely_h: Option<f64>,
    pessimistic_h: Option<f64>,
    after: Option<Vec<String>>,
    #[expect(dead_code, reason = "agents bind plans as they are; resources do not limit a critical path")]
    resource: Option<String>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    tasks: Vec<TaskInput>,
    start: Option<Timestamp>,
    deadline_h: Option<f64>,
}

/// Times of a task in hours from the start.
#[derive(Output)]
pub struct Task {
    id: String,
    es: f64,
    ef: f64,
    ls: f64,
    lf: f64,
    float: f64,
    critical: bool,
}

/// Output of the engine. The probability is absent without a deadline.
#[derive(Output)]
pub struct Output {
    tasks: Vec<Task>,
    critical_path: Vec<String>,
    duration_h: f64,
    sd_h: f64,
    probability: Option<f64>,
    mermaid: String,
}

/// Times of all tasks by their numbers.
struct Plan {
    before: Vec<Vec<usize>>,
    order: Vec<usize>,
    length: Vec<f64>,
    variance: Vec<f64>,
}

fn at(values: &[f64], index: usize) -> f64 {
    values.get(index).copied().unwrap_or(0.0)
}

/// Computes earliest and latest times. The variance of the plan is that of the longest path; of several the one with the
/// largest variance counts.
///
/// # Errors
/// A task without a duration, an unknown or circular order, too many tasks.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let plan = plan(&input.tasks)?;
    let count = input.tasks.len();
    let mut early = vec![0.0; count];
    let mut finish = vec![0.0_f64; count];
    // Longest path to each task: the task before it, and the variance so far.
    let mut previous: Vec<Option<usize>> = vec![None; count];
    let mut spread = vec![0.0; count];
    for &task in &plan.order {
        let mut best: Option<(f64, f64, usize)> = None;
        for &before in plan.before.get(task).into_iter().flatten() {
            let (end, variance) = (at(&finish, before), at(&spread, before));
            if best.is_none_or(|(most, widest, _)| end > most || end == most && variance > widest) {
                best = Some((end, variance, before));
            }
        }
        let (start, variance) = best.map_or((0.0, 0.0), |(end, variance, _)| (end, variance));
        put(&mut early, task, start);
        put(&mut finish, task, start + at(&plan.length, task));
        put(&mut previous, task, best.map(|(.., before)| before));
        put(&mut spread, task, variance + at(&plan.variance, task));
    }
    let duration = finish.iter().copied().fold(0.0, f64::max);
    let mut late = vec![duration; count];
    for &task in plan.order.iter().rev() {
        let start = at(&late, task) - at(&plan.length, task);
        for &before in plan.before.get(task).into_iter().flatten() {
            let end = at(&late, before).min(start);
            put(&mut late, before, end);
        }
    }
    let last = (0..count).filter(|task| at(&finish, *task) == duration);
    let last = last.max_by(|one, other| at(&spread, *one).total_cmp(&at(&spread, *other)).then(other.cmp(one)));
    let mut path = Vec::new();
    let mut next = last;
    while let Some(task) = next {
        path.push(task);
        next = previous.get(task).copied().flatten();
    }
    path.reverse();
    let deviation = last.map_or(0.0, |task| at(&spread, task).sqrt());
    let tasks: Vec<Task> = input
        .tasks
        .iter()
        .enumerate()
        .map(|(index, task)| {
            let (es, lf, length) = (at(&early, index), at(&late, index), at(&plan.length, index));
            let float = (lf - length - es).max(0.0);
            let critical = float <= CRITICAL * duration.max(1.0);
            Task { id: task.id.clone(), es, ef: es + length, ls: lf - length, lf, float, critical }
        })
        .collect();
    if deviation > 0.0 {
        cx.assume("durations are independent, and the longest path stays the longest");
    }
    let probability = input.deadline_h.map(|deadline| {
        if deviation > 0.0 {
            normal_cdf((deadline - duration) / deviation)
        } else {
            f64::from(u8::from(deadline >= duration))
        }
    });
    let names = path.iter().filter_map(|task| input.tasks.get(*task)).map(|task| task.id.clone());
    Ok(Output {
        critical_path: names.collect(),
        duration_h: duration,
        sd_h: deviation,
        probability,
        mermaid: diagram(&tasks, input.start),
        tasks,
    })
}

fn put<T>(values: &mut [T], index: usize, value: T) {
    if let Some(entry) = values.get_mut(index) {
        *entry = value;
    }
}

fn plan(tasks: &[TaskInput]) -> Result<Plan, Failure> {
    at_most(tasks.len(), MAX_TASKS, "tasks")?;
    distinct("tasks", tasks.iter().map(|task| task.id.as_str()))?;
    let numbers: BTreeMap<&str, usize> =
        tasks.iter().enumerate().map(|(index, task)| (task.id.as_str(), index)).collect();
    let (mut length, mut variance) = (Vec::with_capacity(tasks.len()), Vec::with_capacity(tasks.len()));
    let mut before: Vec<Vec<usize>> = Vec::with_capacity(tasks.len());
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (index, task) in tasks.iter().enumerate() {
        let (mean, spread) = duration(index, task)?;
        length.push(mean);
        variance.push(spread);
        let mut list = Vec::new();
        for name in task.after.iter().flatten() {
            let loc = ["tasks", &index.to_string(), "after"];
            let number = *numbers
                .get(name.as_str())
                .ok_or_else(|| Failure::invalid(&loc, format!("has {name}, which is the id of no task")))?;
            list.push(number);
            if let Some(list) = after.get_mut(number) {
                list.push(index);
            }
        }
        before.push(list);
    }
    // Kahn's order.
    let mut waiting: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut order: Vec<usize> =
        waiting.iter().enumerate().filter(|(_, count)| **count == 0).map(|(task, _)| task).collect();
    let mut done = 0;
    while let Some(&task) = order.get(done) {
        done += 1;
        for &next in after.get(task).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    order.push(next);
                }
            }
        }
    }
    if order.len() < tasks.len() {
        let stuck = waiting.iter().zip(tasks).find(|(count, _)| **count > 0).map_or("", |(_, task)| &task.id);
        return Err(Failure::invalid(
            &["tasks"],
            format!("have a circular order: {stuck} waits for itself, or for tasks that do"),
        ));
    }
    Ok(Plan { before, order, length, variance })
}

/// Mean and variance of a duration.
fn duration(index: usize, task: &TaskInput) -> Result<(f64, f64), Failure> {
    let index = index.to_string();
    let refused = |member: &str, message: &str| Failure::invalid(&["tasks", &index, member], message);
    match (task.optimistic_h, task.likely_h, task.pessimistic_h, task.duration_h) {
        (Some(least), Some(likely), Some(most), _) => {
            if least < 0.0 || least > likely || likely > most {
                return Err(refused(
                    "likely",
                    "must be between the optimistic and the pessimistic duration, which may not be negative",
                ));
            }
            Ok(((least + 4.0 * likely + most) / 6.0, ((most - least) / 6.0).powi(2)))
        }
        (_, _, _, Some(duration)) if duration >= 0.0 => Ok((duration, 0.0)),
        (_, _, _, Some(_)) => Err(refused("duration", "must not be negative")),
        _ => Err(refused("duration", "is missing: give it, or the optimistic, likely and pessimistic one")),
    }
}

/// A Gantt chart of Mermaid. Names keep letters, digits and blanks.
fn diagram(tasks: &[Task], start: Option<Timestamp>) -> String {
    let start = start.unwrap_or(Timestamp::UNIX_EPOCH);
    let mut text = String::from("gantt\n    dateFormat YYYY-MM-DDTHH:mm:ss\n    axisFormat %d %H:%M\n");
    for task in tasks.iter().take(MAX_BARS) {
        let name: String =
            task.id.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { ' ' }).collect();
        let seconds = |hours: f64| written_time(start, hours);
        let (Some(from), Some(to)) = (seconds(task.es), seconds(task.ef)) else { continue };
        let mark = if task.critical { "crit, " } else { "" };
        text.push_str(&format!("    {name} :{mark}{from}, {to}\n"));
    }
    text
}

/// Time after hours, without its zone; `None` beyond the calendar.
fn written_time(start: Timestamp, hours: f64) -> Option<String> {
    let seconds = start.as_second().checked_add((hours * 3_600.0).round() as i64)?;
    let time = Timestamp::from_second(seconds).ok()?.to_string();
    Some(time.trim_end_matches('Z').to_owned())
}
