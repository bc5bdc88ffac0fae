//! Fellegi and Sunter's model, its probabilities found by expectation and maximisation.

use std::collections::BTreeMap;

use super::Field;

/// How much alike a field has to be for each level but the lowest.
const LEVELS: [f64; 3] = [0.75, 0.9, 0.999];
/// What a level is expected to be among pairs that are the same, and among those that are not, from the lowest: typing
/// mistakes are few, chance agreement is rare. It counts as much as `PRIOR` pairs, so that few data do not mislead.
const SAME: [f64; 4] = [0.05, 0.05, 0.1, 0.8];
const OTHER: [f64; 4] = [0.88, 0.06, 0.03, 0.03];
const PRIOR: f64 = 5.0;
const ROUNDS: usize = 50;
/// The change of the share of matches that ends the search.
const SETTLED: f64 = 1e-9;

type Levels = [f64; 4];
/// Each field's level; none where it cannot be compared.
type Pattern = Vec<Option<u8>>;

pub(super) struct Model {
    /// The share of pairs that are the same.
    share: f64,
    /// Of each field, the probability of each level among pairs that are the same (m), and that are not (u).
    m: Vec<Levels>,
    u: Vec<Levels>,
    weights: Vec<f64>,
}

impl Model {
    /// `records` are those of the smaller table: each has about one partner at most.
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

    /// One round: what is expected of each pattern, then what makes that likeliest.
    fn improve(&mut self, patterns: &BTreeMap<Pattern, f64>, pairs: f64, prior: f64) {
        let scaled = |levels: Levels| levels.map(|share| share * PRIOR);
        let mut m = vec![scaled(SAME); self.m.len()];
        let mut u = vec![scaled(OTHER); self.u.len()];
        let mut same = prior * PRIOR;
        for (pattern, count) in patterns {
            // The weights are the caller's opinion on scores and not on what the data say.
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

    /// The logarithm of the odds that a pair of this pattern is the same.
    fn odds(&self, pattern: &[Option<u8>], weight: impl Fn(usize) -> f64) -> f64 {
        let field = |(index, level): (usize, &Option<u8>)| {
            let level = usize::from((*level)?);
            let (m, u) = (self.m.get(index)?.get(level)?, self.u.get(index)?.get(level)?);
            Some(weight(index) * (m / u).ln())
        };
        (self.share / (1.0 - self.share)).ln() + pattern.iter().enumerate().filter_map(field).sum::<f64>()
    }

    /// That a pair is the same.
    pub(super) fn probability(&self, alike: &[Option<f64>]) -> f64 {
        let odds = self.odds(&pattern(alike), |field| self.weights.get(field).copied().unwrap_or(1.0));
        if odds.is_nan() { 0.0 } else { 1.0 / (1.0 + (-odds).exp()) }
    }
}

fn pattern(alike: &[Option<f64>]) -> Pattern {
    let level = |alike: f64| LEVELS.iter().filter(|least| alike >= **least).count() as u8;
    alike.iter().map(|alike| alike.map(level)).collect()
}
