//! q32: peak flow of a small catchment by the rational method.

use muster_engine::prelude::*;

/// Input of the engine; ranges stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    runoff_coefficient: f64,
    area_ha: f64,
    intensity_mm_h: Option<f64>,
    flow_length_m: Option<f64>,
    slope_m_m: Option<f64>,
    idf: Option<Idf>,
}

/// Intensity a / (t + b)^c in mm/h of a duration t in minutes.
#[derive(Debug, Clone, Copy, Input)]
pub struct Idf {
    a: f64,
    b: f64,
    c: f64,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    peak_flow_m3_s: f64,
    intensity_mm_h: f64,
    time_of_concentration_min: Option<f64>,
}

/// Catchments for which the method is accepted (FHWA HDS-2).
const ACCEPTED_HA: f64 = 80.0;
const MAX_AREA: f64 = 1e6;
const MAX_INTENSITY: f64 = 10_000.0;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.area_ha > MAX_AREA {
        return Err(Failure::invalid(&["area"], format!("must be at most {MAX_AREA} ha")));
    }
    let time = match (input.flow_length_m, input.slope_m_m) {
        (Some(length), Some(slope)) => Some(kirpich(length, slope)?),
        _ => None,
    };
    let intensity = match (input.intensity_mm_h, input.idf, time) {
        (Some(intensity), ..) => intensity,
        (None, Some(idf), Some(time)) => of_duration(idf, time)?,
        (None, Some(_), None) => {
            return Err(Failure::invalid(
                &["flow_length"],
                "with idf, flow_length and slope are needed for the duration",
            ));
        }
        (None, None, _) => {
            return Err(Failure::invalid(&["intensity"], "give intensity, or idf with flow_length and slope"));
        }
    };
    if intensity > MAX_INTENSITY {
        return Err(Failure::invalid(&["intensity"], format!("must be at most {MAX_INTENSITY} mm/h")));
    }
    if input.area_ha > ACCEPTED_HA {
        cx.warn(format!("extrapolated: the rational method is for catchments up to {ACCEPTED_HA} ha"));
    }
    cx.assume("rain of the same intensity over the whole catchment, for at least the time of concentration");
    Ok(Output {
        peak_flow_m3_s: input.runoff_coefficient * intensity * input.area_ha / 360.0,
        intensity_mm_h: intensity,
        time_of_concentration_min: time,
    })
}

/// Kirpich's time of concentration in minutes.
fn kirpich(length: f64, slope: f64) -> Result<f64, Failure> {
    if !(length > 0.0 && length <= 1e6) {
        return Err(Failure::invalid(&["flow_length"], "must be above 0, at most 1000000 m"));
    }
    if !(1e-6..=10.0).contains(&slope) {
        return Err(Failure::invalid(&["slope"], "must be from 0.000001 to 10"));
    }
    Ok(0.0195 * length.powf(0.77) * slope.powf(-0.385))
}

fn of_duration(idf: Idf, time: f64) -> Result<f64, Failure> {
    let shifted = time + idf.b;
    let intensity = idf.a / shifted.powf(idf.c);
    if idf.a < 0.0 || shifted <= 0.0 || !intensity.is_finite() {
        return Err(Failure::invalid(&["idf"], format!("gives no intensity at the duration of {time:.2} min")));
    }
    Ok(intensity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steeper_and_shorter_ways_concentrate_faster() {
        assert!(kirpich(500.0, 0.02).unwrap() < kirpich(500.0, 0.01).unwrap());
        assert!(kirpich(400.0, 0.01).unwrap() < kirpich(500.0, 0.01).unwrap());
        assert!(kirpich(0.0, 0.01).is_err());
    }

    #[test]
    fn a_curve_without_an_intensity_is_refused() {
        assert!(of_duration(Idf { a: 1000.0, b: -60.0, c: 0.8 }, 30.0).is_err());
        assert!((of_duration(Idf { a: 1000.0, b: 10.0, c: 1.0 }, 30.0).unwrap() - 25.0).abs() < 1e-12);
    }
}
