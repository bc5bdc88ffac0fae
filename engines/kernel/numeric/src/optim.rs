//! Minimisation without derivatives.

/// Result of a minimisation.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// Where the function is smallest.
    pub at: Vec<f64>,
    /// Its value there.
    pub value: f64,
    /// Whether the tolerance was reached within the steps.
    pub converged: bool,
}

/// Minimises `f` by the Nelder-Mead simplex with the usual coefficients (reflection 1, expansion 2, contraction and
/// shrinkage 1/2), from a start and the first step in each direction. A value that is not a number counts as infinite.
/// Bounded by `evaluations`. The simplex is built again at the minimum once, which a collapsed simplex needs.
pub fn nelder_mead(
    f: impl Fn(&[f64]) -> f64,
    start: &[f64],
    step: &[f64],
    tolerance: f64,
    evaluations: usize,
) -> Minimum {
    let first = descend(&f, start, step, tolerance, evaluations / 2);
    let second = descend(&f, &first.at, step, tolerance, evaluations / 2);
    if second.value <= first.value { second } else { first }
}

fn descend(f: &impl Fn(&[f64]) -> f64, start: &[f64], step: &[f64], tolerance: f64, evaluations: usize) -> Minimum {
    let value = |x: &[f64]| {
        let v = f(x);
        if v.is_nan() { f64::INFINITY } else { v }
    };
    let n = start.len();
    let mut simplex: Vec<(Vec<f64>, f64)> = vec![(start.to_vec(), value(start))];
    for (at, step) in step.iter().enumerate().take(n) {
        let mut point = start.to_vec();
        if let Some(x) = point.get_mut(at) {
            *x += step;
        }
        let v = value(&point);
        simplex.push((point, v));
    }
    let mut used = n + 1;
    let mut converged = false;
    while used < evaluations {
        simplex.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let (Some((best, low)), Some((worst, high))) = (simplex.first().cloned(), simplex.pop()) else { break };
        let spread = best.iter().zip(&worst).map(|(b, w)| (b - w).abs() / (1.0 + b.abs())).fold(0.0, f64::max);
        if high - low <= tolerance * (low.abs() + tolerance) && spread <= tolerance.sqrt() {
            simplex.push((worst, high));
            converged = true;
            break;
        }
        let next_worst = simplex.last().map_or(high, |(_, v)| *v);
        let mut centre = vec![0.0; n];
        for (point, _) in &simplex {
            centre.iter_mut().zip(point).for_each(|(c, x)| *c += x / n as f64);
        }
        let along = |t: f64| -> Vec<f64> { centre.iter().zip(&worst).map(|(c, w)| c + t * (w - c)).collect() };
        let reflected = along(-1.0);
        let reflected_value = value(&reflected);
        used += 1;
        if reflected_value < low {
            let expanded = along(-2.0);
            let expanded_value = value(&expanded);
            used += 1;
            simplex.push(if expanded_value < reflected_value {
                (expanded, expanded_value)
            } else {
                (reflected, reflected_value)
            });
            continue;
        }
        if reflected_value < next_worst {
            simplex.push((reflected, reflected_value));
            continue;
        }
        let (t, limit) = if reflected_value < high { (-0.5, reflected_value) } else { (0.5, high) };
        let contracted = along(t);
        let contracted_value = value(&contracted);
        used += 1;
        if contracted_value < limit {
            simplex.push((contracted, contracted_value));
            continue;
        }
        simplex.push((worst, high));
        for (point, v) in simplex.iter_mut().skip(1) {
            point.iter_mut().zip(&best).for_each(|(x, b)| *x = b + 0.5 * (*x - b));
            *v = value(point);
            used += 1;
        }
    }
    simplex.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    simplex.into_iter().next().map_or(
        Minimum { at: start.to_vec(), value: f64::INFINITY, converged: false },
        |(at, value)| Minimum { at, value, converged },
    )
}
