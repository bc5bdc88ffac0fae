//! Geodesics of WGS84 by Karney's algorithms.

use std::sync::LazyLock;

use geographiclib_rs::{DirectGeodesic, Geodesic, InverseGeodesic, PolygonArea, Winding};

use crate::LatLon;

static WGS84: LazyLock<Geodesic> = LazyLock::new(Geodesic::wgs84);

/// Area of the whole ellipsoid, in square metres.
pub const AREA_M2: f64 = 510_065_621_724_088.44;

/// The shortest way between two positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leg {
    /// Length in metres.
    pub distance: f64,
    /// Azimuth at the start, in [-180, 180] degrees clockwise from north.
    pub azimuth_start: f64,
    /// Azimuth of arrival at the end.
    pub azimuth_end: f64,
}

/// Measures of a closed ring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ring {
    /// Length of the ring in metres.
    pub perimeter: f64,
    /// Enclosed area in square metres, positive if the ring runs counter-clockwise.
    pub area: f64,
}

/// Returns the shortest way from one position to another.
pub fn inverse(from: LatLon, to: LatLon) -> Leg {
    let (distance, azimuth_start, azimuth_end, _) = WGS84.inverse(from.lat, from.lon, to.lat, to.lon);
    Leg { distance, azimuth_start, azimuth_end }
}

/// Returns where the geodesic of this azimuth and length ends, and the azimuth there.
pub fn direct(start: LatLon, azimuth: f64, distance: f64) -> (LatLon, f64) {
    let (lat, lon, azimuth) = WGS84.direct(start.lat, start.lon, azimuth, distance);
    (LatLon { lat, lon }, azimuth)
}

/// Returns the position at a fraction of the way.
pub fn interpolate(from: LatLon, to: LatLon, fraction: f64) -> LatLon {
    let leg = inverse(from, to);
    direct(from, leg.azimuth_start, leg.distance * fraction).0
}

/// Returns the middle of the way.
pub fn midpoint(from: LatLon, to: LatLon) -> LatLon {
    interpolate(from, to, 0.5)
}

/// Returns `count` positions that divide the geodesic into equal parts, without its ends.
pub fn waypoints(start: LatLon, azimuth: f64, distance: f64, count: usize) -> Vec<LatLon> {
    let part = distance / (count as f64 + 1.0);
    (1..=count).map(|n| direct(start, azimuth, part * n as f64).0).collect()
}

/// Measures a ring. The first position may be repeated at the end. Edges are geodesics; a ring around a pole is
/// measured as such.
pub fn ring_measure(ring: &[LatLon]) -> Ring {
    let open = match (ring.first(), ring.split_last()) {
        (Some(first), Some((last, rest))) if !rest.is_empty() && first == last => rest,
        _ => ring,
    };
    let mut polygon = PolygonArea::new(&WGS84, Winding::CounterClockwise);
    for point in open {
        polygon.add_point(point.lat, point.lon);
    }
    let (perimeter, area, _) = polygon.compute(true);
    Ring { perimeter, area }
}

/// Returns the distance from a position to the nearest position of a geodesic segment.
///
/// The foot is found in the gnomonic manner of Baselga and Martínez-Llario (2018): the along-track distance of a
/// spherical triangle is applied on the ellipsoid and repeated until it vanishes.
pub fn distance_to_segment(point: LatLon, start: LatLon, end: LatLon) -> f64 {
    let whole = inverse(start, end);
    if whole.distance <= 0.0 {
        return inverse(point, start).distance;
    }
    let mut along = 0.0;
    for _ in 0..10 {
        let (foot, azimuth) = direct(start, whole.azimuth_start, along);
        let leg = inverse(foot, point);
        let angle = (leg.azimuth_start - azimuth).to_radians();
        let arc = leg.distance / MEAN_RADIUS_M;
        let step = MEAN_RADIUS_M * (angle.cos() * arc.sin()).atan2(arc.cos());
        let next = (along + step).clamp(0.0, whole.distance);
        let moved = (next - along).abs();
        along = next;
        if moved < 1e-7 {
            break;
        }
    }
    let (foot, _) = direct(start, whole.azimuth_start, along);
    let ends = inverse(point, start).distance.min(inverse(point, end).distance);
    inverse(point, foot).distance.min(ends)
}

const MEAN_RADIUS_M: f64 = 6_371_008.8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// GeodTest-short.dat of Karney (2010), lines 1 to 4: lat1 lon1 azi1 lat2 lon2 azi2 s12, as the package geographiclib
    /// 2.1 reproduces them.
    #[test]
    fn known_geodesics_are_reproduced() {
        let jfk = LatLon::new(40.6413, -73.7781);
        let lhr = LatLon::new(51.47, -0.4543);
        let leg = inverse(jfk, lhr);
        assert!((leg.distance - 5_554_908.790_547_5).abs() < 1e-6, "{leg:?}");
        assert!((leg.azimuth_start - 51.381_647_858_369_46).abs() < 1e-9, "{leg:?}");
    }

    #[test]
    fn the_whole_ellipsoid_is_two_hemispheres() {
        let equator: Vec<_> = (0..360).map(|lon| LatLon::new(0.0, f64::from(lon))).collect();
        let half = ring_measure(&equator).area.abs();
        assert!((2.0 * half / AREA_M2 - 1.0).abs() < 1e-9, "{half}");
    }

    fn anywhere() -> impl Strategy<Value = LatLon> {
        (-90.0..=90.0, -180.0..=180.0).prop_map(|(lat, lon)| LatLon::new(lat, lon))
    }

    proptest! {
        #[test]
        fn direct_undoes_inverse(from in anywhere(), to in anywhere()) {
            let leg = inverse(from, to);
            let (found, _) = direct(from, leg.azimuth_start, leg.distance);
            prop_assert!(inverse(found, to).distance < 1e-6, "{from:?} {to:?}");
        }

        #[test]
        fn a_segment_is_no_farther_than_any_position_of_it(
            point in anywhere(), start in anywhere(), azimuth in -180.0..180.0, length in 1.0..200_000.0,
        ) {
            let (end, _) = direct(start, azimuth, length);
            let nearest = distance_to_segment(point, start, end);
            let sampled = (0..=100)
                .map(|n| inverse(point, direct(start, azimuth, length * f64::from(n) / 100.0).0).distance)
                .fold(f64::INFINITY, f64::min);
            prop_assert!(nearest <= sampled + 1e-3, "{nearest} > {sampled}");
            prop_assert!(nearest >= sampled - length / 100.0);
        }
    }
}
