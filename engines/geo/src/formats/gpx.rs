//! GPX 1.1: waypoints, routes and tracks. Properties other than name, description and elevation go to extensions.

use muster_engine::prelude::*;

use super::xml::{Element, tag};
use super::{Feature, text_of, warn};
use crate::shape::{Geometry, Position};

/// Members of GPX that are properties here.
const KNOWN: [&str; 6] = ["ele", "time", "name", "cmt", "desc", "sym"];

pub(crate) fn read(root: &Element) -> Result<Vec<Feature>, String> {
    if root.name != "gpx" {
        return Err(format!("has the root element {}, not gpx", root.name));
    }
    let mut features = Vec::new();
    for child in &root.children {
        let geometry = match child.name.as_str() {
            "wpt" => Geometry::Point(position(child)?),
            "rte" => Geometry::LineString(child.all("rtept").map(position).collect::<Result<_, _>>()?),
            "trk" => {
                let segments = child.all("trkseg").map(|segment| segment.all("trkpt").map(position).collect());
                Geometry::MultiLineString(segments.collect::<Result<_, String>>()?)
            }
            _ => continue,
        };
        features.push(Feature { geometry: Some(geometry), properties: properties(child) });
    }
    Ok(features)
}

fn position(element: &Element) -> Result<Position, String> {
    let number = |name: &str| {
        element.attribute(name).and_then(|text| text.trim().parse::<f64>().ok()).filter(|value| value.is_finite())
    };
    match (number("lon"), number("lat")) {
        (Some(lon), Some(lat)) => Ok([lon, lat]),
        _ => Err(format!("has a {} without lat and lon", element.name)),
    }
}

fn properties(element: &Element) -> Map<String, Value> {
    let mut properties = Map::new();
    for child in &element.children {
        if KNOWN.contains(&child.name.as_str()) {
            let name = if child.name == "desc" { "description" } else { &child.name };
            properties.insert(name.to_owned(), child.text.trim().into());
        } else if child.name == "extensions" {
            for extension in child.children.iter().filter(|extension| extension.children.is_empty()) {
                let name = extension.attribute("name").unwrap_or(&extension.name);
                properties.insert(name.to_owned(), extension.text.trim().into());
            }
        }
    }
    properties
}

pub(crate) fn write(features: &[Feature], warnings: &mut Vec<String>) -> Result<String, String> {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gpx version=\"1.1\" creator=\"muster\" xmlns=\"http://www.topografix.com/GPX/1/1\">\n",
    );
    let (mut points, mut lines, mut polygons, mut without) = (String::new(), String::new(), 0, 0);
    for feature in features {
        match &feature.geometry {
            Some(shape) => add(shape, &feature.properties, &mut points, &mut lines, &mut polygons),
            None => without += 1,
        }
    }
    warn(warnings, polygons, "polygons are written as tracks of their rings: GPX has no areas");
    warn(warnings, without, "features without a geometry are left out");
    // The schema wants waypoints before tracks.
    text.push_str(&points);
    text.push_str(&lines);
    text.push_str("</gpx>\n");
    Ok(text)
}

fn add(
    shape: &Geometry,
    properties: &Map<String, Value>,
    points: &mut String,
    lines: &mut String,
    polygons: &mut usize,
) {
    match shape {
        Geometry::Point(at) => points.push_str(&point("wpt", at, &members(properties))),
        Geometry::MultiPoint(all) => all.iter().for_each(|at| points.push_str(&point("wpt", at, &members(properties)))),
        Geometry::LineString(line) => lines.push_str(&track(std::slice::from_ref(line), properties)),
        Geometry::MultiLineString(all) => lines.push_str(&track(all, properties)),
        Geometry::Polygon(rings) => {
            *polygons += 1;
            lines.push_str(&track(rings, properties));
        }
        Geometry::MultiPolygon(all) => {
            *polygons += all.len();
            lines.push_str(&track(&all.concat(), properties));
        }
        Geometry::Collection(all) => all.iter().for_each(|member| add(member, properties, points, lines, polygons)),
    }
}

fn point(name: &str, [lon, lat]: &Position, members: &str) -> String {
    format!("<{name} lat=\"{lat}\" lon=\"{lon}\">{members}</{name}>\n")
}

fn track(lines: &[Vec<Position>], properties: &Map<String, Value>) -> String {
    let segments = lines.iter().map(|line| {
        let points: String = line.iter().map(|[lon, lat]| format!("<trkpt lat=\"{lat}\" lon=\"{lon}\"/>")).collect();
        format!("<trkseg>{points}</trkseg>")
    });
    // Elevations and times belong to points, not to tracks.
    let properties: Map<String, Value> = properties
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "ele" | "time" | "sym"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    format!("<trk>{}{}</trk>\n", members(&properties), segments.collect::<String>())
}

/// Members in the schema's order, then extensions.
fn members(properties: &Map<String, Value>) -> String {
    let mut text = String::new();
    for name in KNOWN {
        let key = if name == "desc" { "description" } else { name };
        if let Some(value) = properties.get(key) {
            text.push_str(&tag(name, &text_of(value)));
        }
    }
    let known = |name: &str| name == "description" || name != "desc" && KNOWN.contains(&name);
    let others: String = properties
        .iter()
        .filter(|(name, _)| !known(name))
        .map(|(name, value)| {
            let name = quick_xml::escape::escape(name.as_str());
            format!("<data name=\"{name}\">{}</data>", quick_xml::escape::escape(text_of(value).as_str()))
        })
        .collect();
    if !others.is_empty() {
        text.push_str(&format!("<extensions>{others}</extensions>"));
    }
    text
}
