//! Shapes on the globe: GeoJSON geometries, what lies near or within them, spatial indexes. Pure; knows nobody.
//!
//! Positions are longitude, latitude in degrees on WGS 84 (RFC 7946). Edges are straight in longitude and latitude, as
//! RFC 7946 has them; distances are great circles on a sphere. Nothing here is special at the antimeridian or at the
//! poles to whoever uses it: [`Shape`] knows.

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
pub use earth::{EARTH_RADIUS_M, HALF_AROUND_M, distance_m};
pub use error::{GeometryError, Wrong};
pub use geometry::{Geometry, MAX_MEMBERS, MAX_VERTICES};
pub use point::Point;
pub use points::{Near, PointIndex};
pub use shape::Shape;
pub use shapes::ShapeIndex;
