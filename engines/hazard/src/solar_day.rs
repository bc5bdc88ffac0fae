//! q24: the sun's day.

use jiff::Unit;
use muster_engine::prelude::*;
use muster_kernel_earth::solar::{CIVIL_TWILIGHT, Day, SUNRISE, YEARS, position};

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    position: LatLon,
    date: Date,
    time: Option<Timestamp>,
}

/// Output of the engine. Times that do not occur on the day are left out.
#[derive(Debug, Output)]
pub struct Output {
    sunrise: Option<Timestamp>,
    sunset: Option<Timestamp>,
    civil_dawn: Option<Timestamp>,
    civil_dusk: Option<Timestamp>,
    solar_noon: Timestamp,
    day_length_h: Option<f64>,
    elevation_deg: Option<f64>,
    azimuth_deg: Option<f64>,
    polar: Polar,
}

/// Whether the sun rises and sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Polar {
    None,
    Day,
    Night,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let LatLon { lat, lon } = input.position;
    let outside = || {
        let message = format!("the series hold for the years {} to {}", YEARS.start(), YEARS.end());
        Failure::no_answer(NoAnswer::OutsideValidity, message)
    };
    if input.time.is_some_and(|time| !YEARS.contains(&time.to_zoned(jiff::tz::TimeZone::UTC).year())) {
        return Err(outside());
    }
    let day = Day::new(input.date, lat, lon).ok_or_else(outside)?;
    cx.assume("the day is that whose solar noon is nearest to noon of local mean time; the horizon is level");
    let (sunrise, sunset) = day.crossings(SUNRISE);
    let (civil_dawn, civil_dusk) = day.crossings(CIVIL_TWILIGHT);
    let polar = match (sunrise, sunset) {
        (None, None) if day.above_at_noon(SUNRISE) => Polar::Day,
        (None, None) => Polar::Night,
        _ => Polar::None,
    };
    let day_length = match (sunrise, sunset, polar) {
        (Some(rise), Some(set), _) => Some(set.duration_since(rise).as_secs_f64() / 3600.0),
        (_, _, Polar::Day) => Some(24.0),
        (_, _, Polar::Night) => Some(0.0),
        _ => {
            cx.warn("undefined: the sun either rises or sets on this day, so its length is open");
            None
        }
    };
    let at = input.time.map(|time| position(time, lat, lon));
    Ok(Output {
        sunrise: second(sunrise),
        sunset: second(sunset),
        civil_dawn: second(civil_dawn),
        civil_dusk: second(civil_dusk),
        solar_noon: second(Some(day.noon())).unwrap_or(day.noon()),
        day_length_h: day_length,
        elevation_deg: at.map(|at| at.elevation),
        azimuth_deg: at.map(|at| at.azimuth),
        polar,
    })
}

fn second(at: Option<Timestamp>) -> Option<Timestamp> {
    at.and_then(|at| at.round(Unit::Second).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_and_night_together_are_a_day_over_the_year() {
        let cx = Context::default();
        let length = |lat: f64| -> f64 {
            let days = (1..=12).map(|month| {
                let input =
                    Input { position: LatLon { lat, lon: 0.0 }, date: Date::new(2026, month, 15).unwrap(), time: None };
                run(input, &cx).unwrap().day_length_h.unwrap()
            });
            days.sum::<f64>() / 12.0
        };
        // Refraction and the sun's radius add some minutes.
        assert!((length(0.0) - 12.11).abs() < 0.03);
        assert!(length(45.0) > 12.1 && length(45.0) < 12.4);
    }

    #[test]
    fn a_time_outside_the_series_has_no_answer() {
        let input = Input { position: LatLon { lat: 0.0, lon: 0.0 }, date: Date::new(9000, 1, 1).unwrap(), time: None };
        assert!(matches!(run(input, &Context::default()), Err(Failure::NoAnswer { .. })));
    }
}
