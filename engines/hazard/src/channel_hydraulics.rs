//! q33: uniform flow in open channels by Manning's equation.

#[cfg(test)]
use std::f64::consts::{PI, TAU};

use muster_engine::prelude::*;

use crate::roots::bisect;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    shape: Shape,
    width_m: Option<f64>,
    side_slope: f64,
    diameter_m: Option<f64>,
    slope_m_m: f64,
    roughness: f64,
    flow_m3_s: Option<f64>,
    depth_m: Option<f64>,
}

/// Shapes of the cross-section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Shape {
    Trapezoid,
    Rectangle,
    Circle,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    depth_m: f64,
    flow_m3_s: f64,
    velocity_m_s: f64,
    critical_depth_m: f64,
    froude: Option<f64>,
    regime: Option<Regime>,
    full_capacity_m3_s: Option<f64>,
}

/// Regimes by the Froude number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Regime {
    Subcritical,
    Critical,
    Supercritical,
}

const GRAVITY: f64 = 9.81;
/// Froude numbers this near to 1 are critical.
const CRITICAL_BAND: f64 = 1e-3;
const MAX_LENGTH: f64 = 10_000.0;
const MAX_FLOW: f64 = 1e7;
const MAX_SIDE_SLOPE: f64 = 100.0;
/// Relative depth at which a circle carries most.
const FULLEST: f64 = 0.938_181;

/// A cross-section.
#[derive(Debug, Clone, Copy)]
enum Section {
    Prism { width: f64, side: f64 },
    Circle { diameter: f64 },
}

impl Section {
    fn of(input: &Input) -> Result<Self, Failure> {
        let length = |name: &str, value: Option<f64>, least: f64| match value {
            Some(value) if value >= least && value <= MAX_LENGTH => Ok(value),
            Some(_) => Err(Failure::invalid(&[name], format!("must be from {least} to {MAX_LENGTH} m"))),
            None => Err(Failure::invalid(&[name], "is needed for this shape")),
        };
        match input.shape {
            Shape::Circle => Ok(Self::Circle { diameter: length("diameter", input.diameter_m, 1e-3)? }),
            Shape::Rectangle => Ok(Self::Prism { width: length("width", input.width_m, 1e-3)?, side: 0.0 }),
            Shape::Trapezoid if input.side_slope > MAX_SIDE_SLOPE => {
                Err(Failure::invalid(&["side_slope"], format!("must be at most {MAX_SIDE_SLOPE}")))
            }
            Shape::Trapezoid => {
                let least = if input.side_slope >= 0.01 { 0.0 } else { 1e-3 };
                Ok(Self::Prism { width: length("width", input.width_m, least)?, side: input.side_slope })
            }
        }
    }

    /// Half the angle that the water of a circle spans at the centre.
    fn angle(diameter: f64, depth: f64) -> f64 {
        (1.0 - 2.0 * depth / diameter).clamp(-1.0, 1.0).acos()
    }

    fn area(self, depth: f64) -> f64 {
        match self {
            Self::Prism { width, side } => (width + side * depth) * depth,
            Self::Circle { diameter } => {
                let angle = Self::angle(diameter, depth);
                diameter * diameter / 4.0 * (angle - angle.sin() * angle.cos())
            }
        }
    }

    fn perimeter(self, depth: f64) -> f64 {
        match self {
            Self::Prism { width, side } => width + 2.0 * depth * (1.0 + side * side).sqrt(),
            Self::Circle { diameter } => diameter * Self::angle(diameter, depth),
        }
    }

    fn top(self, depth: f64) -> f64 {
        match self {
            Self::Prism { width, side } => width + 2.0 * side * depth,
            Self::Circle { diameter } => diameter * Self::angle(diameter, depth).sin(),
        }
    }

    /// Flow in m³/s at a depth, by Manning's equation.
    fn flow(self, depth: f64, slope: f64, roughness: f64) -> f64 {
        let (area, perimeter) = (self.area(depth), self.perimeter(depth));
        if area <= 0.0 || perimeter <= 0.0 {
            return 0.0;
        }
        area * (area / perimeter).powf(2.0 / 3.0) * slope.sqrt() / roughness
    }

    /// Depth at which a flow has the least energy.
    fn critical_depth(self, flow: f64) -> f64 {
        let most = match self {
            Self::Prism { .. } => deepest(|depth| self.area(depth).powi(3) * GRAVITY > flow * flow * self.top(depth)),
            Self::Circle { diameter } => diameter,
        };
        // Negative near the bottom also where the channel ends in a point there.
        bisect(0.0, most, |depth| GRAVITY * self.area(depth).powi(3) - flow * flow * self.top(depth))
    }
}

/// A depth beyond which a condition holds, found by doubling.
fn deepest(holds: impl Fn(f64) -> bool) -> f64 {
    let mut depth = 1.0;
    while !holds(depth) && depth < 1e9 {
        depth *= 2.0;
    }
    depth
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let section = Section::of(&input)?;
    let (slope, n) = (input.slope_m_m, input.roughness);
    if slope > 10.0 {
        return Err(Failure::invalid(&["slope"], "must be at most 10"));
    }
    let (depth, flow) = match (input.flow_m3_s, input.depth_m) {
        (Some(flow), None) => (normal_depth(section, flow, slope, n)?, flow),
        (None, Some(depth)) => {
            let most = if let Section::Circle { diameter } = section { diameter } else { MAX_LENGTH };
            if depth > most {
                return Err(Failure::invalid(&["depth"], format!("must be at most {most} m")));
            }
            (depth, section.flow(depth, slope, n))
        }
        _ => return Err(Failure::invalid(&["flow"], "give either flow or depth")),
    };
    let area = section.area(depth);
    let velocity = if area > 0.0 { flow / area } else { 0.0 };
    let top = section.top(depth);
    let froude = (area > 0.0 && top > 1e-9).then(|| velocity / (GRAVITY * area / top).sqrt());
    if froude.is_none() {
        cx.warn("undefined: without a free surface or without water there is no Froude number");
    }
    let regime = froude.map(|froude| match froude {
        _ if (froude - 1.0).abs() <= CRITICAL_BAND => Regime::Critical,
        _ if froude < 1.0 => Regime::Subcritical,
        _ => Regime::Supercritical,
    });
    let full = match section {
        Section::Circle { diameter } => Some(section.flow(diameter, slope, n)),
        Section::Prism { .. } => None,
    };
    Ok(Output {
        depth_m: depth,
        flow_m3_s: flow,
        velocity_m_s: velocity,
        critical_depth_m: section.critical_depth(flow),
        froude,
        regime,
        full_capacity_m3_s: full,
    })
}

/// Depth at which a channel carries a flow; of a circle the lower one of two.
fn normal_depth(section: Section, flow: f64, slope: f64, n: f64) -> Result<f64, Failure> {
    if flow > MAX_FLOW {
        return Err(Failure::invalid(&["flow"], format!("must be at most {MAX_FLOW} m³/s")));
    }
    if flow == 0.0 {
        return Ok(0.0);
    }
    if slope == 0.0 {
        return Err(Failure::no_answer(NoAnswer::Infeasible, "without slope there is no uniform flow"));
    }
    let most = match section {
        Section::Circle { diameter } => FULLEST * diameter,
        Section::Prism { .. } => deepest(|depth| section.flow(depth, slope, n) >= flow).min(MAX_LENGTH),
    };
    let carried = section.flow(most, slope, n);
    if carried < flow {
        let message = format!("the section carries at most {carried:.4} m³/s at this slope and roughness");
        return Err(Failure::no_answer(NoAnswer::Infeasible, message));
    }
    Ok(bisect(0.0, most, |depth| section.flow(depth, slope, n) - flow))
}

/// Area of a full circle, which the tests compare with.
#[cfg(test)]
fn circle(diameter: f64) -> f64 {
    PI * diameter * diameter / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_of_a_flow_carries_it() {
        let sections = [
            Section::Prism { width: 5.0, side: 1.5 },
            Section::Prism { width: 0.0, side: 1.0 },
            Section::Circle { diameter: 1.2 },
        ];
        for section in sections {
            for flow in [0.001, 0.1, 0.8] {
                let depth = normal_depth(section, flow, 0.002, 0.013).unwrap();
                assert!((section.flow(depth, 0.002, 0.013) - flow).abs() < 1e-9, "{section:?}");
                let critical = section.critical_depth(flow);
                let froude =
                    flow / section.area(critical) / (GRAVITY * section.area(critical) / section.top(critical)).sqrt();
                assert!((froude - 1.0).abs() < 1e-9, "{section:?} {froude}");
            }
        }
    }

    #[test]
    fn a_full_circle_is_a_circle() {
        let section = Section::Circle { diameter: 2.0 };
        assert!((section.area(2.0) - circle(2.0)).abs() < 1e-12);
        assert!((section.perimeter(2.0) - TAU).abs() < 1e-12);
    }

    #[test]
    fn a_circle_carries_most_before_it_is_full() {
        let section = Section::Circle { diameter: 1.0 };
        let flow = |depth| section.flow(depth, 0.01, 0.013);
        assert!(flow(FULLEST) >= flow(FULLEST - 1e-3) && flow(FULLEST) >= flow(FULLEST + 1e-3));
        assert!(matches!(normal_depth(section, flow(FULLEST) * 1.01, 0.01, 0.013), Err(Failure::NoAnswer { .. })));
    }
}
