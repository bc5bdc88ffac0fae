//! Position of the sun and the times of its rising and setting: the equations of NOAA's solar calculator, which are
//! those of Meeus, Astronomical Algorithms (second edition), chapters 25 and 28.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Zenith of the sun's centre at sunrise and sunset: 34' of refraction and 16' of radius.
pub const SUNRISE: f64 = 90.833;
/// Zenith of the sun's centre at civil dawn and dusk.
pub const CIVIL_TWILIGHT: f64 = 96.0;
/// Years for which the series stand.
pub const YEARS: std::ops::RangeInclusive<i16> = 1000..=3000;

const MINUTES_PER_DAY: f64 = 1440.0;
/// Rounds of the iteration for the sun's motion during the day. Each gains two digits.
const ROUNDS: usize = 6;

/// Where the sun stands, seen from a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// Degrees above the horizon, with the refraction of a standard atmosphere.
    pub elevation: f64,
    /// Degrees above the horizon without refraction.
    pub geometric: f64,
    /// Degrees clockwise from north.
    pub azimuth: f64,
}

/// Declination in degrees and equation of time in minutes.
#[derive(Debug, Clone, Copy)]
struct Sun {
    declination: f64,
    equation_of_time: f64,
}

fn sun(at: Timestamp) -> Sun {
    // J2000.0 is 2000-01-01 12:00; the difference of terrestrial time, a minute, moves the sun by 0.0008°.
    let centuries = (at.as_nanosecond() as f64 / 1e9 - 946_728_000.0) / (86_400.0 * 36_525.0);
    let t = centuries;
    let longitude = (280.466_46 + t * (36_000.769_83 + t * 0.000_303_2)).rem_euclid(360.0).to_radians();
    let anomaly = (357.529_11 + t * (35_999.050_29 - 0.000_153_7 * t)).to_radians();
    let eccentricity = 0.016_708_634 - t * (0.000_042_037 + 0.000_000_126_7 * t);
    let centre = anomaly.sin() * (1.914_602 - t * (0.004_817 + 0.000_014 * t))
        + (2.0 * anomaly).sin() * (0.019_993 - 0.000_101 * t)
        + (3.0 * anomaly).sin() * 0.000_289;
    let node = (125.04 - 1_934.136 * t).to_radians();
    let apparent = (longitude.to_degrees() + centre - 0.005_69 - 0.004_78 * node.sin()).to_radians();
    let seconds = 21.448 - t * (46.815 + t * (0.000_59 - t * 0.001_813));
    let obliquity = (23.0 + (26.0 + seconds / 60.0) / 60.0 + 0.002_56 * node.cos()).to_radians();
    let y = (obliquity / 2.0).tan().powi(2);
    let equation = y * (2.0 * longitude).sin() - 2.0 * eccentricity * anomaly.sin()
        + 4.0 * eccentricity * y * anomaly.sin() * (2.0 * longitude).cos()
        - 0.5 * y * y * (4.0 * longitude).sin()
        - 1.25 * eccentricity * eccentricity * (2.0 * anomaly).sin();
    Sun {
        declination: (obliquity.sin() * apparent.sin()).asin().to_degrees(),
        equation_of_time: 4.0 * equation.to_degrees(),
    }
}

/// Returns where the sun stands at a time, seen from a latitude and longitude in degrees.
pub fn position(at: Timestamp, lat: f64, lon: f64) -> Position {
    let sun = sun(at);
    let minutes = (at.as_nanosecond().rem_euclid(86_400_000_000_000)) as f64 / 6e10;
    let solar_time = (minutes + sun.equation_of_time + 4.0 * lon).rem_euclid(MINUTES_PER_DAY);
    let hour_angle = (solar_time / 4.0 - 180.0).to_radians();
    let (lat, declination) = (lat.to_radians(), sun.declination.to_radians());
    let sine = lat.sin() * declination.sin() + lat.cos() * declination.cos() * hour_angle.cos();
    let geometric = sine.clamp(-1.0, 1.0).asin().to_degrees();
    let azimuth = hour_angle.sin().atan2(hour_angle.cos() * lat.sin() - declination.tan() * lat.cos());
    Position {
        elevation: geometric + refraction(geometric),
        geometric,
        azimuth: (azimuth.to_degrees() + 180.0).rem_euclid(360.0),
    }
}

/// Refraction in degrees at a geometric elevation.
fn refraction(elevation: f64) -> f64 {
    let tangent = elevation.to_radians().tan();
    let seconds = if elevation > 85.0 {
        0.0
    } else if elevation > 5.0 {
        58.1 / tangent - 0.07 / tangent.powi(3) + 0.000_086 / tangent.powi(5)
    } else if elevation > -0.575 {
        1735.0 + elevation * (-518.2 + elevation * (103.4 + elevation * (-12.79 + elevation * 0.711)))
    } else {
        -20.774 / tangent
    };
    seconds / 3600.0
}

/// The day of a place that has its solar noon nearest to noon of local mean time.
#[derive(Debug, Clone, Copy)]
pub struct Day {
    lat: f64,
    lon: f64,
    noon: Timestamp,
}

impl Day {
    /// Returns the day of a date at a place; `None` for years outside of [`YEARS`].
    pub fn new(date: Date, lat: f64, lon: f64) -> Option<Self> {
        if !YEARS.contains(&date.year()) {
            return None;
        }
        let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let mut noon = after(midnight, 720.0 - 4.0 * lon)?;
        for _ in 0..ROUNDS {
            noon = after(midnight, 720.0 - 4.0 * lon - sun(noon).equation_of_time)?;
        }
        Some(Self { lat, lon, noon })
    }

    /// Returns the time when the sun is highest.
    pub fn noon(&self) -> Timestamp {
        self.noon
    }

    /// Returns the times before and after noon when the sun's centre stands at a zenith; `None` where it stays above or
    /// below all day.
    pub fn crossings(&self, zenith: f64) -> (Option<Timestamp>, Option<Timestamp>) {
        (self.crossing(zenith, -1.0), self.crossing(zenith, 1.0))
    }

    /// Whether the sun's centre stands above a zenith at noon.
    pub fn above_at_noon(&self, zenith: f64) -> bool {
        position(self.noon, self.lat, self.lon).geometric > 90.0 - zenith
    }

    fn crossing(&self, zenith: f64, side: f64) -> Option<Timestamp> {
        let equation_at_noon = sun(self.noon).equation_of_time;
        let lat = self.lat.to_radians();
        let mut at = self.noon;
        for _ in 0..ROUNDS {
            let sun = sun(at);
            let declination = sun.declination.to_radians();
            let cosine = (zenith.to_radians().cos() - lat.sin() * declination.sin()) / (lat.cos() * declination.cos());
            if !(-1.0..=1.0).contains(&cosine) {
                return None;
            }
            let hour_angle = cosine.acos().to_degrees();
            at = after(self.noon, side * 4.0 * hour_angle + equation_at_noon - sun.equation_of_time)?;
        }
        Some(at)
    }
}

fn after(at: Timestamp, minutes: f64) -> Option<Timestamp> {
    at.checked_add(SignedDuration::from_nanos((minutes * 6e10) as i64)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NREL/TP-560-34302, table A5.1: zenith 50.11162°, azimuth 194.34024° (at 1830 m).
    #[test]
    fn the_position_is_that_of_the_solar_position_algorithm() {
        let position = position("2003-10-17T19:30:30Z".parse().unwrap(), 39.742476, -105.1786);
        assert!((position.elevation - (90.0 - 50.11162)).abs() < 0.01, "{position:?}");
        assert!((position.azimuth - 194.34024).abs() < 0.02, "{position:?}");
    }

    #[test]
    fn the_sun_stands_at_the_zenith_of_a_crossing() {
        for (lat, lon) in [(0.0, 0.0), (51.48, 0.0), (-33.9, 151.2), (64.1, -21.9), (10.0, 179.9)] {
            let day = Day::new("2026-06-21".parse().unwrap(), lat, lon).unwrap();
            for zenith in [SUNRISE, CIVIL_TWILIGHT] {
                let (rise, set) = day.crossings(zenith);
                for at in [rise, set].into_iter().flatten() {
                    let geometric = position(at, lat, lon).geometric;
                    assert!((geometric - (90.0 - zenith)).abs() < 1e-3, "{lat} {lon} {zenith}: {geometric}");
                }
            }
        }
    }

    #[test]
    fn the_sun_does_not_set_in_the_polar_summer() {
        let day = Day::new("2026-06-21".parse().unwrap(), 78.2, 15.6).unwrap();
        assert_eq!(day.crossings(SUNRISE), (None, None));
        assert!(day.above_at_noon(SUNRISE));
        let night = Day::new("2026-12-21".parse().unwrap(), 78.2, 15.6).unwrap();
        assert_eq!(night.crossings(SUNRISE), (None, None));
        assert!(!night.above_at_noon(SUNRISE));
    }
}
