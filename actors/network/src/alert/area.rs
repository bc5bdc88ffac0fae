//! Area of an alert: conversion between GeoJSON (longitude, latitude) and CAP (latitude, longitude).

use muster_cap::{Area, Circle, Polygon};
use muster_geo::{Geometry, Point};

/// Adds a geometry as CAP shapes. Holes of polygons are omitted: CAP has none, and a warning should cover too much
/// rather than too little.
pub(super) fn shapes(geometry: &Geometry, area: &mut Area) {
    match geometry {
        // Only of imported messages and of those that servers before `with_radius` published.
        Geometry::Point(point) => area.circles.push(circle(point, 0.0)),
        Geometry::Circle { center, radius_m } => area.circles.push(circle(center, *radius_m)),
        Geometry::Polygon(rings) => area.polygons.extend(rings.first().map(|ring| outer(ring))),
        Geometry::MultiPolygon(polygons) => {
            area.polygons.extend(polygons.iter().filter_map(|rings| rings.first()).map(|ring| outer(ring)));
        }
        Geometry::GeometryCollection(members) => members.iter().for_each(|member| shapes(member, area)),
    }
}

/// Returns a geometry whose points are circles of a radius: an alert that holds at a point holds nowhere.
pub fn with_radius(geometry: &Geometry, radius_m: f64) -> Geometry {
    match geometry {
        Geometry::Point(center) => Geometry::Circle { center: *center, radius_m },
        Geometry::GeometryCollection(members) => {
            Geometry::GeometryCollection(members.iter().map(|member| with_radius(member, radius_m)).collect())
        }
        other => other.clone(),
    }
}

/// Returns whether a geometry is or holds a point.
pub fn has_point(geometry: &Geometry) -> bool {
    match geometry {
        Geometry::Point(_) => true,
        Geometry::GeometryCollection(members) => members.iter().any(has_point),
        _ => false,
    }
}

/// Describes the circles of radius 0 of an imported document, which the standard permits: each is a point.
pub fn points_of(alert: &muster_cap::Alert) -> Vec<String> {
    let mut found = Vec::new();
    for (i, info) in alert.infos.iter().enumerate() {
        for (a, area) in info.areas.iter().enumerate() {
            let zero = area.circles.iter().enumerate().filter(|(_, circle)| circle.radius_km == 0.0);
            found.extend(zero.map(|(c, _)| {
                let place = format!("alert/info[{}]/area[{}]/circle[{}]", i + 1, a + 1, c + 1);
                format!("{place}: the radius is 0, so the circle is a point; an alert published from it gets a radius")
            }));
        }
    }
    found
}

fn circle(center: &Point, radius_m: f64) -> Circle {
    Circle { latitude: center.lat, longitude: center.lon, radius_km: radius_m / 1_000.0 }
}

fn outer(ring: &[Point]) -> Polygon {
    Polygon(ring.iter().map(|point| (point.lat, point.lon)).collect())
}

/// Returns all shapes of some areas as one geometry; `None` if there are none or they are invalid.
pub(super) fn geometry(areas: &[Area]) -> Option<Geometry> {
    let point = |&(lat, lon): &(f64, f64)| Point::new(lon, lat);
    let polygons = areas.iter().flat_map(|area| &area.polygons);
    let polygons = polygons.map(|Polygon(ring)| Geometry::Polygon(vec![ring.iter().map(point).collect()]));
    let circles = areas.iter().flat_map(|area| &area.circles).map(|circle| {
        let center = Point::new(circle.longitude, circle.latitude);
        if circle.radius_km > 0.0 {
            Geometry::Circle { center, radius_m: circle.radius_km * 1_000.0 }
        } else {
            Geometry::Point(center)
        }
    });
    let mut all: Vec<Geometry> = polygons.chain(circles).collect();
    let one = if all.len() > 1 { Some(Geometry::GeometryCollection(all)) } else { all.pop() };
    one.filter(|geometry| geometry.check().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_swap_between_geojson_and_cap_and_round_trip() {
        let ring = |lon: f64, lat: f64| {
            let corners = [(lon, lat), (lon + 1.0, lat), (lon + 1.0, lat + 1.0), (lon, lat)];
            corners.iter().map(|&(lon, lat)| Point::new(lon, lat)).collect::<Vec<_>>()
        };
        let mainz = Geometry::Polygon(vec![ring(8.0, 50.0)]);
        let mut area = Area::new("Mainz");
        shapes(&mainz, &mut area);
        assert_eq!(area.polygons[0].0[1], (50.0, 9.0), "latitude first");
        assert_eq!(geometry(&[area]), Some(mainz.clone()));

        let circle = Geometry::Circle { center: Point::new(8.25, 50.0), radius_m: 2_000.0 };
        let both = Geometry::GeometryCollection(vec![mainz, circle, Geometry::Point(Point::new(1.0, 2.0))]);
        let mut area = Area::new("Mainz and more");
        shapes(&both, &mut area);
        assert_eq!(geometry(&[area]), Some(both));
        assert_eq!(geometry(&[Area::new("nowhere")]), None);
    }
}
