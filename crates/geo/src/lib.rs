//! Shapes on the globe: GeoJSON geometries, containment and distance, spatial indexes. Pure; depends on no other crate
//! of the workspace.
//!
//! Positions are longitude, latitude in degrees on WGS 84 (RFC 7946). Edges are straight in longitude and latitude, as
//! RFC 7946 defines; distances are great circles on a sphere. [`Shape`] and the indexes handle the antimeridian and the
//! poles, so callers need no special cases.

#![warn(missing_docs)]

mod bbox;
mod cells;
mod centroid;
mod earth;
mod error;
mod geometry;
mod plane;
mod point;
mod points;
mod polygon;
mod ring;
mod shape;
mod shapes;
#[cfg(test)]
mod tests;

pub use bbox::BBox;
pub use cells::{Cells, geohash, h3_cell};
pub use earth::{EARTH_RADIUS_M, MAX_DISTANCE_M, distance_m};
pub use error::{GeometryError, GeometryErrorKind};
pub use geometry::{Geometry, MAX_MEMBERS, MAX_VERTICES};
pub use point::Point;
pub use points::{Neighbor, PointIndex};
pub use shape::Shape;
pub use shapes::ShapeIndex;
