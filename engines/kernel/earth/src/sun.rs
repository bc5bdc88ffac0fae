//! Position of the sun by the equations of NOAA's solar calculator (Meeus, Astronomical Algorithms, chapter 25).

use crate::LatLon;

/// Where the sun stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sun {
    /// Elevation of its centre above the horizon in degrees, without refraction.
    pub elevation: f64,
    /// Elevation with the refraction of a standard atmosphere.
    pub apparent_elevation: f64,
    /// Azimuth in [0, 360) degrees clockwise from north.
    pub azimuth: f64,
    /// Declination in degrees.
    pub declination: f64,
    /// Apparent less mean solar time, in minutes.
    pub equation_of_time: f64,
}

/// Returns where the sun stands at a time, in seconds since 1970 UTC. Within 0.01 degrees from 1901 to 2099.
pub fn sun(position: LatLon, unix_seconds: f64) -> Sun {
    let days = unix_seconds / 86_400.0 + 2_440_587.5 - 2_451_545.0;
    let t = days / 36_525.0;
    let mean_longitude = (280.466_46 + t * (36_000.769_83 + t * 0.000_303_2)).rem_euclid(360.0);
    let anomaly = (357.529_11 + t * (35_999.050_29 - 0.000_153_7 * t)).to_radians();
    let eccentricity = 0.016_708_634 - t * (0.000_042_037 + 0.000_000_126_7 * t);
    let centre = anomaly.sin() * (1.914_602 - t * (0.004_817 + 0.000_014 * t))
        + (2.0 * anomaly).sin() * (0.019_993 - 0.000_101 * t)
        + (3.0 * anomaly).sin() * 0.000_289;
    let node = (125.04 - 1_934.136 * t).to_radians();
    let longitude = (mean_longitude + centre - 0.005_69 - 0.004_78 * node.sin()).to_radians();
    let mean_obliquity = 23.0 + (26.0 + (21.448 - t * (46.815 + t * (0.000_59 - t * 0.001_813))) / 60.0) / 60.0;
    let obliquity = (mean_obliquity + 0.002_56 * node.cos()).to_radians();
    let declination = (obliquity.sin() * longitude.sin()).asin();
    let y = (obliquity / 2.0).tan().powi(2);
    let twice = 2.0 * mean_longitude.to_radians();
    let equation = y * twice.sin() - 2.0 * eccentricity * anomaly.sin()
        + 4.0 * eccentricity * y * anomaly.sin() * twice.cos()
        - 0.5 * y * y * (2.0 * twice).sin()
        - 1.25 * eccentricity * eccentricity * (2.0 * anomaly).sin();
    let equation_of_time = 4.0 * equation.to_degrees();

    let minutes = unix_seconds.rem_euclid(86_400.0) / 60.0 + equation_of_time + 4.0 * position.lon;
    let hour_angle = (minutes / 4.0 - 180.0).to_radians();
    let (sin_lat, cos_lat) = position.lat.to_radians().sin_cos();
    let (sin_dec, cos_dec) = declination.sin_cos();
    let sin_elevation = sin_lat * sin_dec + cos_lat * cos_dec * hour_angle.cos();
    let elevation = sin_elevation.clamp(-1.0, 1.0).asin().to_degrees();
    let azimuth = (-cos_dec * hour_angle.sin())
        .atan2(cos_lat * sin_dec - sin_lat * cos_dec * hour_angle.cos())
        .to_degrees()
        .rem_euclid(360.0);
    Sun {
        elevation,
        apparent_elevation: elevation + refraction(elevation),
        azimuth,
        declination: declination.to_degrees(),
        equation_of_time,
    }
}

/// Refraction of NOAA's calculator, in degrees.
fn refraction(elevation: f64) -> f64 {
    let tan = elevation.to_radians().tan();
    let seconds = if elevation > 85.0 {
        0.0
    } else if elevation > 5.0 {
        58.1 / tan - 0.07 / tan.powi(3) + 0.000_086 / tan.powi(5)
    } else if elevation > -0.575 {
        1_735.0 + elevation * (-518.2 + elevation * (103.4 + elevation * (-12.79 + elevation * 0.711)))
    } else {
        -20.774 / tan
    };
    seconds / 3_600.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NREL/TP-560-34302, section A.5: Golden, 2003-10-17 12:30:30 at UTC-7: zenith 50.11162 degrees with refraction,
    /// azimuth 194.34024.
    #[test]
    fn the_example_of_nrel_is_met_within_the_accuracy() {
        let golden = LatLon::new(39.742_476, -105.178_6);
        let sun = sun(golden, 1_066_419_030.0);
        assert!((90.0 - sun.apparent_elevation - 50.111_62).abs() < 0.01, "{sun:?}");
        assert!((sun.azimuth - 194.340_24).abs() < 0.01, "{sun:?}");
    }
}
