//! Tests of differences between groups (q84), with effect sizes and their intervals.

use muster_engine::prelude::*;
use muster_kernel_numeric::ranks::{self, Ranks};
use muster_kernel_numeric::root::brent;
use muster_kernel_numeric::special::{beta_parts, gamma_parts, ln_gamma};
use muster_kernel_numeric::{dist, summary};

use crate::compare_groups::Effect;

/// Largest sample of which the null distribution of ranks is counted.
const EXACT: usize = 25;

pub(crate) struct Outcome {
    pub(crate) test: &'static str,
    pub(crate) statistic: f64,
    pub(crate) df: Vec<f64>,
    pub(crate) p: f64,
    pub(crate) effect: Effect,
}

fn singular(what: &str) -> Failure {
    Failure::no_answer(NoAnswer::Singular, format!("{what}: the statistic is not defined"))
}

fn z(confidence: f64) -> f64 {
    dist::normal_quantile(0.5 + confidence / 2.0)
}

/// Hedges' g with the interval of its asymptotic variance (Hedges and Olkin 1985).
fn hedges(d: f64, n: f64, m: f64, confidence: f64) -> Effect {
    let df = n + m - 2.0;
    let correction = (ln_gamma(df / 2.0) - ln_gamma((df - 1.0) / 2.0)).exp() / (df / 2.0).sqrt();
    let g = d * if df > 1.0 { correction } else { 1.0 };
    let se = ((n + m) / (n * m) + g * g / (2.0 * (n + m))).sqrt();
    Effect { name: "hedges_g".to_owned(), value: g, low: g - z(confidence) * se, high: g + z(confidence) * se }
}

pub(crate) fn t(a: &[f64], b: &[f64], confidence: f64) -> Result<Outcome, Failure> {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let df = n + m - 2.0;
    let pooled = ((summary::squares(a) + summary::squares(b)) / df).sqrt();
    let difference = summary::mean(a) - summary::mean(b);
    if pooled == 0.0 {
        return Err(singular("no group varies"));
    }
    let t = difference / (pooled * (1.0 / n + 1.0 / m).sqrt());
    let effect = hedges(difference / pooled, n, m, confidence);
    Ok(Outcome { test: "t", statistic: t, df: vec![df], p: dist::t_p(t, df), effect })
}

pub(crate) fn welch(a: &[f64], b: &[f64], confidence: f64) -> Result<Outcome, Failure> {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (va, vb) = (summary::variance(a) / n, summary::variance(b) / m);
    let difference = summary::mean(a) - summary::mean(b);
    if va + vb == 0.0 {
        return Err(singular("no group varies"));
    }
    let t = difference / (va + vb).sqrt();
    let df = (va + vb).powi(2) / (va * va / (n - 1.0) + vb * vb / (m - 1.0));
    let pooled = ((summary::squares(a) + summary::squares(b)) / (n + m - 2.0)).sqrt();
    let effect = hedges(difference / pooled, n, m, confidence);
    Ok(Outcome { test: "welch", statistic: t, df: vec![df], p: dist::t_p(t, df), effect })
}

pub(crate) fn paired_t(differences: &[f64], confidence: f64) -> Result<Outcome, Failure> {
    let n = differences.len() as f64;
    let sd = summary::sd(differences);
    if sd == 0.0 {
        return Err(singular("the differences do not vary"));
    }
    let d = summary::mean(differences) / sd;
    let t = d * n.sqrt();
    let se = (1.0 / n + d * d / (2.0 * n)).sqrt();
    let effect =
        Effect { name: "cohen_dz".to_owned(), value: d, low: d - z(confidence) * se, high: d + z(confidence) * se };
    Ok(Outcome { test: "paired-t", statistic: t, df: vec![n - 1.0], p: dist::t_p(t, n - 1.0), effect })
}

/// U of the first group and its p-value: exact for up to 25 values a group without ties, else the normal approximation
/// with corrections for ties and continuity.
pub(crate) fn mann_whitney_p(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (n, m) = (a.len(), b.len());
    let all = Ranks::of(&a.iter().chain(b).copied().collect::<Vec<_>>());
    let (nf, mf) = (n as f64, m as f64);
    let u = all.ranks.iter().take(n).sum::<f64>() - nf * (nf + 1.0) / 2.0;
    if all.ties.is_empty() && n <= EXACT && m <= EXACT {
        return (u, ranks::two_sided(&ranks::mann_whitney_null(n, m), u.round() as usize));
    }
    let total = nf + mf;
    let variance = nf * mf / 12.0 * ((total + 1.0) - all.tie_term() / (total * (total - 1.0)));
    if variance <= 0.0 {
        return (u, 1.0);
    }
    let gap = ((u - nf * mf / 2.0).abs() - 0.5).max(0.0);
    (u, dist::normal_p(gap / variance.sqrt()))
}

/// A correlation's interval by Fisher's z with this standard error.
fn rank_effect(name: &str, r: f64, se: f64, confidence: f64) -> Effect {
    let r = r.clamp(-1.0, 1.0);
    if r.abs() == 1.0 {
        return Effect { name: name.to_owned(), value: r, low: r, high: r };
    }
    let (low, high) = ((r.atanh() - z(confidence) * se).tanh(), (r.atanh() + z(confidence) * se).tanh());
    Effect { name: name.to_owned(), value: r, low, high }
}

pub(crate) fn mann_whitney(a: &[f64], b: &[f64], confidence: f64) -> Result<Outcome, Failure> {
    let (u, p) = mann_whitney_p(a, b);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let se = ((n + m + 1.0) / (3.0 * n * m)).sqrt();
    let effect = rank_effect("rank_biserial", 2.0 * u / (n * m) - 1.0, se, confidence);
    Ok(Outcome { test: "mann-whitney", statistic: u, df: Vec::new(), p, effect })
}

/// W⁺, the sum of the ranks of positive differences; differences of 0 are left out (Wilcoxon 1945).
pub(crate) fn wilcoxon(differences: &[f64], confidence: f64) -> Result<Outcome, Failure> {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if kept.is_empty() {
        return Err(singular("all pairs are equal"));
    }
    let all = Ranks::of(&kept.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let w: f64 = kept.iter().zip(&all.ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    let n = kept.len();
    let size = n as f64;
    let total = size * (size + 1.0) / 2.0;
    let p = if all.ties.is_empty() && n <= EXACT {
        ranks::two_sided(&ranks::wilcoxon_null(n), w.round() as usize)
    } else {
        let variance = size * (size + 1.0) * (2.0 * size + 1.0) / 24.0 - all.tie_term() / 48.0;
        dist::normal_p(((w - total / 2.0).abs() - 0.5).max(0.0) / variance.sqrt())
    };
    let se = (size * (size + 1.0) * (2.0 * size + 1.0) / 6.0).sqrt() / total;
    let effect = rank_effect("rank_biserial", 2.0 * w / total - 1.0, se, confidence);
    Ok(Outcome { test: "wilcoxon", statistic: w, df: Vec::new(), p, effect })
}

fn within(groups: &[Vec<f64>]) -> f64 {
    summary::sum(groups.iter().map(|g| summary::squares(g)))
}

pub(crate) fn anova(groups: &[Vec<f64>], confidence: f64) -> Result<Outcome, Failure> {
    let n: usize = groups.iter().map(Vec::len).sum();
    let grand = summary::sum(groups.iter().map(|g| summary::mean(g) * g.len() as f64)) / n as f64;
    let between = summary::sum(groups.iter().map(|g| g.len() as f64 * (summary::mean(g) - grand).powi(2)));
    let within = within(groups);
    let (df1, df2) = ((groups.len() - 1) as f64, (n - groups.len()) as f64);
    if within == 0.0 {
        return Err(singular("no group varies"));
    }
    let f = (between / df1) / (within / df2);
    // The interval of the noncentrality (Steiger 2004) as a share of variance.
    let share = |lambda: f64| lambda / (lambda + n as f64);
    let cdf = |lambda: f64| {
        let x = df1 * f / (df1 * f + df2);
        poisson_mixture(lambda, |j| beta_parts(df1 / 2.0 + j, df2 / 2.0, x).0)
    };
    let (low, high) = noncentrality(cdf, df1 * f, confidence);
    let value = between / (between + within);
    let effect = Effect { name: "eta_squared".to_owned(), value, low: share(low), high: share(high) };
    Ok(Outcome { test: "anova", statistic: f, df: vec![df1, df2], p: dist::f_sf(f, df1, df2), effect })
}

/// The two-sided p-value of two of several groups, with the variance that all have in common.
pub(crate) fn pooled_pair(a: &[f64], b: &[f64], groups: &[Vec<f64>]) -> f64 {
    let n: usize = groups.iter().map(Vec::len).sum();
    let df = (n - groups.len()) as f64;
    let se = (within(groups) / df * (1.0 / a.len() as f64 + 1.0 / b.len() as f64)).sqrt();
    dist::t_p((summary::mean(a) - summary::mean(b)) / se, df)
}

pub(crate) fn kruskal(groups: &[Vec<f64>], confidence: f64) -> Result<Outcome, Failure> {
    let all = Ranks::of(&groups.iter().flatten().copied().collect::<Vec<_>>());
    let n = all.ranks.len() as f64;
    let mut rest = all.ranks.iter();
    let mut sum = 0.0;
    for group in groups {
        let ranks: f64 = rest.by_ref().take(group.len()).sum();
        sum += ranks * ranks / group.len() as f64;
    }
    let correction = 1.0 - all.tie_term() / (n * n * n - n);
    if correction <= 0.0 {
        return Err(singular("all values are equal"));
    }
    let h = ((12.0 / (n * (n + 1.0)) * sum - 3.0 * (n + 1.0)) / correction).max(0.0);
    let df = (groups.len() - 1) as f64;
    let cdf = |lambda: f64| poisson_mixture(lambda, |j| gamma_parts(df / 2.0 + j, h / 2.0).0);
    let (low, high) = noncentrality(cdf, h, confidence);
    let share = |v: f64| (v / (n - 1.0)).clamp(0.0, 1.0);
    let effect = Effect { name: "epsilon_squared".to_owned(), value: share(h), low: share(low), high: share(high) };
    Ok(Outcome { test: "kruskal", statistic: h, df: vec![df], p: dist::chi2_sf(h, df), effect })
}

/// Σ Poisson(j; λ/2)·g(j): a noncentral distribution function from its central ones.
fn poisson_mixture(lambda: f64, central: impl Fn(f64) -> f64) -> f64 {
    let half = lambda / 2.0;
    let reach = 8.0 * half.sqrt() + 20.0;
    let first = (half - reach).floor().max(0.0);
    let count = (half + reach - first) as usize + 1;
    // Thinned where it would be long: the terms are smooth there.
    let step = (count / 400).max(1);
    let (mut sum, mut weights) = (0.0, 0.0);
    for j in (0..count).step_by(step) {
        let j = first + j as f64;
        let log = if half > 0.0 {
            j * half.ln() - half - ln_gamma(j + 1.0)
        } else if j == 0.0 {
            0.0
        } else {
            break;
        };
        let weight = log.exp();
        weights += weight;
        sum += weight * central(j);
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The interval of a noncentrality from its distribution function, which falls in it.
fn noncentrality(cdf: impl Fn(f64) -> f64, observed: f64, confidence: f64) -> (f64, f64) {
    let bound = |p: f64| {
        if cdf(0.0) <= p {
            return 0.0;
        }
        let mut high = observed.max(1.0);
        for _ in 0..40 {
            if cdf(high) < p {
                return brent(|l| cdf(l) - p, 0.0, high, 1e-10).unwrap_or(0.0);
            }
            high *= 2.0;
        }
        high
    };
    (bound(0.5 + confidence / 2.0), bound(0.5 - confidence / 2.0))
}
