//! Well-known text (OGC 06-103r4), one geometry a line. Z and M are read and dropped.

use muster_engine::prelude::*;

use super::{Feature, warn};
use crate::shape::{Geometry, Position};

const MAX_DEPTH: usize = 8;
const NAMES: [&str; 7] =
    ["GEOMETRYCOLLECTION", "MULTILINESTRING", "MULTIPOLYGON", "MULTIPOINT", "LINESTRING", "POLYGON", "POINT"];

/// Whether a text begins as a geometry.
pub(crate) fn begins(text: &str) -> bool {
    let text = text.trim_start();
    let name = text.get(..20.min(text.len())).unwrap_or(text).to_ascii_uppercase();
    name.starts_with("SRID=") || NAMES.iter().any(|known| name.starts_with(known))
}

pub(crate) fn read(content: &str) -> Result<Vec<Feature>, String> {
    let mut reader = Reader { rest: content.trim() };
    let mut features = Vec::new();
    while !reader.rest.is_empty() {
        reader.skip_srid();
        let geometry = reader.geometry(MAX_DEPTH)?;
        features.push(Feature { geometry: Some(geometry), properties: Map::new() });
        reader.rest = reader.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    }
    Ok(features)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip_srid(&mut self) {
        if self.rest.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("SRID="))
            && let Some((_, rest)) = self.rest.split_once(';')
        {
            self.rest = rest.trim_start();
        }
    }

    /// Takes a word of letters, in capitals.
    fn word(&mut self) -> String {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_ascii_uppercase()
    }

    fn take(&mut self, mark: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.take(mark) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(12).collect();
        Err(format!("has {found:?} where {mark:?} is expected"))
    }

    fn geometry(&mut self, depth: usize) -> Result<Geometry, String> {
        let word = self.word();
        let name = NAMES
            .iter()
            .find(|name| word.starts_with(**name))
            .ok_or_else(|| format!("has {word:?}, which is no geometry"))?;
        let mut dimensions = word.get(name.len()..).unwrap_or_default().to_owned();
        if dimensions.is_empty() {
            let before = self.rest;
            dimensions = self.word();
            if !matches!(dimensions.as_str(), "Z" | "M" | "ZM") {
                self.rest = before;
            }
        }
        let before = self.rest;
        let empty = self.word() == "EMPTY";
        if !empty {
            self.rest = before;
        }
        Ok(match *name {
            "POINT" if empty => Geometry::MultiPoint(Vec::new()),
            "POINT" => {
                self.expect('(')?;
                let position = self.position()?;
                self.expect(')')?;
                Geometry::Point(position)
            }
            "MULTIPOINT" => Geometry::MultiPoint(self.list(empty, |reader| {
                let nested = reader.take('(');
                let position = reader.position()?;
                if nested {
                    reader.expect(')')?;
                }
                Ok(position)
            })?),
            "LINESTRING" => Geometry::LineString(self.list(empty, Self::position)?),
            "MULTILINESTRING" => {
                Geometry::MultiLineString(self.list(empty, |reader| reader.list(false, Self::position))?)
            }
            "POLYGON" => Geometry::Polygon(self.list(empty, Self::ring)?),
            "MULTIPOLYGON" => Geometry::MultiPolygon(self.list(empty, |reader| reader.list(false, Self::ring))?),
            _ if depth == 0 => return Err("is nested too deeply".to_owned()),
            _ => Geometry::Collection(self.list(empty, |reader| reader.geometry(depth - 1))?),
        })
    }

    fn list<T>(&mut self, empty: bool, item: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut items = Vec::new();
        if empty {
            return Ok(items);
        }
        self.expect('(')?;
        loop {
            items.push(item(self)?);
            if !self.take(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(items)
    }

    fn ring(&mut self) -> Result<Vec<Position>, String> {
        let ring = self.list(false, Self::position)?;
        if ring.len() < 4 || ring.first() != ring.last() {
            return Err("has a ring that is not closed or has fewer than four positions".to_owned());
        }
        Ok(ring)
    }

    fn position(&mut self) -> Result<Position, String> {
        let end = self.rest.find([',', '(', ')']).unwrap_or(self.rest.len());
        let (numbers, rest) = self.rest.split_at(end);
        self.rest = rest;
        let numbers: Result<Vec<f64>, _> = numbers.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok([lon, lat] | [lon, lat, _] | [lon, lat, _, _]) if lon.is_finite() && lat.is_finite() => Ok([*lon, *lat]),
            _ => Err("has a position that is not two to four numbers".to_owned()),
        }
    }
}

pub(crate) fn write(features: &[Feature], warnings: &mut Vec<String>) -> Result<String, String> {
    warn(
        warnings,
        features.iter().filter(|feature| !feature.properties.is_empty()).count(),
        "features lose their properties: WKT has none",
    );
    warn(
        warnings,
        features.iter().filter(|feature| feature.geometry.is_none()).count(),
        "features without a geometry are left out",
    );
    let lines = features.iter().filter_map(|feature| feature.geometry.as_ref()).map(geometry);
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn geometry(shape: &Geometry) -> String {
    let position = |[lon, lat]: &Position| format!("{lon} {lat}");
    let line =
        |positions: &Vec<Position>| format!("({})", positions.iter().map(position).collect::<Vec<_>>().join(", "));
    let lines = |lines: &Vec<Vec<Position>>| format!("({})", lines.iter().map(line).collect::<Vec<_>>().join(", "));
    let body =
        |name: &str, empty: bool, body: String| if empty { format!("{name} EMPTY") } else { format!("{name} {body}") };
    match shape {
        Geometry::Point(at) => format!("POINT ({})", position(at)),
        Geometry::MultiPoint(points) => {
            let points_text: Vec<_> = points.iter().map(|at| format!("({})", position(at))).collect();
            body("MULTIPOINT", points.is_empty(), format!("({})", points_text.join(", ")))
        }
        Geometry::LineString(positions) => body("LINESTRING", positions.is_empty(), line(positions)),
        Geometry::MultiLineString(all) => body("MULTILINESTRING", all.is_empty(), lines(all)),
        Geometry::Polygon(rings) => body("POLYGON", rings.is_empty(), lines(rings)),
        Geometry::MultiPolygon(polygons) => {
            let text: Vec<_> = polygons.iter().map(lines).collect();
            body("MULTIPOLYGON", polygons.is_empty(), format!("({})", text.join(", ")))
        }
        Geometry::Collection(members) => {
            let text: Vec<_> = members.iter().map(geometry).collect();
            body("GEOMETRYCOLLECTION", members.is_empty(), format!("({})", text.join(", ")))
        }
    }
}
