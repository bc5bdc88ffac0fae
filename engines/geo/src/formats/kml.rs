//! KML 2.3 (OGC 12-007r2): placemarks with their extended data. Tracks, models and styles are left out.

use muster_engine::prelude::*;
use quick_xml::escape::escape;

use super::xml::{Element, tag};
use super::{Feature, text_of};
use crate::shape::{Geometry, Position};

const MAX_DEPTH: usize = 8;

pub(crate) fn read(root: &Element, warnings: &mut Vec<String>) -> Result<Vec<Feature>, String> {
    if root.name != "kml" {
        return Err(format!("has the root element {}, not kml", root.name));
    }
    let mut features = Vec::new();
    let mut unread = 0;
    collect(root, &mut features, &mut unread)?;
    super::warn(warnings, unread, "geometries of other kinds, such as tracks and models, are left out");
    Ok(features)
}

fn collect(element: &Element, features: &mut Vec<Feature>, unread: &mut usize) -> Result<(), String> {
    for child in &element.children {
        if child.name == "Placemark" {
            features.push(placemark(child, unread)?);
        } else {
            collect(child, features, unread)?;
        }
    }
    Ok(())
}

fn placemark(element: &Element, unread: &mut usize) -> Result<Feature, String> {
    let mut properties = Map::new();
    for name in ["name", "description"] {
        if let Some(text) = element.text_of(name) {
            properties.insert(name.to_owned(), text.into());
        }
    }
    if let Some(data) = element.child("ExtendedData") {
        for item in data.all("Data") {
            if let (Some(name), Some(value)) = (item.attribute("name"), item.text_of("value")) {
                properties.insert(name.to_owned(), value.into());
            }
        }
        for item in data.all("SchemaData").flat_map(|schema| schema.all("SimpleData")) {
            if let Some(name) = item.attribute("name") {
                properties.insert(name.to_owned(), item.text.trim().into());
            }
        }
    }
    let geometry =
        element.children.iter().find_map(|child| geometry(child, unread, MAX_DEPTH).transpose()).transpose()?;
    Ok(Feature { geometry, properties })
}

/// Reads a geometry; `None` for an element that is none.
fn geometry(element: &Element, unread: &mut usize, depth: usize) -> Result<Option<Geometry>, String> {
    let coordinates = || positions(element.text_of("coordinates").unwrap_or_default());
    let ring = |border: &Element| {
        let text = border.child("LinearRing").and_then(|ring| ring.text_of("coordinates")).unwrap_or_default();
        closed(positions(text)?)
    };
    Ok(Some(match element.name.as_str() {
        "Point" => Geometry::Point(coordinates()?.first().copied().ok_or("has a Point without coordinates")?),
        "LineString" => line(coordinates()?)?,
        "LinearRing" => line(closed(coordinates()?)?)?,
        "Polygon" => {
            let outer = element.child("outerBoundaryIs").ok_or("has a Polygon without an outer boundary")?;
            let inner = element.all("innerBoundaryIs").map(ring);
            Geometry::Polygon(std::iter::once(ring(outer)).chain(inner).collect::<Result<_, String>>()?)
        }
        "MultiGeometry" if depth > 0 => {
            let members = element.children.iter().map(|child| geometry(child, unread, depth - 1));
            joined(members.collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect())
        }
        "Track" | "MultiTrack" | "Model" | "MultiGeometry" => {
            *unread += 1;
            return Ok(None);
        }
        _ => return Ok(None),
    }))
}

fn line(positions: Vec<Position>) -> Result<Geometry, String> {
    if positions.len() < 2 {
        return Err("has a line with fewer than two positions".to_owned());
    }
    Ok(Geometry::LineString(positions))
}

fn closed(mut ring: Vec<Position>) -> Result<Vec<Position>, String> {
    if ring.first() != ring.last() {
        ring.extend(ring.first().copied());
    }
    if ring.len() < 4 {
        return Err("has a ring with fewer than four positions".to_owned());
    }
    Ok(ring)
}

/// Members of one kind become one geometry of that kind.
fn joined(members: Vec<Geometry>) -> Geometry {
    let points: Option<Vec<_>> =
        members.iter().map(|member| if let Geometry::Point(at) = member { Some(*at) } else { None }).collect();
    let lines: Option<Vec<_>> = members
        .iter()
        .map(|member| if let Geometry::LineString(line) = member { Some(line.clone()) } else { None })
        .collect();
    let polygons: Option<Vec<_>> = members
        .iter()
        .map(|member| if let Geometry::Polygon(rings) = member { Some(rings.clone()) } else { None })
        .collect();
    match (points, lines, polygons) {
        _ if members.is_empty() => Geometry::Collection(members),
        (Some(points), ..) => Geometry::MultiPoint(points),
        (_, Some(lines), _) => Geometry::MultiLineString(lines),
        (.., Some(polygons)) => Geometry::MultiPolygon(polygons),
        _ => Geometry::Collection(members),
    }
}

fn positions(text: &str) -> Result<Vec<Position>, String> {
    text.split_whitespace()
        .map(|tuple| {
            let numbers: Result<Vec<f64>, _> =
                tuple.split(',').filter(|part| !part.is_empty()).map(str::parse).collect();
            match numbers.as_deref() {
                Ok([lon, lat] | [lon, lat, _]) if lon.is_finite() && lat.is_finite() => Ok([*lon, *lat]),
                _ => Err(format!("has the coordinates {tuple:?}, which are not lon,lat or lon,lat,altitude")),
            }
        })
        .collect()
}

pub(crate) fn write(features: &[Feature]) -> Result<String, String> {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<kml xmlns=\"http://www.opengis.net/kml/2.2\">\n<Document>\n",
    );
    for feature in features {
        text.push_str("<Placemark>");
        for name in ["name", "description"] {
            if let Some(value) = feature.properties.get(name) {
                text.push_str(&tag(name, &text_of(value)));
            }
        }
        let others: Vec<_> =
            feature.properties.iter().filter(|(name, _)| !matches!(name.as_str(), "name" | "description")).collect();
        if !others.is_empty() {
            text.push_str("<ExtendedData>");
            for (name, value) in others {
                text.push_str(&format!(
                    "<Data name=\"{}\">{}</Data>",
                    escape(name.as_str()),
                    tag("value", &text_of(value))
                ));
            }
            text.push_str("</ExtendedData>");
        }
        if let Some(shape) = &feature.geometry {
            text.push_str(&written(shape));
        }
        text.push_str("</Placemark>\n");
    }
    text.push_str("</Document>\n</kml>\n");
    Ok(text)
}

fn written(shape: &Geometry) -> String {
    let coordinates = |positions: &[Position]| {
        let tuples: Vec<_> = positions.iter().map(|[lon, lat]| format!("{lon},{lat}")).collect();
        tag("coordinates", &tuples.join(" "))
    };
    let polygon = |rings: &Vec<Vec<Position>>| {
        let rings = rings.iter().enumerate().map(|(index, ring)| {
            let name = if index == 0 { "outerBoundaryIs" } else { "innerBoundaryIs" };
            format!("<{name}><LinearRing>{}</LinearRing></{name}>", coordinates(ring))
        });
        format!("<Polygon>{}</Polygon>", rings.collect::<String>())
    };
    let multi = |members: String| format!("<MultiGeometry>{members}</MultiGeometry>");
    match shape {
        Geometry::Point(at) => format!("<Point>{}</Point>", coordinates(&[*at])),
        Geometry::LineString(line) => format!("<LineString>{}</LineString>", coordinates(line)),
        Geometry::Polygon(rings) => polygon(rings),
        Geometry::MultiPoint(points) => {
            multi(points.iter().map(|at| format!("<Point>{}</Point>", coordinates(&[*at]))).collect())
        }
        Geometry::MultiLineString(lines) => {
            multi(lines.iter().map(|line| format!("<LineString>{}</LineString>", coordinates(line))).collect())
        }
        Geometry::MultiPolygon(polygons) => multi(polygons.iter().map(polygon).collect()),
        Geometry::Collection(members) => multi(members.iter().map(written).collect()),
    }
}
