//! q12: geodata format conversion.

use muster_engine::prelude::*;

use crate::formats::{Feature, csv, geojson, gpx, kml, sorted, wkt, xml};

const MAX_BYTES: usize = 8 << 20;
const MAX_FEATURES: usize = 50_000;
/// Most features that are also an output.
const MAX_INLINE: usize = 5_000;

/// A format.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFormat {
    /// Found out from the content.
    Auto,
    /// RFC 7946.
    Geojson,
    /// OGC 06-103r4; one geometry a line.
    Wkt,
    /// OGC KML 2.3.
    Kml,
    /// GPX 1.1.
    Gpx,
    /// Columns of latitude and longitude.
    Csv,
}

/// A format.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenFormat {
    /// RFC 7946.
    Geojson,
    /// OGC 06-103r4; one geometry a line.
    Wkt,
    /// OGC KML 2.3.
    Kml,
    /// GPX 1.1.
    Gpx,
    /// Columns of latitude and longitude.
    Csv,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    content: String,
    from: ReadFormat,
    to: WrittenFormat,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    content: String,
    features: usize,
    geojson: Option<Value>,
    warnings: Vec<String>,
}

/// Reads features and writes them in another format, properties in the order of their names. What the other format cannot hold is named in `warnings`.
///
/// # Errors
/// What cannot be read in its format.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    if input.content.len() > MAX_BYTES {
        return Err(Failure::too_large(format!("at most {MAX_BYTES} bytes are taken")));
    }
    let mut warnings = Vec::new();
    let from = if input.from == ReadFormat::Auto { recognised(&input.content) } else { input.from };
    let refused = |message: String| Failure::invalid(&["content"], message);
    let features: Vec<Feature> = match from {
        ReadFormat::Geojson | ReadFormat::Auto => geojson::read(&input.content),
        ReadFormat::Wkt => wkt::read(&input.content),
        ReadFormat::Kml => xml::parse(&input.content).and_then(|root| kml::read(&root, &mut warnings)),
        ReadFormat::Gpx => xml::parse(&input.content).and_then(|root| gpx::read(&root)),
        ReadFormat::Csv => csv::read(&input.content),
    }
    .map_err(refused)?;
    if features.len() > MAX_FEATURES {
        return Err(Failure::too_large(format!(
            "at most {MAX_FEATURES} features are taken, and there are {}",
            features.len()
        )));
    }
    let features: Vec<Feature> = features
        .into_iter()
        .map(|feature| match sorted(Value::Object(feature.properties)) {
            Value::Object(properties) => Feature { properties, ..feature },
            _ => Feature { properties: Map::new(), ..feature },
        })
        .collect();
    let geojson = if features.len() <= MAX_INLINE {
        Some(geojson::collection(&features))
    } else {
        warnings.push(format!("geojson is left out: more than {MAX_INLINE} features; convert to it for its text"));
        None
    };
    let content = match input.to {
        WrittenFormat::Geojson => geojson::write(&features),
        WrittenFormat::Wkt => wkt::write(&features, &mut warnings),
        WrittenFormat::Kml => kml::write(&features),
        WrittenFormat::Gpx => gpx::write(&features, &mut warnings),
        WrittenFormat::Csv => csv::write(&features, &mut warnings),
    };
    Ok(Output { content: content.map_err(refused)?, features: features.len(), geojson, warnings })
}

fn recognised(content: &str) -> ReadFormat {
    let start = content.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with(['{', '[']) {
        ReadFormat::Geojson
    } else if start.starts_with('<') {
        if start.contains("<gpx") { ReadFormat::Gpx } else { ReadFormat::Kml }
    } else if wkt::begins(start) {
        ReadFormat::Wkt
    } else {
        ReadFormat::Csv
    }
}
