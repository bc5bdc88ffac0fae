//! The drawing: graticule, layers, frame, scale bar and legend, in pixels from the left top.

use std::fmt::Write;

use muster_engine::prelude::*;

use super::features::{Part, Position};
use super::projection::{Projection, View};
use super::{Layer, Style};
use crate::svg::{MAX_TEXT, escaped, number, viridis};

/// Colours of layers (Okabe and Ito 2008), and of features without a value.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const NO_VALUE: &str = "#bbbbbb";
const GRID: &str = "#cccccc";
const INK: &str = "#222222";
/// Distances of meridians and parallels in degrees.
const STEPS: [f64; 14] = [30.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002];
/// Places on a meridian or parallel.
const SAMPLES: i32 = 48;
/// Half a pixel: a line that is simplified stays as near.
const TOLERANCE: f64 = 0.5;
/// Lines are simplified in pieces, so that the work is bounded.
const PIECE: usize = 1_000;
const MAX_LEGEND: usize = 20;

/// Makes the view and the size of letters: room is left for the title and the labels of the graticule.
pub(super) fn view(projection: Projection, area: Bbox, (width, height): (f64, f64), titled: bool) -> (View, f64) {
    let font = (width.min(height) / 40.0).clamp(7.0, 14.0);
    let (left, top, bottom) = (font * 4.5, if titled { font * 2.4 } else { font }, font * 1.8);
    let frame = [left, top, (width - left - font).max(10.0), (height - top - bottom).max(10.0)];
    (View::new(projection, area, frame), font)
}

pub(super) struct Map<'a> {
    pub(super) view: &'a View,
    pub(super) size: (f64, f64),
    pub(super) font: f64,
    pub(super) breaks: &'a [f64],
    pub(super) area: Bbox,
}

impl Map<'_> {
    /// Returns the drawing, and the number of parts that have no place on it.
    pub(super) fn draw(&self, layers: &[Layer<'_>], title: &str, description: &str) -> (String, usize) {
        let (mut body, mut hidden) = (String::new(), 0);
        self.graticule(&mut body);
        let [x, y, width, height] = self.view.frame.map(number);
        body.push_str("<g clip-path=\"url(#frame)\">\n");
        for (at, layer) in layers.iter().enumerate() {
            hidden += self.layer(&mut body, layer, at);
        }
        body.push_str("</g>\n");
        let _ = writeln!(
            body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"{INK}\"/>"
        );
        self.scale_bar(&mut body);
        self.legend(&mut body, layers);
        if !title.is_empty() {
            let size = format!(" font-size=\"{}\"", number(self.font * 1.3));
            self.text(
                &mut body,
                (self.size.0 / 2.0, self.font * 1.6),
                title,
                &format!(" text-anchor=\"middle\"{size}"),
            );
        }
        let (all_width, all_height) = (number(self.size.0), number(self.size.1));
        let name = if title.is_empty() { "Map" } else { title };
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all_width}\" height=\"{all_height}\" \
             viewBox=\"0 0 {all_width} {all_height}\" role=\"img\" aria-labelledby=\"title description\" \
             font-family=\"sans-serif\" font-size=\"{}\" fill=\"{INK}\">\n<title id=\"title\">{}</title>\n\
             <desc id=\"description\">{}</desc>\n<clipPath id=\"frame\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" \
             height=\"{height}\"/></clipPath>\n<rect width=\"{all_width}\" height=\"{all_height}\" fill=\"#ffffff\"/>\n\
             {body}</svg>",
            number(self.font),
            escaped(name, MAX_TEXT),
            escaped(description, 4_000),
        );
        (svg, hidden)
    }

    fn text(&self, body: &mut String, (x, y): (f64, f64), text: &str, attributes: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(
            body,
            "<text x=\"{}\" y=\"{}\"{attributes}>{}</text>",
            number(x),
            number(y),
            escaped(text, MAX_TEXT)
        );
    }

    /// Meridians and parallels at round degrees, five or so each way, and their labels on the left and below.
    fn graticule(&self, body: &mut String) {
        let [x, y, width, height] = self.view.frame;
        let area = self.area;
        let step_of = |size: f64| STEPS.iter().copied().rev().find(|step| size / step <= 6.0).unwrap_or(30.0);
        let values = |low: f64, high: f64| {
            let step = step_of(high - low);
            // Products, so that 0.1 + 0.2 is 0.3.
            let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
            (first..=last).take(20).map(move |n| n as f64 * step)
        };
        let share = |low: f64, high: f64, at: i32| low + (high - low) * f64::from(at) / f64::from(SAMPLES);
        let mut lines = String::new();
        let mut labels = String::new();
        for lon in values(area.west, area.east) {
            let line: Vec<Position> =
                (0..=SAMPLES).map(|at| self.view.pixel([lon, share(area.south, area.north, at)])).collect();
            push_path(&mut lines, &line, false);
            if let Some([left, _]) = line.first().filter(|[left, _]| (x..=x + width).contains(left)) {
                let label = degrees(if lon > 180.0 { lon - 360.0 } else { lon }, ["E", "W"]);
                let place = (*left, y + height + self.font * 1.2);
                self.text(&mut labels, place, &label, " text-anchor=\"middle\"");
            }
        }
        for lat in values(area.south, area.north) {
            let line: Vec<Position> =
                (0..=SAMPLES).map(|at| self.view.pixel([share(area.west, area.east, at), lat])).collect();
            push_path(&mut lines, &line, false);
            if let Some([_, top]) = line.first().filter(|[_, top]| (y..=y + height).contains(top)) {
                let label = degrees(lat, ["N", "S"]);
                self.text(&mut labels, (x - self.font * 0.4, top + self.font * 0.35), &label, " text-anchor=\"end\"");
            }
        }
        let _ = writeln!(body, "<path d=\"{lines}\" fill=\"none\" stroke=\"{GRID}\" clip-path=\"url(#frame)\"/>");
        body.push_str(&labels);
    }

    fn layer(&self, body: &mut String, layer: &Layer<'_>, at: usize) -> usize {
        let mut hidden = 0;
        for feature in &layer.features {
            let colour = self.colour(layer, feature.value, at);
            let attributes = |kind: &Part| attributes(&layer.style, &colour, kind);
            for part in &feature.parts {
                if !part.lines().into_iter().flatten().all(|position| self.view.shows(*position)) {
                    hidden += 1;
                    continue;
                }
                let (mut west, mut east) = (f64::INFINITY, f64::NEG_INFINITY);
                for [lon, _] in part.lines().into_iter().flatten() {
                    (west, east) = (west.min(*lon), east.max(*lon));
                }
                for turn in self.view.turns((west, east)) {
                    self.part(body, part, turn, layer.style.radius.unwrap_or(4.0), &attributes(part));
                }
            }
        }
        hidden
    }

    fn part(&self, body: &mut String, part: &Part, turn: f64, radius: f64, attributes: &str) {
        let pixels = |line: &[Position]| -> Vec<Position> {
            line.iter().map(|[lon, lat]| self.view.pixel([lon + turn, *lat])).collect()
        };
        match part {
            Part::Mark(position) => {
                let [x, y] = self.view.pixel([position[0] + turn, position[1]]);
                let (x, y, radius) = (number(x), number(y), number(radius));
                let _ = writeln!(body, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{attributes}/>");
            }
            Part::Line(line) => {
                let mut path = String::new();
                push_path(&mut path, &simplified(&pixels(line)), false);
                let _ = writeln!(body, "<path d=\"{path}\"{attributes}/>");
            }
            Part::Area(rings) => {
                let mut path = String::new();
                for ring in rings {
                    push_path(&mut path, &simplified(&pixels(ring)), true);
                }
                let _ = writeln!(body, "<path d=\"{path}\" fill-rule=\"evenodd\"{attributes}/>");
            }
        }
    }

    fn colour(&self, layer: &Layer<'_>, value: Option<f64>, at: usize) -> String {
        match value {
            Some(value) if layer.is_classed => {
                let uppers = self.breaks.get(1..).unwrap_or_default();
                class_colour(uppers.partition_point(|upper| *upper < value), uppers.len())
            }
            None if layer.is_classed => NO_VALUE.to_owned(),
            _ => layer_colour(layer, at),
        }
    }

    /// A round length of a quarter of the width at most, as long as it is at the centre.
    fn scale_bar(&self, body: &mut String) {
        let [x, y, width, height] = self.view.frame;
        let most = width * 0.25 * self.view.scale();
        let power = 10_f64.powi(most.log10().floor() as i32);
        let length = [5.0, 2.0, 1.0].map(|n| n * power).into_iter().find(|length| *length <= most).unwrap_or(power);
        let pixels = length / self.view.scale();
        let label = if length >= 1_000.0 { format!("{} km", length / 1_000.0) } else { format!("{length} m") };
        let (left, bottom, up) = (x + self.font, y + height - self.font, self.font * 0.5);
        let _ = writeln!(
            body,
            "<path d=\"M{} {}v{}h{}v-{}\" fill=\"none\" stroke=\"{INK}\" stroke-width=\"1.5\"/>",
            number(left),
            number(bottom - up),
            number(up),
            number(pixels),
            number(up)
        );
        self.text(body, (left + pixels + self.font * 0.5, bottom), &label, "");
    }

    /// Classes, then the names of the other layers, in the right top corner.
    fn legend(&self, body: &mut String, layers: &[Layer<'_>]) {
        let mut rows: Vec<(String, String)> = Vec::new();
        let classes = self.breaks.len().saturating_sub(1);
        for (at, pair) in self.breaks.windows(2).enumerate() {
            if let [low, high] = pair {
                let sign = if at == 0 { "" } else { "> " };
                let text =
                    if low == high { short(*high) } else { format!("{sign}{} – {}", short(*low), short(*high)) };
                rows.push((class_colour(at, classes), text));
            }
        }
        let without = |layer: &&Layer<'_>| layer.is_classed && layer.features.iter().any(|one| one.value.is_none());
        if layers.iter().any(|layer| without(&layer)) {
            rows.push((NO_VALUE.to_owned(), "no value".to_owned()));
        }
        for (at, layer) in layers.iter().enumerate().filter(|(_, layer)| !layer.is_classed && !layer.name.is_empty()) {
            rows.push((layer_colour(layer, at), layer.name.chars().take(24).collect()));
        }
        rows.truncate(MAX_LEGEND);
        let longest = rows.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        if longest == 0 {
            return;
        }
        let [x, y, width, _] = self.view.frame;
        let (line, room) = (self.font * 1.4, self.font * (2.6 + 0.6 * longest as f64));
        let left = (x + width - room - self.font * 0.5).max(x);
        let _ = writeln!(
            body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#ffffff\" fill-opacity=\"0.85\" stroke=\"{GRID}\"/>",
            number(left),
            number(y + self.font * 0.5),
            number(room),
            number(line * rows.len() as f64 + self.font * 0.4)
        );
        for (at, (colour, text)) in rows.iter().enumerate() {
            let top = y + self.font * 0.8 + line * at as f64;
            let _ = writeln!(
                body,
                "<rect x=\"{}\" y=\"{}\" width=\"{2}\" height=\"{2}\" fill=\"{colour}\" stroke=\"{INK}\" stroke-width=\"0.5\"/>",
                number(left + self.font * 0.4),
                number(top),
                number(self.font)
            );
            self.text(body, (left + self.font * 1.9, top + self.font * 0.85), text, "");
        }
    }
}

/// Viridis from its light end: more is darker on a white map.
fn class_colour(class: usize, classes: usize) -> String {
    let last = classes.saturating_sub(1).max(1) as f64;
    viridis(1.0 - (class as f64 / last).min(1.0))
}

fn layer_colour(layer: &Layer<'_>, at: usize) -> String {
    let own = [&layer.style.fill, &layer.style.stroke].into_iter().flatten().find(|colour| *colour != "none");
    own.cloned().unwrap_or_else(|| COLOURS.get(at % COLOURS.len()).copied().unwrap_or(INK).to_owned())
}

/// Fill and stroke of a part. Values colour what is filled, and lines.
fn attributes(style: &Style, colour: &str, part: &Part) -> String {
    let fill = style.fill.as_deref().filter(|fill| *fill == "none").unwrap_or(colour);
    let (fill, stroke, width, opacity) = match part {
        Part::Mark(_) => (fill, style.stroke.as_deref().unwrap_or("#ffffff"), 1.0, 1.0),
        Part::Line(_) => ("none", style.stroke.as_deref().unwrap_or(colour), 2.0, 1.0),
        Part::Area(_) => (fill, style.stroke.as_deref().unwrap_or(INK), 0.5, 0.8),
    };
    let (width, opacity) = (number(style.width.unwrap_or(width)), number(style.opacity.unwrap_or(opacity)));
    format!(" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{width}\" opacity=\"{opacity}\"")
}

fn degrees(value: f64, [positive, negative]: [&str; 2]) -> String {
    let rounded = number((value.abs() * 1e4).round() / 1e4);
    let exact = (value.abs() * 1e4).round() / 1e4;
    let text = if exact * 100.0 == (exact * 100.0).round() { rounded } else { format!("{exact}") };
    match value {
        0.0 => format!("{text}°"),
        _ => format!("{text}° {}", if value > 0.0 { positive } else { negative }),
    }
}

/// A value of the legend with four digits at most.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = if size == 0.0 { 0 } else { (3 - size.log10().floor() as i32).clamp(0, 6) };
    let scale = 10_f64.powi(decimals);
    format!("{}", (value * scale).round() / scale + 0.0)
}

fn push_path(path: &mut String, pixels: &[Position], closed: bool) {
    for (at, [x, y]) in pixels.iter().enumerate() {
        let _ = write!(path, "{}{} {}", if at == 0 { 'M' } else { 'L' }, number(*x), number(*y));
    }
    if closed {
        path.push('Z');
    }
}

/// Douglas and Peucker (1973), in pieces of the line.
fn simplified(line: &[Position]) -> Vec<Position> {
    let mut kept = vec![false; line.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    let last = line.len().saturating_sub(1);
    for from in (0..last).step_by(PIECE) {
        open.push((from, (from + PIECE).min(last)));
    }
    while let Some((from, to)) = open.pop() {
        for end in [from, to] {
            if let Some(kept) = kept.get_mut(end) {
                *kept = true;
            }
        }
        let (Some(a), Some(b)) = (line.get(from), line.get(to)) else { continue };
        let between = line.get(from + 1..to).unwrap_or_default();
        let farthest = between
            .iter()
            .enumerate()
            .map(|(at, point)| (from + 1 + at, distance(*point, *a, *b)))
            .max_by(|x, y| x.1.total_cmp(&y.1));
        if let Some((at, _)) = farthest.filter(|(_, away)| *away > TOLERANCE) {
            open.push((from, at));
            open.push((at, to));
        }
    }
    line.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(point, _)| *point).collect()
}

/// Distance of a point from a segment.
fn distance([x, y]: Position, [ax, ay]: Position, [bx, by]: Position) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let square = dx * dx + dy * dy;
    let share = if square > 0.0 { (((x - ax) * dx + (y - ay) * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    libm::hypot(x - ax - share * dx, y - ay - share * dy)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_point_stays_within_half_a_pixel(points in prop::collection::vec((0_u16..400, 0_u16..400), 2..60)) {
            let line: Vec<Position> = points.iter().map(|(x, y)| [f64::from(*x) / 10.0, f64::from(*y) / 10.0]).collect();
            let short = simplified(&line);
            prop_assert_eq!(short.first(), line.first());
            prop_assert_eq!(short.last(), line.last());
            for point in &line {
                let near = short.windows(2).any(|pair| distance(*point, pair[0], pair[1]) <= TOLERANCE + 1e-9);
                prop_assert!(near);
            }
        }
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([short(0.0), short(12.0), short(0.123456), short(1e9)], ["0", "12", "0.1235", "1.00e9"]);
        assert_eq!([degrees(0.0, ["E", "W"]), degrees(-10.5, ["E", "W"])], ["0°", "10.5° W"]);
    }
}
