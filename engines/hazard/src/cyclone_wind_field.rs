//! q28: wind around a cyclone (Holland 1980).

use muster_engine::prelude::*;

use crate::roots::bisect;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    central_pressure_hpa: f64,
    ambient_pressure_hpa: f64,
    max_wind_m_s: f64,
    radius_max_wind_km: f64,
    latitude_deg: f64,
    radii_km: Option<Vec<f64>>,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    profile: Vec<Point>,
    r34_km: Option<f64>,
    r50_km: Option<f64>,
    r64_km: Option<f64>,
    b: f64,
}

/// Wind and pressure at a radius.
#[derive(Debug, Clone, Copy, Output)]
pub struct Point {
    radius_km: f64,
    wind_m_s: f64,
    pressure_hpa: f64,
}

const AIR_DENSITY: f64 = 1.15;
/// Angular speed of the earth in 1/s.
const ROTATION: f64 = 7.2921e-5;
/// Shapes that Holland found.
const SHAPES: (f64, f64) = (1.0, 2.5);
const KNOT: f64 = 1852.0 / 3600.0;
const MAX_RADII: usize = 10_000;
/// Radius in km beyond which no wind of storm force is looked for.
const FAR: f64 = 3_000.0;
/// Radii as multiples of the radius of the greatest wind, where none are given.
const MULTIPLES: [f64; 10] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0];

/// A vortex in SI units.
struct Vortex {
    centre: f64,
    deficit: f64,
    radius: f64,
    coriolis: f64,
    b: f64,
}

impl Vortex {
    /// Gradient wind in m/s at a radius in m.
    fn wind(&self, radius: f64) -> f64 {
        let ratio = (self.radius / radius).powf(self.b);
        let pressure = self.b * self.deficit / AIR_DENSITY * ratio * (-ratio).exp();
        let turning = radius * self.coriolis / 2.0;
        // The same as sqrt(p + t²) - t, without the loss of digits far away.
        let root = (pressure + turning * turning).sqrt();
        if pressure == 0.0 { 0.0 } else { pressure / (root + turning) }
    }

    fn pressure(&self, radius: f64) -> f64 {
        self.centre + self.deficit * (-(self.radius / radius).powf(self.b)).exp()
    }

    /// Greatest radius in km at which the wind has a speed; none if it is nowhere as fast.
    fn outer_radius(&self, speed: f64) -> Option<f64> {
        let peak = self.radius / 1000.0;
        if self.wind(self.radius) < speed {
            return None;
        }
        if self.wind(FAR * 1000.0) >= speed {
            return Some(FAR);
        }
        Some(bisect(peak, FAR, |radius| self.wind(radius * 1000.0) - speed))
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let deficit = (input.ambient_pressure_hpa - input.central_pressure_hpa) * 100.0;
    if deficit <= 0.0 || input.ambient_pressure_hpa > 1100.0 {
        return Err(Failure::invalid(&["ambient_pressure"], "must be above central_pressure, at most 1100 hPa"));
    }
    let radii = match input.radii_km {
        Some(radii) if radii.len() > MAX_RADII => return Err(Failure::too_large(format!("at most {MAX_RADII} radii"))),
        Some(radii) => radii,
        None => MULTIPLES.iter().map(|multiple| multiple * input.radius_max_wind_km).collect(),
    };
    if let Some(at) = radii.iter().position(|radius| !(*radius > 0.0 && *radius <= 20_000.0)) {
        return Err(Failure::invalid(&["radii", &at.to_string()], "must be above 0, at most 20000 km"));
    }
    let fitted = input.max_wind_m_s.powi(2) * AIR_DENSITY * std::f64::consts::E / deficit;
    let b = fitted.clamp(SHAPES.0, SHAPES.1);
    if b != fitted {
        cx.warn(format!(
            "clipped: wind and pressure give B = {fitted:.3}, outside of {} to {}; the profile does not reach max_wind",
            SHAPES.0, SHAPES.1
        ));
    }
    let vortex = Vortex {
        centre: input.central_pressure_hpa * 100.0,
        deficit,
        radius: input.radius_max_wind_km * 1000.0,
        coriolis: 2.0 * ROTATION * input.latitude_deg.to_radians().sin().abs(),
        b,
    };
    cx.assume(format!(
        "gradient wind above the friction layer, air of {AIR_DENSITY} kg/m³, a vortex that does not move"
    ));
    let point = |radius: f64| Point {
        radius_km: radius,
        wind_m_s: vortex.wind(radius * 1000.0),
        pressure_hpa: vortex.pressure(radius * 1000.0) / 100.0,
    };
    Ok(Output {
        profile: radii.into_iter().map(point).collect(),
        r34_km: vortex.outer_radius(34.0 * KNOT),
        r50_km: vortex.outer_radius(50.0 * KNOT),
        r64_km: vortex.outer_radius(64.0 * KNOT),
        b,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vortex() -> Vortex {
        Vortex { centre: 95_000.0, deficit: 6_000.0, radius: 30_000.0, coriolis: 5e-5, b: 1.3 }
    }

    #[test]
    fn wind_falls_beyond_its_greatest_and_pressure_rises() {
        let vortex = vortex();
        for km in 31..1500 {
            let (near, far) = (f64::from(km) * 1000.0, f64::from(km + 1) * 1000.0);
            assert!(vortex.wind(far) < vortex.wind(near), "{km}");
            assert!(vortex.pressure(far) > vortex.pressure(near), "{km}");
        }
    }

    #[test]
    fn a_wind_radius_has_its_wind() {
        let vortex = vortex();
        for knots in [34.0, 50.0, 64.0] {
            let radius = vortex.outer_radius(knots * KNOT).unwrap();
            assert!((vortex.wind(radius * 1000.0) - knots * KNOT).abs() < 1e-6);
        }
        assert_eq!(vortex.outer_radius(200.0), None);
    }
}
