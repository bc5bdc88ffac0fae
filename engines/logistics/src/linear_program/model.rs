//! Programs in one form, and what the solver says of them.

use microlp::{ComparisonOp, Error, OptimizationDirection, Problem, SolutionStatus, SolveOptions, SolveOutcome};

use super::Op;

/// How far a constraint may be missed, relative to its largest term.
const TOLERANCE: f64 = 1e-6;

/// The least value of a sum under constraints.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) cost: Vec<f64>,
    pub(super) rows: Vec<Row>,
    /// Least, most, and whether it is an integer.
    pub(super) bounds: Vec<(f64, f64, bool)>,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) coefficients: Vec<(usize, f64)>,
    pub(super) op: Op,
    pub(super) rhs: f64,
}

pub(super) enum Outcome {
    Solved(Solved),
    Infeasible,
    Unbounded,
    /// The nodes ended before there was a solution.
    Nothing,
}

pub(super) struct Solved {
    pub(super) values: Vec<f64>,
    pub(super) proven: bool,
}

impl Model {
    pub(super) fn has_integers(&self) -> bool {
        self.bounds.iter().any(|(_, _, integer)| *integer)
    }

    pub(super) fn with_rows(&self, rows: &[usize]) -> Self {
        let rows = rows.iter().filter_map(|at| self.rows.get(*at).cloned()).collect();
        Self { cost: self.cost.clone(), rows, bounds: self.bounds.clone() }
    }

    pub(super) fn value(&self, values: &[f64]) -> f64 {
        self.cost.iter().zip(values).map(|(cost, value)| cost * value).sum()
    }

    /// Asks the solver. An error is its own, in words.
    pub(super) fn solve(&self, nodes: u64) -> Result<Outcome, String> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let mut variables = Vec::new();
        for (cost, (low, high, integer)) in self.cost.iter().zip(&self.bounds) {
            variables.push(if *integer {
                let bound = |bound: f64| bound.clamp(f64::from(i32::MIN), f64::from(i32::MAX));
                let (low, high) = (bound(low.ceil()) as i32, bound(high.floor()) as i32);
                if low > high {
                    return Ok(Outcome::Infeasible);
                }
                problem.add_integer_var(*cost, (low, high))
            } else {
                problem.add_var(*cost, (*low, *high))
            });
        }
        for row in &self.rows {
            let terms: Vec<_> =
                row.coefficients.iter().filter_map(|(at, value)| Some((*variables.get(*at)?, *value))).collect();
            let op = match row.op {
                Op::Le => ComparisonOp::Le,
                Op::Eq => ComparisonOp::Eq,
                Op::Ge => ComparisonOp::Ge,
            };
            problem.add_constraint(terms, op, row.rhs);
        }
        let mut options = SolveOptions::default();
        options.node_limit = Some(nodes.max(1));
        match problem.solve_with(options) {
            Ok(SolveOutcome::Solution(solution)) => {
                let mut values: Vec<f64> = variables.iter().map(|variable| solution.var_value(*variable)).collect();
                for (value, (_, _, integer)) in values.iter_mut().zip(&self.bounds) {
                    // Adding zero turns -0 into 0.
                    *value = if *integer { value.round() + 0.0 } else { *value + 0.0 };
                }
                Ok(Outcome::Solved(Solved { values, proven: solution.status() == SolutionStatus::Optimal }))
            }
            Ok(SolveOutcome::Interrupted(_)) => Ok(Outcome::Nothing),
            Err(Error::Infeasible) => Ok(Outcome::Infeasible),
            Err(Error::Unbounded) => Ok(Outcome::Unbounded),
            Err(error) => Err(error.to_string().chars().take(200).collect()),
        }
    }

    /// Names a constraint or a bound that values break; `None` if they fit.
    pub(super) fn broken(&self, values: &[f64]) -> Option<String> {
        for (at, row) in self.rows.iter().enumerate() {
            let terms: Vec<f64> =
                row.coefficients.iter().map(|(at, value)| value * values.get(*at).copied().unwrap_or(0.0)).collect();
            let sum: f64 = terms.iter().sum();
            let scale = terms.iter().fold(row.rhs.abs().max(1.0), |most, term| most.max(term.abs()));
            let gap = match row.op {
                Op::Le => sum - row.rhs,
                Op::Ge => row.rhs - sum,
                Op::Eq => (sum - row.rhs).abs(),
            };
            if gap.is_nan() || gap > TOLERANCE * scale {
                return Some(format!("constraint {at}"));
            }
        }
        let outside = |(value, (low, high, integer)): (&f64, &(f64, f64, bool))| {
            let room = TOLERANCE * value.abs().max(1.0);
            !value.is_finite() || *value < low - room || *value > high + room || (*integer && value.fract() != 0.0)
        };
        values.iter().zip(&self.bounds).position(outside).map(|at| format!("the bounds of variable {at}"))
    }

    /// The dual program as a minimum: its value is the negative of this one's. Its first variables are the prices of the
    /// constraints, then come those of the bounds.
    pub(super) fn dual(&self) -> Self {
        let mut cost: Vec<f64> = self.rows.iter().map(|row| -row.rhs).collect();
        let mut bounds: Vec<(f64, f64, bool)> = self
            .rows
            .iter()
            .map(|row| match row.op {
                Op::Le => (f64::NEG_INFINITY, 0.0, false),
                Op::Ge => (0.0, f64::INFINITY, false),
                Op::Eq => (f64::NEG_INFINITY, f64::INFINITY, false),
            })
            .collect();
        let mut rows: Vec<Row> =
            self.cost.iter().map(|cost| Row { coefficients: Vec::new(), op: Op::Eq, rhs: *cost }).collect();
        for (price, row) in self.rows.iter().enumerate() {
            for (variable, value) in &row.coefficients {
                if let Some(row) = rows.get_mut(*variable) {
                    row.coefficients.push((price, *value));
                }
            }
        }
        for (row, (low, high, _)) in rows.iter_mut().zip(&self.bounds) {
            // A bound has a price of its own, with the sign of its side.
            for (bound, sign) in [(*low, 1.0), (*high, -1.0)] {
                if bound.is_finite() {
                    row.coefficients.push((cost.len(), sign));
                    cost.push(-sign * bound);
                    bounds.push((0.0, f64::INFINITY, false));
                }
            }
        }
        Self { cost, rows, bounds }
    }
}
