//! A validated geometry, prepared for queries.

use crate::earth::{circle_box, distance_to_rect_m};
use crate::plane::Xy;
use crate::polygon::{Polygon, normalize_lon};
use crate::{BBox, Point, distance_m};

/// A validated geometry in a form that is fast to query, created by [`Geometry::shape`](crate::Geometry::shape).
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    parts: Vec<ShapePart>,
    bbox: BBox,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ShapePart {
    Point(Point),
    Polygon(Polygon),
    /// All points within `radius_m` along a great circle.
    Circle {
        centre: Point,
        radius_m: f64,
        bbox: BBox,
    },
}

impl ShapePart {
    pub fn circle(centre: Point, radius_m: f64) -> Self {
        Self::Circle { centre, radius_m, bbox: circle_box(&centre, radius_m) }
    }

    fn bbox(&self) -> BBox {
        match self {
            Self::Point(Point { lon, lat, .. }) => BBox { west: *lon, south: *lat, east: *lon, north: *lat },
            Self::Polygon(polygon) => polygon.bbox,
            Self::Circle { bbox, .. } => *bbox,
        }
    }

    fn contains(&self, point: &Point) -> bool {
        match self {
            // 180 equals -180, and a pole is one place at any longitude.
            Self::Point(own) => own.lat == point.lat && self.bbox().contains(point),
            Self::Polygon(polygon) => polygon.bbox.contains(point) && polygon.contains(point),
            Self::Circle { centre, radius_m, bbox } => bbox.contains(point) && distance_m(centre, point) <= *radius_m,
        }
    }

    fn intersects(&self, bbox: &BBox) -> bool {
        self.bbox().intersects(bbox)
            && match self {
                Self::Point(_) => true,
                Self::Polygon(polygon) => bbox.parts().any(|rect| polygon.intersects(rect)),
                Self::Circle { centre, radius_m, .. } => {
                    bbox.parts().any(|(low, high)| distance_to_rect_m(centre, low, high) <= *radius_m)
                }
            }
    }
}

impl Shape {
    pub(crate) fn of(parts: Vec<ShapePart>) -> Option<Self> {
        let boxes: Vec<BBox> = parts.iter().map(ShapePart::bbox).collect();
        let bbox = BBox::around(&boxes)?;
        Some(Self { parts, bbox })
    }

    /// Returns the bounding box, with west > east if it crosses the antimeridian.
    pub const fn bbox(&self) -> BBox {
        self.bbox
    }

    /// Returns whether the point is inside the shape or on its edge.
    pub fn contains(&self, point: &Point) -> bool {
        self.parts.iter().any(|part| part.contains(point))
    }

    /// Returns whether the shape shares a point with the box.
    pub fn intersects(&self, bbox: &BBox) -> bool {
        self.parts.iter().any(|part| part.intersects(bbox))
    }

    /// Returns the bounding boxes of the parts.
    pub(crate) fn boxes(&self) -> impl Iterator<Item = BBox> {
        self.parts.iter().map(ShapePart::bbox)
    }

    /// Returns points along the edges, less than `step_m` apart, and one point within each part that has no edge.
    pub(crate) fn outline(&self, step_m: f64) -> impl Iterator<Item = Point> {
        self.parts.iter().flat_map(move |part| -> Box<dyn Iterator<Item = Point> + '_> {
            match part {
                ShapePart::Point(point) => Box::new(std::iter::once(*point)),
                ShapePart::Polygon(polygon) => Box::new(polygon.edges().flat_map(move |(a, b)| along(a, b, step_m))),
                ShapePart::Circle { centre, radius_m, .. } => {
                    Box::new(std::iter::once(*centre).chain(around(*centre, *radius_m, step_m)))
                }
            }
        })
    }
}

/// Returns points from `a` towards `b`.
fn along([ax, ay]: Xy, [bx, by]: Xy, step_m: f64) -> impl Iterator<Item = Point> {
    const DEGREE_M: f64 = crate::EARTH_RADIUS_M * std::f64::consts::PI / 180.0;
    let widest = ay.abs().min(by.abs()).to_radians().cos();
    let widest = if ay * by < 0.0 { 1.0 } else { widest };
    let length = DEGREE_M * ((bx - ax).abs() * widest + (by - ay).abs());
    let steps = (length / step_m).ceil().max(1.0);
    let at = move |n: f64| Point::new(normalize_lon(ax + (bx - ax) * n / steps), ay + (by - ay) * n / steps);
    std::iter::successors(Some(0.0), move |n| (n + 1.0 < steps).then_some(n + 1.0)).map(at)
}

/// Returns points along a circle's edge (Snyder, Map Projections, 1987, equations 5-5 and 5-6).
fn around(centre: Point, radius_m: f64, step_m: f64) -> impl Iterator<Item = Point> {
    let angle = radius_m / crate::EARTH_RADIUS_M;
    let steps = (std::f64::consts::TAU * crate::EARTH_RADIUS_M * angle.sin().abs() / step_m).ceil().max(6.0);
    let lat = centre.lat.to_radians();
    let at = move |n: f64| {
        let bearing = std::f64::consts::TAU * n / steps;
        let sin = (lat.sin() * angle.cos() + lat.cos() * angle.sin() * bearing.cos()).clamp(-1.0, 1.0);
        let east = (bearing.sin() * angle.sin() * lat.cos()).atan2(angle.cos() - lat.sin() * sin);
        Point::new(normalize_lon(centre.lon + east.to_degrees()), sin.asin().to_degrees())
    };
    std::iter::successors(Some(0.0), move |n| (n + 1.0 < steps).then_some(n + 1.0)).map(at)
}
