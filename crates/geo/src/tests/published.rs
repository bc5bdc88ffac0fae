//! Published figures.

use super::at;
use crate::{Cells, EARTH_RADIUS_M, Geometry, MAX_DISTANCE_M, distance_m, geohash, h3_cell};

/// E. Williams, Aviation Formulary, worked example: LAX (33°57'N 118°24'W) to JFK (40°38'N 73°47'W) is 0.623585 rad.
#[test]
fn great_circle_distances_match_the_aviation_formulary() {
    let lax = at(-(118.0 + 24.0 / 60.0), 33.0 + 57.0 / 60.0);
    let jfk = at(-(73.0 + 47.0 / 60.0), 40.0 + 38.0 / 60.0);
    assert!((distance_m(&lax, &jfk) / EARTH_RADIUS_M - 0.623_585).abs() < 1e-6);
}

/// GeographicLib's GeodSolve, worked example (JFK to Heathrow, 5,551,759.400 m), and Geoscience Australia's line from
/// Flinders Peak to Buninyong (54,972.271 m): both on the ellipsoid, from which the sphere deviates by at most 0.56 %.
#[test]
fn great_circle_distances_approximate_geodesics() {
    let near = |one, other, geodesic: f64| (distance_m(&one, &other) / geodesic - 1.0).abs() < 0.0056;
    assert!(near(at(-73.8, 40.6), at(-0.5, 51.6), 5_551_759.400));
    let degrees = |d: f64, m: f64, s: f64| d + m / 60.0 + s / 3600.0;
    let flinders = at(degrees(144.0, 25.0, 29.524_40), -degrees(37.0, 57.0, 3.720_30));
    let buninyong = at(degrees(143.0, 55.0, 35.383_90), -degrees(37.0, 39.0, 10.156_10));
    assert!(near(flinders, buninyong, 54_972.271));
}

#[test]
fn distances_are_correct_at_the_antimeridian_the_poles_and_antipodes() {
    assert!((distance_m(&at(179.5, 0.0), &at(-179.5, 0.0)) - MAX_DISTANCE_M / 180.0).abs() < 1e-3);
    assert!(distance_m(&at(0.0, 90.0), &at(120.0, 90.0)) < 1e-6);
    assert!((distance_m(&at(0.0, 89.0), &at(180.0, 89.0)) - MAX_DISTANCE_M / 90.0).abs() < 1e-3);
    assert!((distance_m(&at(10.0, 20.0), &at(-170.0, -20.0)) - MAX_DISTANCE_M).abs() < 0.2);
}

/// README of h3-js, and h3geo.org's page on `latLngToCell` (the Statue of Liberty).
#[test]
fn cells_match_the_documentation_of_h3() {
    assert_eq!(h3_cell(&at(-122.055_323_8, 37.361_559_3), 7).unwrap(), "87283472bffffff");
    assert_eq!(h3_cell(&at(-74.044_444, 40.689_167), 10).unwrap(), "8a2a1072b59ffff");
    assert!(h3_cell(&at(200.0, 0.0), 7).is_err());
}

/// Wikipedia, "Geohash": the lighthouse of Skagen, and the worked example ezs42.
#[test]
fn geohashes_match_published_ones() {
    assert_eq!(geohash(&at(10.407_44, 57.649_11), 11).unwrap(), "u4pruydqqvj");
    assert_eq!(geohash(&at(-5.603, 42.605), 5).unwrap(), "ezs42");
}

#[test]
fn covering_cells_are_bounded_and_complete() {
    let circle = Geometry::Circle { center: at(179.95, -16.5), radius_m: 20_000.0 }.shape().unwrap();
    let fine = Cells::covering(&circle, 7, 1_000);
    // A cell of resolution 7 has 5.161 km² on average (h3geo.org, table of cell statistics), the circle 1,257 km².
    assert!(fine.resolution == 7 && (200..500).contains(&fine.cells.len()), "{}", fine.cells.len());
    for inside in [at(179.95, -16.5), at(-179.99, -16.5), at(179.95, -16.4), at(180.0, -16.6)] {
        assert!(circle.contains(&inside) && fine.cells.contains(&h3_cell(&inside, 7).unwrap()));
    }
    let few = Cells::covering(&circle, 7, 20);
    assert!(few.resolution < 7 && few.cells.len() <= 20);
    let all = Geometry::Circle { center: at(0.0, 0.0), radius_m: MAX_DISTANCE_M }.shape().unwrap();
    assert_eq!(Cells::covering(&all, 9, 1).cells.len(), 122, "as many as H3 has at resolution 0");
}
