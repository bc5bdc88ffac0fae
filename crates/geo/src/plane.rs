//! Exact geometric predicates in the plane of longitude and latitude.

use std::cmp::Ordering;

/// x, y.
pub(crate) type Xy = [f64; 2];

/// Returns on which side of the line from `a` to `b` the point `c` lies: `Greater` is left, `Equal` is on the line.
/// Exact: if rounding could change the sign, the determinant is summed without error (Shewchuk, Adaptive Precision
/// Floating-Point Arithmetic, 1997).
pub(crate) fn side([ax, ay]: Xy, [bx, by]: Xy, [cx, cy]: Xy) -> Ordering {
    // Shewchuk's ccwerrboundA, (3 + 16 ε) ε with ε = 2^-53.
    const BOUND: f64 = 3.330_669_073_875_471_6e-16;
    let (left, right) = ((ax - cx) * (by - cy), (ay - cy) * (bx - cx));
    let det = left - right;
    if det.abs() > BOUND * (left.abs() + right.abs()) {
        return det.total_cmp(&0.0);
    }
    let products = [(ax, by), (-ax, cy), (-cx, by), (-ay, bx), (ay, cx), (cy, bx)];
    sign_of_sum(products)
}

/// Returns the sign of a sum of products, exactly unless it underflows.
fn sign_of_sum<const N: usize>(products: [(f64, f64); N]) -> Ordering {
    let mut expansion: Vec<f64> = Vec::with_capacity(2 * N);
    for (x, y) in products {
        let high = x * y;
        let low = x.mul_add(y, -high);
        for term in [low, high] {
            let mut carry = term;
            for part in &mut expansion {
                let sum = carry + *part;
                let virtual_part = sum - carry;
                *part = (carry - (sum - virtual_part)) + (*part - virtual_part);
                carry = sum;
            }
            expansion.push(carry);
        }
    }
    let leading = expansion.iter().rev().find(|part| **part != 0.0);
    leading.map_or(Ordering::Equal, |part| part.total_cmp(&0.0))
}

/// Returns whether `c`, which lies on the line through `a` and `b`, is on the segment between them.
fn between([ax, ay]: Xy, [bx, by]: Xy, [cx, cy]: Xy) -> bool {
    cx >= ax.min(bx) && cx <= ax.max(bx) && cy >= ay.min(by) && cy <= ay.max(by)
}

/// Returns whether `c` is on the segment.
pub(crate) fn on_segment(a: Xy, b: Xy, c: Xy) -> bool {
    between(a, b, c) && side(a, b, c) == Ordering::Equal
}

/// Relation of two segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentRelation {
    Apart,
    /// An end of one segment lies on the other.
    Touch,
    /// The segments cross in their interiors.
    Cross,
}

/// Returns the relation of the segments `ab` and `cd`.
pub(crate) fn segment_relation(a: Xy, b: Xy, c: Xy, d: Xy) -> SegmentRelation {
    let (c_side, d_side) = (side(a, b, c), side(a, b, d));
    if c_side == d_side && c_side != Ordering::Equal {
        return SegmentRelation::Apart;
    }
    let (a_side, b_side) = (side(c, d, a), side(c, d, b));
    let on_line = |side: Ordering| side == Ordering::Equal;
    if [c_side, d_side, a_side, b_side].iter().all(|&side| !on_line(side)) {
        return if a_side == b_side { SegmentRelation::Apart } else { SegmentRelation::Cross };
    }
    let touch = on_line(c_side) && between(a, b, c)
        || on_line(d_side) && between(a, b, d)
        || on_line(a_side) && between(c, d, a)
        || on_line(b_side) && between(c, d, b);
    if touch { SegmentRelation::Touch } else { SegmentRelation::Apart }
}

/// Returns whether the path from `a` over `b` to `c` reverses its direction.
pub(crate) fn reverses(a: Xy, b: Xy, c: Xy) -> bool {
    let dot = (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]);
    dot < 0.0 && side(a, b, c) == Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (0.5, 0.5) moved by units in the last place around the line y = x, where naive arithmetic is wrong (Kettner et
    /// al., Classroom Examples of Robustness Problems, 2008).
    #[test]
    fn the_side_is_exact_where_rounding_would_be_wrong() {
        let unit = f64::EPSILON / 2.0;
        for i in 0..64_u32 {
            for j in 0..64_u32 {
                let c = [0.5 + f64::from(i) * unit, 0.5 + f64::from(j) * unit];
                assert_eq!(side([12.0, 12.0], [24.0, 24.0], c), j.cmp(&i), "{i} {j}");
            }
        }
    }

    #[test]
    fn segments_cross_touch_or_are_apart() {
        let segment_relation = |c, d| super::segment_relation([0.0, 0.0], [4.0, 0.0], c, d);
        assert_eq!(segment_relation([2.0, -1.0], [2.0, 1.0]), SegmentRelation::Cross);
        assert_eq!(segment_relation([2.0, 0.0], [2.0, 1.0]), SegmentRelation::Touch);
        assert_eq!(segment_relation([4.0, 0.0], [6.0, 0.0]), SegmentRelation::Touch);
        assert_eq!(segment_relation([5.0, 0.0], [6.0, 0.0]), SegmentRelation::Apart);
        assert_eq!(segment_relation([5.0, -1.0], [5.0, 1.0]), SegmentRelation::Apart);
        assert_eq!(segment_relation([1.0, 0.0], [3.0, 0.0]), SegmentRelation::Touch);
    }
}
