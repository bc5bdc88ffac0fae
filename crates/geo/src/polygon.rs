//! A polygon: an outer ring and holes.

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

use crate::bbox::Rect;
use crate::plane::{SegmentRelation, Xy, reverses, segment_relation};
use crate::ring::{PointLocation, Ring};
use crate::{BBox, GeometryError, GeometryErrorKind, Point};

/// A polygon with validated rings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Polygon {
    /// The outer ring first.
    rings: Vec<Ring>,
    pub bbox: BBox,
}

/// Bounding box of an edge, and the indexes of its ring and edge.
type Edge = GeomWithData<Rectangle<Xy>, (usize, usize)>;

impl Polygon {
    /// Validates rings. The edge pairs that are compared are counted in `compared`, over all polygons of a geometry.
    pub fn new(rings: &[Vec<Point>], at: &str, compared: &mut usize) -> Result<Self, GeometryError> {
        let name = |n: usize| format!("{at}[{n}]");
        let rings: Result<Vec<Ring>, _> = rings.iter().enumerate().map(|(n, ring)| Ring::new(ring, &name(n))).collect();
        let rings = rings?;
        let outer = rings.first().ok_or_else(|| GeometryError::new(at, GeometryErrorKind::NoRing))?;
        let bbox = ring_box(outer);
        for (n, ring) in rings.iter().enumerate() {
            let next = ring.points.get(1).map(|&[x, y]| {
                let [last_x, _] = ring.points.last().copied().unwrap_or_default();
                let [first_x, _] = ring.points.first().copied().unwrap_or_default();
                [x + (last_x - first_x), y]
            });
            let back = ring.points.iter().copied().chain(next).collect::<Vec<_>>();
            if back.windows(3).any(|way| matches!(*way, [a, b, c] if reverses(a, b, c))) {
                return Err(GeometryError::new(name(n), GeometryErrorKind::Degenerate));
            }
        }
        if let Some((n, kind)) = crossing(&rings, compared) {
            return Err(GeometryError::new(name(n), kind));
        }
        for (n, hole) in rings.iter().enumerate().skip(1) {
            let place = |&[lon, lat]: &Xy| outer.place([normalize_lon(lon), lat]);
            if hole.points.iter().any(|xy| place(xy) == PointLocation::Outside) {
                return Err(GeometryError::new(name(n), GeometryErrorKind::HoleOutside));
            }
        }
        Ok(Self { rings, bbox })
    }

    /// Returns whether a point is inside or on an edge, including the edges of holes.
    pub fn contains(&self, point: &Point) -> bool {
        let mut rings = self.rings.iter();
        let outer = rings.next().map_or(PointLocation::Outside, |ring| ring.place(point.xy()));
        outer != PointLocation::Outside && rings.all(|hole| hole.place(point.xy()) != PointLocation::Inside)
    }

    pub fn intersects(&self, (low, high): Rect) -> bool {
        let ([west, south], [east, north]) = (low, high);
        let corners = [[west, south], [east, south], [east, north], [west, north]];
        if corners.iter().any(|&[lon, lat]| self.contains(&Point::new(lon, lat))) {
            return true;
        }
        let sides = corners.iter().zip(corners.iter().cycle().skip(1));
        let sides: Vec<(Xy, Xy)> = sides.map(|(from, to)| (*from, *to)).collect();
        let meets = |a: Xy, b: Xy| {
            let inside = |[x, y]: Xy| (west..=east).contains(&x) && (south..=north).contains(&y);
            inside(a) || inside(b) || sides.iter().any(|&(c, d)| segment_relation(a, b, c, d) != SegmentRelation::Apart)
        };
        self.rings.iter().flat_map(Ring::edges).any(|(a, b)| {
            [-720.0, -360.0, 0.0, 360.0].iter().any(|by| {
                let ([ax, ay], [bx, by_]) = (a, b);
                let (a, b) = ([ax + by, ay], [bx + by, by_]);
                let near = a[0].min(b[0]) <= east && a[0].max(b[0]) >= west;
                near && meets(a, b)
            })
        })
    }

    /// Returns every edge, with longitudes that continue beyond ±180.
    pub fn edges(&self) -> impl Iterator<Item = (Xy, Xy)> {
        self.rings.iter().flat_map(Ring::edges)
    }
}

/// Normalizes a longitude to -180 to 180.
pub(crate) fn normalize_lon(lon: f64) -> f64 {
    if (-180.0..=180.0).contains(&lon) { lon } else { lon - 360.0 * ((lon + 180.0) / 360.0).floor() }
}

fn ring_box(ring: &Ring) -> BBox {
    let (south, north) = match ring.pole {
        Some(pole) => (ring.south.min(pole), ring.north.max(pole)),
        None => (ring.south, ring.north),
    };
    if ring.pole.is_some() || ring.east - ring.west >= 360.0 {
        return BBox { west: -180.0, south, east: 180.0, north };
    }
    BBox { west: ring.west, south, east: if ring.east > 180.0 { ring.east - 360.0 } else { ring.east }, north }
}

/// Maximum number of edge pairs with overlapping boxes that are compared for one geometry. A coastline of 10,000
/// positions has about 100,000; a malicious comb of long teeth would otherwise occupy a thread for seconds.
const MAX_PAIRS: usize = 1_000_000;

/// Returns the first ring that intersects itself or another ring in an invalid way.
fn crossing(rings: &[Ring], compared: &mut usize) -> Option<(usize, GeometryErrorKind)> {
    let boxed = |n: usize, (e, (a, b)): (usize, (Xy, Xy))| Edge::new(Rectangle::from_corners(a, b), (n, e));
    let all = rings.iter().enumerate().flat_map(|(n, ring)| ring.edges().enumerate().map(move |edge| boxed(n, edge)));
    let tree: RTree<Edge> = RTree::bulk_load(all.collect());
    let edge = |(n, e): (usize, usize)| {
        let points = &rings.get(n)?.points;
        Some((*points.get(e)?, *points.get(e + 1)?))
    };
    for (n, ring) in rings.iter().enumerate() {
        let last = ring.points.len().saturating_sub(2);
        for (e, (a, b)) in ring.edges().enumerate() {
            for by in [-720.0, -360.0, 0.0, 360.0, 720.0] {
                let ([ax, ay], [bx, by_]) = (a, b);
                let (a, b) = ([ax + by, ay], [bx + by, by_]);
                for other in tree.locate_in_envelope_intersecting(AABB::from_corners(a, b)) {
                    let (m, f) = other.data;
                    *compared += 1;
                    if *compared > MAX_PAIRS {
                        return Some((n, GeometryErrorKind::TooComplex));
                    }
                    let neighbours = e.abs_diff(f) <= 1 || e.abs_diff(f) == last;
                    if m < n || (m == n && (f <= e || neighbours)) {
                        continue;
                    }
                    let relation = edge((m, f)).map_or(SegmentRelation::Apart, |(c, d)| segment_relation(a, b, c, d));
                    match relation {
                        SegmentRelation::Cross if m != n => return Some((m, GeometryErrorKind::RingsCross)),
                        SegmentRelation::Cross => return Some((n, GeometryErrorKind::SelfIntersecting)),
                        // A ring around a pole touches itself at its seam; a hole may touch its polygon.
                        SegmentRelation::Touch if m == n && by == 0.0 => {
                            return Some((n, GeometryErrorKind::SelfIntersecting));
                        }
                        SegmentRelation::Touch | SegmentRelation::Apart => {}
                    }
                }
            }
        }
    }
    None
}
