//! q78: crew and machine scheduling.

mod plan;
mod search;

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use crate::bounds::{at_most, distinct, not_negative};
use plan::{Job, Objective, Plan, Problem};

const MAX_JOBS: usize = 500;
const MAX_RESOURCES: usize = 50;
const MAX_LINKS: usize = 5_000;
/// Times beyond this lose whole minutes.
const MAX_TIME: f64 = 1e9;

#[derive(Input)]
pub struct Input {
    jobs: Vec<JobIn>,
    resources: Vec<ResourceIn>,
    objective: Objective,
    seed: i64,
}

#[derive(Input)]
struct JobIn {
    id: String,
    duration: f64,
    release: Option<f64>,
    due: Option<f64>,
    weight: Option<f64>,
    skills: Option<Vec<String>>,
    after: Option<Vec<String>>,
}

#[derive(Input)]
struct ResourceIn {
    id: String,
    skills: Option<Vec<String>>,
    available_from: Option<f64>,
    available_to: Option<f64>,
}

#[derive(Output)]
pub struct Output {
    schedule: Vec<Slot>,
    objective_value: f64,
    lower_bound: f64,
    unscheduled: Vec<String>,
}

#[derive(Output)]
struct Slot {
    job: String,
    resource: String,
    start: f64,
    end: f64,
    late: f64,
}

/// Schedules jobs on resources.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let problem = problem(&input)?;
    let best = search::best(&problem, input.seed, cx);
    let lower_bound = problem.lower_bound(&best.plan).min(best.plan.value);
    if best.plan.placed.iter().any(Option::is_none) {
        cx.warn("unscheduled: some jobs have no resource with their skills, or do not fit into its time");
    }
    if !best.proven && best.plan.value > lower_bound {
        cx.warn("unproven: a better schedule may exist; lower_bound says how much better at most");
    }
    Ok(output(&input, &problem, &best.plan, lower_bound))
}

fn output(input: &Input, problem: &Problem, plan: &Plan, lower_bound: f64) -> Output {
    let mut schedule: Vec<Slot> = Vec::new();
    let mut unscheduled = Vec::new();
    for ((given, job), placed) in input.jobs.iter().zip(&problem.jobs).zip(&plan.placed) {
        match placed {
            Some(placed) => schedule.push(Slot {
                job: given.id.clone(),
                resource: input.resources.get(placed.resource).map_or_else(String::new, |resource| resource.id.clone()),
                start: placed.start,
                end: placed.end,
                late: job.due.map_or(0.0, |due| (placed.end - due).max(0.0)),
            }),
            None => unscheduled.push(given.id.clone()),
        }
    }
    schedule.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.resource.cmp(&b.resource)).then(a.job.cmp(&b.job)));
    Output { schedule, objective_value: plan.value, lower_bound, unscheduled }
}

fn problem(input: &Input) -> Result<Problem, Failure> {
    at_most(input.jobs.len(), MAX_JOBS, "jobs")?;
    at_most(input.resources.len(), MAX_RESOURCES, "resources")?;
    distinct("jobs", input.jobs.iter().map(|job| job.id.as_str()))?;
    distinct("resources", input.resources.iter().map(|resource| resource.id.as_str()))?;
    let index: BTreeMap<&str, usize> = input.jobs.iter().enumerate().map(|(at, job)| (job.id.as_str(), at)).collect();
    let windows: Vec<(f64, f64)> = input
        .resources
        .iter()
        .map(|resource| (resource.available_from.unwrap_or(0.0), resource.available_to.unwrap_or(f64::INFINITY)))
        .collect();
    for (at, resource) in input.resources.iter().enumerate() {
        for (name, time) in [("available_from", resource.available_from), ("available_to", resource.available_to)] {
            if time.is_some_and(|time| time.abs() > MAX_TIME) {
                return Err(Failure::invalid(
                    &["resources", &at.to_string(), name],
                    format!("must be within ±{MAX_TIME:e}"),
                ));
            }
        }
    }
    let skills: Vec<BTreeSet<&String>> =
        input.resources.iter().map(|resource| resource.skills.iter().flatten().collect()).collect();
    let mut jobs = Vec::new();
    let mut links = 0;
    for (at, job) in input.jobs.iter().enumerate() {
        let at = at.to_string();
        not_negative(["jobs", &at, "duration"], job.duration)?;
        not_negative(["jobs", &at, "weight"], job.weight.unwrap_or(1.0))?;
        let times =
            [("duration", Some(job.duration)), ("release", job.release), ("due", job.due), ("weight", job.weight)];
        for (name, time) in times {
            if time.is_some_and(|time| time.abs() > MAX_TIME) {
                return Err(Failure::invalid(&["jobs", &at, name], format!("must be within ±{MAX_TIME:e}")));
            }
        }
        let mut after = BTreeSet::new();
        for (nth, id) in job.after.iter().flatten().enumerate() {
            let other = index.get(id.as_str()).copied();
            let wrong = || Failure::invalid(&["jobs", &at, "after", &nth.to_string()], "is no job");
            after.insert(other.ok_or_else(wrong)?);
        }
        links += after.len();
        at_most(links, MAX_LINKS, "links by `after`")?;
        let needed: BTreeSet<&String> = job.skills.iter().flatten().collect();
        let able = skills.iter().enumerate().filter(|(_, skills)| needed.is_subset(skills));
        jobs.push(Job {
            duration: job.duration,
            release: job.release.unwrap_or(f64::NEG_INFINITY),
            due: job.due,
            weight: job.weight.unwrap_or(1.0),
            resources: able.fold(0, |set, (at, _)| set | 1 << at),
            after: after.into_iter().collect(),
        });
    }
    Problem::new(jobs, windows, input.objective)
        .map_err(|at| Failure::invalid(&["jobs", &at.to_string(), "after"], "leads back to the job itself"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// What is wrong with a schedule, found without the code that makes it.
    fn faults(input: &Value, output: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let slots = output["schedule"].as_array().unwrap();
        let slot = |job: &str| slots.iter().find(|slot| slot["job"] == job);
        for job in input["jobs"].as_array().unwrap() {
            let id = job["id"].as_str().unwrap();
            let Some(slot) = slot(id) else {
                if !output["unscheduled"].as_array().unwrap().contains(&json!(id)) {
                    faults.push(format!("{id} is nowhere"));
                }
                continue;
            };
            let (start, end) = (slot["start"].as_f64().unwrap(), slot["end"].as_f64().unwrap());
            if (end - start - job["duration"].as_f64().unwrap()).abs() > 1e-9 {
                faults.push(format!("{id} has another duration"));
            }
            if job["release"].as_f64().is_some_and(|release| start < release - 1e-9) {
                faults.push(format!("{id} is early"));
            }
            for before in job["after"].as_array().into_iter().flatten() {
                if slots
                    .iter()
                    .find(|slot| slot["job"] == *before)
                    .is_none_or(|before| before["end"].as_f64().unwrap() > start + 1e-9)
                {
                    faults.push(format!("{id} is before {before}"));
                }
            }
            let resource =
                input["resources"].as_array().unwrap().iter().find(|one| one["id"] == slot["resource"]).unwrap();
            let has: Vec<&Value> = resource["skills"].as_array().into_iter().flatten().collect();
            if job["skills"].as_array().into_iter().flatten().any(|skill| !has.contains(&skill)) {
                faults.push(format!("{id} lacks a skill"));
            }
            if start < resource["available_from"].as_f64().unwrap_or(0.0) - 1e-9
                || end > resource["available_to"].as_f64().unwrap_or(f64::INFINITY) + 1e-9
            {
                faults.push(format!("{id} is outside the time of its resource"));
            }
            for other in
                slots.iter().filter(|other| other["resource"] == slot["resource"] && other["job"] != slot["job"])
            {
                if other["start"].as_f64().unwrap() < end - 1e-9 && start < other["end"].as_f64().unwrap() - 1e-9 {
                    faults.push(format!("{id} overlaps {}", other["job"]));
                }
            }
        }
        if output["lower_bound"].as_f64() > output["objective_value"].as_f64() {
            faults.push("the bound is above the value".to_owned());
        }
        faults
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn schedules_are_feasible_and_no_better_than_their_bound(
            jobs in prop::collection::vec((1_u8..9, 0_u8..9, 0_u8..30, 0_u8..3, any::<[bool; 2]>()), 1..14),
            resources in prop::collection::vec((0_u8..5, 10_u8..60, any::<bool>()), 1..4),
            objective in prop::sample::select(vec!["makespan", "total-tardiness", "max-lateness"]),
        ) {
            let jobs: Vec<Value> = jobs.iter().enumerate().map(|(at, (duration, release, due, back, [skilled, linked]))| {
                let after: Vec<String> = if *linked && at > usize::from(*back) { vec![format!("j{}", at - 1 - usize::from(*back))] } else { vec![] };
                let skills = if *skilled { vec!["s"] } else { vec![] };
                json!({ "id": format!("j{at}"), "duration": duration, "release": release, "due": due, "after": after, "skills": skills })
            }).collect();
            let resources: Vec<Value> = resources.iter().enumerate().map(|(at, (from, to, skilled))| {
                json!({ "id": format!("r{at}"), "available_from": from, "available_to": to, "skills": if *skilled { vec!["s"] } else { vec![] } })
            }).collect();
            let input = json!({ "jobs": jobs, "resources": resources, "objective": objective });
            let output = crate::FAMILY.run(78, input.clone(), &Context::default()).unwrap();
            prop_assert_eq!(faults(&input, &output), Vec::<String>::new());
        }
    }
}
