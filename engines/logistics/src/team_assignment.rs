//! q67: team to task assignment.

use muster_engine::prelude::*;
use muster_kernel_choice::{assign, at};
use muster_kernel_earth as earth;

use crate::bounds::{at_most, distinct, position};

const MAX_SIDE: usize = 400;

/// A team.
#[derive(Input)]
pub struct Team {
    id: String,
    lat: Option<f64>,
    lon: Option<f64>,
    skills: Option<Vec<String>>,
}

/// A task.
#[derive(Input)]
pub struct Task {
    id: String,
    lat: Option<f64>,
    lon: Option<f64>,
    requires: Option<Vec<String>>,
    priority: Option<f64>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    cost: Option<Vec<Vec<f64>>>,
    teams: Option<Vec<Team>>,
    tasks: Option<Vec<Task>>,
    maximise: bool,
}

/// A pair.
#[derive(Output)]
pub struct Pair {
    team: String,
    task: String,
    cost: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    assignments: Vec<Pair>,
    total: f64,
    unassigned_teams: Vec<String>,
    unassigned_tasks: Vec<String>,
}

/// Assigns teams to tasks one to one: as many as possible, then at the best total. The cost of a pair is that of the
/// matrix (rows are teams), else the distance in kilometres times the priority of the task (1 if it has none); a team
/// without a required skill may not have the task. Without a matrix or positions all pairs cost the same. Without a matrix,
/// tasks of higher priority come before others where teams are too few.
///
/// # Errors
/// Neither a matrix nor both lists, a matrix of other size, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let teams = input.teams.unwrap_or_default();
    let tasks = input.tasks.unwrap_or_default();
    distinct("teams", teams.iter().map(|team| team.id.as_str()))?;
    distinct("tasks", tasks.iter().map(|task| task.id.as_str()))?;
    let has_matrix = input.cost.is_some();
    let mut cost = match input.cost {
        Some(cost) => matrix(cost, teams.len(), tasks.len())?,
        None if teams.is_empty() || tasks.is_empty() => {
            return Err(Failure::invalid(&["cost"], "is missing: give a matrix, or teams and tasks"));
        }
        None => distances(&teams, &tasks, cx)?,
    };
    let columns = cost.first().map_or(0, Vec::len);
    at_most(cost.len().max(columns), MAX_SIDE, "teams or tasks")?;
    for (row, team) in cost.iter_mut().zip(&teams) {
        for (entry, task) in row.iter_mut().zip(&tasks) {
            let skills = team.skills.as_deref().unwrap_or_default();
            if !task.requires.iter().flatten().all(|skill| skills.contains(skill)) {
                *entry = f64::INFINITY;
            }
        }
    }
    let sign = if input.maximise { -1.0 } else { 1.0 };
    let signed: Vec<Vec<f64>> = cost
        .iter()
        .map(|row| row.iter().map(|entry| if entry.is_finite() { sign * entry } else { f64::INFINITY }).collect())
        .collect();
    let urgent = !has_matrix && !input.maximise;
    let found = assign(&if urgent { by_priority(signed, &tasks) } else { signed });
    let team_name = |row: usize| teams.get(row).map_or_else(|| row.to_string(), |team| team.id.clone());
    let task_name = |column: usize| tasks.get(column).map_or_else(|| column.to_string(), |task| task.id.clone());
    let mut assignments = Vec::new();
    let mut unassigned_teams = Vec::new();
    let mut taken = vec![false; columns];
    for (row, column) in found.columns.iter().enumerate() {
        match column {
            Some(column) => {
                if let Some(taken) = taken.get_mut(*column) {
                    *taken = true;
                }
                let cost = cost.get(row).map_or(0.0, |row| at(row, *column));
                assignments.push(Pair { team: team_name(row), task: task_name(*column), cost });
            }
            None => unassigned_teams.push(team_name(row)),
        }
    }
    Ok(Output {
        total: assignments.iter().map(|pair| pair.cost).sum(),
        assignments,
        unassigned_teams,
        unassigned_tasks: (0..columns).filter(|column| !at(&taken, *column)).map(task_name).collect(),
    })
}

/// Lowers the costs of a task by its place among the priorities, times more than all distances can differ: what may be
/// covered together is a matroid, so that places choose the same tasks as any other rising weights.
fn by_priority(mut cost: Vec<Vec<f64>>, tasks: &[Task]) -> Vec<Vec<f64>> {
    let priority = |task: &Task| task.priority.unwrap_or(1.0);
    let mut places: Vec<f64> = tasks.iter().map(priority).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let largest = cost.iter().flatten().filter(|entry| entry.is_finite()).fold(0.0, |a: f64, b| a.max(b.abs()));
    let more = 2.0 * largest * cost.len().min(tasks.len()) as f64 + 1.0;
    let gains: Vec<f64> =
        tasks.iter().map(|task| more * places.partition_point(|place| *place < priority(task)) as f64).collect();
    for (entry, gain) in cost.iter_mut().flat_map(|row| row.iter_mut().zip(&gains)) {
        *entry -= gain;
    }
    cost
}

fn matrix(cost: Vec<Vec<f64>>, teams: usize, tasks: usize) -> Result<Vec<Vec<f64>>, Failure> {
    let columns = cost.first().map_or(0, Vec::len);
    if columns == 0 {
        return Err(Failure::invalid(&["cost"], "is empty"));
    }
    if let Some(row) = cost.iter().position(|row| row.len() != columns) {
        return Err(Failure::invalid(
            &["cost", &row.to_string()],
            format!("must have {columns} entries, as the first row"),
        ));
    }
    for (name, listed, has) in [("teams", teams, cost.len()), ("tasks", tasks, columns)] {
        if listed > 0 && listed != has {
            return Err(Failure::invalid(&[name], format!("has {listed} entries, and the matrix is for {has}")));
        }
    }
    Ok(cost)
}

fn distances(teams: &[Team], tasks: &[Task], cx: &Context) -> Result<Vec<Vec<f64>>, Failure> {
    let place = |field: &str, index: usize, lat: Option<f64>, lon: Option<f64>| {
        lat.zip(lon).map(|(lat, lon)| position(&[field, &index.to_string()], lat, lon)).transpose()
    };
    let mut places = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.iter().enumerate() {
        places.push(place("tasks", index, task.lat, task.lon)?);
    }
    let mut unplaced = false;
    let mut cost = Vec::with_capacity(teams.len());
    at_most(teams.len().max(tasks.len()), MAX_SIDE, "teams or tasks")?;
    for (index, team) in teams.iter().enumerate() {
        let from = place("teams", index, team.lat, team.lon)?;
        let row = tasks.iter().zip(&places).map(|(task, to)| match from.zip(*to) {
            Some((from, to)) => earth::inverse(from, to).distance / 1_000.0 * task.priority.unwrap_or(1.0),
            None => {
                unplaced = true;
                0.0
            }
        });
        cost.push(row.collect());
    }
    if unplaced {
        cx.warn("unplaced: pairs without two positions cost nothing");
    }
    Ok(cost)
}
