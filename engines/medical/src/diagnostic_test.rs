//! q234: accuracy of a diagnostic test.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_numeric::dist::normal_quantile;

/// Greatest count of a cell and of the population: sums stay exact.
const MAX_COUNT: i64 = 1_000_000_000_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    tp: Option<i64>,
    fp: Option<i64>,
    r#fn: Option<i64>,
    tn: Option<i64>,
    sensitivity: Option<f64>,
    specificity: Option<f64>,
    pretest: Option<f64>,
    population: Option<i64>,
    confidence: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    sensitivity: Option<Estimate>,
    specificity: Option<Estimate>,
    ppv: Option<Estimate>,
    npv: Option<Estimate>,
    lr_positive: Option<Estimate>,
    lr_negative: Option<Estimate>,
    post_positive: Option<f64>,
    post_negative: Option<f64>,
    youden: f64,
    per_thousand: Option<BTreeMap<&'static str, f64>>,
}

#[derive(Output, Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Cells of the fourfold table.
#[derive(Clone, Copy)]
struct Table {
    tp: f64,
    fp: f64,
    missed: f64,
    tn: f64,
}

/// Computes accuracy from counts, or from sensitivity and specificity.
///
/// # Errors
/// `Invalid` for an incomplete table, `NoAnswer` for one without ill or without healthy people.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let z = normal_quantile(0.5 + input.confidence / 2.0);
    if input.population.is_some_and(|people| !(0..=MAX_COUNT).contains(&people)) {
        return Err(Failure::invalid(&["population"], format!("must be from 0 to {MAX_COUNT} people")));
    }
    match table(&input)? {
        Some(table) => of_table(table, z, &input, cx),
        None => of_rates(&input, cx),
    }
}

fn table(input: &Input) -> Result<Option<Table>, Failure> {
    let cells = [("tp", input.tp), ("fp", input.fp), ("fn", input.r#fn), ("tn", input.tn)];
    if cells.iter().all(|(_, count)| count.is_none()) {
        return Ok(None);
    }
    let mut counts = [0.0; 4];
    for (place, (name, count)) in counts.iter_mut().zip(cells) {
        let Some(count) = count else {
            return Err(Failure::invalid(&[name], "is missing: a table needs tp, fp, fn and tn"));
        };
        if count > MAX_COUNT {
            return Err(Failure::invalid(&[name], format!("must be at most {MAX_COUNT}")));
        }
        *place = count as f64;
    }
    let [tp, fp, missed, tn] = counts;
    if tp + missed == 0.0 || fp + tn == 0.0 {
        let text = "the table needs at least one person with the disease (tp, fn) and one without (fp, tn)";
        return Err(Failure::no_answer(NoAnswer::TooFew, text));
    }
    Ok(Some(Table { tp, fp, missed, tn }))
}

/// Wilson's interval of a share; none of nothing.
pub(crate) fn wilson(hits: f64, of: f64, z: f64) -> Option<Estimate> {
    (of > 0.0).then(|| {
        let share = hits / of;
        let middle = share + z * z / (2.0 * of);
        let around = z * (share * (1.0 - share) / of + z * z / (4.0 * of * of)).sqrt();
        let scale = 1.0 + z * z / of;
        let low = if hits == 0.0 { 0.0 } else { ((middle - around) / scale).clamp(0.0, 1.0) };
        let high = if hits == of { 1.0 } else { ((middle + around) / scale).clamp(0.0, 1.0) };
        Estimate { value: share, low, high }
    })
}

/// Ratio of two shares with the interval of its logarithm (Simel); none while a share is zero.
fn ratio([hits, of]: [f64; 2], [other_hits, other_of]: [f64; 2], z: f64) -> Option<Estimate> {
    (hits > 0.0 && other_hits > 0.0).then(|| {
        let (a, b) = (hits / of, other_hits / other_of);
        let error = ((1.0 - a) / hits + (1.0 - b) / other_hits).sqrt();
        let value = a / b;
        Estimate { value, low: value * (-z * error).exp(), high: value * (z * error).exp() }
    })
}

fn of_table(table: Table, z: f64, input: &Input, cx: &Context) -> Result<Output, Failure> {
    let Table { tp, fp, missed, tn } = table;
    let (ill, healthy) = (tp + missed, fp + tn);
    if input.sensitivity.is_some() || input.specificity.is_some() {
        cx.warn("contradiction: sensitivity and specificity are taken from the counts, not from the input");
    }
    let (sensitivity, specificity) = (wilson(tp, ill, z), wilson(tn, healthy, z));
    let (lr_positive, lr_negative) = (ratio([tp, ill], [fp, healthy], z), ratio([missed, ill], [tn, healthy], z));
    if lr_positive.is_none() || lr_negative.is_none() {
        cx.warn("zero_cell: a likelihood ratio with a cell of 0 is 0 or infinite and has no interval; it is left out");
    }
    let (sens, spec) = (tp / ill, tn / healthy);
    let people = ill + healthy;
    let apparent = (tp + fp) / people;
    if sens + spec > 1.0 {
        // Rogan and Gladen: the share of ill people behind a share of positive tests.
        cx.step("prevalence_rogan_gladen", ((apparent + spec - 1.0) / (sens + spec - 1.0)).clamp(0.0, 1.0), "");
    }
    if input.pretest.is_none() {
        cx.warn("prevalence: ppv, npv and the yield hold at the prevalence of the table; give pretest for another");
    }
    let yields = Yields { sens, spec, prior: input.pretest.unwrap_or(ill / people) };
    Ok(Output {
        sensitivity,
        specificity,
        ppv: wilson(tp, tp + fp, z),
        npv: wilson(tn, missed + tn, z),
        lr_positive,
        lr_negative,
        post_positive: input.pretest.and_then(|_| yields.post_positive()),
        post_negative: input.pretest.and_then(|_| yields.post_negative()),
        youden: sens + spec - 1.0,
        per_thousand: Some(yields.per_thousand(input.population)),
    })
}

fn of_rates(input: &Input, cx: &Context) -> Result<Output, Failure> {
    let (Some(sens), Some(spec)) = (input.sensitivity, input.specificity) else {
        let field = if input.sensitivity.is_none() { "sensitivity" } else { "specificity" };
        return Err(Failure::invalid(&[field], "is missing: give the counts tp, fp, fn and tn, or both rates"));
    };
    cx.warn("no_interval: rates without counts have no intervals; low and high are the value");
    let exact = |value: f64| Estimate { value, low: value, high: value };
    let yields = input.pretest.map(|prior| Yields { sens, spec, prior });
    Ok(Output {
        sensitivity: Some(exact(sens)),
        specificity: Some(exact(spec)),
        ppv: yields.and_then(Yields::post_positive).map(exact),
        npv: yields.and_then(Yields::post_negative).map(|ill| exact(1.0 - ill)),
        lr_positive: finite(sens / (1.0 - spec)).map(exact),
        lr_negative: finite((1.0 - sens) / spec).map(exact),
        post_positive: yields.and_then(Yields::post_positive),
        post_negative: yields.and_then(Yields::post_negative),
        youden: sens + spec - 1.0,
        per_thousand: yields.map(|yields| yields.per_thousand(input.population)),
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A test among people of whom a share is ill.
#[derive(Clone, Copy)]
struct Yields {
    sens: f64,
    spec: f64,
    prior: f64,
}

impl Yields {
    /// Probability of the disease after a positive test; none where no test is positive.
    fn post_positive(self) -> Option<f64> {
        let (ill, healthy) = (self.sens * self.prior, (1.0 - self.spec) * (1.0 - self.prior));
        finite(ill / (ill + healthy))
    }

    /// Probability of the disease after a negative test; none where no test is negative.
    fn post_negative(self) -> Option<f64> {
        let (ill, healthy) = ((1.0 - self.sens) * self.prior, self.spec * (1.0 - self.prior));
        finite(ill / (ill + healthy))
    }

    /// Cells among 1,000 people, and among a population.
    fn per_thousand(self, population: Option<i64>) -> BTreeMap<&'static str, f64> {
        let (ill, healthy) = (self.prior, 1.0 - self.prior);
        let cells = [
            ("true_positive", "population_true_positive", self.sens * ill),
            ("false_negative", "population_false_negative", (1.0 - self.sens) * ill),
            ("false_positive", "population_false_positive", (1.0 - self.spec) * healthy),
            ("true_negative", "population_true_negative", self.spec * healthy),
        ];
        let mut yields: BTreeMap<&'static str, f64> =
            cells.iter().map(|(name, _, share)| (*name, 1000.0 * share)).collect();
        if let Some(people) = population {
            yields.extend(cells.iter().map(|(_, name, share)| (*name, people as f64 * share)));
        }
        yields
    }
}
