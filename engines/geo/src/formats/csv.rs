//! CSV with columns of latitude and longitude: points only.

use muster_engine::prelude::*;

use super::{Feature, text_of, warn};
use crate::shape::Geometry;

const LATITUDES: [&str; 4] = ["lat", "latitude", "y", "lat_deg"];
const LONGITUDES: [&str; 6] = ["lon", "lng", "long", "longitude", "x", "lon_deg"];

pub(crate) fn read(content: &str) -> Result<Vec<Feature>, String> {
    let content = content.trim_start_matches('\u{feff}');
    let first = content.lines().next().unwrap_or_default();
    // The separator that the header has most of.
    let delimiter = [b',', b';', b'\t']
        .into_iter()
        .max_by_key(|mark| first.bytes().filter(|byte| byte == mark).count())
        .unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).flexible(false).from_reader(content.as_bytes());
    let headers: Vec<String> = reader
        .headers()
        .map_err(|error| format!("is no CSV: {error}"))?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    let column =
        |names: &[&str]| headers.iter().position(|header| names.iter().any(|name| header.eq_ignore_ascii_case(name)));
    let (Some(lat), Some(lon)) = (column(&LATITUDES), column(&LONGITUDES)) else {
        return Err("has no columns of latitude and longitude in its first line, such as lat,lon".to_owned());
    };
    let mut features = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| format!("is no CSV: {error}"))?;
        let number = |index: usize, limit: f64, name: &str| {
            let text = record.get(index).unwrap_or_default().trim();
            text.parse::<f64>()
                .ok()
                .filter(|value| value.abs() <= limit)
                .ok_or_else(|| format!("has {text:?} as the {name} of row {}", row + 1))
        };
        let position = [number(lon, 180.0, "longitude")?, number(lat, 90.0, "latitude")?];
        let properties = headers.iter().zip(record.iter()).enumerate();
        let properties = properties
            .filter(|(index, _)| *index != lat && *index != lon)
            .map(|(_, (name, text))| (name.clone(), value(text)))
            .collect();
        features.push(Feature { geometry: Some(Geometry::Point(position)), properties });
    }
    Ok(features)
}

/// Numbers stay numbers where that loses nothing.
fn value(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Number(number)) if number.to_string() == text => Value::Number(number),
        _ if text.is_empty() => Value::Null,
        _ => text.into(),
    }
}

pub(crate) fn write(features: &[Feature], warnings: &mut Vec<String>) -> Result<String, String> {
    let mut columns: Vec<&String> = Vec::new();
    for name in features.iter().flat_map(|feature| feature.properties.keys()) {
        if !columns.contains(&name) {
            columns.push(name);
        }
        if columns.len() > 1_000 {
            return Err("has more than 1000 different properties".to_owned());
        }
    }
    let points = |shape: &Geometry| match shape {
        Geometry::Point(at) => vec![*at],
        Geometry::MultiPoint(all) => all.clone(),
        _ => Vec::new(),
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: csv::Error| error.to_string();
    let header = ["lat", "lon"].into_iter().chain(columns.iter().map(|name| name.as_str()));
    writer.write_record(header).map_err(failed)?;
    let mut left_out = 0;
    for feature in features {
        let points = feature.geometry.as_ref().map(points).unwrap_or_default();
        left_out += usize::from(points.is_empty());
        for [lon, lat] in points {
            let cells = columns.iter().map(|name| feature.properties.get(*name).map(text_of).unwrap_or_default());
            let row = [lat.to_string(), lon.to_string()].into_iter().chain(cells);
            writer.write_record(row).map_err(failed)?;
        }
    }
    warn(warnings, left_out, "features without points are left out: the columns hold points only");
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}
