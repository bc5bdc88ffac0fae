//! Properties of every shape.

use proptest::prelude::*;

use super::{at, polygon};
use crate::{BBox, Geometry, Point};

/// Degrees that stay exact when moved by whole turns.
fn dyadic(range: std::ops::Range<i32>) -> impl Strategy<Value = f64> {
    (range.start * 64..range.end * 64).prop_map(|n| f64::from(n) / 64.0)
}

/// A star-shaped ring around (0, lat), which never intersects itself.
pub(super) fn star() -> impl Strategy<Value = Vec<[f64; 2]>> {
    (dyadic(-50..50), prop::collection::vec(1.0_f64..30.0, 3..24)).prop_map(|(lat, spokes)| {
        let step = std::f64::consts::TAU / f64::from(u32::try_from(spokes.len()).unwrap());
        let spoke = |(n, length): (u32, &f64)| {
            let (sin, cos) = (f64::from(n) * step).sin_cos();
            [(length * cos * 64.0).round() / 64.0, lat + (length * sin * 64.0).round() / 64.0]
        };
        (0..).zip(&spokes).map(spoke).collect()
    })
}

fn turned(lon: f64) -> f64 {
    if lon >= 180.0 {
        lon - 360.0
    } else if lon < -180.0 {
        lon + 360.0
    } else {
        lon
    }
}

/// Even-odd rule in the plane; the caller avoids ties.
fn textbook(ring: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
    let mut inside = false;
    for (n, &[ax, ay]) in ring.iter().enumerate() {
        let [bx, by] = ring[(n + 1) % ring.len()];
        if (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax {
            inside = !inside;
        }
    }
    inside
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn containment_does_not_depend_on_start_orientation_or_longitude(
        ring in star(), from in 0_usize..24, by in -6_i32..6, points in prop::collection::vec((-40.0_f64..40.0, -85.0_f64..85.0), 20),
    ) {
        let Ok(plain) = polygon(&ring).shape() else { return Ok(()) };
        let mut rotated = ring.clone();
        rotated.rotate_left(from % ring.len());
        rotated.reverse();
        let by = f64::from(by) * 32.0;
        let moved: Vec<[f64; 2]> = rotated.iter().map(|&[lon, lat]| [turned(lon + by), lat]).collect();
        let (rotated, moved) = (polygon(&rotated).shape().unwrap(), polygon(&moved).shape().unwrap());
        for (lon, lat) in points {
            let lon = (lon * 1024.0).round() / 1024.0 + 1.0 / 4096.0;
            let inside = textbook(&ring, [lon, lat]);
            prop_assert_eq!(plain.contains(&at(lon, lat)), inside);
            prop_assert_eq!(rotated.contains(&at(lon, lat)), inside);
            let there = at(turned(lon + by), lat);
            prop_assert_eq!(moved.contains(&there), inside, "moved by {}", by);
            prop_assert!(!inside || moved.bbox().contains(&there));
            let tiny = BBox::new(there.lon, lat, there.lon, lat).unwrap();
            prop_assert_eq!(moved.intersects(&tiny), inside);
        }
        for &[lon, lat] in &ring {
            prop_assert!(moved.contains(&at(turned(lon + by), lat)), "a corner is on the edge");
        }
    }

    #[test]
    fn json_round_trips(ring in star()) {
        let geometry = Geometry::GeometryCollection(vec![
            polygon(&ring), Geometry::Circle { center: at(1.5, 2.0), radius_m: 3.0 }, Geometry::Point(Point { alt: Some(7.0), ..at(1.0, 2.0) }),
        ]);
        let json = serde_json::to_string(&geometry).unwrap();
        prop_assert_eq!(serde_json::from_str::<Geometry>(&json).unwrap(), geometry);
    }

    /// Compares with the nearest point of a grid over the box; the tolerance is the step of the grid.
    #[test]
    fn a_circle_intersects_a_box_if_its_nearest_point_is_within(
        centre in (-180.0_f64..180.0, -89.0_f64..89.0), corner in (-180.0_f64..179.0, -90.0_f64..88.0),
        size in (0.1_f64..1.0, 0.1_f64..2.0), radius_m in 1_000.0_f64..8_000_000.0,
    ) {
        let bbox = BBox::new(corner.0, corner.1, (corner.0 + size.0).min(180.0), corner.1 + size.1).unwrap();
        let centre = at(centre.0, centre.1);
        let part = |from: f64, to: f64, n: u32| from + (to - from) * f64::from(n) / 20.0;
        let grid = (0..=20).flat_map(|x| (0..=20).map(move |y| (x, y)));
        let nearest = grid.map(|(x, y)| crate::distance_m(&centre, &at(part(bbox.west, bbox.east, x), part(bbox.south, bbox.north, y))))
            .fold(f64::INFINITY, f64::min);
        let shape = Geometry::Circle { center: centre, radius_m }.shape().unwrap();
        let tolerance = 12_000.0;
        if nearest <= radius_m { prop_assert!(shape.intersects(&bbox)); }
        if nearest > radius_m + tolerance { prop_assert!(!shape.intersects(&bbox)); }
    }
}
