//! q84: comparison of groups.

use muster_engine::prelude::*;

use crate::group_tests::{self, Outcome};
use crate::shapiro::shapiro_wilk;
use crate::support::{check_series, holm};

const MAX_VALUES: usize = 100_000;
const MAX_GROUPS: usize = 50;
/// Below this p-value of the test of Shapiro and Wilk, `auto` takes a rank test.
const NORMAL: f64 = 0.05;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    groups: Vec<Vec<f64>>,
    paired: bool,
    test: Test,
    confidence: f64,
}

/// Tests that can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Test {
    /// By the test of normality.
    Auto,
    /// Student's t.
    T,
    /// Welch's t.
    Welch,
    /// Ranks of two groups.
    MannWhitney,
    /// Signed ranks of pairs.
    Wilcoxon,
    /// Analysis of variance.
    Anova,
    /// Ranks of several groups.
    Kruskal,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    test: String,
    statistic: f64,
    df: Vec<f64>,
    p_value: f64,
    effect: Effect,
    normality: Vec<f64>,
    pairwise: Vec<Pair>,
}

/// Size of the difference.
#[derive(Output)]
pub(crate) struct Effect {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Two groups and the p-value of their difference, adjusted.
#[derive(Output)]
struct Pair {
    a: i64,
    b: i64,
    p: f64,
}

/// Compares the groups.
///
/// # Errors
/// `Invalid` (a test that does not fit the groups), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let groups = &input.groups;
    if groups.len() > MAX_GROUPS || groups.iter().map(Vec::len).sum::<usize>() > MAX_VALUES {
        return Err(Failure::too_large(format!("groups: at most {MAX_GROUPS} groups of {MAX_VALUES} values in all")));
    }
    if groups.len() < 2 {
        return Err(Failure::invalid(&["groups"], "at least two groups are needed"));
    }
    for group in groups {
        check_series(group, "groups", 2, MAX_VALUES)?;
    }
    let samples = if input.paired { vec![differences(groups)?] } else { groups.clone() };
    // A sample that is too small or does not vary cannot be tested: its p-value is 1.
    let normality: Vec<f64> = samples.iter().map(|g| shapiro_wilk(g).map_or(1.0, |(_, p)| p)).collect();
    let testable = samples.iter().all(|g| g.len() >= 3);
    let normal = testable && normality.iter().all(|p| *p >= NORMAL);
    let test = match (input.test, input.paired, groups.len()) {
        (Test::Auto, true, _) => {
            if normal {
                Test::T
            } else {
                Test::Wilcoxon
            }
        }
        (Test::Auto, false, 2) => {
            if normal {
                Test::Welch
            } else {
                Test::MannWhitney
            }
        }
        (Test::Auto, false, _) => {
            if normal {
                Test::Anova
            } else {
                Test::Kruskal
            }
        }
        (test, ..) => test,
    };
    if test == Test::Wilcoxon && !input.paired && groups.len() == 2 {
        cx.warn("paired: wilcoxon compares the values as pairs");
    }
    let confidence = input.confidence;
    let outcome = match (test, groups.as_slice()) {
        (Test::T, [_, _]) if input.paired => group_tests::paired_t(&differences(groups)?, confidence)?,
        (Test::Wilcoxon, [_, _]) => group_tests::wilcoxon(&differences(groups)?, confidence)?,
        (Test::T, [a, b]) => group_tests::t(a, b, confidence)?,
        (Test::Welch, [a, b]) if !input.paired => group_tests::welch(a, b, confidence)?,
        (Test::MannWhitney, [a, b]) if !input.paired => group_tests::mann_whitney(a, b, confidence)?,
        (Test::Anova, _) if !input.paired => group_tests::anova(groups, confidence)?,
        (Test::Kruskal, _) if !input.paired => group_tests::kruskal(groups, confidence)?,
        _ => {
            let problem = "t, welch, mann-whitney and wilcoxon compare two groups; of these only t and wilcoxon, and \
                           neither anova nor kruskal, compare pairs";
            return Err(Failure::invalid(&["test"], problem));
        }
    };
    let pairwise = pairwise(test, groups, &outcome)?;
    Ok(Output {
        test: outcome.test.to_owned(),
        statistic: outcome.statistic,
        df: outcome.df,
        p_value: outcome.p,
        effect: outcome.effect,
        normality,
        pairwise,
    })
}

fn differences(groups: &[Vec<f64>]) -> Result<Vec<f64>, Failure> {
    match groups {
        [a, b] if a.len() == b.len() => Ok(a.iter().zip(b).map(|(a, b)| a - b).collect()),
        _ => Err(Failure::invalid(&["groups"], "pairs need two groups with the same number of values")),
    }
}

/// Every pair of groups by the test that fits the whole: t with the pooled variance of all groups, or ranks.
fn pairwise(test: Test, groups: &[Vec<f64>], outcome: &Outcome) -> Result<Vec<Pair>, Failure> {
    if groups.len() == 2 {
        return Ok(vec![Pair { a: 0, b: 1, p: outcome.p }]);
    }
    let mut pairs = Vec::new();
    for (a, first) in groups.iter().enumerate() {
        for (b, second) in groups.iter().enumerate().skip(a + 1) {
            let p = if test == Test::Anova {
                group_tests::pooled_pair(first, second, groups)
            } else {
                group_tests::mann_whitney_p(first, second).1
            };
            pairs.push(Pair { a: a as i64, b: b as i64, p });
        }
    }
    let adjusted = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
    pairs.iter_mut().zip(adjusted).for_each(|(pair, p)| pair.p = p);
    Ok(pairs)
}
