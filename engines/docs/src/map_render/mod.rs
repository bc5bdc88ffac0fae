//! q243: map rendering.

mod classes;
mod draw;
mod features;
mod projection;

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use features::{Feature, Part};
use projection::Projection;

/// Largest value: squares stay finite.
const MAX_VALUE: f64 = 1e100;
/// Room around data for which no box is given, as a share of its size, and least size of a box in degrees.
const MARGIN: f64 = 0.05;
const LEAST_SIZE: f64 = 0.01;

#[derive(Input)]
pub struct Input {
    layers: Vec<LayerIn>,
    bbox: Option<Bbox>,
    projection: Projection,
    width: u32,
    height: u32,
    classes: usize,
    title: String,
}

#[derive(Input)]
struct LayerIn {
    name: String,
    data: Value,
    style: Option<BTreeMap<String, Value>>,
    value_field: Option<String>,
}

#[derive(Output)]
pub struct Output {
    svg: String,
    bbox: Bbox,
    scale_m_px: f64,
    breaks: Vec<f64>,
    alt_text: String,
}

/// A layer to draw.
struct Layer<'a> {
    name: &'a str,
    features: Vec<Feature>,
    style: Style,
    /// Whether its values give the colours.
    is_classed: bool,
}

/// What `style` says; the rest follows from the layer's place.
#[derive(Default)]
struct Style {
    fill: Option<String>,
    stroke: Option<String>,
    width: Option<f64>,
    opacity: Option<f64>,
    radius: Option<f64>,
}

/// Draws a map.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` where nothing says what the map is of.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let given: Vec<(&Value, Option<&str>)> =
        input.layers.iter().map(|layer| (&layer.data, layer.value_field.as_deref())).collect();
    let features = features::read(&given)?;
    let mut layers = Vec::new();
    for (at, (layer, features)) in input.layers.iter().zip(features).enumerate() {
        let style = Style::read(layer.style.as_ref(), &at.to_string())?;
        layers.push(Layer { name: &layer.name, features, style, is_classed: layer.value_field.is_some() });
    }
    let classed = || layers.iter().filter(|layer| layer.is_classed).flat_map(|layer| &layer.features);
    let values: Vec<f64> = classed().filter_map(|feature| feature.value).collect();
    if values.iter().any(|value| value.abs() > MAX_VALUE) {
        return Err(Failure::invalid(&["layers"], format!("have a value beyond ±{MAX_VALUE:e}")));
    }
    if values.len() < classed().count() {
        let missing = classed().count() - values.len();
        cx.warn(format!("no_value: {missing} features have no number in the layer's value_field and are grey"));
    }
    let breaks = classes::breaks(&values, input.classes);
    let whole = match input.bbox {
        Some(area) => given_box(area)?,
        None => extent(&layers)
            .ok_or_else(|| Failure::no_answer(NoAnswer::TooFew, "there is no feature, and no bbox: nothing to show"))?,
    };
    let area = input.projection.clamped(whole);
    if area.north - area.south < 1e-9 {
        let why = format!("lies beyond the latitudes of the {} projection", input.projection.name());
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, why));
    }
    if (area.south, area.north) != (whole.south, whole.north) {
        cx.warn("cut: Mercator's map ends at 85 degrees of latitude");
    }
    let (width, height) = (f64::from(input.width), f64::from(input.height));
    let (view, font) = draw::view(input.projection, area, (width, height), !input.title.is_empty());
    let alt_text = described(&input, &layers, area, &breaks);
    let map = draw::Map { view: &view, size: (width, height), font, breaks: &breaks, area };
    let (svg, hidden) = map.draw(&layers, &input.title, &alt_text);
    if hidden > 0 {
        cx.warn(format!("far_side: {hidden} parts lie on the far side of the globe and are not drawn"));
    }
    let wrapped = Bbox {
        west: muster_kernel_earth::wrap_longitude(area.west),
        // 180 and -180 are one meridian, and each may be an edge.
        east: if area.east > 180.0 { area.east - 360.0 } else { area.east },
        ..area
    };
    Ok(Output { svg, bbox: wrapped, scale_m_px: view.scale(), breaks, alt_text })
}

/// A box whose east is above its west: it crosses 180 degrees where it was not.
fn given_box(area: Bbox) -> Result<Bbox, Failure> {
    let wrong = |why: &str| Err(Failure::invalid(&["bbox"], why));
    if area.west.abs() > 180.0 || area.east.abs() > 180.0 || area.south.abs() > 90.0 || area.north.abs() > 90.0 {
        return wrong("must be within ±180 and ±90 degrees");
    }
    if area.north <= area.south || area.east == area.west {
        return wrong("must be west, south, east, north, and have a size");
    }
    Ok(if area.east < area.west { Bbox { east: area.east + 360.0, ..area } } else { area })
}

/// The smallest box around all parts, and some room: its longitudes are all but the widest gap between parts.
fn extent(layers: &[Layer<'_>]) -> Option<Bbox> {
    let lines =
        || layers.iter().flat_map(|layer| &layer.features).flat_map(|feature| &feature.parts).flat_map(Part::lines);
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (south, north) = ends(&mut lines().flatten().map(|[_, lat]| *lat));
    let mut spans: Vec<(f64, f64)> = lines()
        .map(|line| {
            let (west, east) = ends(&mut line.iter().map(|[lon, _]| *lon));
            let from = muster_kernel_earth::wrap_longitude(west);
            (from, from + (east - west))
        })
        .filter(|(west, east)| west.is_finite() && east.is_finite())
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    // What the spans reach a turn earlier.
    let mut reach = spans.iter().map(|(_, to)| *to).fold(f64::NEG_INFINITY, f64::max) - 360.0;
    let (mut widest, mut west) = (0.0, spans.first()?.0);
    for (from, to) in &spans {
        if from - reach > widest {
            (widest, west) = (from - reach, *from);
        }
        reach = reach.max(*to);
    }
    let east = west + 360.0 - widest;
    let margin = |size: f64| (size * MARGIN).max((LEAST_SIZE - size) / 2.0);
    let (across, up) = (margin(east - west), margin(north - south));
    let (mut west, mut east) = (west - across, east + across);
    if east - west > 360.0 {
        (west, east) = (-180.0, 180.0);
    } else if west < -180.0 {
        (west, east) = (west + 360.0, east + 360.0);
    }
    Some(Bbox { west, east, south: (south - up).max(-90.0), north: (north + up).min(90.0) })
}

impl Style {
    fn read(given: Option<&BTreeMap<String, Value>>, at: &str) -> Result<Self, Failure> {
        let mut style = Self::default();
        for (name, value) in given.into_iter().flatten() {
            let wrong = |why: &str| Failure::invalid(&["layers", at, "style", name], why);
            let number = |least: f64, most: f64| {
                let number = value.as_f64().filter(|number| (least..=most).contains(number));
                number.ok_or_else(|| wrong(&format!("must be a number of {least} to {most}")))
            };
            let colour = || {
                let text = value.as_str().filter(|text| is_colour(text));
                text.map(str::to_owned).ok_or_else(|| wrong("must be a colour such as #d55e00, or none"))
            };
            match name.as_str() {
                "fill" => style.fill = Some(colour()?),
                "stroke" => style.stroke = Some(colour()?),
                "width" => style.width = Some(number(0.0, 50.0)?),
                "opacity" => style.opacity = Some(number(0.0, 1.0)?),
                "radius" => style.radius = Some(number(0.5, 50.0)?),
                _ => return Err(wrong("is unknown: known are fill, stroke, width, opacity, radius")),
            }
        }
        Ok(style)
    }
}

fn is_colour(text: &str) -> bool {
    let hex = text
        .strip_prefix('#')
        .is_some_and(|digits| matches!(digits.len(), 3 | 6) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    hex || text == "none"
}

fn described(input: &Input, layers: &[Layer<'_>], area: Bbox, breaks: &[f64]) -> String {
    let short = |text: &str| text.chars().filter(|c| !c.is_control()).take(120).collect::<String>();
    let mut text = "Map".to_owned();
    if !input.title.is_empty() {
        text.push_str(&format!(" of {}", short(&input.title)));
    }
    let lon = |lon: f64| {
        let lon = if lon > 180.0 { lon - 360.0 } else { lon };
        format!("{:.2}° {}", lon.abs(), if lon < 0.0 { "W" } else { "E" })
    };
    let lat = |lat: f64| format!("{:.2}° {}", lat.abs(), if lat < 0.0 { "S" } else { "N" });
    let (name, west, east) = (input.projection.name(), lon(area.west), lon(area.east));
    text.push_str(&format!(", {name}, from {west} to {east} and {} to {}.", lat(area.south), lat(area.north)));
    for layer in layers.iter().take(8) {
        let name = if layer.name.is_empty() { "A layer".to_owned() } else { short(layer.name) };
        let count = layer.features.len();
        text.push_str(&format!(" {name}: {count} feature{}.", if count == 1 { "" } else { "s" }));
    }
    if layers.len() > 8 {
        text.push_str(&format!(" {} more layers.", layers.len() - 8));
    }
    if let [least, .., most] = breaks {
        text.push_str(&format!(" Values from {least} to {most} in {} classes.", breaks.len() - 1));
    }
    text
}
