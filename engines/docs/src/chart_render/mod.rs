//! q242: chart rendering.

mod canvas;
mod kinds;
mod ticks;

use muster_engine::prelude::*;

use crate::svg::MAX_TEXT;
use canvas::{Canvas, Theme};

/// Most series, and points of all.
const MAX_SERIES: usize = 50;
const MAX_POINTS: usize = 20_000;
/// Largest value: squares and differences stay finite.
const MAX_VALUE: f64 = 1e100;

#[derive(Input)]
pub struct Input {
    kind: Kind,
    series: Vec<SeriesIn>,
    title: String,
    x_label: String,
    y_label: String,
    width: u32,
    height: u32,
    theme: Theme,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Kind {
    Line,
    Bar,
    Scatter,
    Histogram,
    Box,
    Heatmap,
    Gauge,
}

#[derive(Input)]
struct SeriesIn {
    name: String,
    x: Option<Vec<Value>>,
    y: Vec<f64>,
}

#[derive(Output)]
pub struct Output {
    svg: String,
    alt_text: String,
    axes: Axes,
}

/// Labelled values.
#[derive(Default, Output)]
struct Axes {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// A series whose places are known.
struct Series {
    name: String,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// All series, and the names of their places if these are texts.
struct Data {
    series: Vec<Series>,
    categories: Option<Vec<String>>,
}

/// Draws a chart.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` where there is nothing to draw.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let data = data(input.series)?;
    let mut canvas = Canvas::new(input.width, input.height, input.theme);
    canvas.titles(&input.title, &input.x_label, &input.y_label);
    let axes = match input.kind {
        Kind::Line | Kind::Scatter => kinds::points(&mut canvas, &data, input.kind == Kind::Line),
        Kind::Bar => kinds::bars(&mut canvas, &data)?,
        Kind::Histogram => kinds::histogram(&mut canvas, &data),
        Kind::Box => kinds::boxes(&mut canvas, &data),
        Kind::Heatmap => kinds::heatmap(&mut canvas, &data)?,
        Kind::Gauge => kinds::gauge(&mut canvas, &data, cx)?,
    };
    let alt_text = described(input.kind, &input.title, &data);
    Ok(Output { svg: canvas.finish(&input.title, &alt_text), alt_text, axes })
}

fn data(given: Vec<SeriesIn>) -> Result<Data, Failure> {
    if given.len() > MAX_SERIES {
        return Err(Failure::too_large(format!("series: at most {MAX_SERIES}, and there are {}", given.len())));
    }
    let points: usize = given.iter().map(|series| series.y.len()).sum();
    if points > MAX_POINTS {
        return Err(Failure::too_large(format!(
            "series: at most {MAX_POINTS} values together, and there are {points}"
        )));
    }
    if points == 0 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "there is no value to draw"));
    }
    let named = given.iter().any(|series| series.x.iter().flatten().any(|x| !x.is_number()));
    let mut categories: Vec<String> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    let mut series = Vec::new();
    for (at, one) in given.into_iter().enumerate() {
        let at = at.to_string();
        if one.x.as_ref().is_some_and(|x| x.len() != one.y.len()) {
            return Err(Failure::invalid(&["series", &at, "x"], "must have as many members as y"));
        }
        if let Some(index) = one.y.iter().position(|y| y.abs() > MAX_VALUE) {
            return Err(Failure::invalid(
                &["series", &at, "y", &index.to_string()],
                format!("must be within ±{MAX_VALUE:e}"),
            ));
        }
        let mut x = Vec::new();
        for index in 0..one.y.len() {
            let given = one.x.as_ref().and_then(|x| x.get(index));
            let wrong = |why: &str| Failure::invalid(&["series", &at, "x", &index.to_string()], why);
            x.push(match given {
                Some(Value::Number(number)) if !named => {
                    let number = number.as_f64().filter(|number| number.abs() <= MAX_VALUE);
                    number.ok_or_else(|| wrong("must be within ±1e100"))?
                }
                None if !named => index as f64 + 1.0,
                Some(Value::String(_) | Value::Number(_) | Value::Bool(_)) | None => {
                    let name = match given {
                        Some(Value::String(name)) => name.clone(),
                        Some(other) => other.to_string(),
                        None => (index + 1).to_string(),
                    };
                    let next = categories.len();
                    let place = *places.entry(name.clone()).or_insert(next);
                    if place == next {
                        categories.push(name);
                    }
                    place as f64
                }
                Some(_) => return Err(wrong("must be a number or a text")),
            });
        }
        series.push(Series { name: one.name, x, y: one.y });
    }
    Ok(Data { series, categories: named.then_some(categories) })
}

/// The least and the greatest of some numbers.
fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// The kind, the title, and of each series its length and range.
fn described(kind: Kind, title: &str, data: &Data) -> String {
    let name = match kind {
        Kind::Line => "Line chart",
        Kind::Bar => "Bar chart",
        Kind::Scatter => "Scatter chart",
        Kind::Histogram => "Histogram",
        Kind::Box => "Box plot",
        Kind::Heatmap => "Heat map",
        Kind::Gauge => "Gauge",
    };
    let short = |text: &str| text.chars().filter(|c| !c.is_control()).take(MAX_TEXT).collect::<String>();
    let mut text = name.to_owned();
    if !title.is_empty() {
        text.push_str(&format!(" of {}", short(title)));
    }
    text.push('.');
    for series in data.series.iter().take(8) {
        let (low, high) = range(series.y.iter().copied());
        let name = if series.name.is_empty() { "A series".to_owned() } else { short(&series.name) };
        text.push_str(&match series.y.len() {
            0 => format!(" {name}: no value."),
            1 => format!(" {name}: {low}."),
            count => format!(" {name}: {count} values from {low} to {high}."),
        });
    }
    if data.series.len() > 8 {
        text.push_str(&format!(" {} more series.", data.series.len() - 8));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(input: Value) -> Value {
        crate::FAMILY.run(242, input, &Context::default()).unwrap()
    }

    #[test]
    fn every_kind_is_one_well_formed_element_without_the_marks_of_its_texts() {
        for kind in ["line", "bar", "scatter", "histogram", "box", "heatmap", "gauge"] {
            for theme in ["light", "dark"] {
                let output = run(json!({
                    "kind": kind, "theme": theme, "title": "<script>&\u{0}\u{202e}", "x_label": "\"x\"", "y_label": "]]>",
                    "series": [{ "name": "</svg>", "x": ["a", "b", "c"], "y": [1, -2, 3.5] }, { "name": "b", "y": [7, 7, 7] }],
                }));
                let svg = output["svg"].as_str().unwrap();
                assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"), "{svg}");
                assert_eq!((svg.matches("<svg").count(), svg.matches("</svg>").count()), (1, 1));
                assert!(
                    !svg.contains("<script")
                        && !svg.contains('\u{202e}')
                        && !svg.contains("NaN")
                        && !svg.contains("inf")
                );
                let opened = svg.matches('<').count();
                let closed = svg.matches("</").count() + svg.matches("/>").count();
                assert_eq!(opened, 2 * svg.matches("</").count() + svg.matches("/>").count(), "{kind}: {closed}");
            }
        }
    }

    /// WCAG 2.2, success criteria 1.4.3 (texts, 4.5 to 1) and 1.4.11 (graphics, 3 to 1).
    #[test]
    fn texts_and_lines_have_contrast() {
        for theme in [Theme::Light, Theme::Dark] {
            let background = theme.background();
            assert!(contrast(theme.text(), background) >= 4.5);
            for colour in theme.colours() {
                assert!(contrast(colour, background) >= 3.0, "{colour}: {}", contrast(colour, background));
            }
        }
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }
}
