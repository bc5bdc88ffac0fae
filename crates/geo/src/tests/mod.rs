//! Examples of the standard, difficult shapes of the contract, and indexes compared with a linear scan.

mod hard_shapes;
mod indexes;
mod published;
mod rfc7946;
mod shapes;

use crate::{Geometry, Point, Shape};

/// Creates a polygon with one ring, which is closed here.
pub(super) fn polygon(ring: &[[f64; 2]]) -> Geometry {
    let mut ring: Vec<Point> = ring.iter().map(|&[lon, lat]| Point::new(lon, lat)).collect();
    ring.extend(ring.first().copied());
    Geometry::Polygon(vec![ring])
}

pub(super) fn shape(ring: &[[f64; 2]]) -> Shape {
    polygon(ring).shape().unwrap()
}

pub(super) fn at(lon: f64, lat: f64) -> Point {
    Point::new(lon, lat)
}
