//! Roots of functions of one variable.

/// Rounds of bisection: halves any interval of floats to neighbours.
const ROUNDS: usize = 200;

/// Returns where `f`, which has different signs at `low` and `high`, changes its sign.
pub fn bisect(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    let sign = f(low) > 0.0;
    for _ in 0..ROUNDS {
        let middle = low + (high - low) / 2.0;
        if middle <= low.min(high) || middle >= low.max(high) {
            break;
        }
        if (f(middle) > 0.0) == sign {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_root_of_two_is_found() {
        let root = bisect(0.0, 2.0, |x| x * x - 2.0);
        assert!((root - std::f64::consts::SQRT_2).abs() < 1e-15);
    }
}
