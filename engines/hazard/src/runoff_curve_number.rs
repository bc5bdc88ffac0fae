//! q31: storm runoff by the curve-number method of the Soil Conservation Service.

use std::sync::LazyLock;

use muster_engine::prelude::*;

use crate::table::{number, rows};

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    rainfall_mm: f64,
    curve_number: Option<f64>,
    land_use: Option<String>,
    soil_group: SoilGroup,
    moisture_condition: Moisture,
    area_km2: f64,
    time_of_concentration_h: Option<f64>,
    storm_duration_h: f64,
}

/// Hydrologic soil groups: A takes most water, D least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "upper")]
pub enum SoilGroup {
    A,
    B,
    C,
    D,
}

/// Moisture before the storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Moisture {
    Dry,
    Normal,
    Wet,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    runoff_mm: f64,
    volume_m3: f64,
    curve_number: f64,
    retention_mm: f64,
    peak_flow_m3_s: Option<f64>,
    time_to_peak_h: Option<f64>,
}

static LAND_USES: LazyLock<Vec<(&'static str, [f64; 4])>> = LazyLock::new(|| {
    let land_use = |row: Vec<&'static str>| {
        let numbers = [1, 2, 3, 4].map(|at| number(&row, at));
        (row.first().copied().unwrap_or_default(), numbers)
    };
    rows(include_str!("../data/curve_numbers.csv")).map(land_use).collect()
});

const MAX_RAINFALL: f64 = 10_000.0;
const MAX_AREA: f64 = 1e6;
const MAX_HOURS: f64 = 10_000.0;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let normal = match (input.curve_number, &input.land_use) {
        (Some(number), _) => number,
        (None, Some(land_use)) => of_land_use(land_use, input.soil_group)?,
        (None, None) => return Err(Failure::invalid(&["curve_number"], "give curve_number or land_use")),
    };
    // Hawkins, Hjelmfelt and Zevenbergen 1985.
    let number = match input.moisture_condition {
        Moisture::Dry => normal / (2.281 - 0.01281 * normal),
        Moisture::Normal => normal,
        Moisture::Wet => normal / (0.427 + 0.00573 * normal),
    };
    let retention = 25_400.0 / number - 254.0;
    let runoff = runoff(input.rainfall_mm, retention);
    cx.assume("a fifth of the retention is held back before runoff begins");
    let time_to_peak = input.time_of_concentration_h.map(|time| input.storm_duration_h / 2.0 + 0.6 * time);
    let time_to_peak = time_to_peak.filter(|time| *time > 0.0);
    if time_to_peak.is_none() {
        cx.warn("left_out: the peak flow needs time_of_concentration");
    } else {
        cx.assume("triangular unit hydrograph, the rain spread evenly over storm_duration");
    }
    Ok(Output {
        runoff_mm: runoff,
        volume_m3: runoff * input.area_km2 * 1000.0,
        curve_number: number,
        retention_mm: retention,
        peak_flow_m3_s: time_to_peak.map(|time| 0.208 * input.area_km2 * runoff / time),
        time_to_peak_h: time_to_peak,
    })
}

fn check(input: &Input) -> Result<(), Failure> {
    let hours = input.time_of_concentration_h.unwrap_or_default().max(input.storm_duration_h);
    for (name, value, most) in [
        ("rainfall", input.rainfall_mm, MAX_RAINFALL),
        ("area", input.area_km2, MAX_AREA),
        ("storm_duration", hours, MAX_HOURS),
    ] {
        if value > most {
            return Err(Failure::invalid(&[name], format!("must be at most {most}")));
        }
    }
    Ok(())
}

fn of_land_use(land_use: &str, group: SoilGroup) -> Result<f64, Failure> {
    let wanted = land_use.trim().to_lowercase().replace([' ', '_'], "-");
    let known = LAND_USES.iter().find(|(name, _)| *name == wanted);
    let (_, [a, b, c, d]) = known.ok_or_else(|| {
        let names: Vec<&str> = LAND_USES.iter().map(|(name, _)| *name).collect();
        Failure::invalid(&["land_use"], format!("must be one of {}", names.join(", ")))
    })?;
    Ok(match group {
        SoilGroup::A => *a,
        SoilGroup::B => *b,
        SoilGroup::C => *c,
        SoilGroup::D => *d,
    })
}

/// Direct runoff in mm.
fn runoff(rainfall: f64, retention: f64) -> f64 {
    let excess = rainfall - 0.2 * retention;
    if excess > 0.0 { excess * excess / (excess + retention) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runoff_begins_after_the_abstraction_and_stays_below_the_rain() {
        for retention in [0.0, 10.0, 80.0, 500.0] {
            assert_eq!(runoff(0.2 * retention, retention), 0.0);
            for rain in 1..500 {
                let (less, more) = (runoff(f64::from(rain), retention), runoff(f64::from(rain + 1), retention));
                assert!(more >= less && less <= f64::from(rain));
            }
        }
    }

    #[test]
    fn poorer_soil_gives_more_runoff() {
        assert_eq!(LAND_USES.len(), 32);
        for (name, [a, b, c, d]) in LAND_USES.iter() {
            assert!(a <= b && b <= c && c <= d && *a >= 30.0 && *d <= 100.0, "{name}");
        }
        assert_eq!(of_land_use("Woods good", SoilGroup::B).unwrap(), 55.0);
        assert!(of_land_use("moon", SoilGroup::B).is_err());
    }
}
