//! q4: polygon overlay.

use geo::BooleanOps;
use muster_engine::prelude::*;

use crate::bounds::at_most;
use crate::planar::{of_geo, snapped, to_geo, uncut};
use crate::shape::{Geometry, Position, measure, middle};

/// Positions of both layers together.
const MAX_POSITIONS: usize = 20_000;

/// An operation on two sets.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// In either.
    Union,
    /// In both.
    Intersection,
    /// In the first, not in the second.
    Difference,
    /// In one, not in both.
    Xor,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    a: Value,
    b: Value,
    operation: Operation,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    geometry: Value,
    area_m2: f64,
    share_of_a: f64,
    share_of_b: f64,
}

/// Overlays two layers. The shares are those of each layer that lie in the result.
///
/// # Errors
/// What is no polygon.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let a = Geometry::polygons_of_field(&["a"], &input.a)?;
    let b = Geometry::polygons_of_field(&["b"], &input.b)?;
    let centre = middle(&a.iter().flatten().flatten().copied().collect::<Vec<Position>>()).lon;
    let (left, right) = (to_geo(&a, centre), to_geo(&b, centre));
    let positions = [&a, &b].map(|layer| layer.iter().flatten().map(Vec::len).sum::<usize>());
    at_most(positions.iter().sum(), MAX_POSITIONS, "positions")?;
    let inputs = [&left, &right];
    // Layers may overlap themselves; a union with nothing makes them plain.
    let nothing = geo::MultiPolygon(Vec::new());
    let area_of = |result| measure(&uncut(&snapped(result, &inputs))).0;
    let (area_a, area_b) = (area_of(left.union(&nothing)), area_of(right.union(&nothing)));
    let common = area_of(left.intersection(&right));
    let result = match input.operation {
        Operation::Union => left.union(&right),
        Operation::Intersection => left.intersection(&right),
        Operation::Difference => left.difference(&right),
        Operation::Xor => left.xor(&right),
    };
    let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
    let (share_of_a, share_of_b) = match input.operation {
        Operation::Union => (share(area_a, area_a), share(area_b, area_b)),
        Operation::Intersection => (share(common, area_a), share(common, area_b)),
        Operation::Difference => (share(area_a - common, area_a), 0.0),
        Operation::Xor => (share(area_a - common, area_a), share(area_b - common, area_b)),
    };
    let result = snapped(result, &inputs);
    let (area, _) = measure(&uncut(&result));
    let polygons = of_geo(result);
    Ok(Output { geometry: Geometry::of_polygons(polygons).to_json(), area_m2: area, share_of_a, share_of_b })
}
