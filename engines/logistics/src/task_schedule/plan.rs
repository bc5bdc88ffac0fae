//! Jobs, resources, and the schedule that an order of jobs becomes.

use muster_engine::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
pub(super) enum Objective {
    Makespan,
    TotalTardiness,
    MaxLateness,
}

#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) duration: f64,
    pub(super) release: f64,
    pub(super) due: Option<f64>,
    pub(super) weight: f64,
    /// Resources that have its skills, a bit each.
    pub(super) resources: u64,
    pub(super) after: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed {
    pub(super) resource: usize,
    pub(super) start: f64,
    pub(super) end: f64,
}

/// Where each job is, and what that is worth: fewer jobs left out come first, then the value.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) placed: Vec<Option<Placed>>,
    pub(super) left_out: usize,
    pub(super) value: f64,
}

impl Plan {
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        self.left_out < other.left_out || (self.left_out == other.left_out && self.value < other.value - 1e-9)
    }
}

pub(super) struct Problem {
    pub(super) jobs: Vec<Job>,
    windows: Vec<(f64, f64)>,
    pub(super) objective: Objective,
    /// Jobs in an order in which none comes before one that it waits for.
    pub(super) topological: Vec<usize>,
}

/// Numbers of the bits that are set.
fn members(set: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS).filter(move |bit| set >> bit & 1 == 1).map(|bit| bit as usize)
}

impl Problem {
    /// Fails with a job of a cycle.
    pub(super) fn new(jobs: Vec<Job>, windows: Vec<(f64, f64)>, objective: Objective) -> Result<Self, usize> {
        let mut waits: Vec<usize> = jobs.iter().map(|job| job.after.len()).collect();
        let mut followers = vec![Vec::new(); jobs.len()];
        for (at, job) in jobs.iter().enumerate() {
            for before in &job.after {
                if let Some(followers) = followers.get_mut(*before) {
                    followers.push(at);
                }
            }
        }
        let mut topological: Vec<usize> =
            waits.iter().enumerate().filter(|(_, n)| **n == 0).map(|(at, _)| at).collect();
        let mut next = 0;
        while let Some(at) = topological.get(next).copied() {
            next += 1;
            for follower in followers.get(at).into_iter().flatten() {
                if let Some(count) = waits.get_mut(*follower) {
                    *count -= 1;
                    if *count == 0 {
                        topological.push(*follower);
                    }
                }
            }
        }
        match waits.iter().position(|count| *count > 0) {
            Some(at) => Err(at),
            None => Ok(Self { jobs, windows, objective, topological }),
        }
    }

    pub(super) fn resources(&self) -> usize {
        self.windows.len()
    }

    /// Places jobs in an order of priority, each behind what its resource has, on the resource where it ends first. A job
    /// comes after those that it waits for, whatever its priority.
    pub(super) fn plan(&self, order: &[usize]) -> Plan {
        let mut placed: Vec<Option<Placed>> = vec![None; self.jobs.len()];
        let mut done = vec![false; self.jobs.len()];
        let mut free: Vec<f64> = self.windows.iter().map(|(from, _)| *from).collect();
        // Jobs that wait stand on the stack behind those that they wait for.
        let mut stack = Vec::new();
        for first in order {
            stack.push(*first);
            while let Some(at) = stack.last().copied() {
                if done.get(at).copied().unwrap_or(true) {
                    stack.pop();
                    continue;
                }
                let Some(job) = self.jobs.get(at) else { break };
                let waiting = |before: &&usize| !done.get(**before).copied().unwrap_or(true);
                let height = stack.len();
                stack.extend(job.after.iter().rev().filter(waiting));
                if stack.len() > height {
                    continue;
                }
                stack.pop();
                if let Some(done) = done.get_mut(at) {
                    *done = true;
                }
                let found = self.place(job, &placed, &free);
                if let Some((found, free)) =
                    found.as_ref().and_then(|found| Some((found, free.get_mut(found.resource)?)))
                {
                    *free = found.end;
                }
                if let Some(place) = placed.get_mut(at) {
                    *place = found;
                }
            }
        }
        self.valued(placed)
    }

    fn place(&self, job: &Job, placed: &[Option<Placed>], free: &[f64]) -> Option<Placed> {
        let mut ready = job.release;
        for before in &job.after {
            // A job whose predecessor is left out is left out.
            ready = ready.max(placed.get(*before).copied().flatten()?.end);
        }
        let at = |resource: usize| {
            let (_, until) = self.windows.get(resource)?;
            let start = free.get(resource)?.max(ready);
            let end = start + job.duration;
            (end <= *until + 1e-9).then_some(Placed { resource, start, end })
        };
        members(job.resources).filter_map(at).min_by(|a, b| a.end.total_cmp(&b.end))
    }

    fn valued(&self, placed: Vec<Option<Placed>>) -> Plan {
        let left_out = placed.iter().filter(|placed| placed.is_none()).count();
        let ends = || self.jobs.iter().zip(&placed).filter_map(|(job, placed)| Some((job, placed.as_ref()?.end)));
        let value = match self.objective {
            Objective::Makespan => ends().map(|(_, end)| end).fold(f64::NEG_INFINITY, f64::max),
            Objective::TotalTardiness => {
                ends().filter_map(|(job, end)| Some(job.weight * (end - job.due?).max(0.0))).sum()
            }
            Objective::MaxLateness => {
                ends().filter_map(|(job, end)| Some(end - job.due?)).fold(f64::NEG_INFINITY, f64::max)
            }
        };
        // Nothing is placed, or nothing has a due date.
        Plan { placed, left_out, value: if value.is_finite() { value } else { 0.0 } }
    }

    /// A value that no schedule of the placed jobs is below: of their longest chains, and of the load of each set of
    /// resources that some jobs are bound to.
    pub(super) fn lower_bound(&self, plan: &Plan) -> f64 {
        let placed = |at: usize| plan.placed.get(at).is_some_and(Option::is_some);
        let mut earliest = vec![f64::NEG_INFINITY; self.jobs.len()];
        for at in &self.topological {
            let Some(job) = self.jobs.get(*at).filter(|_| placed(*at)) else { continue };
            let start = job.release.max(self.opens(job.resources).fold(f64::INFINITY, f64::min));
            let start = job.after.iter().filter_map(|before| earliest.get(*before)).fold(start, |a, b| a.max(*b));
            if let Some(end) = earliest.get_mut(*at) {
                *end = start + job.duration;
            }
        }
        let jobs: Vec<(&Job, f64)> = self
            .jobs
            .iter()
            .zip(&earliest)
            .enumerate()
            .filter(|(at, _)| placed(*at))
            .map(|(_, (job, end))| (job, *end))
            .collect();
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let bound = match self.objective {
            Objective::Makespan => {
                let chain = least(&mut jobs.iter().map(|(_, end)| *end));
                let load = least(&mut jobs.iter().map(|(job, _)| self.load(&jobs, job.resources, f64::INFINITY)));
                chain.max(load)
            }
            Objective::TotalTardiness => {
                jobs.iter().filter_map(|(job, end)| Some(job.weight * (end - job.due?).max(0.0))).sum()
            }
            Objective::MaxLateness => {
                let chain = least(&mut jobs.iter().filter_map(|(job, end)| Some(end - job.due?)));
                let load = least(&mut jobs.iter().filter_map(|(job, _)| {
                    let due = job.due?;
                    Some(self.load(&jobs, job.resources, due) - due)
                }));
                chain.max(load)
            }
        };
        if bound.is_finite() { bound } else { 0.0 }
    }

    /// Times at which resources open.
    fn opens(&self, resources: u64) -> impl Iterator<Item = f64> {
        members(resources).filter_map(|at| self.windows.get(at)).map(|(from, _)| *from)
    }

    /// When the last of the jobs ends that can only run on these resources and are due by then: at least when each
    /// resource has its share, from the time at which it opens.
    fn load(&self, jobs: &[(&Job, f64)], resources: u64, due: f64) -> f64 {
        let bound_to = |job: &Job| job.resources & !resources == 0;
        let due_by = |job: &Job| job.due.map_or(due == f64::INFINITY, |own| own <= due);
        let work: f64 = jobs.iter().filter(|(job, _)| bound_to(job) && due_by(job)).map(|(job, _)| job.duration).sum();
        // Water is poured on the opening times until it holds the work.
        let mut opens: Vec<f64> = self.opens(resources).collect();
        opens.sort_by(f64::total_cmp);
        let mut sum = 0.0;
        let mut best = f64::NEG_INFINITY;
        for (at, open) in opens.iter().enumerate() {
            sum += open;
            let level = (work + sum) / (at + 1) as f64;
            best = level;
            if opens.get(at + 1).is_none_or(|next| level <= *next) {
                break;
            }
        }
        // Without work nothing need end.
        if work > 0.0 { best } else { f64::NEG_INFINITY }
    }
}
