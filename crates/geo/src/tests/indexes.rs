//! Property tests: the indexes return the same as a linear scan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::shapes::star;
use super::{at, polygon};
use crate::{BBox, Geometry, Point, PointIndex, Shape, ShapeIndex, distance_m};

/// Points concentrated where errors are likely: the antimeridian, the poles, the equator.
fn place() -> impl Strategy<Value = Point> {
    let lon = prop_oneof![-180.0_f64..180.0, 179.0_f64..180.0, -180.0_f64..-179.0, Just(180.0), Just(-180.0)];
    let lat = prop_oneof![-90.0_f64..90.0, 89.0_f64..90.0, -90.0_f64..-89.0, Just(90.0), Just(-90.0), -1.0_f64..1.0];
    (lon, lat).prop_map(|(lon, lat)| at(lon, lat))
}

fn bbox() -> impl Strategy<Value = BBox> {
    (place(), place())
        .prop_map(|(one, other)| BBox::new(one.lon, one.lat.min(other.lat), other.lon, one.lat.max(other.lat)).unwrap())
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Point),
    Remove(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u8..60, place()).prop_map(|(key, point)| Step::Put(key, point)),
        1 => (0_u8..60).prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 1..150)
}

fn geometry() -> impl Strategy<Value = Geometry> {
    prop_oneof![
        (place(), 1_000.0_f64..5_000_000.0).prop_map(|(center, radius_m)| Geometry::Circle { center, radius_m }),
        (star(), -6_i32..6).prop_map(|(ring, by)| {
            let moved: Vec<[f64; 2]> = ring.iter().map(|&[lon, lat]| [lon + f64::from(by) * 32.0, lat]).collect();
            polygon(&moved)
        }),
        place().prop_map(Geometry::Point),
    ]
}

fn shape() -> impl Strategy<Value = Arc<Shape>> {
    geometry().prop_filter_map("a star that folds", |geometry| geometry.shape().ok().map(Arc::new))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn point_queries_equal_a_linear_scan(
        steps in steps(), center in place(), radius in 1_000.0_f64..10_000_000.0, shape in shape(), bbox in bbox(), limit in 1_usize..70,
    ) {
        let (mut index, mut model) = (PointIndex::default(), BTreeMap::new());
        for step in steps {
            match step {
                Step::Put(key, point) => prop_assert_eq!(index.insert(key, point), model.insert(key, point)),
                Step::Remove(key) => prop_assert_eq!(index.remove(&key), model.remove(&key)),
            }
        }
        prop_assert_eq!(index.len(), model.len());
        let bulk = PointIndex::bulk(model.clone());
        for index in [&index, &bulk] {
            let near = index.near(&center, radius, limit);
            let mut scan: Vec<f64> = model.values().map(|point| distance_m(&center, point)).filter(|d| *d <= radius).collect();
            scan.sort_by(f64::total_cmp);
            scan.truncate(limit);
            prop_assert_eq!(near.iter().map(|near| near.distance_m).collect::<Vec<_>>(), scan);
            prop_assert!(near.iter().all(|near| distance_m(&center, &model[near.key]).total_cmp(&near.distance_m).is_eq()));
            let within: Vec<u8> = index.within(&shape).map(|(key, _)| *key).collect();
            let found: BTreeSet<u8> = within.iter().copied().collect();
            prop_assert_eq!(found.len(), within.len(), "no duplicates");
            let scan = model.iter().filter(|(_, point)| shape.contains(point)).map(|(key, _)| *key).collect::<BTreeSet<_>>();
            prop_assert_eq!(found, scan);
            let boxed: Vec<u8> = index.within_bbox(bbox).map(|(key, _)| *key).collect();
            let found: BTreeSet<u8> = boxed.iter().copied().collect();
            prop_assert_eq!(found.len(), boxed.len(), "no duplicates");
            let scan = model.iter().filter(|(_, point)| bbox.contains(point)).map(|(key, _)| *key).collect::<BTreeSet<_>>();
            prop_assert_eq!(found, scan);
        }
    }

    #[test]
    fn shape_queries_equal_a_linear_scan(
        shapes in prop::collection::vec(shape(), 1..25), points in prop::collection::vec(place(), 20), bbox in bbox(),
    ) {
        let mut index = ShapeIndex::default();
        for (n, shape) in shapes.iter().enumerate() {
            index.insert(n % 20, Arc::clone(shape));
        }
        index.remove(&3);
        let model: BTreeMap<usize, &Arc<Shape>> =
            shapes.iter().enumerate().map(|(n, shape)| (n % 20, shape)).filter(|(n, _)| *n != 3).collect();
        prop_assert_eq!(index.len(), model.len());
        for point in points {
            let found: BTreeSet<usize> = index.containing(&point).into_iter().copied().collect();
            let scan = model.iter().filter(|(_, shape)| shape.contains(&point)).map(|(n, _)| *n).collect();
            prop_assert_eq!(found, scan, "{:?}", point);
        }
        let found: BTreeSet<usize> = index.intersecting(&bbox).into_iter().copied().collect();
        let scan = model.iter().filter(|(_, shape)| shape.intersects(&bbox)).map(|(n, _)| *n).collect();
        prop_assert_eq!(found, scan);
    }
}

#[test]
fn near_crosses_the_antimeridian_and_the_pole() {
    let index = PointIndex::bulk([
        ("east", at(179.9, 0.0)),
        ("west", at(-179.9, 0.0)),
        ("far", at(170.0, 0.0)),
        ("top", at(10.0, 89.9)),
    ]);
    let keys = |center, radius| index.near(&center, radius, 10).iter().map(|near| *near.key).collect::<Vec<_>>();
    assert_eq!(keys(at(179.95, 0.0), 50_000.0), ["east", "west"]);
    assert_eq!(keys(at(-170.0, 89.95), 20_000.0), ["top"]);
}

#[test]
fn an_invalid_position_is_not_indexed() {
    let mut index = PointIndex::default();
    assert_eq!(index.insert("a", at(1.0, 2.0)), None);
    assert_eq!(index.insert("a", at(f64::NAN, 2.0)), Some(at(1.0, 2.0)));
    assert!(index.is_empty() && index.near(&at(0.0, 0.0), 1e7, 9).is_empty());
}
