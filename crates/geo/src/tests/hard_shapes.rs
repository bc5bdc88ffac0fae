//! Adversarial test 51: each of these shapes has a defined result.

use super::{at, polygon, shape};
use crate::{BBox, Geometry, GeometryErrorKind, MAX_VERTICES, Point};

#[test]
fn a51_a_fence_across_the_antimeridian_has_one_interior() {
    let fence = shape(&[[179.0, -1.0], [-179.0, -1.0], [-179.0, 1.0], [179.0, 1.0]]);
    assert!(fence.contains(&at(179.5, 0.0)) && fence.contains(&at(-179.5, 0.0)) && fence.contains(&at(-180.0, 0.0)));
    assert!(!fence.contains(&at(0.0, 0.0)) && !fence.contains(&at(178.5, 0.0)));
    assert!(fence.intersects(&BBox::new(-179.5, 0.0, -179.4, 0.1).unwrap()));
    assert!(!fence.intersects(&BBox::new(-178.9, -2.0, 178.9, 2.0).unwrap()));
    let circle = Geometry::Circle { center: at(179.9, 0.0), radius_m: 50_000.0 }.shape().unwrap();
    assert!(
        circle.bbox().crosses_antimeridian() && circle.contains(&at(-179.9, 0.0)) && !circle.contains(&at(179.0, 0.0))
    );
}

#[test]
fn a51_a_ring_around_a_pole_encloses_the_nearer_one() {
    let caps = [(70.0, 90.0), (-70.0, -90.0)];
    for (lat, pole) in caps {
        let east: Vec<[f64; 2]> = (0..12).map(|n| [f64::from(n) * 30.0 - 180.0, lat]).collect();
        let west: Vec<[f64; 2]> = east.iter().rev().copied().collect();
        for cap in [shape(&east), shape(&west)] {
            assert!(
                cap.contains(&at(0.0, pole)) && cap.contains(&at(77.0, pole)) && cap.contains(&at(-180.0, pole * 0.9))
            );
            assert!(cap.contains(&at(15.0, lat)), "on its edge");
            assert!(
                !cap.contains(&at(0.0, lat * 0.9)) && !cap.contains(&at(0.0, 0.0)) && !cap.contains(&at(0.0, -pole))
            );
            assert_eq!(cap.bbox().to_array(), [-180.0, lat.min(pole), 180.0, lat.max(pole)]);
            assert!(cap.intersects(&BBox::new(1.0, pole, 2.0, pole).unwrap()));
        }
    }
    let near = Geometry::Circle { center: at(0.0, 89.9), radius_m: 30_000.0 }.shape().unwrap();
    assert!(near.contains(&at(180.0, 89.9)), "over the pole");
}

#[test]
fn a51_a_ring_touching_the_pole_contains_it_at_every_longitude() {
    let wedge = shape(&[[10.0, 80.0], [20.0, 80.0], [20.0, 90.0], [10.0, 90.0]]);
    assert!(wedge.contains(&at(15.0, 85.0)) && !wedge.contains(&at(25.0, 85.0)) && wedge.contains(&at(-100.0, 90.0)));
}

#[test]
fn a51_a_hole_around_a_pole_leaves_a_belt() {
    let ring = |lat: f64| (0..=6).map(|n| at(f64::from(n % 6) * 60.0 - 180.0, lat)).collect::<Vec<Point>>();
    let belt = Geometry::Polygon(vec![ring(60.0), ring(80.0)]).shape().unwrap();
    assert!(belt.contains(&at(33.0, 70.0)) && !belt.contains(&at(33.0, 85.0)) && !belt.contains(&at(33.0, 90.0)));
    let swapped = Geometry::Polygon(vec![ring(80.0), ring(60.0)]);
    assert_eq!(swapped.check().unwrap_err().kind, GeometryErrorKind::HoleOutside);
}

#[test]
fn a51_the_whole_globe_is_a_box_of_360_degrees() {
    let all = shape(&[[-180.0, -90.0], [180.0, -90.0], [180.0, 90.0], [-180.0, 90.0]]);
    for point in [at(0.0, 0.0), at(180.0, 5.0), at(-180.0, 5.0), at(3.0, 90.0), at(3.0, -90.0)] {
        assert!(all.contains(&point), "{point:?}");
    }
    assert_eq!(all.bbox().to_array(), [-180.0, -90.0, 180.0, 90.0]);
}

#[test]
fn a51_a_self_intersecting_ring_is_rejected() {
    let kind = |ring: &[[f64; 2]]| polygon(ring).check().unwrap_err().kind;
    let bow_tie = [[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0]];
    assert_eq!(kind(&bow_tie), GeometryErrorKind::SelfIntersecting);
    assert_eq!(kind(&bow_tie.map(|[lon, lat]| [lon + 179.0, lat])), GeometryErrorKind::SelfIntersecting);
    assert_eq!(
        kind(&[[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [2.0, 0.0], [0.0, 4.0]]),
        GeometryErrorKind::SelfIntersecting,
        "the ring touches itself"
    );
    assert_eq!(
        kind(&[[0.0, 0.0], [4.0, 0.0], [2.0, 0.0], [2.0, 4.0]]),
        GeometryErrorKind::Degenerate,
        "the ring retraces its edge"
    );
    let twice: Vec<[f64; 2]> = (0..24).map(|n| [f64::from(n % 12) * 30.0 - 180.0, 60.0 + f64::from(n)]).collect();
    assert_eq!(kind(&twice), GeometryErrorKind::Winding);
}

#[test]
fn a51_holes_that_cross_or_lie_outside_are_rejected() {
    let square = |from: f64, to: f64| {
        [[from, from], [to, from], [to, to], [from, to], [from, from]].map(|[lon, lat]| at(lon, lat)).to_vec()
    };
    let kind = |hole| Geometry::Polygon(vec![square(0.0, 4.0), hole]).check().map_err(|error| error.kind);
    assert_eq!(kind(square(1.0, 3.0)), Ok(()));
    assert_eq!(kind(square(1.0, 5.0)), Err(GeometryErrorKind::RingsCross));
    assert_eq!(kind(square(5.0, 6.0)), Err(GeometryErrorKind::HoleOutside));
}

fn round(vertices: u32) -> Geometry {
    let step = std::f64::consts::TAU / f64::from(vertices);
    let ring: Vec<[f64; 2]> =
        (0..vertices).map(|n| (step * f64::from(n)).sin_cos()).map(|(sin, cos)| [10.0 * cos, 10.0 * sin]).collect();
    polygon(&ring)
}

#[test]
fn a51_a_hundred_thousand_vertices_are_rejected_and_ten_thousand_accepted() {
    assert_eq!(round(100_000).check().unwrap_err().kind, GeometryErrorKind::TooManyVertices);
    let most = round(u32::try_from(MAX_VERTICES).unwrap() - 1).shape().unwrap();
    assert!(most.contains(&at(7.0, 7.0)) && !most.contains(&at(7.1, 7.1)));
}

/// Each tooth's box overlaps every other's: about 80 million pairs, none of which intersect.
#[test]
fn a51_a_comb_of_long_teeth_is_rejected_quickly() {
    let tooth = |n: u32| [f64::from(n) * 1e-3 + f64::from(n % 2) * 50.0, f64::from(n % 2) * 50.0];
    let comb = |teeth: u32| {
        let mut ring: Vec<[f64; 2]> = (0..teeth).map(tooth).collect();
        ring.extend([[80.0, 60.0], [-10.0, 60.0]]);
        polygon(&ring).check().map_err(|error| error.kind)
    };
    assert_eq!(comb(900), Ok(()));
    assert_eq!(comb(9_000), Err(GeometryErrorKind::TooComplex));
}

/// The bound is one of the whole geometry: each of these combs alone is accepted.
#[test]
fn a52_combs_of_several_polygons_are_bounded_together() {
    let tooth = |n: u32| [f64::from(n) * 1e-3 + f64::from(n % 2) * 50.0, f64::from(n % 2) * 50.0];
    let comb = || {
        let mut ring: Vec<[f64; 2]> = (0..800).map(tooth).collect();
        ring.extend([[80.0, 60.0], [-10.0, 60.0]]);
        polygon(&ring)
    };
    let rings = || match comb() {
        Geometry::Polygon(rings) => rings,
        other => panic!("{other:?}"),
    };
    assert_eq!(comb().check(), Ok(()));
    for several in [
        Geometry::MultiPolygon((0..10).map(|_| rings()).collect()),
        Geometry::GeometryCollection((0..10).map(|_| comb()).collect()),
        Geometry::GeometryCollection((0..10).map(|_| Geometry::MultiPolygon(vec![rings()])).collect()),
    ] {
        assert_eq!(several.check().map_err(|error| error.kind), Err(GeometryErrorKind::TooComplex));
    }
}
