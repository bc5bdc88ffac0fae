//! Representative point of a geometry.

use crate::{Geometry, Point};

impl Geometry {
    /// Returns a representative point: a point itself; a circle's centre; for polygons the centroid of their outer
    /// rings in longitude and latitude, across the antimeridian if they cross it; for a collection that of its first
    /// area, or else of its first point. Returns `None` for geometries that [`Geometry::check`] rejects as empty. The
    /// centroid of a concave geometry may lie outside of it.
    pub fn centroid(&self) -> Option<Point> {
        match self {
            Self::Point(point) => Some(*point),
            Self::Circle { center, .. } => Some(*center),
            Self::Polygon(rings) => of_rings(rings.first()),
            Self::MultiPolygon(polygons) => of_rings(polygons.iter().filter_map(|rings| rings.first())),
            Self::GeometryCollection(members) => {
                let area = members.iter().find(|member| !matches!(member, Self::Point(_)));
                area.or(members.first()).and_then(Self::centroid)
            }
        }
    }
}

/// Sums of the shoelace formula: twice the area, and six times the moments.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    twice: f64,
    lon: f64,
    lat: f64,
}

fn of_rings<'a>(rings: impl IntoIterator<Item = &'a Vec<Point>>) -> Option<Point> {
    let mut origin = None;
    let mut sum = Moments::default();
    for ring in rings {
        let from = *origin.get_or_insert(*ring.first()?);
        let ring = moments(ring, from);
        // Rings may have either orientation: each one counts as a positive area.
        let sign = ring.twice.signum();
        sum.twice += sign * ring.twice;
        sum.lon += sign * ring.lon;
        sum.lat += sign * ring.lat;
    }
    let origin = origin?;
    if sum.twice == 0.0 {
        return Some(Point::new(origin.lon, origin.lat));
    }
    let lon = origin.lon + sum.lon / (3.0 * sum.twice);
    Some(Point::new((lon + 180.0).rem_euclid(360.0) - 180.0, origin.lat + sum.lat / (3.0 * sum.twice)))
}

/// Computes the moments relative to `from`, with each edge taking the shorter way around the globe.
fn moments(ring: &[Point], from: Point) -> Moments {
    let mut sum = Moments::default();
    let Some(first) = ring.first() else { return sum };
    let mut last = (shorter(first.lon - from.lon), first.lat - from.lat);
    for point in ring.iter().skip(1) {
        let next = (last.0 + shorter(point.lon - from.lon - last.0), point.lat - from.lat);
        let cross = last.0 * next.1 - next.0 * last.1;
        sum.twice += cross;
        sum.lon += (last.0 + next.0) * cross;
        sum.lat += (last.1 + next.1) * cross;
        last = next;
    }
    sum
}

/// Normalizes a difference of longitudes to -180 to 180.
fn shorter(difference: f64) -> f64 {
    (difference + 180.0).rem_euclid(360.0) - 180.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(points: &[(f64, f64)]) -> Vec<Point> {
        points.iter().chain(points.first()).map(|&(lon, lat)| Point::new(lon, lat)).collect()
    }

    fn near(geometry: &Geometry, lon: f64, lat: f64) {
        let found = geometry.centroid().unwrap();
        assert!((found.lon - lon).abs() < 1e-9 && (found.lat - lat).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_centroid_of_a_triangle_is_the_mean_of_its_corners_in_either_orientation() {
        let (one, other) = ([(0.0, 0.0), (6.0, 0.0), (0.0, 3.0)], [(0.0, 0.0), (0.0, 3.0), (6.0, 0.0)]);
        for corners in [one, other] {
            near(&Geometry::Polygon(vec![ring(&corners)]), 2.0, 1.0);
        }
    }

    #[test]
    fn the_centroid_across_the_antimeridian_is_correct() {
        let fiji = ring(&[(177.0, -20.0), (-179.0, -20.0), (-179.0, -16.0), (177.0, -16.0)]);
        near(&Geometry::Polygon(vec![fiji]), 179.0, -18.0);
        let split = vec![
            vec![ring(&[(178.0, 0.0), (180.0, 0.0), (180.0, 2.0), (178.0, 2.0)])],
            vec![ring(&[(-180.0, 0.0), (-178.0, 0.0), (-178.0, 2.0), (-180.0, 2.0)])],
        ];
        let found = Geometry::MultiPolygon(split).centroid().unwrap();
        assert!((found.lon.abs() - 180.0).abs() < 1e-9 && (found.lat - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn parts_are_weighted_by_area_and_points_are_ignored_beside_areas() {
        let parts = vec![
            vec![ring(&[(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])],
            vec![ring(&[(10.0, 0.0), (11.0, 0.0), (11.0, 1.0), (10.0, 1.0)])],
        ];
        // (4 × 1 + 1 × 10.5) / 5 and (4 × 1 + 1 × 0.5) / 5.
        let many = Geometry::MultiPolygon(parts);
        near(&many, 2.9, 0.9);
        let point = Geometry::Point(Point::new(50.0, 50.0));
        near(&Geometry::GeometryCollection(vec![point.clone(), many]), 2.9, 0.9);
        near(&Geometry::GeometryCollection(vec![point]), 50.0, 50.0);
        assert_eq!(Geometry::GeometryCollection(Vec::new()).centroid(), None);
    }
}
