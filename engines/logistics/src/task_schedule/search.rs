//! The search for a good order: rules, then swaps and insertions; all orders for few jobs on one resource.

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;

use super::plan::{Objective, Plan, Problem};

/// Jobs times resources, and links, of all plans that are made.
const MAX_WORK: u64 = 20_000_000;
const MAX_PLANS: u64 = 20_000;
/// Jobs up to which all orders on one resource are compared, and orders that are begun.
const MAX_EXACT: usize = 10;
const MAX_ORDERS: u64 = 1_000_000;

pub(super) struct Best {
    pub(super) plan: Plan,
    pub(super) proven: bool,
}

pub(super) fn best(problem: &Problem, seed: i64, cx: &Context) -> Best {
    let (mut order, mut plan) = by_rules(problem);
    // The bound is of the placed jobs: it is the same for all plans that place all.
    let mut bound = None;
    let mut is_optimal = |plan: &Plan| {
        plan.left_out == 0 && plan.value <= *bound.get_or_insert_with(|| problem.lower_bound(plan)) + 1e-9
    };
    if problem.jobs.len() < 2 || problem.resources() == 0 || is_optimal(&plan) {
        return Best { proven: problem.jobs.len() < 2 || is_optimal(&plan), plan };
    }
    if problem.resources() == 1 && problem.jobs.len() <= MAX_EXACT {
        let mut search =
            Exact { problem, best: plan, order: Vec::new(), used: vec![false; problem.jobs.len()], left: MAX_ORDERS };
        let proven = search.descend();
        return Best { plan: search.best, proven };
    }
    let links: usize = problem.jobs.iter().map(|job| job.after.len()).sum();
    let cost = (problem.jobs.len() * problem.resources().max(4) + links) as u64;
    let plans = (MAX_WORK / cost).min(MAX_PLANS);
    let mut sampler = Sampler::new(seed);
    let (mut here, mut value) = (order.clone(), plan.clone());
    let mut stale = 0;
    for done in 0..plans {
        if done % 500 == 0 {
            cx.progress(done, plans, "improving the schedule");
        }
        let mut next = here.clone();
        let (a, b) = (sampler.index(next.len()), sampler.index(next.len()));
        if sampler.uniform() < 0.5 {
            next.swap(a, b);
        } else {
            let job = next.remove(a);
            next.insert(b, job);
        }
        let found = problem.plan(&next);
        // Plans of equal value are taken, so that plateaus are crossed.
        if !value.is_better_than(&found) {
            stale = if found.is_better_than(&value) { 0 } else { stale + 1 };
            (here, value) = (next, found);
            if value.is_better_than(&plan) {
                (order, plan) = (here.clone(), value.clone());
                if is_optimal(&plan) {
                    break;
                }
            }
        } else {
            stale += 1;
        }
        if stale > 2_000 {
            // From the best again, after a few random steps.
            here.clone_from(&order);
            for _ in 0..4 {
                let (a, b) = (sampler.index(here.len()), sampler.index(here.len()));
                here.swap(a, b);
            }
            value = problem.plan(&here);
            stale = 0;
        }
    }
    let proven = is_optimal(&plan);
    Best { plan, proven }
}

/// The best of list scheduling by rules: longest first, due first, released first, and least slack for its weight.
fn by_rules(problem: &Problem) -> (Vec<usize>, Plan) {
    let mean = problem.jobs.iter().map(|job| job.duration).sum::<f64>() / problem.jobs.len().max(1) as f64;
    let due = |at: &usize| problem.jobs.get(*at).and_then(|job| job.due).unwrap_or(f64::MAX);
    let duration = |at: &usize| problem.jobs.get(*at).map_or(0.0, |job| job.duration);
    let release = |at: &usize| problem.jobs.get(*at).map_or(0.0, |job| job.release);
    // Apparent tardiness cost at time zero (Vepsalainen and Morton 1987), with look-ahead of two mean durations.
    let urgency = |at: &usize| {
        let Some(job) = problem.jobs.get(*at) else { return 0.0 };
        let slack = (due(at) - job.duration).clamp(0.0, 1e12);
        job.weight / job.duration.max(1e-9) * libm::exp(-slack / (2.0 * mean.max(1e-9)))
    };
    let sorted = |key: &dyn Fn(&usize) -> f64| {
        let mut order = problem.topological.clone();
        order.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
        order
    };
    let orders = [
        problem.topological.clone(),
        sorted(&|at| -duration(at)),
        sorted(&due),
        sorted(&release),
        sorted(&|at| -urgency(at)),
        sorted(&|at| if problem.objective == Objective::Makespan { -duration(at) } else { due(at) - duration(at) }),
    ];
    let mut best: Option<(Vec<usize>, Plan)> = None;
    for order in orders {
        let plan = problem.plan(&order);
        if best.as_ref().is_none_or(|(_, best)| plan.is_better_than(best)) {
            best = Some((order, plan));
        }
    }
    best.unwrap_or_else(|| (Vec::new(), problem.plan(&[])))
}

/// All orders on one resource, depth first; an order whose beginning is worth no less than the best ends there.
struct Exact<'a> {
    problem: &'a Problem,
    best: Plan,
    order: Vec<usize>,
    used: Vec<bool>,
    left: u64,
}

impl Exact<'_> {
    /// Returns whether all orders were compared.
    fn descend(&mut self) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let count = self.problem.jobs.len();
        if self.order.len() == count {
            let plan = self.problem.plan(&self.order);
            if plan.is_better_than(&self.best) {
                self.best = plan;
            }
            return true;
        }
        let job = |at: &usize| self.problem.jobs.get(*at);
        let has_value = self.problem.objective != Objective::MaxLateness
            || self.order.iter().filter_map(job).any(|job| job.due.is_some());
        if !self.order.is_empty() && has_value && self.best.left_out == 0 {
            // What is placed so far is worth at least as much in the end.
            let begun = self.problem.plan(&self.order);
            let left_out = begun.left_out - (count - self.order.len());
            if left_out > 0 || begun.value >= self.best.value - 1e-9 {
                return true;
            }
        }
        for at in 0..count {
            let waits =
                self.problem.jobs.get(at).is_some_and(|job| {
                    job.after.iter().any(|before| !self.used.get(*before).copied().unwrap_or(false))
                });
            if waits || self.used.get(at).copied().unwrap_or(true) {
                continue;
            }
            self.mark(at, true);
            self.order.push(at);
            let all = self.descend();
            self.order.pop();
            self.mark(at, false);
            if !all {
                return false;
            }
        }
        true
    }

    fn mark(&mut self, at: usize, used: bool) {
        if let Some(mark) = self.used.get_mut(at) {
            *mark = used;
        }
    }
}
