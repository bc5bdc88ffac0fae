//! q66: building egress time.

use muster_engine::prelude::*;

use crate::bounds::{at_most, positive};

const MAX_COMPONENTS: usize = 1_000;
/// Factor `a` of the speed, in square metres a person.
const A: f64 = 0.266;
/// Factor `k` of corridors, doors and ramps, in metres a second.
const K_LEVEL: f64 = 1.40;
/// Density up to which people walk freely, and that at which nobody moves.
const FREE_DENSITY: f64 = 0.54;
const STOP_DENSITY: f64 = 3.8;
/// Density at which the flow is largest: 1 / (2 a).
const BEST_DENSITY: f64 = 1.0 / (2.0 * A);
/// Factor `k` of stairs by riser and tread in millimetres (SFPE Handbook, Gwynne and Rosenbaum, table of k).
const STAIRS: [(f64, f64, f64); 4] =
    [(190.5, 254.0, 1.00), (177.8, 279.4, 1.08), (165.1, 304.8, 1.16), (165.1, 330.2, 1.23)];

/// Kind of a component.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Corridor.
    Corridor,
    /// Doorway.
    Door,
    /// Ramp.
    Ramp,
    /// Stair.
    Stair,
}

/// A component of the way out.
#[derive(Input)]
pub struct Component {
    id: String,
    kind: Kind,
    width_m: f64,
    length_m: f64,
    density: Option<f64>,
    riser_mm: Option<f64>,
    tread_mm: Option<f64>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    occupants: i64,
    components: Vec<Component>,
    premovement_s: f64,
}

/// How people move through a component.
#[derive(Output)]
pub struct Movement {
    id: String,
    effective_width_m: f64,
    speed_m_s: f64,
    flow_per_s: f64,
    queue: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    egress_time_s: f64,
    movement_time_s: f64,
    controlling: String,
    components: Vec<Movement>,
}

/// Computes the time for all to pass the components one after the other: the walk through their lengths, and the time
/// for everybody to pass the one with the smallest flow. Without a density the flow is the largest possible.
///
/// # Errors
/// No component, a width within the boundary layers, a density at which nobody moves.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.components.len(), MAX_COMPONENTS, "components")?;
    let mut components: Vec<Movement> = Vec::with_capacity(input.components.len());
    let mut walk = 0.0;
    let mut inflow = f64::INFINITY;
    let occupants = input.occupants as f64;
    for (index, component) in input.components.iter().enumerate() {
        let index = index.to_string();
        let layer = boundary_layer(component.kind);
        let width = component.width_m - 2.0 * layer;
        if width <= 0.0 {
            let message = format!("must be more than the boundary layers on both sides, {} m together", 2.0 * layer);
            return Err(Failure::invalid(&["components", &index, "width"], message));
        }
        if component.length_m < 0.0 {
            return Err(Failure::invalid(&["components", &index, "length"], "must not be negative"));
        }
        let density = component.density.unwrap_or(BEST_DENSITY);
        positive(&["components", &index, "density"], density)?;
        if density >= 1.0 / A {
            return Err(Failure::invalid(
                &["components", &index, "density"],
                "must be below 3.76 per m2, at which nobody moves",
            ));
        }
        if density >= STOP_DENSITY || density > 2.0 * BEST_DENSITY {
            cx.warn("extrapolated: a density near standstill");
        }
        let k = factor(component, cx);
        let speed = k * (1.0 - A * density.max(FREE_DENSITY));
        let specific = k * (1.0 - A * density) * density;
        let flow = specific * width;
        walk += component.length_m / speed;
        // Those who arrive faster than they can pass wait until the last has arrived.
        let queue = if inflow.is_finite() && inflow > flow { occupants * (1.0 - flow / inflow) } else { 0.0 };
        inflow = inflow.min(flow);
        components.push(Movement {
            id: component.id.clone(),
            effective_width_m: width,
            speed_m_s: speed,
            flow_per_s: flow,
            queue,
        });
    }
    let slowest = components.iter().min_by(|one, other| one.flow_per_s.total_cmp(&other.flow_per_s));
    let Some(slowest) = slowest else {
        return Err(Failure::invalid(&["components"], "is empty: a door at least is needed"));
    };
    let movement = walk + occupants / slowest.flow_per_s;
    Ok(Output {
        egress_time_s: input.premovement_s + movement,
        movement_time_s: movement,
        controlling: slowest.id.clone(),
        components,
    })
}

/// Boundary layer on each side, in metres.
const fn boundary_layer(kind: Kind) -> f64 {
    match kind {
        Kind::Corridor | Kind::Ramp => 0.20,
        Kind::Door | Kind::Stair => 0.15,
    }
}

/// Factor `k`: that of the stair in the table with the nearest riser and tread.
fn factor(component: &Component, cx: &Context) -> f64 {
    if component.kind != Kind::Stair {
        return K_LEVEL;
    }
    let (riser, tread) = (component.riser_mm.unwrap_or(177.8), component.tread_mm.unwrap_or(279.4));
    let away = |(r, t, _): &&(f64, f64, f64)| (r - riser).hypot(t - tread);
    let nearest = STAIRS.iter().min_by(|one, other| away(one).total_cmp(&away(other)));
    if nearest.is_some_and(|row| away(&row) > 30.0) {
        cx.warn(format!("extrapolated: {} has a riser and tread that are far from those of the table", component.id));
    }
    nearest.map_or(1.08, |(_, _, k)| *k)
}
