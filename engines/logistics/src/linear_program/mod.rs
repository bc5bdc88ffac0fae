//! q79: linear and mixed-integer program.

mod model;

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;
use muster_engine::stack;

use crate::bounds::at_most;
use model::{Model, Outcome, Row, Solved};

const MAX_VARIABLES: usize = 1_000;
const MAX_CONSTRAINTS: usize = 500;
const MAX_COEFFICIENTS: usize = 20_000;
/// Nodes of the search for each second of `time_limit`: a slow machine gives the same answer.
const NODES_A_SECOND: f64 = 200.0;
/// Constraints in which a conflict is searched for: each is left out once.
const MAX_FILTERED: usize = 100;
/// The solver is asked for nothing beyond these: their products stay exact enough.
const MAX_NUMBER: f64 = 1e12;
/// A bound as large as this is none.
const NO_BOUND: f64 = 1e15;
/// Distance of the best values of a program and of its dual, relative, above which the answer is not proven.
const GAP: f64 = 1e-7;
const STACK: usize = 16 << 20;

#[derive(Input)]
pub struct Input {
    sense: Sense,
    objective: BTreeMap<String, f64>,
    constraints: Vec<Constraint>,
    bounds: BTreeMap<String, Vec<f64>>,
    integers: Vec<String>,
    time_limit_s: f64,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Sense {
    Min,
    Max,
}

#[derive(Input)]
struct Constraint {
    name: String,
    coefficients: BTreeMap<String, f64>,
    op: Op,
    rhs: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Words)]
pub(crate) enum Op {
    Le,
    Eq,
    Ge,
}

#[derive(Output)]
pub struct Output {
    status: Status,
    objective_value: Option<f64>,
    variables: BTreeMap<String, f64>,
    duals: BTreeMap<String, f64>,
    conflict: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Words)]
enum Status {
    Optimal,
    Infeasible,
    Unbounded,
    Limit,
}

impl Output {
    fn without_values(status: Status) -> Self {
        Self { status, objective_value: None, variables: BTreeMap::new(), duals: BTreeMap::new(), conflict: Vec::new() }
    }
}

/// Solves a program, and its dual to prove it.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` where the solver gives none.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let names = check(&input)?;
    let model = model(&input, &names)?;
    let lost = || {
        Failure::no_answer(NoAnswer::NotConverged, "the solver cannot go on: scale the coefficients to similar sizes")
    };
    let (output, warnings) = stack::on_stack(cx, STACK, lost, || {
        let nodes = (input.time_limit_s * NODES_A_SECOND).ceil() as u64;
        solve(&input, &names, &model, nodes)
    })?;
    warnings.into_iter().for_each(|warning| cx.warn(warning));
    Ok(output)
}

fn check(input: &Input) -> Result<Vec<String>, Failure> {
    at_most(input.constraints.len(), MAX_CONSTRAINTS, "constraints")?;
    let mut names: BTreeSet<&String> =
        input.objective.keys().chain(input.bounds.keys()).chain(&input.integers).collect();
    let mut rows = BTreeSet::new();
    let mut coefficients = 0;
    let wrong = format!("must be within ±{MAX_NUMBER:e}");
    for (name, value) in &input.objective {
        if value.abs() > MAX_NUMBER {
            return Err(Failure::invalid(&["objective", name], wrong));
        }
    }
    for (at, row) in input.constraints.iter().enumerate() {
        let at = at.to_string();
        if !rows.insert(&row.name) {
            return Err(Failure::invalid(&["constraints", &at, "name"], "occurs twice"));
        }
        if row.rhs.abs() > MAX_NUMBER {
            return Err(Failure::invalid(&["constraints", &at, "rhs"], wrong));
        }
        if let Some((name, _)) = row.coefficients.iter().find(|(_, value)| value.abs() > MAX_NUMBER) {
            return Err(Failure::invalid(&["constraints", &at, "coefficients", name], wrong));
        }
        names.extend(row.coefficients.keys());
        coefficients += row.coefficients.len();
    }
    at_most(names.len(), MAX_VARIABLES, "variables")?;
    at_most(coefficients, MAX_COEFFICIENTS, "coefficients")?;
    if names.is_empty() {
        return Err(Failure::invalid(&["objective"], "has no variable"));
    }
    Ok(names.into_iter().cloned().collect())
}

/// The program as a minimum.
fn model(input: &Input, names: &[String]) -> Result<Model, Failure> {
    let index: BTreeMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let sign = if input.sense == Sense::Max { -1.0 } else { 1.0 };
    let cost = names.iter().map(|name| sign * input.objective.get(name).copied().unwrap_or(0.0)).collect();
    let integers: BTreeSet<&String> = input.integers.iter().collect();
    let mut bounds = Vec::new();
    for name in names {
        let given = input.bounds.get(name).map(Vec::as_slice).unwrap_or_default();
        let (low, high) = match given {
            [] => (0.0, f64::INFINITY),
            [low] => (*low, f64::INFINITY),
            [low, high] => (*low, *high),
            _ => return Err(Failure::invalid(&["bounds", name], "must be [least] or [least, most]")),
        };
        let low = if low <= -NO_BOUND { f64::NEG_INFINITY } else { low };
        let high = if high >= NO_BOUND { f64::INFINITY } else { high };
        if low > high || low == f64::INFINITY || high == f64::NEG_INFINITY {
            return Err(Failure::invalid(&["bounds", name], "the least must not be above the most"));
        }
        let is_integer = integers.contains(name);
        let beyond = |bound: f64| bound.is_finite() && bound.abs() > 2e9;
        if is_integer && (beyond(low) || beyond(high)) {
            return Err(Failure::invalid(&["bounds", name], "of an integer must be within ±2,000,000,000"));
        }
        bounds.push((low, high, is_integer));
    }
    let rows = input.constraints.iter().map(|row| Row {
        coefficients: row
            .coefficients
            .iter()
            .filter_map(|(name, value)| Some((*index.get(name.as_str())?, *value)))
            .collect(),
        op: row.op,
        rhs: row.rhs,
    });
    Ok(Model { cost, rows: rows.collect(), bounds })
}

fn solve(input: &Input, names: &[String], model: &Model, nodes: u64) -> Result<(Output, Vec<String>), Failure> {
    let sign = if input.sense == Sense::Max { -1.0 } else { 1.0 };
    let mut warnings = Vec::new();
    let failed = |why: String| {
        let message = format!("the solver gives no answer: {why}. Scale the coefficients to similar sizes");
        Failure::no_answer(NoAnswer::NotConverged, message)
    };
    let solved = match model.solve(nodes).map_err(failed)? {
        Outcome::Solved(solved) => solved,
        Outcome::Infeasible => {
            let conflict = conflict(model, nodes, &mut warnings);
            let names = conflict.into_iter().filter_map(|at| input.constraints.get(at)).map(|row| row.name.clone());
            return Ok((Output { conflict: names.collect(), ..Output::without_values(Status::Infeasible) }, warnings));
        }
        Outcome::Unbounded => return Ok((Output::without_values(Status::Unbounded), warnings)),
        Outcome::Nothing => {
            warnings.push("limit: no solution was found within the nodes of time_limit".to_owned());
            return Ok((Output::without_values(Status::Limit), warnings));
        }
    };
    let Solved { values, proven } = solved;
    // A check of its own: the answer is one of the program as it was given.
    if let Some(broken) = model.broken(&values) {
        return Err(failed(format!("its values break {broken}")));
    }
    let value = model.value(&values);
    let mut status = if proven { Status::Optimal } else { Status::Limit };
    if !proven {
        warnings.push("limit: the best solution within the nodes of time_limit; a better one may exist".to_owned());
    }
    let mut duals = BTreeMap::new();
    if model.has_integers() {
        warnings.push("no_duals: a program with integers has no shadow prices".to_owned());
    } else {
        match model.dual().solve(nodes) {
            Ok(Outcome::Solved(dual)) => {
                let bound = -model.dual().value(&dual.values);
                if (bound - value).abs() > GAP * value.abs().max(1.0) {
                    warnings.push(format!("unproven: the dual program has {bound}, and this one {value}"));
                    status = Status::Limit;
                }
                let prices = dual.values.iter().take(model.rows.len()).map(|price| sign * price + 0.0);
                duals = input.constraints.iter().map(|row| row.name.clone()).zip(prices).collect();
            }
            _ => {
                warnings.push("unproven: the dual program could not be solved".to_owned());
                status = Status::Limit;
            }
        }
    }
    let output = Output {
        status,
        objective_value: Some(sign * value + 0.0),
        variables: names.iter().cloned().zip(values).collect(),
        duals,
        conflict: Vec::new(),
    };
    Ok((output, warnings))
}

/// Constraints that contradict one another, and none of which could be left out: each is left out in turn, and stays out
/// where the rest is still infeasible.
fn conflict(model: &Model, nodes: u64, warnings: &mut Vec<String>) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..model.rows.len()).collect();
    if kept.len() > MAX_FILTERED {
        warnings.push(format!("conflict: all constraints are listed, because there are more than {MAX_FILTERED}"));
        return kept;
    }
    let mut without_objective = model.clone();
    without_objective.cost.iter_mut().for_each(|cost| *cost = 0.0);
    // Where the relaxed program is infeasible too, integers are not needed to show it.
    let mut relaxed = without_objective.clone();
    relaxed.bounds.iter_mut().for_each(|(_, _, integer)| *integer = false);
    let tested = if matches!(relaxed.solve(nodes), Ok(Outcome::Infeasible)) { relaxed } else { without_objective };
    let (mut sure, nodes) = (true, (nodes / kept.len().max(1) as u64).max(1));
    for row in 0..model.rows.len() {
        let rest: Vec<usize> = kept.iter().copied().filter(|other| *other != row).collect();
        match tested.with_rows(&rest).solve(nodes) {
            Ok(Outcome::Infeasible) => kept = rest,
            Ok(Outcome::Solved(_) | Outcome::Unbounded) => {}
            _ => sure = false,
        }
    }
    if !sure {
        warnings.push("conflict: it may not be the smallest".to_owned());
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Coefficients and right-hand side of each constraint.
    type Rows = Vec<([i8; 3], u8)>;

    fn rows() -> impl Strategy<Value = Rows> {
        prop::collection::vec((prop::array::uniform3(-9_i8..10), 0_u8..40), 1..6)
    }

    /// Zero is feasible, and each variable is 6 at most.
    fn solved(costs: &[i8; 3], rows: &Rows, integers: &[&str]) -> Value {
        let map = |values: &[i8; 3]| json!({ "x": values[0], "y": values[1], "z": values[2] });
        let constraints: Vec<Value> = rows
            .iter()
            .enumerate()
            .map(|(at, (row, rhs))| json!({ "name": at.to_string(), "coefficients": map(row), "op": "le", "rhs": rhs }))
            .collect();
        let input = json!({
            "sense": "max", "objective": map(costs), "constraints": constraints, "integers": integers,
            "bounds": { "x": [0, 6], "y": [0, 6], "z": [0, 6] },
        });
        crate::FAMILY.run(79, input, &Context::default()).unwrap()
    }

    fn dot(a: &[i8; 3], b: &[f64; 3]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * b).sum()
    }

    fn values(output: &Value) -> [f64; 3] {
        ["x", "y", "z"].map(|name| output["variables"][name].as_f64().unwrap())
    }

    fn is_feasible(rows: &Rows, values: &[f64; 3]) -> bool {
        values.iter().all(|value| (-1e-6..=6.0 + 1e-6).contains(value))
            && rows.iter().all(|(row, rhs)| dot(row, values) <= f64::from(*rhs) + 1e-6)
    }

    proptest! {
        /// Weak duality: prices that are 0 or more bound the value, here of a program in a box, and reach it.
        #[test]
        fn values_are_feasible_and_reach_the_bound_of_the_prices(costs: [i8; 3], rows in rows()) {
            let output = solved(&costs, &rows, &[]);
            prop_assert_eq!(&output["status"], &json!("optimal"));
            let values = values(&output);
            prop_assert!(is_feasible(&rows, &values));
            let value = output["objective_value"].as_f64().unwrap();
            prop_assert!((value - dot(&costs, &values)).abs() < 1e-6 * value.abs().max(1.0));
            let prices: Vec<f64> = (0..rows.len()).map(|at| output["duals"][at.to_string()].as_f64().unwrap()).collect();
            prop_assert!(prices.iter().all(|price| *price >= -1e-9));
            let mut bound: f64 = rows.iter().zip(&prices).map(|((_, rhs), price)| f64::from(*rhs) * price).sum();
            for (at, cost) in costs.iter().enumerate() {
                let paid: f64 = rows.iter().zip(&prices).map(|((row, _), price)| f64::from(row[at]) * price).sum();
                bound += 6.0 * (f64::from(*cost) - paid).max(0.0);
            }
            prop_assert!((bound - value).abs() < 1e-6 * value.abs().max(1.0), "{} {}", bound, value);
        }

        #[test]
        fn no_other_integers_are_better(costs: [i8; 3], rows in rows()) {
            let output = solved(&costs, &rows, &["x", "y", "z"]);
            prop_assert_eq!(&output["status"], &json!("optimal"));
            prop_assert!(is_feasible(&rows, &values(&output)));
            let grid = (0..343).map(|n: i32| [n % 7, n / 7 % 7, n / 49].map(f64::from));
            let best = grid.filter(|values| is_feasible(&rows, values)).map(|values| dot(&costs, &values));
            let value = output["objective_value"].as_f64().unwrap();
            prop_assert!((value - best.fold(f64::NEG_INFINITY, f64::max)).abs() < 1e-6);
        }
    }
}
