//! q96: statistical process control.

use muster_engine::prelude::*;
use muster_kernel_numeric::summary;

use crate::control_rules::{Violation, rules};
use crate::support::{check_same, check_series, finite};

const MAX_VALUES: usize = 50_000;
/// Mean and standard deviation of the range of 2 to 25 standard normal values (ASTM manual MNL7, table 4.1); a test
/// integrates them.
pub(crate) const RANGE: [(f64, f64); 24] = [
    (1.128, 0.853),
    (1.693, 0.888),
    (2.059, 0.880),
    (2.326, 0.864),
    (2.534, 0.848),
    (2.704, 0.833),
    (2.847, 0.820),
    (2.970, 0.808),
    (3.078, 0.797),
    (3.173, 0.787),
    (3.258, 0.778),
    (3.336, 0.770),
    (3.407, 0.763),
    (3.472, 0.756),
    (3.532, 0.750),
    (3.588, 0.744),
    (3.640, 0.739),
    (3.689, 0.734),
    (3.735, 0.729),
    (3.778, 0.724),
    (3.819, 0.720),
    (3.858, 0.716),
    (3.895, 0.712),
    (3.931, 0.708),
];
/// Reference value and decision interval of the CUSUM, in standard deviations (Montgomery).
const CUSUM: (f64, f64) = (0.5, 5.0);

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<f64>,
    subgroup_size: i64,
    chart: Chart,
    sizes: Option<Vec<f64>>,
    target: Option<f64>,
    sigma: Option<f64>,
    lambda: f64,
    lower_spec: Option<f64>,
    upper_spec: Option<f64>,
}

/// Kinds of charts.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Chart {
    /// Single values.
    Individuals,
    /// Means and ranges of subgroups.
    XbarR,
    /// Exponentially weighted means.
    Ewma,
    /// Cumulative sums.
    Cusum,
    /// Shares of defectives.
    P,
    /// Defects for each unit.
    U,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    centre: f64,
    limits: Vec<Vec<f64>>,
    statistic: Vec<f64>,
    violations: Vec<Violation>,
    cp: Option<f64>,
    cpk: Option<f64>,
    in_control: bool,
}

/// Charts the values.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check_series(&input.values, "values", 2, MAX_VALUES)?;
    if input.sigma.is_some_and(|s| !(s > 0.0 && s < 1e75)) {
        return Err(Failure::invalid(&["sigma"], "must be positive"));
    }
    if input.target.is_some_and(|t| t.abs() > 1e75) {
        return Err(Failure::invalid(&["target"], "must be within ±1e75"));
    }
    if matches!(input.chart, Chart::P | Chart::U) {
        return counts(&input);
    }
    let size = if input.chart == Chart::Individuals { 1 } else { input.subgroup_size.clamp(1, 25) as usize };
    if input.chart == Chart::Individuals && input.subgroup_size > 1 {
        cx.warn("subgroup_size: individuals are charted one by one");
    }
    if input.chart == Chart::XbarR && size < 2 {
        return Err(Failure::invalid(&["subgroup_size"], "xbar-r needs subgroups of 2 to 25"));
    }
    let groups: Vec<&[f64]> = input.values.chunks_exact(size).collect();
    if !input.values.len().is_multiple_of(size) {
        cx.warn("subgroup_size: the last subgroup is incomplete and left out");
    }
    if groups.len() < 2 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "values: at least two points are needed"));
    }
    let means: Vec<f64> = groups.iter().map(|g| summary::mean(g)).collect();
    let within = input.sigma.unwrap_or_else(|| within(&groups, &means, size));
    let negligible = means.iter().fold(0.0_f64, |m, x| m.max(x.abs())) * 1e-14;
    if within.is_nan() || within <= negligible {
        return Err(Failure::no_answer(NoAnswer::Singular, "the values do not vary: give sigma"));
    }
    let centre = input.target.unwrap_or_else(|| summary::mean(&means));
    let sigma = within / (size as f64).sqrt();
    let mut output = match input.chart {
        Chart::Ewma => ewma(&means, centre, sigma, input.lambda),
        Chart::Cusum => cusum(&means, centre, sigma),
        _ => {
            let violations = rules(&means, centre, sigma);
            let limits = vec![vec![centre - 3.0 * sigma, centre + 3.0 * sigma]];
            Output::new(centre, limits, means, violations)
        }
    };
    if input.chart == Chart::XbarR {
        add_ranges(&mut output, &groups, size, within);
    }
    let average = summary::mean(&output_values(&groups));
    (output.cp, output.cpk) = capability(&input, average, within)?;
    Ok(output)
}

impl Output {
    fn new(centre: f64, limits: Vec<Vec<f64>>, statistic: Vec<f64>, violations: Vec<Violation>) -> Self {
        Self { centre, limits, statistic, in_control: violations.is_empty(), violations, cp: None, cpk: None }
    }
}

fn output_values(groups: &[&[f64]]) -> Vec<f64> {
    groups.iter().flat_map(|g| g.iter().copied()).collect()
}

fn range(group: &[f64]) -> f64 {
    let (low, high) = group.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    high - low
}

fn constants(size: usize) -> (f64, f64) {
    RANGE.get(size.saturating_sub(2)).copied().unwrap_or((1.128, 0.853))
}

/// The standard deviation within subgroups by their mean range; of single values by the mean moving range.
fn within(groups: &[&[f64]], means: &[f64], size: usize) -> f64 {
    if size == 1 {
        let moving: Vec<f64> = means.windows(2).map(range).collect();
        return summary::mean(&moving) / constants(2).0;
    }
    summary::mean(&groups.iter().map(|g| range(g)).collect::<Vec<_>>()) / constants(size).0
}

/// The chart of ranges: its limits are the second pair.
fn add_ranges(output: &mut Output, groups: &[&[f64]], size: usize, within: f64) {
    let (d2, d3) = constants(size);
    let limits = vec![((d2 - 3.0 * d3) * within).max(0.0), (d2 + 3.0 * d3) * within];
    for (index, group) in groups.iter().enumerate() {
        let range = range(group);
        if limits.first().is_some_and(|l| range < *l) || limits.last().is_some_and(|h| range > *h) {
            output.violations.push(Violation { index: index as i64, rule: "range_beyond_limits".to_owned() });
        }
    }
    output.limits.push(limits);
    output.in_control = output.violations.is_empty();
}

fn ewma(values: &[f64], centre: f64, sigma: f64, lambda: f64) -> Output {
    let width = if lambda <= 0.1 { 2.7 } else { 3.0 };
    let (mut z, mut memory) = (centre, 1.0);
    let (mut limits, mut statistic, mut violations) = (Vec::new(), Vec::new(), Vec::new());
    for (index, x) in values.iter().enumerate() {
        z = lambda * x + (1.0 - lambda) * z;
        memory *= (1.0 - lambda) * (1.0 - lambda);
        let half = width * sigma * (lambda / (2.0 - lambda) * (1.0 - memory)).sqrt();
        if (z - centre).abs() > half {
            violations.push(Violation { index: index as i64, rule: "ewma_beyond_limits".to_owned() });
        }
        limits.push(vec![centre - half, centre + half]);
        statistic.push(z);
    }
    Output::new(centre, limits, statistic, violations)
}

/// The tabular CUSUM; of its two sums the larger is returned, the lower one as a negative number.
fn cusum(values: &[f64], centre: f64, sigma: f64) -> Output {
    let (k, h) = (CUSUM.0 * sigma, CUSUM.1 * sigma);
    let (mut up, mut down) = (0.0_f64, 0.0_f64);
    let (mut statistic, mut violations) = (Vec::new(), Vec::new());
    for (index, x) in values.iter().enumerate() {
        up = (up + x - centre - k).max(0.0);
        down = (down + centre - x - k).max(0.0);
        for (sum, rule) in [(up, "cusum_up"), (down, "cusum_down")] {
            if sum > h {
                violations.push(Violation { index: index as i64, rule: rule.to_owned() });
            }
        }
        statistic.push(if up >= down { up } else { -down });
    }
    Output::new(centre, vec![vec![-h, h]], statistic, violations)
}

fn counts(input: &Input) -> Result<Output, Failure> {
    let sizes = input.sizes.as_ref().ok_or_else(|| Failure::invalid(&["sizes"], "p and u charts need `sizes`"))?;
    check_same("sizes", sizes.len(), "values", input.values.len())?;
    if let Some(at) = sizes.iter().position(|n| !(*n > 0.0 && *n <= 1e75)) {
        return Err(Failure::invalid(&["sizes", &at.to_string()], "must be positive"));
    }
    let share = input.chart == Chart::P;
    let wrong = |(x, n): (&f64, &f64)| *x < 0.0 || (share && x > n);
    if let Some(at) = input.values.iter().zip(sizes).position(wrong) {
        return Err(Failure::invalid(
            &["values", &at.to_string()],
            "a count is not negative, and in a p chart at most its size",
        ));
    }
    let total = summary::sum(sizes.iter().copied());
    let centre = input.target.unwrap_or_else(|| summary::sum(input.values.iter().copied()) / total);
    if centre < 0.0 || (share && centre > 1.0) {
        return Err(Failure::invalid(&["target"], "is no share or rate"));
    }
    let spread = if share { centre * (1.0 - centre) } else { centre };
    let (mut limits, mut statistic, mut violations) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (x, n)) in input.values.iter().zip(sizes).enumerate() {
        let half = 3.0 * (spread / n).sqrt();
        let (low, high) = ((centre - half).max(0.0), if share { (centre + half).min(1.0) } else { centre + half });
        let value = x / n;
        if value < low || value > high {
            violations.push(Violation { index: index as i64, rule: "beyond_3_sigma".to_owned() });
        }
        limits.push(vec![low, high]);
        statistic.push(value);
    }
    if !statistic.iter().chain(limits.iter().flatten()).all(|x| x.is_finite()) {
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, "a share is not a number of double precision"));
    }
    Ok(Output::new(centre, limits, statistic, violations))
}

/// Cp needs both limits of the specification, Cpk one.
fn capability(input: &Input, mean: f64, sigma: f64) -> Result<(Option<f64>, Option<f64>), Failure> {
    if let (Some(low), Some(high)) = (input.lower_spec, input.upper_spec)
        && low >= high
    {
        return Err(Failure::invalid(&["upper_spec"], "must be above lower_spec"));
    }
    let cp = input.lower_spec.zip(input.upper_spec).map(|(low, high)| (high - low) / (6.0 * sigma));
    let above = input.upper_spec.map(|high| (high - mean) / (3.0 * sigma));
    let below = input.lower_spec.map(|low| (mean - low) / (3.0 * sigma));
    let cpk = match (above, below) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Ok((cp.and_then(finite), cpk.and_then(finite)))
}
