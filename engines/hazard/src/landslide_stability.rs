//! q46: stability of a slope and thresholds of rain.

use muster_engine::prelude::*;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    slope_deg: f64,
    cohesion_kpa: f64,
    friction_angle_deg: f64,
    unit_weight_kn_m3: f64,
    depth_m: f64,
    saturation: f64,
    seismic_coefficient: f64,
    rain_intensity_mm_h: Option<f64>,
    rain_duration_h: Option<f64>,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    factor_of_safety: Option<f64>,
    class: Class,
    yield_acceleration_g: Option<f64>,
    critical_saturation: Option<f64>,
    threshold_intensity_mm_h: Option<f64>,
    exceeded: Option<bool>,
}

/// Classes by the factor of safety.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Class {
    Stable,
    QuasiStable,
    Unstable,
}

/// Weight of water in kN/m³.
const WATER: f64 = 9.81;
/// Least factors of safety of the stable and quasi-stable class.
const STABLE: f64 = 1.25;
const QUASI_STABLE: f64 = 1.0;
/// Durations in hours of the storms behind the thresholds of Guzzetti and of Caine.
const GUZZETTI: std::ops::RangeInclusive<f64> = 0.1..=1000.0;
const CAINE: std::ops::RangeInclusive<f64> = 0.167..=500.0;

/// Stresses in kPa on the sliding plane.
struct Plane {
    cohesion: f64,
    friction: f64,
    normal: f64,
    shear: f64,
    pore: f64,
    weight: f64,
    slope: f64,
}

impl Plane {
    fn of(input: &Input) -> Self {
        let slope = input.slope_deg.to_radians();
        let weight = input.unit_weight_kn_m3 * input.depth_m;
        Self {
            cohesion: input.cohesion_kpa,
            friction: input.friction_angle_deg.to_radians().tan(),
            normal: weight * slope.cos().powi(2),
            shear: weight * slope.sin() * slope.cos(),
            pore: WATER * input.depth_m * slope.cos().powi(2),
            weight,
            slope,
        }
    }

    /// Factor of safety under a share of saturated depth and a horizontal acceleration in g; none without load.
    fn safety(&self, saturation: f64, k: f64) -> Option<f64> {
        let resisting = self.cohesion + (self.normal - saturation * self.pore - k * self.shear) * self.friction;
        let driving = self.shear + k * self.normal;
        (driving > 1e-12).then(|| resisting.max(0.0) / driving).filter(|safety| safety.is_finite())
    }

    /// Acceleration in g at which the factor of safety is 1; 0 if it is less already.
    fn yield_acceleration(&self, saturation: f64) -> Option<f64> {
        let margin = self.cohesion + (self.normal - saturation * self.pore) * self.friction - self.shear;
        let load = self.normal + self.shear * self.friction;
        (load > 1e-12).then(|| (margin / load).max(0.0))
    }

    /// Saturated share at which the factor of safety is 1; none if the slope is safe also when saturated, 0 if it is
    /// unsafe when dry.
    fn critical_saturation(&self, k: f64) -> Option<f64> {
        let margin = self.cohesion + (self.normal - k * self.shear) * self.friction - self.shear - k * self.normal;
        let lost = self.pore * self.friction;
        if lost <= 0.0 {
            return None;
        }
        Some((margin / lost).max(0.0)).filter(|share| *share <= 1.0)
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    for (name, value, most) in [("cohesion", input.cohesion_kpa, 1e6), ("depth", input.depth_m, 1000.0)] {
        if value > most {
            return Err(Failure::invalid(&[name], format!("must be at most {most}")));
        }
    }
    let plane = Plane::of(&input);
    let safety = plane.safety(input.saturation, input.seismic_coefficient);
    if safety.is_none() {
        cx.warn("undefined: nothing pulls the soil down, so there is no factor of safety");
    }
    cx.step("weight", plane.weight, "kPa");
    cx.step("slope", plane.slope, "rad");
    cx.assume("an infinite slope: the sliding plane is parallel to the surface, seepage too");
    let (threshold, exceeded) = threshold(&input, cx);
    Ok(Output {
        factor_of_safety: safety,
        class: safety.map_or(Class::Stable, class),
        yield_acceleration_g: plane.yield_acceleration(input.saturation),
        critical_saturation: plane.critical_saturation(input.seismic_coefficient),
        threshold_intensity_mm_h: threshold,
        exceeded,
    })
}

fn class(safety: f64) -> Class {
    match safety {
        _ if safety >= STABLE => Class::Stable,
        _ if safety >= QUASI_STABLE => Class::QuasiStable,
        _ => Class::Unstable,
    }
}

/// Threshold of Guzzetti et al. 2008, which is the lower one, and whether the rain exceeds it.
fn threshold(input: &Input, cx: &Context) -> (Option<f64>, Option<bool>) {
    let Some(duration) = input.rain_duration_h.filter(|duration| *duration > 0.0) else { return (None, None) };
    if !GUZZETTI.contains(&duration) {
        cx.warn("extrapolated: the threshold stands for rain of 0.1 to 1000 hours");
    }
    let threshold = 2.20 * duration.powf(-0.44);
    if !threshold.is_finite() {
        return (None, None);
    }
    let exceeded = input.rain_intensity_mm_h.map(|intensity| intensity >= threshold);
    let caine = 14.82 * duration.powf(-0.39);
    cx.step("threshold of Caine 1980", caine, "mm/h");
    if CAINE.contains(&duration) && input.rain_intensity_mm_h.is_some_and(|intensity| intensity >= caine) {
        cx.warn(format!("severe: the rain is also above Caine's threshold of {caine:.2} mm/h"));
    }
    (Some(threshold), exceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Input {
        Input {
            slope_deg: 35.0,
            cohesion_kpa: 5.0,
            friction_angle_deg: 33.0,
            unit_weight_kn_m3: 19.0,
            depth_m: 1.5,
            saturation: 0.5,
            seismic_coefficient: 0.0,
            rain_intensity_mm_h: None,
            rain_duration_h: None,
        }
    }

    #[test]
    fn the_critical_values_have_a_factor_of_one() {
        let plane = Plane::of(&input());
        let saturation = plane.critical_saturation(0.0).unwrap();
        assert!((plane.safety(saturation, 0.0).unwrap() - 1.0).abs() < 1e-12);
        let acceleration = plane.yield_acceleration(0.5).unwrap();
        assert!((plane.safety(0.5, acceleration).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn water_and_shaking_are_less_safe() {
        let plane = Plane::of(&input());
        assert!(plane.safety(0.6, 0.0) < plane.safety(0.5, 0.0));
        assert!(plane.safety(0.5, 0.1) < plane.safety(0.5, 0.0));
    }

    #[test]
    fn the_class_changes_at_its_breakpoints() {
        assert_eq!((class(1.25), class(1.25_f64.next_down())), (Class::Stable, Class::QuasiStable));
        assert_eq!((class(1.0), class(1.0_f64.next_down())), (Class::QuasiStable, Class::Unstable));
    }

    #[test]
    fn rain_at_the_threshold_exceeds_it() {
        let rain = Input { rain_intensity_mm_h: Some(2.20), rain_duration_h: Some(1.0), ..input() };
        let output = run(rain, &Context::default()).unwrap();
        assert_eq!((output.threshold_intensity_mm_h, output.exceeded), (Some(2.20), Some(true)));
    }
}
