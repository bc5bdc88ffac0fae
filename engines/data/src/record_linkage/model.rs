//! Fellegi-Sunter model, with probabilities estimated by expectation maximisation.

use std::collections::BTreeMap;

use super::Field;

/// Minimum similarity for each level but the lowest.
const LEVELS: [f64; 3] = [0.75, 0.9, 0.999];
/// Prior probabilities of the levels among matching and non-matching pairs, from the lowest: typing errors are few,
/// chance agreement is rare. They weigh as much as `PRIOR` pairs, so that little data does not mislead.
const SAME: [f64; 4] = [0.05, 0.05, 0.1, 0.8];
const OTHER: [f64; 4] = [0.88, 0.06, 0.03, 0.03];
const PRIOR: f64 = 5.0;
const ROUNDS: usize = 50;
/// Convergence threshold of the share of matches.
const SETTLED: f64 = 1e-9;

type Levels = [f64; 4];
/// Level of each field; `None` if it cannot be compared.
type Pattern = Vec<Option<u8>>;

pub(super) struct Model {
    /// Share of matching pairs.
    share: f64,
    /// Per field, the probability of each level among matching pairs (m) and non-matching ones (u).
    m: Vec<Levels>,
    u: Vec<Levels>,
    weights: Vec<f64>,
}

impl Model {
    /// `records` is the size of the smaller table: each record has about one partner at most.
    pub(super) fn fitted(alike: &[Vec<Option<f64>>], fields: &[Field], records: usize) -> Self {
        let mut patterns: BTreeMap<Pattern, f64> = BTreeMap::new();
        for pair in alike {
            *patterns.entry(pattern(pair)).or_default() += 1.0;
        }
        let pairs = alike.len().max(1) as f64;
        let expected = (records as f64 / 4.0).max(1.0) / pairs;
        let mut model = Self {
            share: expected.clamp(1e-6, 0.5),
            m: vec![SAME; fields.len()],
            u: vec![OTHER; fields.len()],
            weights: fields.iter().map(|field| field.weight.unwrap_or(1.0)).collect(),
        };
        let prior = model.share;
        for _ in 0..ROUNDS {
            let before = model.share;
            model.improve(&patterns, pairs, prior);
            if (model.share - before).abs() < SETTLED {
                break;
            }
        }
        model
    }

    /// One iteration: expectation per pattern, then maximisation.
    fn improve(&mut self, patterns: &BTreeMap<Pattern, f64>, pairs: f64, prior: f64) {
        let scaled = |levels: Levels| levels.map(|share| share * PRIOR);
        let mut m = vec![scaled(SAME); self.m.len()];
        let mut u = vec![scaled(OTHER); self.u.len()];
        let mut same = prior * PRIOR;
        for (pattern, count) in patterns {
            // The caller's weights affect scores, not the estimation.
            let likely = self.odds(pattern, |_| 1.0).exp();
            let likely = if likely.is_finite() { likely / (1.0 + likely) } else { 1.0 };
            same += likely * count;
            for ((m, u), level) in m.iter_mut().zip(&mut u).zip(pattern) {
                let Some(level) = level.map(usize::from) else { continue };
                if let (Some(m), Some(u)) = (m.get_mut(level), u.get_mut(level)) {
                    *m += likely * count;
                    *u += (1.0 - likely) * count;
                }
            }
        }
        let shares = |levels: Levels| {
            let all: f64 = levels.iter().sum();
            levels.map(|level| level / all)
        };
        self.m = m.into_iter().map(shares).collect();
        self.u = u.into_iter().map(shares).collect();
        self.share = (same / (pairs + PRIOR)).clamp(1e-9, 1.0 - 1e-9);
    }

    /// Log-odds that a pair with this pattern matches.
    fn odds(&self, pattern: &[Option<u8>], weight: impl Fn(usize) -> f64) -> f64 {
        let field = |(index, level): (usize, &Option<u8>)| {
            let level = usize::from((*level)?);
            let (m, u) = (self.m.get(index)?.get(level)?, self.u.get(index)?.get(level)?);
            Some(weight(index) * (m / u).ln())
        };
        (self.share / (1.0 - self.share)).ln() + pattern.iter().enumerate().filter_map(field).sum::<f64>()
    }

    /// Probability that a pair matches.
    pub(super) fn probability(&self, alike: &[Option<f64>]) -> f64 {
        let odds = self.odds(&pattern(alike), |field| self.weights.get(field).copied().unwrap_or(1.0));
        if odds.is_nan() { 0.0 } else { 1.0 / (1.0 + (-odds).exp()) }
    }
}

fn pattern(alike: &[Option<f64>]) -> Pattern {
    let level = |alike: f64| LEVELS.iter().filter(|least| alike >= **least).count() as u8;
    alike.iter().map(|alike| alike.map(level)).collect()
}
