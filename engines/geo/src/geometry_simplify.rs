//! q13: geometry simplification.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

use crate::shape::{Geometry, Position, latlon, middle};

/// How vertices are chosen.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
pub enum Method {
    /// Those farther from the simplified line than the tolerance stay.
    DouglasPeucker,
    /// Those whose triangle with their neighbours is larger than the tolerance squared stay.
    Visvalingam,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    geometry: Value,
    tolerance_m: f64,
    method: Method,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    geometry: Value,
    vertices_before: usize,
    vertices_after: usize,
    max_deviation_m: f64,
}

/// Simplifies each line and ring in the equidistant plane around the middle of the geometry; points stay, and rings keep
/// three different positions. The deviation is the largest distance of a removed vertex from the simplified line.
///
/// # Errors
/// What is no geometry.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let shape = Geometry::of_field(&["geometry"], &input.geometry)?;
    let positions = shape.positions();
    let plane = earth::Equidistant::new(middle(&positions));
    let mut deviation = 0.0_f64;
    let mut line = |positions: &Vec<Position>, least: usize| {
        let planar: Vec<Position> = positions.iter().map(|position| plane.project(latlon(*position))).collect();
        let keep = match input.method {
            Method::DouglasPeucker => douglas_peucker(&planar, input.tolerance_m, least),
            Method::Visvalingam => visvalingam(&planar, input.tolerance_m * input.tolerance_m, least),
        };
        deviation = deviation.max(largest_deviation(&planar, &keep));
        let kept = positions.iter().zip(&keep).filter(|(_, keep)| **keep);
        kept.map(|(position, _)| *position).collect::<Vec<Position>>()
    };
    let simplified = simplify(&shape, &mut line);
    Ok(Output {
        vertices_before: positions.len(),
        vertices_after: simplified.positions().len(),
        geometry: simplified.to_json(),
        max_deviation_m: deviation,
    })
}

fn simplify(shape: &Geometry, line: &mut impl FnMut(&Vec<Position>, usize) -> Vec<Position>) -> Geometry {
    match shape {
        Geometry::Point(_) | Geometry::MultiPoint(_) => shape.clone(),
        Geometry::LineString(positions) => Geometry::LineString(line(positions, 2)),
        Geometry::MultiLineString(lines) => {
            Geometry::MultiLineString(lines.iter().map(|positions| line(positions, 2)).collect())
        }
        Geometry::Polygon(rings) => Geometry::Polygon(rings.iter().map(|ring| line(ring, 4)).collect()),
        Geometry::MultiPolygon(polygons) => {
            let polygons = polygons.iter().map(|rings| rings.iter().map(|ring| line(ring, 4)).collect());
            Geometry::MultiPolygon(polygons.collect())
        }
        Geometry::Collection(members) => {
            Geometry::Collection(members.iter().map(|member| simplify(member, line)).collect())
        }
    }
}

fn at(points: &[Position], index: usize) -> Position {
    points.get(index).copied().unwrap_or_default()
}

fn distance(point: Position, start: Position, end: Position) -> f64 {
    let (dx, dy) = (end[0] - start[0], end[1] - start[1]);
    let length = dx * dx + dy * dy;
    let share = if length > 0.0 { ((point[0] - start[0]) * dx + (point[1] - start[1]) * dy) / length } else { 0.0 };
    let share = share.clamp(0.0, 1.0);
    (point[0] - start[0] - share * dx).hypot(point[1] - start[1] - share * dy)
}

/// Returns the vertex between two that is farthest from their segment.
fn farthest(points: &[Position], from: usize, to: usize) -> Option<(f64, usize)> {
    let (start, end) = (at(points, from), at(points, to));
    let inner = points.iter().enumerate().take(to).skip(from + 1);
    let distances = inner.map(|(index, point)| (distance(*point, start, end), index));
    distances.fold(None, |best: Option<(f64, usize)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    })
}

/// Returns which vertices stay: the ends and, farthest first, all beyond the tolerance; at least `least` where there are
/// as many.
fn douglas_peucker(points: &[Position], tolerance: f64, least: usize) -> Vec<bool> {
    let mut keep = vec![false; points.len()];
    let last = points.len().saturating_sub(1);
    for end in [0, last] {
        mark(&mut keep, end);
    }
    let mut kept = 2;
    let mut queue: BinaryHeap<(Ordered, Reverse<usize>, usize, usize)> = BinaryHeap::new();
    let push = |queue: &mut BinaryHeap<_>, from: usize, to: usize| {
        if let Some((distance, index)) = farthest(points, from, to) {
            queue.push((Ordered(distance), Reverse(index), from, to));
        }
    };
    push(&mut queue, 0, last);
    while let Some((Ordered(distance), Reverse(index), from, to)) = queue.pop() {
        if distance <= tolerance && kept >= least {
            break;
        }
        mark(&mut keep, index);
        kept += 1;
        push(&mut queue, from, index);
        push(&mut queue, index, to);
    }
    keep
}

fn mark(keep: &mut [bool], index: usize) {
    if let Some(keep) = keep.get_mut(index) {
        *keep = true;
    }
}

/// Returns which vertices stay after the smallest triangles up to `area` were removed one after the other.
fn visvalingam(points: &[Position], area: f64, least: usize) -> Vec<bool> {
    let count = points.len();
    let mut keep = vec![true; count];
    let mut before: Vec<usize> = (0..count).map(|index| index.saturating_sub(1)).collect();
    let mut after: Vec<usize> = (0..count).map(|index| index + 1).collect();
    let triangle = |before: usize, index: usize, after: usize| {
        let ([ax, ay], [bx, by], [cx, cy]) = (at(points, before), at(points, index), at(points, after));
        ((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)).abs() / 2.0
    };
    let of = |list: &[usize], index: usize| list.get(index).copied().unwrap_or_default();
    let mut queue: BinaryHeap<Reverse<(Ordered, usize, usize, usize)>> = (1..count.saturating_sub(1))
        .map(|index| Reverse((Ordered(triangle(index - 1, index, index + 1)), index, index - 1, index + 1)))
        .collect();
    let mut left = count;
    while let Some(Reverse((Ordered(size), index, previous, next))) = queue.pop() {
        if size > area || left <= least {
            break;
        }
        let stale = of(&before, index) != previous || of(&after, index) != next;
        if stale || !keep.get(index).copied().unwrap_or(false) {
            continue;
        }
        if let Some(keep) = keep.get_mut(index) {
            *keep = false;
        }
        left -= 1;
        if let Some(link) = after.get_mut(previous) {
            *link = next;
        }
        if let Some(link) = before.get_mut(next) {
            *link = previous;
        }
        for index in [previous, next] {
            if index > 0 && index + 1 < count {
                let (one, other) = (of(&before, index), of(&after, index));
                // A triangle never counts less than one that was removed for it.
                let size = triangle(one, index, other).max(size);
                queue.push(Reverse((Ordered(size), index, one, other)));
            }
        }
    }
    keep
}

fn largest_deviation(points: &[Position], keep: &[bool]) -> f64 {
    let kept: Vec<usize> = keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(index, _)| index).collect();
    let spans = kept.iter().zip(kept.iter().skip(1));
    let deviations = spans.map(|(from, to)| farthest(points, *from, *to).map_or(0.0, |(distance, _)| distance));
    deviations.fold(0.0, f64::max)
}

/// A number with a total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
