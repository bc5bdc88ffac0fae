//! q23: reference evapotranspiration. Equation numbers are those of FAO Irrigation and Drainage Paper 56.

use std::f64::consts::{PI, TAU};

use muster_engine::prelude::*;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    t_min: f64,
    t_max_deg_c: f64,
    rh_mean_percent: f64,
    wind_2m: f64,
    sunshine_hours: Option<f64>,
    solar_radiation_mj_m2_d: Option<f64>,
    latitude_deg: f64,
    elevation_m: f64,
    day_of_year: u16,
    crop_coefficient: f64,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    et0_mm_d: f64,
    etc_mm_d: f64,
    ra_mj_m2_d: f64,
    rn_mj_m2_d: Option<f64>,
    vpd_kpa: f64,
}

/// Elevations for which equation 7 stands for the pressure of the air.
const ELEVATIONS: std::ops::RangeInclusive<f64> = -500.0..=9000.0;
const TEMPERATURES: std::ops::RangeInclusive<f64> = -90.0..=65.0;
/// Water that a megajoule evaporates, in mm (equation 20).
const MM_PER_MJ: f64 = 0.408;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let (mean, ra, daylight) = extraterrestrial(&input);
    let (least, most) = (saturation(input.t_min), saturation(input.t_max_deg_c));
    let es = (least + most) / 2.0;
    let ea = input.rh_mean_percent / 100.0 * es;
    let vpd = es - ea;
    cx.step("daylight", daylight, "h");
    let solar = match (input.solar_radiation_mj_m2_d, input.sunshine_hours) {
        (Some(solar), _) => Some(solar),
        (None, Some(hours)) if hours > daylight + 0.5 => {
            let message = format!("the day has {daylight:.1} hours of daylight");
            return Err(Failure::invalid(&["sunshine_hours"], message));
        }
        // Equation 35 with the constants of Angstrom that the paper recommends.
        (None, Some(_)) if daylight == 0.0 => Some(0.0),
        (None, Some(hours)) => Some((0.25 + 0.5 * (hours / daylight).min(1.0)) * ra),
        (None, None) => None,
    };
    let (et0, rn) = match solar {
        Some(solar) => {
            let rn = net_radiation(&input, solar, ra, ea, cx);
            (penman_monteith(&input, mean, rn, vpd), Some(rn))
        }
        None => {
            cx.warn("assumed: neither radiation nor sunshine is given, so Hargreaves' equation 52 is used");
            (0.0023 * (mean + 17.8) * (input.t_max_deg_c - input.t_min).sqrt() * ra * MM_PER_MJ, None)
        }
    };
    // Condensation is no evapotranspiration.
    let et0 = et0.max(0.0);
    Ok(Output { et0_mm_d: et0, etc_mm_d: et0 * input.crop_coefficient, ra_mj_m2_d: ra, rn_mj_m2_d: rn, vpd_kpa: vpd })
}

fn check(input: &Input) -> Result<(), Failure> {
    if !TEMPERATURES.contains(&input.t_min) {
        return Err(Failure::invalid(&["t_min"], "must be from -90 to 65 °C"));
    }
    if !TEMPERATURES.contains(&input.t_max_deg_c) || input.t_max_deg_c < input.t_min {
        return Err(Failure::invalid(&["t_max"], "must be from t_min to 65 °C"));
    }
    if !ELEVATIONS.contains(&input.elevation_m) {
        return Err(Failure::invalid(&["elevation"], "must be from -500 to 9000 m"));
    }
    for (name, value, most) in
        [("wind_2m", Some(input.wind_2m), 120.0), ("solar_radiation", input.solar_radiation_mj_m2_d, 60.0)]
    {
        if value.is_some_and(|value| value > most) {
            return Err(Failure::invalid(&[name], format!("must be at most {most}")));
        }
    }
    Ok(())
}

/// Mean temperature, radiation at the top of the air (equation 21) and hours of daylight (equation 34).
fn extraterrestrial(input: &Input) -> (f64, f64, f64) {
    let day = f64::from(input.day_of_year);
    let latitude = input.latitude_deg * PI / 180.0;
    let distance = 1.0 + 0.033 * (TAU / 365.0 * day).cos();
    let declination = 0.409 * (TAU / 365.0 * day - 1.39).sin();
    // Beyond the polar circles the sun does not set, or does not rise.
    let sunset = (-latitude.tan() * declination.tan()).clamp(-1.0, 1.0).acos();
    let sines = sunset * latitude.sin() * declination.sin() + latitude.cos() * declination.cos() * sunset.sin();
    let ra = (24.0 * 60.0 / PI * 0.0820 * distance * sines).max(0.0);
    ((input.t_min + input.t_max_deg_c) / 2.0, ra, 24.0 / PI * sunset)
}

/// Vapour pressure of saturated air in kPa (equation 11).
fn saturation(t: f64) -> f64 {
    0.6108 * (17.27 * t / (t + 237.3)).exp()
}

/// Net radiation (equations 37 to 40).
fn net_radiation(input: &Input, solar: f64, ra: f64, ea: f64, cx: &Context) -> f64 {
    let clear = (0.75 + 2e-5 * input.elevation_m) * ra;
    let share = if clear > 0.0 {
        // Less than a quarter of Ra, a third of clear sky, comes from no overcast sky (ASCE 2005 takes 0.3).
        (solar / clear).clamp(0.3, 1.0)
    } else {
        cx.warn("assumed: without sun above the horizon the cloudiness is unknown; half of clear-sky radiation stands for it");
        0.5
    };
    let stefan = |t: f64| 4.903e-9 * (t + 273.16).powi(4);
    let long =
        (stefan(input.t_max_deg_c) + stefan(input.t_min)) / 2.0 * (0.34 - 0.14 * ea.sqrt()) * (1.35 * share - 0.35);
    0.77 * solar - long
}

/// Equation 6 for a day: the heat that the soil stores is zero.
fn penman_monteith(input: &Input, mean: f64, rn: f64, vpd: f64) -> f64 {
    let pressure = 101.3 * ((293.0 - 0.0065 * input.elevation_m) / 293.0).powf(5.26);
    let gamma = 0.665e-3 * pressure;
    let slope = 4098.0 * saturation(mean) / (mean + 237.3).powi(2);
    let wind = input.wind_2m;
    (MM_PER_MJ * slope * rn + gamma * 900.0 / (mean + 273.0) * wind * vpd) / (slope + gamma * (1.0 + 0.34 * wind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Input {
        Input {
            t_min: 12.3,
            t_max_deg_c: 21.5,
            rh_mean_percent: 73.5,
            wind_2m: 2.078,
            sunshine_hours: Some(9.25),
            solar_radiation_mj_m2_d: None,
            latitude_deg: 50.8,
            elevation_m: 100.0,
            day_of_year: 187,
            crop_coefficient: 1.0,
        }
    }

    /// FAO-56, examples 8 and 9: Ra 32.2 MJ/m²/d and 11.7 hours of daylight at 20° S on 3 September.
    #[test]
    fn radiation_and_daylight_are_those_of_the_paper() {
        let (_, ra, daylight) = extraterrestrial(&Input { latitude_deg: -20.0, day_of_year: 246, ..input() });
        assert!((ra - 32.2).abs() < 0.05, "{ra}");
        assert!((daylight - 11.7).abs() < 0.05, "{daylight}");
    }

    #[test]
    fn drier_and_windier_air_takes_more_water() {
        let cx = Context::default();
        let et0 = |input| run(input, &cx).unwrap().et0_mm_d;
        assert!(et0(Input { rh_mean_percent: 50.0, ..input() }) > et0(input()));
        assert!(et0(Input { wind_2m: 4.0, ..input() }) > et0(input()));
    }

    #[test]
    fn the_polar_night_has_no_radiation() {
        let (_, ra, daylight) = extraterrestrial(&Input { latitude_deg: 80.0, day_of_year: 355, ..input() });
        assert_eq!((ra, daylight), (0.0, 0.0));
    }
}
