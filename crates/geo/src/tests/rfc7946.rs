//! Examples of RFC 7946.

use serde_json::{Value, json};

use super::{at, shape};
use crate::{BBox, Geometry, GeometryErrorKind, Point};

fn read(json: Value) -> Geometry {
    let geometry: Geometry = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(&geometry).unwrap(), json, "the geometry must be serialized unchanged");
    geometry
}

/// Appendix A.1, A.3, A.6.
#[test]
fn the_examples_of_the_appendix_round_trip() {
    assert_eq!(read(json!({"type": "Point", "coordinates": [100.0, 0.0]})), Geometry::Point(at(100.0, 0.0)));
    let holes = read(json!({"type": "Polygon", "coordinates": [
        [[100.0, 0.0], [101.0, 0.0], [101.0, 1.0], [100.0, 1.0], [100.0, 0.0]],
        [[100.8, 0.8], [100.8, 0.2], [100.2, 0.2], [100.2, 0.8], [100.8, 0.8]]]}));
    let holes = holes.shape().unwrap();
    assert!(holes.contains(&at(100.1, 0.5)) && !holes.contains(&at(100.5, 0.5)) && holes.contains(&at(100.2, 0.5)));
    assert_eq!(holes.bbox().to_array(), [100.0, 0.0, 101.0, 1.0]);
    let multi = read(json!({"type": "MultiPolygon", "coordinates": [
        [[[102.0, 2.0], [103.0, 2.0], [103.0, 3.0], [102.0, 3.0], [102.0, 2.0]]],
        [[[100.0, 0.0], [101.0, 0.0], [101.0, 1.0], [100.0, 1.0], [100.0, 0.0]],
         [[100.2, 0.2], [100.2, 0.8], [100.8, 0.8], [100.8, 0.2], [100.2, 0.2]]]]}));
    let multi = multi.shape().unwrap();
    assert!(multi.contains(&at(102.5, 2.5)) && !multi.contains(&at(100.5, 0.5)) && !multi.contains(&at(101.5, 1.5)));
    assert_eq!(multi.bbox().to_array(), [100.0, 0.0, 103.0, 3.0]);
}

#[test]
fn altitudes_are_kept_and_further_elements_ignored() {
    let point: Point = serde_json::from_value(json!({"type": "Point", "coordinates": [1.0, 2.0, 3.0, 4.0]})).unwrap();
    assert_eq!(point, Point { alt: Some(3.0), ..at(1.0, 2.0) });
    assert_eq!(serde_json::to_value(point).unwrap(), json!({"type": "Point", "coordinates": [1.0, 2.0, 3.0]}));
}

/// Section 3.1.9: the same square cut at the antimeridian and uncut, with its bounding box as in section 5.2.
#[test]
fn a_polygon_cut_at_the_antimeridian_equals_the_uncut_one() {
    let cut = read(json!({"type": "MultiPolygon", "coordinates": [
        [[[180.0, 40.0], [180.0, 50.0], [170.0, 50.0], [170.0, 40.0], [180.0, 40.0]]],
        [[[-170.0, 40.0], [-170.0, 50.0], [-180.0, 50.0], [-180.0, 40.0], [-170.0, 40.0]]]]}));
    let cut = cut.shape().unwrap();
    let uncut = shape(&[[170.0, 40.0], [-170.0, 40.0], [-170.0, 50.0], [170.0, 50.0]]);
    let beyond = shape(&[[170.0, 40.0], [190.0, 40.0], [190.0, 50.0], [170.0, 50.0]]);
    for shape in [&cut, &uncut, &beyond] {
        assert_eq!(shape.bbox().to_array(), [170.0, 40.0, -170.0, 50.0]);
        for inside in [at(175.0, 45.0), at(-175.0, 45.0), at(180.0, 45.0), at(-180.0, 45.0), at(170.0, 40.0)] {
            assert!(shape.contains(&inside), "{inside:?}");
        }
        for outside in [at(0.0, 45.0), at(169.0, 45.0), at(-169.0, 45.0), at(180.0, 51.0)] {
            assert!(!shape.contains(&outside), "{outside:?}");
        }
    }
}

/// Section 5.2: the Fiji archipelago.
#[test]
fn a_box_across_the_antimeridian_has_west_greater_than_east() {
    let fiji = BBox::parse("177.0,-20.0,-178.0,-16.0").unwrap();
    assert!(fiji.crosses_antimeridian());
    assert!(fiji.contains(&at(179.0, -17.0)) && fiji.contains(&at(-179.0, -17.0)) && !fiji.contains(&at(0.0, -17.0)));
    assert!(fiji.intersects(&BBox::new(-179.0, -18.0, 0.0, 0.0).unwrap()));
    assert!(!fiji.intersects(&BBox::new(-177.0, -18.0, 176.0, 0.0).unwrap()));
    assert_eq!(serde_json::to_value(fiji).unwrap(), json!([177.0, -20.0, -178.0, -16.0]));
}

#[test]
fn invalid_geometries_are_rejected_with_their_path() {
    let line = json!({"type": "LineString", "coordinates": [[100.0, 0.0], [101.0, 1.0]]});
    let message = serde_json::from_value::<Geometry>(line).unwrap_err().to_string();
    assert!(message.contains("LineString") && message.contains("MultiPolygon"), "{message}");
    let refused = |json: Value| {
        let error = serde_json::from_value::<Geometry>(json).unwrap().check().unwrap_err();
        (error.at, error.kind)
    };
    let ring = |ring: Value| refused(json!({"type": "Polygon", "coordinates": [ring]}));
    let first = |kind| ("coordinates[0]".to_owned(), kind);
    assert_eq!(ring(json!([[0, 0], [1, 0], [0, 0]])), first(GeometryErrorKind::TooShort(3)));
    assert_eq!(ring(json!([[0, 0], [1, 0], [1, 1], [0, 1]])), first(GeometryErrorKind::NotClosed));
    assert_eq!(ring(json!([[0, 0], [1, 1], [2, 2], [0, 0]])), first(GeometryErrorKind::Degenerate));
    assert_eq!(ring(json!([[0, 0], [0, 0], [0, 0], [0, 0]])), first(GeometryErrorKind::Degenerate));
    assert_eq!(
        ring(json!([[0, 0], [1, 91], [1, 1], [0, 0]])),
        ("coordinates[0][1]".to_owned(), GeometryErrorKind::Latitude(91.0))
    );
    assert_eq!(ring(json!([[0, 0], [400, 1], [1, 1], [0, 0]])).1, GeometryErrorKind::Longitude(400.0));
    assert_eq!(refused(json!({"type": "Point", "coordinates": [181, 0]})).1, GeometryErrorKind::Longitude(181.0));
    assert_eq!(refused(json!({"type": "Polygon", "coordinates": []})).1, GeometryErrorKind::NoRing);
    assert_eq!(refused(json!({"type": "MultiPolygon", "coordinates": []})).1, GeometryErrorKind::Empty);
    let nested =
        json!({"type": "GeometryCollection", "geometries": [{"type": "GeometryCollection", "geometries": []}]});
    assert_eq!(refused(nested), ("geometries[0]".to_owned(), GeometryErrorKind::Nested));
    let circle = json!({"type": "Circle", "center": [0, 0], "radius_m": 0});
    assert_eq!(refused(circle), ("radius_m".to_owned(), GeometryErrorKind::Radius(0.0)));
    let members: Vec<Value> = vec![json!({"type": "Point", "coordinates": [0, 0]}); 1_001];
    assert_eq!(
        refused(json!({"type": "GeometryCollection", "geometries": members})).1,
        GeometryErrorKind::TooManyMembers
    );
}

#[test]
fn foreign_members_are_refused_and_a_box_is_ignored() {
    let boxed = json!({ "type": "Point", "coordinates": [8.6, 49.8], "bbox": [8.6, 49.8, 8.6, 49.8] });
    let geometry: Geometry = serde_json::from_value(boxed.clone()).unwrap();
    assert_eq!(geometry, read(json!({ "type": "Point", "coordinates": [8.6, 49.8] })));
    assert_eq!(serde_json::from_value::<Point>(boxed).unwrap().lon, 8.6);
    for foreign in [
        json!({ "type": "Point", "coordinates": [8.6, 49.8], "radius_m": 500 }),
        json!({ "type": "Circle", "center": [8.6, 49.8], "radius_m": 500, "radius": 5 }),
        json!({ "type": "Polygon", "coordinates": [], "crs": { "type": "name" } }),
        json!({ "type": "GeometryCollection", "geometries": [{ "type": "Point", "coordinates": [1, 2], "z": 3 }] }),
    ] {
        let error = serde_json::from_value::<Geometry>(foreign.clone()).unwrap_err().to_string();
        assert!(error.starts_with("unknown field"), "{foreign}: {error}");
    }
    assert!(serde_json::from_value::<Point>(json!({ "type": "Point", "coordinates": [1, 2], "radius_m": 5 })).is_err());
    assert!(serde_json::from_value::<Point>(json!({ "type": "Polygon", "coordinates": [1, 2] })).is_err());
}
