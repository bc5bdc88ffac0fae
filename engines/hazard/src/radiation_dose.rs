//! q39: radiation dose near a point source or in fallout.

use std::sync::LazyLock;

use muster_engine::prelude::*;

use crate::table::{number, rows};

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    mode: Mode,
    activity_gbq: Option<f64>,
    nuclide: Nuclide,
    distance_m: Option<f64>,
    shield_material: Shield,
    shield_thickness_cm: f64,
    reference_rate_msv_h: Option<f64>,
    reference_hour_h: f64,
    entry_hour_h: Option<f64>,
    dose_limit_msv: f64,
}

/// What radiates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Mode {
    PointSource,
    Fallout,
}

/// Nuclides of sealed sources and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Nuclide {
    #[wire(name = "Co-60")]
    Cobalt60,
    #[wire(name = "Cs-137")]
    Caesium137,
    #[wire(name = "Ir-192")]
    Iridium192,
    #[wire(name = "I-131")]
    Iodine131,
    #[wire(name = "Am-241")]
    Americium241,
}

/// Materials of shields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Shield {
    None,
    Lead,
    Concrete,
    Steel,
    Water,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    rate_msv_h: f64,
    dose_per_hour_msv: f64,
    stay_time_h: Option<f64>,
    safe_distance_m: Option<f64>,
    decay: Vec<Rate>,
}

/// Rate at an hour: after now for a point source, after the detonation for fallout.
#[derive(Debug, Clone, Output)]
pub struct Rate {
    hour_h: f64,
    rate_msv_h: f64,
}

/// Half-life in hours and air-kerma rate constant in mGy·m²/(GBq·h).
static NUCLIDES: LazyLock<Vec<(&'static str, f64, f64)>> = LazyLock::new(|| {
    let nuclide = |row: Vec<&'static str>| (row.first().copied().unwrap_or_default(), number(&row, 1), number(&row, 2));
    rows(include_str!("../data/gamma_constants.csv")).map(nuclide).collect()
});

/// Exponent of the decay of fallout (Way and Wigner).
const FALLOUT: f64 = 1.2;
/// Hours after the detonation for which that decay is used.
const FALLOUT_HOURS: std::ops::RangeInclusive<f64> = 0.5..=5000.0;
/// Rate in mSv/h at the edge of the inner cordon (IAEA EPR-First Responders 2006).
const CORDON: f64 = 0.1;
const POINT_HOURS: [f64; 6] = [0.0, 1.0, 24.0, 168.0, 720.0, 8760.0];
/// Hours as multiples of the entry: seven times the hours is a tenth of the rate.
const MULTIPLES: [f64; 6] = [1.0, 2.0, 4.0, 7.0, 14.0, 49.0];
const MOST: f64 = 1e9;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    for (name, value) in [
        ("activity", input.activity_gbq),
        ("distance", input.distance_m),
        ("reference_rate", input.reference_rate_msv_h),
        ("reference_hour", Some(input.reference_hour_h)),
        ("entry_hour", input.entry_hour_h),
        ("dose_limit", Some(input.dose_limit_msv)),
    ] {
        if value.is_some_and(|value| value > MOST) {
            return Err(Failure::invalid(&[name], format!("must be at most {MOST}")));
        }
    }
    match input.mode {
        Mode::PointSource => point_source(&input, cx),
        Mode::Fallout => fallout(&input, cx),
    }
}

/// A value that must be given and be above zero.
fn positive(name: &str, value: Option<f64>) -> Result<f64, Failure> {
    value
        .filter(|value| *value > 0.0)
        .ok_or_else(|| Failure::invalid(&[name], "is needed for this mode, and must be above 0"))
}

fn point_source(input: &Input, cx: &Context) -> Result<Output, Failure> {
    let activity = positive("activity", input.activity_gbq)?;
    let distance = positive("distance", input.distance_m)?;
    if distance < 0.01 {
        return Err(Failure::invalid(&["distance"], "must be at least 0.01 m: nearer a source is no point"));
    }
    if input.shield_material != Shield::None && input.shield_thickness_cm > 0.0 {
        let message = "shields are not computed: their half-value layers have no second source yet; without the shield the dose is higher";
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, message));
    }
    let name = muster_engine::wire::Words::word(&input.nuclide);
    let known = NUCLIDES.iter().find(|(known, ..)| *known == name);
    let (_, half_life, constant) = known.copied().ok_or_else(|| {
        let message = format!("{name} is not computed: the constant of its X-rays has no second source yet");
        Failure::no_answer(NoAnswer::OutsideValidity, message)
    })?;
    cx.warn("unreviewed: the gamma constants were computed from line data; one source for each number");
    cx.assume("a point in free air, no scatter; a sievert is taken as a gray of air kerma");
    let rate = constant * activity / (distance * distance);
    let at = |hour: f64| Rate { hour_h: hour, rate_msv_h: rate * (-hour / half_life * std::f64::consts::LN_2).exp() };
    Ok(Output {
        rate_msv_h: rate,
        dose_per_hour_msv: rate,
        stay_time_h: Some(input.dose_limit_msv / rate),
        safe_distance_m: Some((constant * activity / CORDON).sqrt()),
        decay: POINT_HOURS.into_iter().map(at).collect(),
    })
}

fn fallout(input: &Input, cx: &Context) -> Result<Output, Failure> {
    let reference = positive("reference_rate", input.reference_rate_msv_h)?;
    let reference_hour = positive("reference_hour", Some(input.reference_hour_h))?;
    let entry = positive("entry_hour", Some(input.entry_hour_h.unwrap_or(reference_hour)))?;
    if entry < 1e-3 || reference_hour < 1e-3 {
        return Err(Failure::invalid(&["entry_hour"], "must be at least 0.001 h"));
    }
    if !FALLOUT_HOURS.contains(&entry) || !FALLOUT_HOURS.contains(&reference_hour) {
        cx.warn("extrapolated: fallout decays with t^-1.2 from half an hour to about 200 days");
    }
    let first = reference * reference_hour.powf(FALLOUT);
    let rate = |hour: f64| first * hour.powf(-FALLOUT);
    let dose = |from: f64, to: f64| 5.0 * first * (from.powf(-0.2) - to.powf(-0.2));
    let left = entry.powf(-0.2) - input.dose_limit_msv / (5.0 * first);
    let stay = (left > 0.0).then(|| left.powf(-5.0) - entry).filter(|stay| stay.is_finite());
    if stay.is_none() {
        cx.warn("unlimited: all fallout that follows gives less than dose_limit");
    }
    cx.assume("no fallout arrives after the entry, and nobody is sheltered");
    let at = |multiple: f64| Rate { hour_h: multiple * entry, rate_msv_h: rate(multiple * entry) };
    Ok(Output {
        rate_msv_h: rate(entry),
        dose_per_hour_msv: dose(entry, entry + 1.0),
        stay_time_h: stay,
        safe_distance_m: None,
        decay: MULTIPLES.into_iter().map(at).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(mode: Mode) -> Input {
        Input {
            mode,
            activity_gbq: Some(100.0),
            nuclide: Nuclide::Caesium137,
            distance_m: Some(2.0),
            shield_material: Shield::None,
            shield_thickness_cm: 0.0,
            reference_rate_msv_h: Some(100.0),
            reference_hour_h: 1.0,
            entry_hour_h: Some(7.0),
            dose_limit_msv: 50.0,
        }
    }

    #[test]
    fn seven_times_the_hours_is_a_tenth_of_the_rate() {
        let output = run(input(Mode::Fallout), &Context::default()).unwrap();
        assert!((output.rate_msv_h - 9.68).abs() < 0.01);
        let (entry, later) = (output.decay[0].rate_msv_h, output.decay[3].rate_msv_h);
        assert!((later / entry - 7_f64.powf(-1.2)).abs() < 1e-12);
    }

    #[test]
    fn twice_the_distance_is_a_quarter_of_the_rate() {
        let near = run(input(Mode::PointSource), &Context::default()).unwrap();
        let far = Input { distance_m: Some(4.0), ..input(Mode::PointSource) };
        let far = run(far, &Context::default()).unwrap();
        assert!((near.rate_msv_h / far.rate_msv_h - 4.0).abs() < 1e-12);
        let edge = Input { distance_m: near.safe_distance_m, ..input(Mode::PointSource) };
        assert!((run(edge, &Context::default()).unwrap().rate_msv_h - CORDON).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_second_source_has_no_answer() {
        let shielded = Input { shield_material: Shield::Lead, shield_thickness_cm: 1.0, ..input(Mode::PointSource) };
        let americium = Input { nuclide: Nuclide::Americium241, ..input(Mode::PointSource) };
        for input in [shielded, americium] {
            assert!(matches!(run(input, &Context::default()), Err(Failure::NoAnswer { .. })));
        }
    }
}
