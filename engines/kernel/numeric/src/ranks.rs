//! Ranks and exact null distributions of rank statistics.

/// Ranks of values; equal ones share the mean of their places.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranks {
    /// Rank of each value, from 1.
    pub ranks: Vec<f64>,
    /// Sizes of the groups of equal values that have more than one member.
    pub ties: Vec<usize>,
}

impl Ranks {
    /// Ranks the values.
    pub fn of(values: &[f64]) -> Self {
        let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
        order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let mut ranks = vec![0.0; values.len()];
        let mut ties = Vec::new();
        let mut place = 0;
        for group in order.chunk_by(|(_, a), (_, b)| a == b) {
            let rank = place as f64 + (group.len() as f64 + 1.0) / 2.0;
            for (at, _) in group {
                if let Some(to) = ranks.get_mut(*at) {
                    *to = rank;
                }
            }
            if group.len() > 1 {
                ties.push(group.len());
            }
            place += group.len();
        }
        Self { ranks, ties }
    }

    /// Returns the sum of t³ − t over the groups of equal values.
    pub fn tie_term(&self) -> f64 {
        self.ties.iter().map(|&t| t as f64).map(|t| t * t * t - t).sum()
    }
}

/// Returns the counts of the Mann-Whitney statistic U = 0..=m·n under the null, as probabilities: the coefficients of
/// the Gaussian binomial.
pub fn mann_whitney_null(m: usize, n: usize) -> Vec<f64> {
    let most = m * n;
    let mut ways = vec![0.0_f64; most + 1];
    if let Some(first) = ways.first_mut() {
        *first = 1.0;
    }
    // Multiply by (1 − q^(n+j)) and divide by (1 − q^j) for j = 1..=m; counts stay whole numbers below 2^53 for the
    // sizes in use.
    for j in 1..=m {
        let up = n + j;
        for u in (up..=most).rev() {
            let low = ways.get(u - up).copied().unwrap_or(0.0);
            if let Some(w) = ways.get_mut(u) {
                *w -= low;
            }
        }
        for u in j..=most {
            let low = ways.get(u - j).copied().unwrap_or(0.0);
            if let Some(w) = ways.get_mut(u) {
                *w += low;
            }
        }
    }
    normalise(ways)
}

/// Returns the probabilities of Wilcoxon's signed-rank statistic 0..=n(n+1)/2 under the null.
pub fn wilcoxon_null(n: usize) -> Vec<f64> {
    let most = n * (n + 1) / 2;
    let mut ways = vec![0.0_f64; most + 1];
    if let Some(first) = ways.first_mut() {
        *first = 1.0;
    }
    for rank in 1..=n {
        for s in (rank..=most).rev() {
            let low = ways.get(s - rank).copied().unwrap_or(0.0);
            if let Some(w) = ways.get_mut(s) {
                *w += low;
            }
        }
    }
    normalise(ways)
}

fn normalise(ways: Vec<f64>) -> Vec<f64> {
    let total: f64 = ways.iter().sum();
    ways.into_iter().map(|w| w / total).collect()
}

/// Returns the two-sided p-value of a statistic under a symmetric null: twice the smaller tail, at most 1.
pub fn two_sided(null: &[f64], statistic: usize) -> f64 {
    let lower: f64 = null.iter().take(statistic + 1).sum();
    let upper: f64 = null.iter().skip(statistic).sum();
    (2.0 * lower.min(upper)).min(1.0)
}

/// Returns the number of discordant pairs of two sequences of which the first is sorted: inversions of the second, by
/// merging.
pub fn inversions(values: &mut Vec<f64>) -> u64 {
    let n = values.len();
    let mut from = values.clone();
    let mut swaps = 0_u64;
    let mut width = 1;
    while width < n {
        let mut to = Vec::with_capacity(n);
        for block in from.chunks(2 * width) {
            let (left, right) = block.split_at(width.min(block.len()));
            let (mut l, mut r) = (left.iter().peekable(), right.iter().peekable());
            loop {
                match (l.peek(), r.peek()) {
                    (Some(a), Some(b)) if *b < *a => {
                        swaps += l.len() as u64;
                        to.extend(r.next());
                    }
                    (Some(_), _) => to.extend(l.next()),
                    (None, Some(_)) => to.extend(r.next()),
                    (None, None) => break,
                }
            }
        }
        from = to;
        width *= 2;
    }
    *values = from;
    swaps
}
