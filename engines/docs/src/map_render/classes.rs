//! Natural breaks: classes with the least sum of squared deviations (Fisher 1958; Jenks 1977).

/// Sums of sorted values, for the deviations of any run of them.
struct Sums {
    /// Count, sum and sum of squares of the values before each place, from their mean.
    before: Vec<[f64; 3]>,
}

impl Sums {
    /// Squared deviations of the values `from..to` from their mean.
    fn cost(&self, from: usize, to: usize) -> f64 {
        match (self.before.get(from), self.before.get(to)) {
            (Some([n, s, q]), Some([m, t, r])) if m > n => ((r - q) - (t - s) * (t - s) / (m - n)).max(0.0),
            _ => 0.0,
        }
    }
}

/// Returns the least value, and the greatest of each class; fewer classes where there are fewer different values. Empty
/// without values.
pub(super) fn breaks(values: &[f64], classes: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut distinct: Vec<(f64, f64)> = Vec::new();
    for value in &sorted {
        match distinct.last_mut() {
            Some((last, count)) if *last == *value => *count += 1.0,
            _ => distinct.push((*value, 1.0)),
        }
    }
    let Some((least, _)) = distinct.first().copied() else { return Vec::new() };
    let size = distinct.len();
    let classes = classes.clamp(1, size);
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let mut sums = Sums { before: vec![[0.0; 3]] };
    for (value, count) in &distinct {
        let [n, s, q] = sums.before.last().copied().unwrap_or_default();
        let away = value - mean;
        sums.before.push([n + count, s + count * away, q + count * away * away]);
    }
    // Least cost of the first values in so many classes, and where the last of them begins.
    let mut cost: Vec<f64> = (0..=size).map(|to| sums.cost(0, to)).collect();
    let mut begins: Vec<Vec<usize>> = Vec::new();
    for _ in 1..classes {
        let mut next = vec![f64::INFINITY; size + 1];
        let mut begin = vec![0; size + 1];
        divide(&sums, &cost, (&mut next, &mut begin), (1, size), (0, size - 1));
        cost = next;
        begins.push(begin);
    }
    let mut ends = vec![size];
    for begin in begins.iter().rev() {
        let to = ends.last().copied().unwrap_or(size);
        ends.push(begin.get(to).copied().unwrap_or(0));
    }
    let greatest = ends.iter().rev().filter_map(|end| Some(distinct.get(end.checked_sub(1)?)?.0));
    std::iter::once(least).chain(greatest).collect()
}

/// The best begins rise with the ends, so half of the range is excluded on each side of the middle.
fn divide(
    sums: &Sums,
    cost: &[f64],
    (next, begin): (&mut Vec<f64>, &mut Vec<usize>),
    (low, high): (usize, usize),
    (first, last): (usize, usize),
) {
    if low > high {
        return;
    }
    let middle = low + (high - low) / 2;
    let (mut best, mut at) = (f64::INFINITY, first);
    for from in first..=last.min(middle.saturating_sub(1)) {
        let value = cost.get(from).copied().unwrap_or(f64::INFINITY) + sums.cost(from, middle);
        if value < best {
            (best, at) = (value, from);
        }
    }
    if let (Some(next), Some(begin)) = (next.get_mut(middle), begin.get_mut(middle)) {
        (*next, *begin) = (best, at);
    }
    if middle > low {
        divide(sums, cost, (next, begin), (low, middle - 1), (first, at));
    }
    divide(sums, cost, (next, begin), (middle + 1, high), (at, last));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn deviations(values: &[f64], breaks: &[f64]) -> f64 {
        let classes = breaks.windows(2).enumerate().map(|(at, pair)| {
            let inside = |value: &&f64| (at == 0 || **value > pair[0]) && **value <= pair[1];
            let members: Vec<f64> = values.iter().filter(inside).copied().collect();
            let mean = members.iter().sum::<f64>() / members.len().max(1) as f64;
            members.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>()
        });
        classes.sum()
    }

    proptest! {
        /// Against all ways to divide the values into three classes.
        #[test]
        fn no_other_classes_deviate_less(values in prop::collection::vec(-20_i8..20, 3..14)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut distinct = values.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            let found = breaks(&values, 3);
            prop_assert_eq!(found.len(), distinct.len().min(3) + 1);
            if let [least, .., most] = distinct.as_slice() {
                for a in &distinct {
                    for b in distinct.iter().filter(|b| *b > a && *b < most) {
                        prop_assert!(deviations(&values, &found) <= deviations(&values, &[*least, *a, *b, *most]) + 1e-9);
                    }
                }
            }
        }
    }
}
