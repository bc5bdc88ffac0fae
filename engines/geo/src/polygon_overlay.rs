//! q4: polygon overlay.

use geo::BooleanOps;
use muster_engine::prelude::*;

use crate::planar::{of_geo, to_geo};
use crate::shape::{Geometry, Position, measure, middle};

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
    // Layers may overlap themselves and have any orientation; a union with nothing makes them plain.
    let nothing = geo::MultiPolygon(Vec::new());
    let (left, right) = (left.union(&nothing), right.union(&nothing));
    let both = snapped(left.intersection(&right), &left, &right);
    let result = match input.operation {
        Operation::Union => snapped(left.union(&right), &left, &right),
        Operation::Intersection => both.clone(),
        Operation::Difference => snapped(left.difference(&right), &left, &right),
        Operation::Xor => snapped(left.xor(&right), &left, &right),
    };
    let area_of = |polygons| measure(&of_geo(polygons)).0;
    let (area_a, area_b, common) = (area_of(snapped(left.clone(), &left, &right)), area_of(snapped(right.clone(), &right, &left)), area_of(both));
    let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
    let (share_of_a, share_of_b) = match input.operation {
        Operation::Union => (share(area_a, area_a), share(area_b, area_b)),
        Operation::Intersection => (share(common, area_a), share(common, area_b)),
        Operation::Difference => (share(area_a - common, area_a), 0.0),
        Operation::Xor => (share(area_a - common, area_a), share(area_b - common, area_b)),
    };
    let polygons = of_geo(result);
    let (area, _) = measure(&polygons);
    Ok(Output { geometry: Geometry::of_polygons(polygons).to_json(), area_m2: area, share_of_a, share_of_b })
}
