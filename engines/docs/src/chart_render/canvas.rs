//! The drawing: a plot area with axes, in units of pixels from the top left.

use std::fmt::Write;

use muster_engine::prelude::*;

use super::ticks::Ticks;
use crate::svg::{MAX_TEXT, escaped, number};

/// Colours of Okabe and Ito ("Color Universal Design", 2008) with a contrast of 3 to 1 on each background.
const ON_LIGHT: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#000000"];
const ON_DARK: [&str; 5] = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7"];
/// Where colours repeat, lines are dashed.
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];

#[derive(Debug, Clone, Copy, PartialEq, Words)]
pub(super) enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub(super) const fn background(self) -> &'static str {
        match self {
            Self::Light => "#ffffff",
            Self::Dark => "#1b1b1b",
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Light => "#222222",
            Self::Dark => "#f0f0f0",
        }
    }

    const fn grid(self) -> &'static str {
        match self {
            Self::Light => "#dddddd",
            Self::Dark => "#444444",
        }
    }

    pub(super) fn colours(self) -> &'static [&'static str] {
        match self {
            Self::Light => &ON_LIGHT,
            Self::Dark => &ON_DARK,
        }
    }
}

/// Maps values to pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = if self.high > self.low { (value - self.low) / (self.high - self.low) } else { 0.5 };
        self.from + share.clamp(-1.0, 2.0) * (self.to - self.from)
    }
}

pub(super) struct Canvas {
    pub(super) theme: Theme,
    width: f64,
    height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    font: f64,
    body: String,
}

/// Where a text stands at its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(super) fn new(width: u32, height: u32, theme: Theme) -> Self {
        let (width, height) = (f64::from(width), f64::from(height));
        let font = (width.min(height) / 30.0).clamp(8.0, 14.0);
        Self {
            theme,
            width,
            height,
            left: font * 5.0,
            right: width - font,
            top: font,
            bottom: height - font * 2.0,
            font,
            body: String::new(),
        }
    }

    /// Writes the title and the names of the axes, and makes room for them.
    pub(super) fn titles(&mut self, title: &str, x: &str, y: &str) {
        if !title.is_empty() {
            self.top += self.font * 1.8;
            let (middle, size) = (self.width / 2.0, self.font * 1.3);
            self.text_of_size(middle, self.font * 1.6, title, Anchor::Middle, size);
        }
        if !x.is_empty() {
            self.bottom -= self.font * 1.5;
            self.text((self.left + self.right) / 2.0, self.height - self.font * 0.5, x, Anchor::Middle);
        }
        if !y.is_empty() {
            self.left += self.font * 1.2;
            let (x, middle) = (self.font * 1.2, (self.top + self.bottom) / 2.0);
            let label = escaped(y, self.fitting(self.bottom - self.top));
            self.push(&format!(
                "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\" transform=\"rotate(-90 {0} {1})\">{label}</text>",
                number(x),
                number(middle)
            ));
        }
    }

    /// Colour of a series.
    pub(super) fn colour(&self, series: usize) -> &'static str {
        let colours = self.theme.colours();
        colours.get(series % colours.len()).copied().unwrap_or("#888888")
    }

    fn dash(&self, series: usize) -> &'static str {
        DASHES.get(series / self.theme.colours().len() % DASHES.len()).copied().unwrap_or_default()
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// Characters of the common size that fit in a length, by the mean width of letters.
    pub(super) fn fitting(&self, length: f64) -> usize {
        (length / (self.font * 0.55)).clamp(1.0, MAX_TEXT as f64) as usize
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        self.text_of_size(x, y, text, anchor, self.font);
    }

    pub(super) fn text_of_size(&mut self, x: f64, y: f64, text: &str, anchor: Anchor, size: f64) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let size = if size == self.font { String::new() } else { format!(" font-size=\"{}\"", number(size)) };
        self.push(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\"{size}>{}</text>",
            number(x),
            number(y),
            escaped(text, MAX_TEXT)
        ));
    }

    pub(super) fn font(&self) -> f64 {
        self.font
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.push(&format!(
            "<path d=\"M{} {}L{} {}\" stroke=\"{colour}\" fill=\"none\"/>",
            number(x1),
            number(y1),
            number(x2),
            number(y2)
        ));
    }

    pub(super) fn rectangle(
        &mut self,
        (x1, y1): (f64, f64),
        (x2, y2): (f64, f64),
        fill: &str,
        opacity: f64,
        title: &str,
    ) {
        let (x, y, width, height) = (x1.min(x2), y1.min(y2), (x2 - x1).abs(), (y2 - y1).abs());
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        let place = format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"{opacity}",
            number(x),
            number(y),
            number(width),
            number(height)
        );
        self.push(&if title.is_empty() {
            format!("{place}/>")
        } else {
            format!("{place}><title>{}</title></rect>", escaped(title, MAX_TEXT))
        });
    }

    pub(super) fn polyline(&mut self, points: &[(f64, f64)], series: usize) {
        let mut path = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            // Writing to a string does not fail.
            let _ = write!(path, "{}{} {}", if at == 0 { 'M' } else { 'L' }, number(*x), number(*y));
        }
        let dash = self.dash(series);
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let colour = self.colour(series);
        self.push(&format!("<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"2\" fill=\"none\"{dash}/>"));
    }

    /// A mark of a point; series whose colours are equal have other marks.
    pub(super) fn mark(&mut self, (x, y): (f64, f64), series: usize) {
        let colour = self.colour(series);
        let (x, y) = (number(x), number(y));
        self.push(&match series / self.theme.colours().len() % 3 {
            0 => format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>"),
            1 => format!("<path d=\"M{x} {y}m-3 -3h6v6h-6z\" fill=\"{colour}\"/>"),
            _ => format!("<path d=\"M{x} {y}m0 -4l4 7h-8z\" fill=\"{colour}\"/>"),
        });
    }

    pub(super) fn path(&mut self, path: &str, attributes: &str) {
        self.push(&format!("<path d=\"{path}\" {attributes}/>"));
    }

    /// Labels that fit along a length.
    pub(super) fn ticks(low: f64, high: f64, length: f64) -> Ticks {
        Ticks::of(low, high, (length / 80.0).round().clamp(2.0, 10.0) as u32)
    }

    /// Draws the vertical axis for the values of these labels and returns its scale.
    pub(super) fn y_axis(&mut self, ticks: &Ticks, (low, high): (f64, f64)) -> Scale {
        let scale = Scale { low, high, from: self.bottom, to: self.top };
        let (left, right, grid) = (self.left, self.right, self.theme.grid());
        for value in &ticks.values {
            let y = scale.at(*value);
            self.line((left, y), (right, y), grid);
            self.text(left - self.font * 0.4, y + self.font * 0.35, &ticks.label(*value), Anchor::End);
        }
        scale
    }

    pub(super) fn x_axis(&mut self, ticks: &Ticks, (low, high): (f64, f64)) -> Scale {
        let scale = Scale { low, high, from: self.left, to: self.right };
        let (bottom, text) = (self.bottom, self.theme.text());
        self.line((self.left, bottom), (self.right, bottom), text);
        for value in &ticks.values {
            let x = scale.at(*value);
            self.line((x, bottom), (x, bottom + self.font * 0.3), text);
            self.text(x, bottom + self.font * 1.3, &ticks.label(*value), Anchor::Middle);
        }
        scale
    }

    /// Draws an axis of names and returns the scale of their numbers, each in the middle of its share of the width. Of
    /// names that would overlap only some are written.
    pub(super) fn names(&mut self, names: &[String]) -> Scale {
        let count = names.len().max(1) as f64;
        let scale = Scale { low: -0.5, high: count - 0.5, from: self.left, to: self.right };
        let share = (self.right - self.left) / count;
        let (bottom, text) = (self.bottom, self.theme.text());
        self.line((self.left, bottom), (self.right, bottom), text);
        let every = (self.font * 2.0 / share).ceil().max(1.0) as usize;
        let room = self.fitting(share * every as f64 * 0.95);
        for (at, name) in names.iter().enumerate().step_by(every) {
            let mut name: String = name.chars().take(room + 1).collect();
            if name.chars().count() > room {
                name = name.chars().take(room.saturating_sub(1)).chain(['…']).collect();
            }
            self.text(scale.at(at as f64), bottom + self.font * 1.3, &name, Anchor::Middle);
        }
        scale
    }

    /// Names of series with their colours in a row above the plot; makes room for it.
    pub(super) fn legend(&mut self, names: &[&str]) {
        if names.iter().all(|name| name.is_empty()) || names.len() < 2 {
            return;
        }
        let y = self.top + self.font * 0.5;
        let mut x = self.left;
        for (at, name) in names.iter().enumerate() {
            let name: String = name.chars().filter(|c| !c.is_control()).take(24).collect();
            let length = self.font * (1.8 + 0.6 * name.chars().count() as f64);
            if x + length > self.right && at > 0 {
                self.text(x, y + self.font * 0.35, "…", Anchor::Start);
                break;
            }
            let half = self.font * 0.4;
            let colour = self.colour(at);
            self.rectangle((x, y - half), (x + 2.0 * half, y + half), colour, 1.0, "");
            self.text(x + self.font * 1.1, y + self.font * 0.35, &name, Anchor::Start);
            x += length;
        }
        self.top += self.font * 1.6;
    }

    /// Returns the drawing with its description for screen readers.
    pub(super) fn finish(self, title: &str, description: &str) -> String {
        let (width, height, theme) = (number(self.width), number(self.height), self.theme);
        let title = if title.is_empty() { "Chart" } else { title };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-labelledby=\"title description\" font-family=\"sans-serif\" font-size=\"{}\" fill=\"{}\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>",
            number(self.font),
            theme.text(),
            escaped(title, MAX_TEXT),
            escaped(description, 4_000),
            theme.background(),
            self.body
        )
    }
}
