//! Labels of axes: Talbot, Lin and Hanrahan, "An Extension of Wilkinson's Algorithm for Positioning Tick Labels on Axes",
//! InfoVis 2010, with its steps and weights; every label is legible alike.

/// Steps in order of preference.
const STEPS: [f64; 6] = [1.0, 5.0, 2.0, 2.5, 4.0, 3.0];
/// Weights of simplicity, coverage, density and legibility.
const WEIGHTS: [f64; 4] = [0.25, 0.2, 0.5, 0.05];
const NEAR: f64 = 1e-10;
/// The search ends long before by its bounds of the score; these end it for ranges at the edge of double precision.
const MAX_SKIP: u32 = 20;
const MAX_LABELS: u32 = 60;
const MAX_POWERS: u32 = 30;

/// Labels for the values `low` to `high`, about `wanted` of them. The first and last may lie outside.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ticks {
    pub(super) values: Vec<f64>,
    step: f64,
}

impl Ticks {
    pub(super) fn of(low: f64, high: f64, wanted: u32) -> Self {
        let (low, high) = widened(low, high);
        let wanted = f64::from(wanted.max(2));
        let mut best = (-2.0, low, high - low, 2_u32);
        for skip in 1..=MAX_SKIP {
            for (at, step) in STEPS.iter().enumerate() {
                if score(simplicity(at, skip, 1.0), 1.0, 1.0) < best.0 {
                    return Self::from_best(best);
                }
                search(&mut best, (low, high), wanted, (at, *step), skip);
            }
        }
        Self::from_best(best)
    }

    fn from_best((_, first, step, count): (f64, f64, f64, u32)) -> Self {
        // Multiples of the step, so that 0.1 + 0.2 is 0.3.
        let begin = (first / step).round();
        let exact = (begin * step - first).abs() <= step * 1e-6;
        let value =
            |n: u32| if exact { neat((begin + f64::from(n)) * step, step) } else { first + f64::from(n) * step };
        Self { values: (0..count).map(value).collect(), step }
    }

    /// Writes a value with as many decimals as the step needs.
    pub(super) fn label(&self, value: f64) -> String {
        let size = self.values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        if size >= 1e7 || (size > 0.0 && self.step < 1e-5) {
            let digits = (size / self.step).log10().ceil().clamp(0.0, 8.0) as usize;
            return format!("{value:.digits$e}");
        }
        let mut decimals = 0;
        while decimals < 6
            && (self.step * 10_f64.powi(decimals) - (self.step * 10_f64.powi(decimals)).round()).abs() > 1e-6
        {
            decimals += 1;
        }
        let decimals = usize::try_from(decimals).unwrap_or(0);
        format!("{value:.decimals$}")
    }
}

/// A range that is not empty.
fn widened(low: f64, high: f64) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    let least = (size * 1e-9).max(1e-290);
    if high - low > least {
        (low, high)
    } else if size == 0.0 {
        (0.0, 1.0)
    } else {
        (low - size * 0.5, high + size * 0.5)
    }
}

/// Takes off what the product rounded.
fn neat(value: f64, step: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let power = (step.abs().log10().floor() - 3.0).clamp(-300.0, 300.0) as i32;
    if power < 0 {
        let scale = 10_f64.powi(-power);
        let scaled = (value * scale).round();
        if scaled.is_finite() && scaled.abs() < 9e15 { scaled / scale } else { value }
    } else {
        value
    }
}

fn search(best: &mut (f64, f64, f64, u32), (low, high): (f64, f64), wanted: f64, (at, unit): (usize, f64), skip: u32) {
    let steps = f64::from(skip);
    for count in 2..MAX_LABELS {
        let labels = f64::from(count);
        let most_dense = if labels >= wanted { 2.0 - (labels - 1.0) / (wanted - 1.0) } else { 1.0 };
        if score(simplicity(at, skip, 1.0), 1.0, most_dense) < best.0 {
            return;
        }
        let delta = (high - low) / (labels + 1.0) / steps / unit;
        let first_power = delta.log10().ceil().clamp(-305.0, 300.0) as i32;
        for power in first_power..first_power.saturating_add(MAX_POWERS as i32) {
            let step = steps * unit * 10_f64.powi(power);
            let span = step * (labels - 1.0);
            if !span.is_finite()
                || score(simplicity(at, skip, 1.0), most_coverage(low, high, span), most_dense) < best.0
            {
                break;
            }
            let begin = (high / step).floor() * steps - (labels - 1.0) * steps;
            let end = (low / step).ceil() * steps;
            // Both are small whole numbers unless the range lies far from zero.
            let starts = (end - begin).clamp(-1.0, 200.0) as i64;
            for offset in 0..=starts {
                let first = (begin + offset as f64) * (step / steps);
                let last = first + span;
                let zero = has_zero(first, last, step);
                let found = score(
                    simplicity(at, skip, zero),
                    coverage(low, high, first, last),
                    density(labels, wanted, (low, high), (first, last)),
                );
                if found > best.0 {
                    *best = (found, first, step, count);
                }
            }
        }
    }
}

fn score(simplicity: f64, coverage: f64, density: f64) -> f64 {
    let [s, c, d, l] = WEIGHTS;
    s * simplicity + c * coverage + d * density + l
}

fn simplicity(at: usize, skip: u32, zero: f64) -> f64 {
    1.0 - at as f64 / (STEPS.len() - 1) as f64 - f64::from(skip) + zero
}

fn has_zero(first: f64, last: f64, step: f64) -> f64 {
    let rest = first.rem_euclid(step);
    let hits = rest < NEAR * step || step - rest < NEAR * step;
    if hits && first <= NEAR * step && last >= -NEAR * step { 1.0 } else { 0.0 }
}

fn coverage(low: f64, high: f64, first: f64, last: f64) -> f64 {
    let tenth = 0.1 * (high - low);
    1.0 - 0.5 * (((high - last) / tenth).powi(2) + ((low - first) / tenth).powi(2))
}

fn most_coverage(low: f64, high: f64, span: f64) -> f64 {
    let range = high - low;
    if span <= range {
        return 1.0;
    }
    let half = (span - range) / 2.0;
    1.0 - (half / (0.1 * range)).powi(2)
}

fn density(labels: f64, wanted: f64, (low, high): (f64, f64), (first, last): (f64, f64)) -> f64 {
    let found = (labels - 1.0) / (last - first);
    let aimed = (wanted - 1.0) / (high.max(last) - low.min(first));
    2.0 - (found / aimed).max(aimed / found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `breaks_extended` of mizani 0.14, which ports the authors' R package.
    #[test]
    fn labels_are_those_of_another_implementation() {
        for (low, high, wanted, expected) in [
            (0.0, 3.0, 5, vec![0.0, 1.0, 2.0, 3.0]),
            (0.0, 97.0, 5, vec![0.0, 25.0, 50.0, 75.0, 100.0]),
            (-3.2, 18.7, 5, vec![-5.0, 0.0, 5.0, 10.0, 15.0, 20.0]),
            (-3.2, 18.7, 7, vec![-4.0, 0.0, 4.0, 8.0, 12.0, 16.0, 20.0]),
            (0.0, 3.0, 7, vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]),
        ] {
            assert_eq!(Ticks::of(low, high, wanted).values, expected, "{low} {high} {wanted}");
        }
    }

    #[test]
    fn labels_of_any_range_are_finite_rising_and_few() {
        for (low, high) in
            [(0.0, 0.0), (5.0, 5.0), (1e149, 1.1e149), (-1e149, 1e149), (1e15, 1e15 + 1.0), (1e-200, 2e-200)]
        {
            let ticks = Ticks::of(low, high, 5);
            assert!((2..60).contains(&ticks.values.len()), "{low} {high}: {ticks:?}");
            assert!(
                ticks.values.windows(2).all(|pair| pair[0] < pair[1] && pair[1].is_finite()),
                "{low} {high}: {ticks:?}"
            );
            assert!(ticks.values.iter().all(|value| ticks.label(*value).len() < 20));
        }
    }

    #[test]
    fn labels_have_the_decimals_of_their_step() {
        let ticks = Ticks::of(0.0, 3.0, 7);
        assert_eq!(
            ticks.values.iter().map(|value| ticks.label(*value)).collect::<Vec<_>>()[..3],
            ["0.0", "0.5", "1.0"]
        );
        assert_eq!(Ticks::of(0.0, 0.3, 4).values[3], 0.3);
    }
}
