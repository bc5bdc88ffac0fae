//! q42: aftershocks to expect (Reasenberg and Jones), and the b-value of a catalogue.

use muster_engine::prelude::*;
use muster_kernel_numeric::special::gamma_parts;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    mainshock_mw: f64,
    start_day_d: f64,
    window_days_d: f64,
    magnitudes_mw: Vec<f64>,
    catalogue: Option<Vec<Event>>,
    a: f64,
    b: f64,
    p: f64,
    c_d: f64,
}

/// An earthquake of the catalogue.
#[derive(Debug, Clone, Input)]
pub struct Event {
    #[expect(dead_code, reason = "the catalogue's events have times; the estimates of b and completeness use none")]
    time: Timestamp,
    magnitude: f64,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    forecast: Vec<Expected>,
    b_value: Option<f64>,
    b_sigma: Option<f64>,
    completeness_mw: Option<f64>,
    largest_expected_mw: f64,
}

/// Aftershocks of a magnitude or more in the window; the count lies from `low` to `high` in 95 of 100 cases.
#[derive(Debug, Clone, Output)]
pub struct Expected {
    magnitude: f64,
    expected: f64,
    probability: f64,
    low: u64,
    high: u64,
}

const MAX_MAGNITUDES: usize = 100;
const MAX_EVENTS: usize = 100_000;
/// Width of the classes of magnitudes.
const BIN: f64 = 0.1;
/// Events above the completeness for an estimate of b.
const LEAST: usize = 10;
/// What maximum curvature misses (Woessner and Wiemer 2005).
const CORRECTION: f64 = 0.2;
const MAX_EXPECTED: f64 = 1e12;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let time = omori(&input);
    let mut forecast = Vec::with_capacity(input.magnitudes_mw.len());
    for (at, magnitude) in input.magnitudes_mw.iter().enumerate() {
        let expected = 10_f64.powf(input.a + input.b * (input.mainshock_mw - magnitude)) * time;
        if expected > MAX_EXPECTED {
            return Err(Failure::invalid(
                &["magnitudes", &at.to_string()],
                "gives more aftershocks than can be counted",
            ));
        }
        let (low, high) = (poisson_quantile(expected, 0.025), poisson_quantile(expected, 0.975));
        forecast.push(Expected { magnitude: *magnitude, expected, probability: -(-expected).exp_m1(), low, high });
    }
    let estimate = input.catalogue.as_ref().and_then(|events| estimate(events, cx));
    cx.assume("generic parameters unless others are given; numbers follow Poisson's distribution");
    Ok(Output {
        forecast,
        b_value: estimate.map(|estimate| estimate.b),
        b_sigma: estimate.map(|estimate| estimate.sigma),
        completeness_mw: estimate.map(|estimate| estimate.completeness),
        // Båth's law.
        largest_expected_mw: input.mainshock_mw - 1.2,
    })
}

fn check(input: &Input) -> Result<(), Failure> {
    let events = input.catalogue.as_deref().unwrap_or_default();
    if input.magnitudes_mw.len() > MAX_MAGNITUDES || events.len() > MAX_EVENTS {
        return Err(Failure::too_large(format!("at most {MAX_MAGNITUDES} magnitudes and {MAX_EVENTS} events")));
    }
    if let Some(at) = input.magnitudes_mw.iter().position(|magnitude| !(-2.0..=10.0).contains(magnitude)) {
        return Err(Failure::invalid(&["magnitudes", &at.to_string()], "must be from -2 to 10"));
    }
    if let Some(at) = events.iter().position(|event| !(-5.0..=10.0).contains(&event.magnitude)) {
        return Err(Failure::invalid(&["catalogue", &at.to_string(), "magnitude"], "must be from -5 to 10"));
    }
    for (name, value, least, most) in [
        ("a", input.a, -10.0, 10.0),
        ("b", input.b, 0.1, 3.0),
        ("p", input.p, 0.1, 5.0),
        ("c", input.c_d, 1e-6, 100.0),
        ("start_day", input.start_day_d, 0.0, 36_525.0),
        ("window_days", input.window_days_d, 0.0, 36_525.0),
    ] {
        if !(least..=most).contains(&value) {
            return Err(Failure::invalid(&[name], format!("must be from {least} to {most}")));
        }
    }
    Ok(())
}

/// Integral of (t + c)^-p over the window.
fn omori(input: &Input) -> f64 {
    let (from, to) = (input.start_day_d + input.c_d, input.start_day_d + input.window_days_d + input.c_d);
    let power = 1.0 - input.p;
    // Near p = 1 the difference of the powers loses its digits.
    let logarithm = (to / from).ln();
    if (power * logarithm).abs() < 1e-8 {
        return logarithm;
    }
    from.powf(power) * (power * logarithm).exp_m1() / power
}

/// Least count that is not exceeded with a probability.
fn poisson_quantile(mean: f64, p: f64) -> u64 {
    // P(N <= k) is the upper part of the incomplete gamma function of k + 1.
    let within = |k: u64| mean <= 0.0 || gamma_parts(k as f64 + 1.0, mean).1 >= p;
    let mut high = 1_u64;
    while !within(high) && high < u64::MAX / 4 {
        high *= 2;
    }
    let (mut low, mut high) = (0, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if within(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// b-value (Aki and Utsu), its deviation (Shi and Bolt) and the completeness that it is of.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    b: f64,
    sigma: f64,
    completeness: f64,
}

fn estimate(events: &[Event], cx: &Context) -> Option<Estimate> {
    let classes: Vec<i64> = events.iter().map(|event| (event.magnitude / BIN).round() as i64).collect();
    let completeness = completeness(&classes)?;
    let least = (completeness / BIN).round() as i64;
    let magnitudes: Vec<f64> =
        classes.iter().filter(|class| **class >= least).map(|class| *class as f64 * BIN).collect();
    let count = magnitudes.len() as f64;
    let mean = magnitudes.iter().sum::<f64>() / count;
    let squares: f64 = magnitudes.iter().map(|magnitude| (magnitude - mean).powi(2)).sum();
    if magnitudes.len() < LEAST || squares == 0.0 {
        cx.warn(format!(
            "too_few: {LEAST} events above the completeness of {completeness:.1} are needed for a b-value"
        ));
        return None;
    }
    let b = std::f64::consts::LOG10_E / (mean - (completeness - BIN / 2.0));
    let sigma = std::f64::consts::LN_10 * b * b * (squares / (count * (count - 1.0))).sqrt();
    Some(Estimate { b, sigma, completeness })
}

/// Completeness by maximum curvature: the most frequent class of magnitudes, of several the greatest.
fn completeness(classes: &[i64]) -> Option<f64> {
    let mut counts = std::collections::BTreeMap::new();
    for class in classes {
        *counts.entry(*class).or_insert(0_usize) += 1;
    }
    let (class, _) = counts.into_iter().max_by_key(|(class, count)| (*count, *class))?;
    Some(class as f64 * BIN + CORRECTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Input {
        Input {
            mainshock_mw: 6.5,
            start_day_d: 0.01,
            window_days_d: 7.0,
            magnitudes_mw: vec![3.0, 4.0, 5.0],
            catalogue: None,
            a: -1.67,
            b: 0.91,
            p: 1.08,
            c_d: 0.05,
        }
    }

    #[test]
    fn larger_and_later_aftershocks_are_fewer() {
        let forecast = run(input(), &Context::default()).unwrap().forecast;
        assert!(forecast.windows(2).all(|pair| pair[1].expected < pair[0].expected));
        let later = Input { start_day_d: 30.0, ..input() };
        assert!(run(later, &Context::default()).unwrap().forecast[0].expected < forecast[0].expected);
    }

    #[test]
    fn the_integral_is_continuous_at_p_of_one() {
        let near = omori(&Input { p: 1.0 + 1e-9, ..input() });
        let at = omori(&Input { p: 1.0, ..input() });
        let off = omori(&Input { p: 1.0 + 1e-6, ..input() });
        assert!((near - at).abs() < 1e-7 && (off - at).abs() < 1e-4, "{near} {at} {off}");
    }

    #[test]
    fn quantiles_of_poisson_are_those_of_its_sums() {
        for mean in [0.0, 0.3, 5.0, 42.0] {
            for p in [0.025, 0.5, 0.975] {
                let (mut sum, mut term, mut k) = (0.0, f64::exp(-mean), 0_u64);
                loop {
                    sum += term;
                    if sum >= p {
                        break;
                    }
                    k += 1;
                    term *= mean / k as f64;
                }
                assert_eq!(poisson_quantile(mean, p), k, "{mean} {p}");
            }
        }
    }
}
