//! Smallest rectangle around the pixels of a line.
//!
//! Written here because `rten-imageproc` 0.27 sorts the points of its hull by a cosine in `f32`: flat contours of many
//! hundred pixels, which lines of text are, lose corners (half the lines of an upright page). Integers are exact.

use crate::vision::geometry::LineBox;

/// Convex hull of points (Andrew's monotone chain), without points on its edges.
pub(super) fn hull(mut points: Vec<[i32; 2]>) -> Vec<[i32; 2]> {
    points.sort_unstable();
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let mut whole = chain(points.iter());
    whole.extend(chain(points.iter().rev()));
    whole
}

/// One side of the hull, without its last point, which begins the other side.
fn chain<'a>(points: impl Iterator<Item = &'a [i32; 2]>) -> Vec<[i32; 2]> {
    let mut side: Vec<[i32; 2]> = Vec::new();
    for point in points {
        while let [.., before, last] = side.as_slice()
            && cross(*before, *last, *point) <= 0
        {
            side.pop();
        }
        side.push(*point);
    }
    side.pop();
    side
}

fn cross([ox, oy]: [i32; 2], [ax, ay]: [i32; 2], [bx, by]: [i32; 2]) -> i64 {
    i64::from(ax - ox) * i64::from(by - oy) - i64::from(ay - oy) * i64::from(bx - ox)
}

/// Rectangle of the smallest area around a convex hull: one of its sides lies on an edge. It is read rightwards within
/// 45 degrees; between pixel centres. Absent without points.
pub(super) fn smallest_rectangle(hull: &[[i32; 2]]) -> Option<LineBox> {
    let ends = hull.iter().zip(hull.iter().cycle().skip(1));
    let directions = ends.filter_map(|([x, y], [next_x, next_y])| rightwards((next_x - x) as f32, (next_y - y) as f32));
    let rectangles = std::iter::once([1.0, 0.0]).chain(directions).filter_map(|along| rectangle(hull, along));
    rectangles.min_by(|a, b| (a.length * a.height).total_cmp(&(b.length * b.height)))
}

/// Direction of an edge or across it, whichever is rightwards within 45 degrees, of length 1.
fn rightwards(x: f32, y: f32) -> Option<[f32; 2]> {
    let length = x.hypot(y);
    let (x, y) = if y.abs() > x.abs() { (y, -x) } else { (x, y) };
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    (length > 0.0).then_some([sign * x / length, sign * y / length])
}

fn rectangle(hull: &[[i32; 2]], along: [f32; 2]) -> Option<LineBox> {
    let [x, y] = along;
    let extent = |[x, y]: [f32; 2]| {
        let places = hull.iter().map(|[px, py]| *px as f32 * x + *py as f32 * y);
        places.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), place| (low.min(place), high.max(place)))
    };
    let ((left, right), (top, bottom)) = (extent([x, y]), extent([-y, x]));
    let (middle, level) = (f32::midpoint(left, right), f32::midpoint(top, bottom));
    let center = [x * middle - y * level, y * middle + x * level];
    (left <= right).then_some(LineBox { center, along, length: right - left, height: bottom - top })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hull_has_the_corners_and_nothing_else() {
        let square = vec![[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 1], [0, 2], [0, 1], [1, 2], [0, 0]];
        assert_eq!(hull(square), [[0, 0], [2, 0], [2, 2], [0, 2]]);
        assert_eq!(hull(vec![[5, 5], [5, 5]]), [[5, 5]]);
        assert_eq!(hull(vec![[0, 0], [2, 2], [1, 1]]), [[0, 0], [2, 2]]);
    }

    #[test]
    fn a_flat_contour_of_many_pixels_keeps_its_corners() {
        let outline = (0..900).flat_map(|x| [[x, 10], [x, 16]]).collect();
        let found = smallest_rectangle(&hull(outline)).unwrap();
        assert_eq!((found.center, found.length, found.height), ([449.5, 13.0], 899.0, 6.0));
    }

    #[test]
    fn the_smallest_rectangle_of_a_slanted_one_is_itself() {
        // Corners of a rectangle of 10 x 5 whose long side goes by (4, 3)/5.
        let corners = vec![[3, 0], [11, 6], [8, 10], [0, 4]];
        let found = smallest_rectangle(&hull(corners)).unwrap();
        assert!((found.length - 10.0).abs() < 1e-4 && (found.height - 5.0).abs() < 1e-4, "{found:?}");
        assert!((found.along[0] - 0.8).abs() < 1e-5 && (found.along[1] - 0.6).abs() < 1e-5, "{found:?}");
        assert!((found.center[0] - 5.5).abs() < 1e-4 && (found.center[1] - 5.0).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn columns_are_higher_than_long_and_points_have_no_size() {
        let column = smallest_rectangle(&hull(vec![[4, 0], [8, 0], [4, 90], [8, 90]])).unwrap();
        assert_eq!((column.along, column.length, column.height), ([1.0, 0.0], 4.0, 90.0));
        assert_eq!(smallest_rectangle(&[[3, 4]]).unwrap().length, 0.0);
        assert_eq!(smallest_rectangle(&[]), None);
    }
}
