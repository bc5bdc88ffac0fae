//! q40: size of an earthquake.

use muster_engine::prelude::*;

use crate::scaling::{FaultType, rupture_area, surface_length};

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    magnitude_mw: Option<f64>,
    moment_n_m: Option<f64>,
    fault_type: FaultType,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    magnitude_mw: f64,
    moment_n_m: f64,
    energy_j: f64,
    tnt_t: f64,
    rupture_length_km: f64,
    rupture_area_km2: f64,
    mean_slip_m: f64,
}

/// Rigidity of the crust in Pa.
const RIGIDITY: f64 = 3e10;
const JOULES_PER_TONNE: f64 = 4.184e9;
/// Magnitudes of the earthquakes behind the regressions.
const FITTED: std::ops::RangeInclusive<f64> = 4.8..=8.1;
const MAGNITUDES: std::ops::RangeInclusive<f64> = 0.0..=10.0;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let magnitude = match (input.magnitude_mw, input.moment_n_m) {
        (Some(magnitude), None) => magnitude,
        (None, Some(moment)) => 2.0 / 3.0 * (moment.log10() - 9.1),
        _ => return Err(Failure::invalid(&["magnitude"], "give either magnitude or moment")),
    };
    if !MAGNITUDES.contains(&magnitude) {
        return Err(Failure::invalid(&["moment"], "must be that of a magnitude from 0 to 10"));
    }
    if !FITTED.contains(&magnitude) {
        cx.warn("extrapolated: the regressions of the rupture come from magnitudes of 4.8 to 8.1");
    }
    let moment = input.moment_n_m.unwrap_or_else(|| 10_f64.powf(1.5 * magnitude + 9.1));
    let energy = 10_f64.powf(1.5 * magnitude + 4.8);
    let area = rupture_area(input.fault_type, magnitude);
    cx.assume("rigidity of the crust 30 GPa; medians of Wells and Coppersmith (1994)");
    Ok(Output {
        magnitude_mw: magnitude,
        moment_n_m: moment,
        energy_j: energy,
        tnt_t: energy / JOULES_PER_TONNE,
        rupture_length_km: surface_length(input.fault_type, magnitude),
        rupture_area_km2: area,
        mean_slip_m: moment / (RIGIDITY * area * 1e6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_magnitude_more_is_thirtytwo_times_the_energy() {
        let source = |magnitude| {
            let input = Input { magnitude_mw: Some(magnitude), moment_n_m: None, fault_type: FaultType::All };
            run(input, &Context::default()).unwrap()
        };
        let ratio = source(7.0).energy_j / source(6.0).energy_j;
        assert!((ratio - 10_f64.powf(1.5)).abs() < 1e-9);
        let back = Input { magnitude_mw: None, moment_n_m: Some(source(6.5).moment_n_m), fault_type: FaultType::All };
        assert!((run(back, &Context::default()).unwrap().magnitude_mw - 6.5).abs() < 1e-12);
    }
}
