//! q41: shaking of an earthquake at sites.

mod bssa14;

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::scaling::{FaultType, subsurface_length};
use bssa14::{Event, PERIODS, Scenario, peaks, spectral};

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    magnitude_mw: f64,
    epicentre: LatLon,
    depth_km: f64,
    mechanism: Mechanism,
    sites: Vec<Site>,
    periods_s: Vec<f64>,
}

/// Mechanisms of the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Mechanism {
    Unspecified,
    StrikeSlip,
    Normal,
    Reverse,
}

/// A place that shakes.
#[derive(Debug, Clone, Input)]
pub struct Site {
    id: String,
    lat: f64,
    lon: f64,
    vs30_m_s: Option<f64>,
    rjb_km: Option<f64>,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    sites: Vec<Shaking>,
    sigma: BTreeMap<String, f64>,
}

/// Median shaking of a site.
#[derive(Debug, Clone, Output)]
pub struct Shaking {
    id: String,
    rjb_km: f64,
    pga_g: f64,
    pgv_cm_s: f64,
    sa: BTreeMap<String, f64>,
    mmi: f64,
    label: &'static str,
}

const MAX_SITES: usize = 5_000;
const MAX_PERIODS: usize = 20;
const VELOCITIES: std::ops::RangeInclusive<f64> = 150.0..=1500.0;
const DEFAULT_VELOCITY: f64 = 760.0;
/// Distances in km that the model was made for.
const DISTANCES: std::ops::RangeInclusive<f64> = 0.0..=300.0;
/// Standard gravity in cm/s².
const GRAVITY: f64 = 980.665;

/// Perceived shaking from each half intensity on (USGS ShakeMap).
const LABELS: [(f64, &str); 9] = [
    (9.5, "X+ extreme"),
    (8.5, "IX violent"),
    (7.5, "VIII severe"),
    (6.5, "VII very strong"),
    (5.5, "VI strong"),
    (4.5, "V moderate"),
    (3.5, "IV light"),
    (1.5, "II-III weak"),
    (f64::NEG_INFINITY, "I not felt"),
];

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let (event, fault) = match input.mechanism {
        Mechanism::Unspecified => (Event::Unspecified, FaultType::All),
        Mechanism::StrikeSlip => (Event::StrikeSlip, FaultType::StrikeSlip),
        Mechanism::Normal => (Event::Normal, FaultType::Normal),
        Mechanism::Reverse => (Event::Reverse, FaultType::Reverse),
    };
    let half = subsurface_length(fault, input.magnitude_mw) / 2.0;
    let epicentre = earth::LatLon::new(input.epicentre.lat, input.epicentre.lon);
    cx.assume(format!("without rjb it is the epicentral distance less {half:.1} km, half the median rupture length"));
    cx.assume(format!("without vs30 it is {DEFAULT_VELOCITY} m/s, soft rock; active shallow crust"));
    if input.depth_km > 30.0 {
        cx.warn("extrapolated: the model is for earthquakes of the shallow crust, and takes no depth");
    }
    let mut shaking = Vec::with_capacity(input.sites.len());
    let mut nearest: Option<(f64, BTreeMap<String, f64>)> = None;
    let mut far = 0_usize;
    for site in &input.sites {
        let epicentral = earth::inverse(epicentre, earth::LatLon::new(site.lat, site.lon)).distance / 1000.0;
        let rjb = site.rjb_km.unwrap_or((epicentral - half).max(0.0));
        far += usize::from(!DISTANCES.contains(&rjb));
        let vs30 = site.vs30_m_s.unwrap_or(DEFAULT_VELOCITY);
        let (one, sigmas) =
            shake(site, &Scenario { magnitude: input.magnitude_mw, event, rjb, vs30 }, &input.periods_s)?;
        shaking.push(one);
        if nearest.as_ref().is_none_or(|(least, _)| rjb < *least) {
            nearest = Some((rjb, sigmas));
        }
    }
    if far > 0 {
        cx.warn(format!("extrapolated: {far} sites are beyond 300 km, for which the model was made"));
    }
    cx.assume("sigma is that of the nearest site, in natural logarithms");
    Ok(Output { sites: shaking, sigma: nearest.map(|(_, sigmas)| sigmas).unwrap_or_default() })
}

fn check(input: &Input) -> Result<(), Failure> {
    if input.sites.len() > MAX_SITES || input.periods_s.len() > MAX_PERIODS {
        return Err(Failure::too_large(format!("at most {MAX_SITES} sites and {MAX_PERIODS} periods")));
    }
    if let Some(at) = input.periods_s.iter().position(|period| !PERIODS.contains(period)) {
        return Err(Failure::invalid(&["periods", &at.to_string()], "must be from 0.01 to 10 s"));
    }
    for (at, site) in input.sites.iter().enumerate() {
        let ranges = [
            ("lat", Some(site.lat), -90.0, 90.0),
            ("lon", Some(site.lon), -180.0, 180.0),
            ("vs30", site.vs30_m_s, *VELOCITIES.start(), *VELOCITIES.end()),
            ("rjb", site.rjb_km, 0.0, 1000.0),
        ];
        let outside = |(_, value, least, most): &&(&str, Option<f64>, f64, f64)| {
            value.is_some_and(|value| !(*least..=*most).contains(&value))
        };
        if let Some((name, _, least, most)) = ranges.iter().find(outside) {
            return Err(Failure::invalid(&["sites", &at.to_string(), name], format!("must be from {least} to {most}")));
        }
    }
    Ok(())
}

/// Shaking of a site and its standard deviations.
fn shake(site: &Site, scenario: &Scenario, periods: &[f64]) -> Result<(Shaking, BTreeMap<String, f64>), Failure> {
    let missing = || Failure::internal("the table of coefficients is incomplete");
    let (pgv, pga) = peaks(scenario).ok_or_else(missing)?;
    let mut sigmas = BTreeMap::from([("pga".to_owned(), pga.sigma), ("pgv".to_owned(), pgv.sigma)]);
    let mut sa = BTreeMap::new();
    for period in periods {
        let motion = spectral(scenario, *period).ok_or_else(missing)?;
        sa.insert(period.to_string(), motion.ln_median.exp());
        sigmas.insert(period.to_string(), motion.sigma);
    }
    let (pga, pgv) = (pga.ln_median.exp(), pgv.ln_median.exp());
    let mmi = intensity(pga, pgv);
    let label = LABELS.iter().find(|(least, _)| mmi >= *least).map_or("", |(_, label)| *label);
    Ok((Shaking { id: site.id.clone(), rjb_km: scenario.rjb, pga_g: pga, pgv_cm_s: pgv, sa, mmi, label }, sigmas))
}

/// Modified Mercalli intensity: mean of those by acceleration (g) and velocity (cm/s) (Worden et al. 2012).
fn intensity(pga: f64, pgv: f64) -> f64 {
    let line = |log: f64, knee: f64, low: (f64, f64), high: (f64, f64)| {
        let (a, b) = if log <= knee { low } else { high };
        a + b * log
    };
    let by_acceleration = line((pga * GRAVITY).log10(), 1.57, (1.78, 1.55), (-1.60, 3.70));
    let by_velocity = line(pgv.log10(), 0.53, (3.78, 1.47), (2.89, 3.16));
    ((by_acceleration + by_velocity) / 2.0).clamp(1.0, 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intensity_rises_with_shaking_and_is_continuous_at_the_knees() {
        for step in 0..200 {
            let pga = 1e-4 * 1.05_f64.powi(step);
            assert!(intensity(pga * 1.01, 1.0) >= intensity(pga, 1.0));
        }
        let knee = 10_f64.powf(1.57) / GRAVITY;
        assert!((intensity(knee * 1.0001, 1.0) - intensity(knee, 1.0)).abs() < 0.03);
        let knee = 10_f64.powf(0.53);
        assert!((intensity(0.1, knee * 1.0001) - intensity(0.1, knee)).abs() < 0.03);
    }
}
