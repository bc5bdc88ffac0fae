//! Polygons in the plane of longitude and latitude, for the library `geo`.

use geo::{BooleanOps, Coord, LineString, MultiPolygon, Orient, Polygon, Rect, orient::Direction};

use crate::shape::Position;

/// Takes each longitude as near to the one before as it can be, so that edges take the shorter way; a ring may then
/// reach beyond 180 degrees.
pub(crate) fn unwrapped(ring: &[Position]) -> Vec<Position> {
    let mut last: Option<f64> = None;
    ring.iter()
        .map(|[lon, lat]| {
            let near = last.map_or(*lon, |last| last + muster_kernel_earth::wrap_longitude(lon - last));
            // Half a turn exactly keeps its sign, as 0 to 180 is no crossing.
            let near = if last.is_some_and(|last| (lon - last).abs() == 180.0) { *lon } else { near };
            last = Some(near);
            [near, *lat]
        })
        .collect()
}

/// Converts polygons, unwrapped, each shifted by whole turns to be as near to the longitude `near` as it can be.
pub(crate) fn to_geo(polygons: &[Vec<Vec<Position>>], near: f64) -> MultiPolygon {
    let convert = |rings: &Vec<Vec<Position>>| {
        let mut lines = rings.iter().map(|ring| {
            let ring = unwrapped(ring);
            let (low, high) = ring
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), [lon, _]| (low.min(*lon), high.max(*lon)));
            let turns = ((near - f64::midpoint(low, high)) / 360.0).round() * 360.0;
            LineString(ring.into_iter().map(|[lon, lat]| Coord { x: lon + turns, y: lat }).collect())
        });
        let outer = lines.next().unwrap_or_else(|| LineString(Vec::new()));
        Polygon::new(outer, lines.collect())
    };
    MultiPolygon(polygons.iter().map(convert).collect())
}

/// Returns the rings of polygons as they are, with longitudes beyond 180 degrees: for measures, which vertices added by a
/// cut would change.
pub(crate) fn uncut(polygons: &MultiPolygon) -> Vec<Vec<Vec<Position>>> {
    let ring = |line: &LineString| line.0.iter().map(|at| [at.x, at.y]).collect();
    let rings = |polygon: &Polygon| std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(ring).collect();
    polygons.iter().map(rings).collect()
}

/// Converts polygons back: outer rings counter-clockwise, cut at the antimeridian (RFC 7946, 3.1.9), with longitudes
/// within 180 degrees.
pub(crate) fn of_geo(polygons: MultiPolygon) -> Vec<Vec<Vec<Position>>> {
    let inside = |polygon: &Polygon| polygon.exterior().0.iter().all(|coord| coord.x.abs() <= 180.0);
    let mut cut: Vec<(f64, Polygon)> = Vec::new();
    for polygon in polygons {
        if inside(&polygon) {
            cut.push((0.0, polygon));
            continue;
        }
        for turns in [-360.0, 0.0, 360.0] {
            let window = Rect::new(Coord { x: turns - 180.0, y: -90.0 }, Coord { x: turns + 180.0, y: 90.0 });
            let parts = polygon.intersection(&window.to_polygon());
            cut.extend(parts.into_iter().map(|part| (turns, part)));
        }
    }
    cut.into_iter()
        .map(|(turns, polygon)| {
            let polygon = polygon.orient(Direction::Default);
            let ring = |line: &LineString| -> Vec<Position> {
                line.0.iter().map(|coord| [(coord.x - turns).clamp(-180.0, 180.0), coord.y]).collect()
            };
            std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(ring).collect()
        })
        .collect()
}

/// Share of the extent by which the library's overlay, which computes in 32-bit whole numbers, may move a vertex.
const GRID: f64 = 1e-8;

/// Replaces the vertices of an overlay by exact ones: those of its inputs, or where two of their edges cross.
pub(crate) fn snapped(result: MultiPolygon, inputs: &[&MultiPolygon]) -> MultiPolygon {
    let lines = || {
        let polygons = inputs.iter().flat_map(|polygons| &polygons.0);
        polygons.flat_map(|polygon| std::iter::once(polygon.exterior()).chain(polygon.interiors()))
    };
    let mut vertices: Vec<Coord> = lines().flat_map(|line| line.0.iter().copied()).collect();
    vertices.sort_by(|one, other| one.x.total_cmp(&other.x));
    let edges: Vec<[Coord; 2]> = lines().flat_map(|line| line.lines().map(|edge| [edge.start, edge.end])).collect();
    let extent = vertices
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY], |[w, e, s, n], at| {
            [w.min(at.x), e.max(at.x), s.min(at.y), n.max(at.y)]
        });
    let tolerance = (extent[1] - extent[0]).max(extent[3] - extent[2]) * GRID;
    let snap = |at: Coord| {
        let from = vertices.partition_point(|vertex| vertex.x < at.x - tolerance);
        let near = vertices.iter().skip(from).take_while(|vertex| vertex.x <= at.x + tolerance);
        let away = |vertex: &Coord| (vertex.x - at.x).hypot(vertex.y - at.y);
        let nearest =
            near.filter(|vertex| away(vertex) <= tolerance).min_by(|one, other| away(one).total_cmp(&away(other)));
        nearest.copied().or_else(|| crossing(&edges, at, tolerance)).unwrap_or(at)
    };
    let ring = |line: &LineString| LineString(line.0.iter().map(|at| snap(*at)).collect());
    let polygons = result
        .iter()
        .map(|polygon| Polygon::new(ring(polygon.exterior()), polygon.interiors().iter().map(ring).collect()));
    MultiPolygon(polygons.collect())
}

/// Finds where two edges cross near a vertex.
fn crossing(edges: &[[Coord; 2]], at: Coord, tolerance: f64) -> Option<Coord> {
    let near = |[a, b]: &&[Coord; 2]| {
        if at.x < a.x.min(b.x) - tolerance
            || at.x > a.x.max(b.x) + tolerance
            || at.y < a.y.min(b.y) - tolerance
            || at.y > a.y.max(b.y) + tolerance
        {
            return false;
        }
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let length = dx.hypot(dy);
        length > 0.0 && ((at.x - a.x) * dy - (at.y - a.y) * dx).abs() <= tolerance * length
    };
    let mut near = edges.iter().filter(near);
    let [a, b] = near.next()?;
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    near.find_map(|[c, d]| {
        let (ex, ey) = (d.x - c.x, d.y - c.y);
        let cross = dx * ey - dy * ex;
        if cross.abs() <= 1e-6 * dx.hypot(dy) * ex.hypot(ey) {
            return None;
        }
        let t = ((c.x - a.x) * ey - (c.y - a.y) * ex) / cross;
        let found = Coord { x: a.x + t * dx, y: a.y + t * dy };
        ((found.x - at.x).hypot(found.y - at.y) <= 4.0 * tolerance).then_some(found)
    })
}
