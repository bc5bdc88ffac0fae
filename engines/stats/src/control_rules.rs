//! Run rules of a control chart (q96): the four of Western Electric (1956) and those of Nelson (1984) beyond them.

use muster_engine::prelude::*;

/// A rule that the points up to `index` broke.
#[derive(Output)]
pub(crate) struct Violation {
    pub(crate) index: i64,
    pub(crate) rule: String,
}

/// Length of the window and whether the standardised points in it break the rule.
type Rule = (&'static str, usize, fn(&[f64]) -> bool);

const RULES: [Rule; 8] = [
    ("we1_beyond_3_sigma", 1, |w| w.iter().any(|z| z.abs() > 3.0)),
    ("we2_two_of_three_beyond_2_sigma", 3, |w| same_side(w, 2.0, 2)),
    ("we3_four_of_five_beyond_1_sigma", 5, |w| same_side(w, 1.0, 4)),
    ("we4_eight_on_one_side", 8, |w| w.iter().all(|z| *z > 0.0) || w.iter().all(|z| *z < 0.0)),
    ("nelson3_six_in_a_trend", 6, |w| steps(w).all(|s| s > 0.0) || steps(w).all(|s| s < 0.0)),
    ("nelson4_fourteen_alternating", 14, |w| steps(w).zip(steps(w).skip(1)).all(|(a, b)| a * b < 0.0)),
    ("nelson7_fifteen_within_1_sigma", 15, |w| w.iter().all(|z| z.abs() < 1.0)),
    ("nelson8_eight_beyond_1_sigma", 8, |w| w.iter().all(|z| z.abs() > 1.0)),
];

/// At least `least` points beyond `limit` on one side, the last of them among these.
fn same_side(window: &[f64], limit: f64, least: usize) -> bool {
    let count = |side: f64| window.iter().filter(|z| **z * side > limit).count();
    let last = window.last().copied().unwrap_or(0.0);
    (last > limit && count(1.0) >= least) || (last < -limit && count(-1.0) >= least)
}

fn steps(window: &[f64]) -> impl Iterator<Item = f64> + '_ {
    window.windows(2).map(|w| w.last().unwrap_or(&0.0) - w.first().unwrap_or(&0.0))
}

/// Returns every rule that is broken, at the last point of its window.
pub(crate) fn rules(values: &[f64], centre: f64, sigma: f64) -> Vec<Violation> {
    let z: Vec<f64> = values.iter().map(|x| (x - centre) / sigma).collect();
    let mut out = Vec::new();
    for index in 0..z.len() {
        for (rule, length, broken) in RULES {
            let start = (index + 1).checked_sub(length);
            if start.and_then(|start| z.get(start..=index)).is_some_and(broken) {
                out.push(Violation { index: index as i64, rule: rule.to_owned() });
            }
        }
    }
    out
}
