//! q90: sample size and power.

use muster_engine::prelude::*;
use muster_kernel_numeric::dist;
use muster_kernel_numeric::root::brent;

use crate::support::finite;

/// Largest group that is searched.
const MAX_N: f64 = 1e9;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    design: Design,
    effect: Option<f64>,
    p1: Option<f64>,
    p2: Option<f64>,
    alpha: f64,
    power: f64,
    n: Option<i64>,
    ratio: f64,
    margin: Option<f64>,
    population: Option<i64>,
    design_effect: f64,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Design {
    /// Means of two groups: `effect` is Cohen's d.
    TwoMeans,
    /// Mean of differences: `effect` is the mean by its standard deviation.
    PairedMeans,
    /// Shares `p1` and `p2` of two groups, or Cohen's h.
    TwoProportions,
    /// A share `p2` against the known `p1`, or Cohen's h.
    OneProportion,
    /// A correlation: `effect` is r.
    Correlation,
    /// A share in a survey: `margin`, expected share `p1`.
    Survey,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    n_per_group: Vec<i64>,
    n_total: i64,
    power: Option<f64>,
    detectable_effect: Option<f64>,
}

/// Computes what is not given: the sample, or with `n` the power, or with `n` and no effect the effect that is found.
///
/// # Errors
/// `Invalid` (what the design needs is missing or impossible), `NoAnswer` (`infeasible`).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if !(0.001..=1000.0).contains(&input.ratio) {
        return Err(Failure::invalid(&["ratio"], "must be from 0.001 to 1000"));
    }
    if input.n.is_some_and(|n| !(2..=MAX_N as i64).contains(&n)) {
        return Err(Failure::invalid(&["n"], "must be from 2 to 1e9"));
    }
    if input.design == Design::Survey {
        return survey(&input);
    }
    if input.design_effect != 1.0 {
        cx.warn("design_effect: only a survey uses it");
    }
    let plan = Plan::of(&input)?;
    let given = plan.effect;
    let n = match (input.n, given) {
        (Some(n), _) => n as f64,
        (None, Some(effect)) => plan.sample(effect, input.power)?,
        (None, None) => return Err(Failure::invalid(&[plan.field], "is needed, or `n` to compute what it would find")),
    };
    let second = plan.second(n).map(|m| m as i64);
    let n_per_group: Vec<i64> = std::iter::once(n as i64).chain(second).collect();
    let power = given.map(|effect| plan.power(effect, n));
    let detectable = if input.n.is_some() || given.is_none() { plan.detectable(n, input.power) } else { given };
    Ok(Output {
        n_total: n_per_group.iter().sum(),
        n_per_group,
        power: power.and_then(finite).map(|p| p.clamp(0.0, 1.0)),
        detectable_effect: detectable,
    })
}

/// A design with its numbers.
struct Plan {
    design: Design,
    alpha: f64,
    ratio: f64,
    effect: Option<f64>,
    /// Shares, where they are given: their difference is tested with its own variance.
    shares: Option<(f64, f64)>,
    field: &'static str,
}

impl Plan {
    fn of(input: &Input) -> Result<Self, Failure> {
        let mut plan = Self {
            design: input.design,
            alpha: input.alpha,
            ratio: input.ratio,
            effect: input.effect.map(f64::abs),
            shares: None,
            field: "effect",
        };
        let two = matches!(input.design, Design::TwoProportions | Design::OneProportion);
        if two && let (Some(p1), Some(p2)) = (input.p1, input.p2) {
            if input.effect.is_some() {
                return Err(Failure::invalid(&["effect"], "give either p1 and p2 or the effect (Cohen's h)"));
            }
            if p1 == p2 {
                return Err(Failure::invalid(&["p2"], "must differ from p1"));
            }
            plan.effect = Some(cohen_h(p1, p2));
            if input.design == Design::TwoProportions {
                plan.shares = Some((p1, p2));
                plan.effect = Some((p1 - p2).abs());
            }
        }
        let most = if input.design == Design::Correlation { 1.0 } else { 1e3 };
        match plan.effect {
            Some(effect) if !(effect >= 1e-6 && effect < most) => {
                Err(Failure::invalid(&["effect"], format!("must be from 1e-6 to below {most}")))
            }
            _ => Ok(plan),
        }
    }

    /// The second group's size for a first of `n`.
    fn second(&self, n: f64) -> Option<f64> {
        matches!(self.design, Design::TwoMeans | Design::TwoProportions)
            .then(|| (n * self.ratio - 1e-9).ceil().max(1.0))
    }

    /// Power of the two-sided test with `n` in the first group, not rounded.
    fn power(&self, effect: f64, n: f64) -> f64 {
        let m = n * self.ratio;
        let t_power = |df: f64, delta: f64| {
            let critical = dist::t_quantile(1.0 - self.alpha / 2.0, df);
            1.0 - dist::noncentral_t_cdf(critical, df, delta) + dist::noncentral_t_cdf(-critical, df, delta)
        };
        let z = dist::normal_quantile(1.0 - self.alpha / 2.0);
        let z_power = |shift: f64| dist::normal_sf(z - shift) + dist::normal_cdf(-z - shift);
        match self.design {
            Design::TwoMeans => t_power(n + m - 2.0, effect * (n * m / (n + m)).sqrt()),
            Design::PairedMeans => t_power(n - 1.0, effect * n.sqrt()),
            Design::TwoProportions => match self.shares {
                Some((p1, p2)) => {
                    let variance = p1 * (1.0 - p1) / n + p2 * (1.0 - p2) / m;
                    if variance > 0.0 { z_power(effect / variance.sqrt()) } else { 1.0 }
                }
                None => z_power(effect * (n * m / (n + m)).sqrt()),
            },
            Design::OneProportion => z_power(effect * n.sqrt()),
            Design::Correlation => z_power(effect.atanh() * (n - 3.0).max(0.0).sqrt()),
            Design::Survey => f64::NAN,
        }
    }

    /// The least sample with this power.
    fn sample(&self, effect: f64, power: f64) -> Result<f64, Failure> {
        // The second group must have two values as well.
        let least = match self.design {
            Design::TwoMeans => 2.0_f64.max(2.0 / self.ratio),
            Design::Correlation => 4.0,
            _ => 2.0,
        };
        if self.power(effect, least) >= power {
            return Ok(least.ceil());
        }
        let infeasible = || Failure::no_answer(NoAnswer::Infeasible, format!("more than {MAX_N:e} would be needed"));
        if self.power(effect, MAX_N) < power {
            return Err(infeasible());
        }
        let mut high = least;
        while self.power(effect, high) < power {
            high *= 2.0;
        }
        let n = brent(|n| self.power(effect, n) - power, high / 2.0, high, 1e-12).ok_or_else(infeasible)?;
        // A root that is whole but for rounding is that number.
        Ok((n - 1e-7).ceil())
    }

    /// The least effect that `n` find with this power; of shares no difference but Cohen's h.
    fn detectable(&self, n: f64, power: f64) -> Option<f64> {
        let most = if self.design == Design::Correlation { 1.0 - 1e-9 } else { 1e3 };
        match self.shares {
            Some(_) => {
                let by_h = Self { shares: None, effect: None, ..*self };
                by_h.detectable(n, power)
            }
            None => brent(|effect| self.power(effect, n) - power, 1e-9, most, 1e-12),
        }
    }
}

/// Cohen's h, the difference of shares on the scale of arcsines.
fn cohen_h(p1: f64, p2: f64) -> f64 {
    (2.0 * p1.sqrt().asin() - 2.0 * p2.sqrt().asin()).abs()
}

/// Cochran's sample for a share, with the design effect and the correction for a finite population.
fn survey(input: &Input) -> Result<Output, Failure> {
    let p = input.p1.unwrap_or(0.5);
    let z = dist::normal_quantile(1.0 - input.alpha / 2.0);
    if !(p > 0.0 && p < 1.0) {
        return Err(Failure::invalid(&["p1"], "must be between 0 and 1"));
    }
    if !(0.01..=100.0).contains(&input.design_effect) {
        return Err(Failure::invalid(&["design_effect"], "must be from 0.01 to 100"));
    }
    let population = match input.population {
        Some(population) if population < 2 => return Err(Failure::invalid(&["population"], "must be at least 2")),
        other => other.map(|population| population as f64),
    };
    let (n, margin) = match (input.n, input.margin) {
        (None, Some(margin)) if margin > 1e-6 && margin < 1.0 => {
            let infinite = z * z * p * (1.0 - p) / (margin * margin) * input.design_effect;
            let n = population.map_or(infinite, |size| infinite / (1.0 + (infinite - 1.0) / size));
            let whole = (n - 1e-9).ceil().max(1.0);
            (population.map_or(whole, |size| whole.min(size)), margin)
        }
        (Some(n), _) => {
            let n = n as f64;
            let left = population.map_or(1.0, |size| ((size - n) / (size - 1.0)).max(0.0));
            (n, z * (p * (1.0 - p) * input.design_effect / n * left).sqrt())
        }
        _ => return Err(Failure::invalid(&["margin"], "a survey needs a margin between 1e-6 and 1, or `n`")),
    };
    Ok(Output { n_per_group: vec![n as i64], n_total: n as i64, power: None, detectable_effect: Some(margin) })
}
