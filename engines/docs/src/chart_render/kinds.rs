//! Kinds of charts.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use muster_engine::prelude::*;

use super::canvas::{Anchor, Canvas, Scale};
use super::ticks::Ticks;
use super::{Axes, Data, range};
use crate::svg::{number, viridis};

/// Most bars, and cells of a heat map.
const MAX_BARS: usize = 2_000;
const MAX_CELLS: usize = 10_000;
const MAX_BINS: u32 = 40;

fn legend(canvas: &mut Canvas, data: &Data) {
    let names: Vec<&str> = data.series.iter().map(|series| series.name.as_str()).collect();
    canvas.legend(&names);
}

fn all_y(data: &Data) -> impl Iterator<Item = f64> + '_ {
    data.series.iter().flat_map(|series| series.y.iter().copied())
}

/// The range of values and their labels together.
fn with_ticks((low, high): (f64, f64), ticks: &Ticks) -> (f64, f64) {
    let (first, last) = range(ticks.values.iter().copied());
    (low.min(first), high.max(last))
}

fn vertical(canvas: &mut Canvas, of: (f64, f64)) -> (Scale, Vec<f64>) {
    let ticks = Canvas::ticks(of.0, of.1, canvas.bottom - canvas.top);
    let scale = canvas.y_axis(&ticks, with_ticks(of, &ticks));
    (scale, ticks.values)
}

fn horizontal(canvas: &mut Canvas, data: &Data) -> (Scale, Vec<f64>) {
    if let Some(names) = &data.categories {
        return (canvas.names(names), Vec::new());
    }
    let of = range(data.series.iter().flat_map(|series| series.x.iter().copied()));
    let ticks = Canvas::ticks(of.0, of.1, canvas.right - canvas.left);
    let scale = canvas.x_axis(&ticks, with_ticks(of, &ticks));
    (scale, ticks.values)
}

/// Lines or marks.
pub(super) fn points(canvas: &mut Canvas, data: &Data, lines: bool) -> Axes {
    legend(canvas, data);
    let (y, y_ticks) = vertical(canvas, range(all_y(data)));
    let (x, x_ticks) = horizontal(canvas, data);
    for (at, series) in data.series.iter().enumerate() {
        let places: Vec<(f64, f64)> = series.x.iter().zip(&series.y).map(|(a, b)| (x.at(*a), y.at(*b))).collect();
        // A line of one point is none.
        if lines && places.len() > 1 {
            canvas.polyline(&places, at);
        } else {
            for place in places {
                canvas.mark(place, at);
            }
        }
    }
    Axes { x: x_ticks, y: y_ticks }
}

/// Bars of each series side by side at each place.
pub(super) fn bars(canvas: &mut Canvas, data: &Data) -> Result<Axes, Failure> {
    let mut places: Vec<f64> = data.series.iter().flat_map(|series| series.x.iter().copied()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.len() * data.series.len() > MAX_BARS {
        return Err(Failure::too_large(format!(
            "series: at most {MAX_BARS} bars are drawn: use a line or a histogram"
        )));
    }
    legend(canvas, data);
    let (low, high) = range(all_y(data));
    let (y, y_ticks) = vertical(canvas, (low.min(0.0), high.max(0.0)));
    let names: Vec<String> = match &data.categories {
        Some(names) => names.clone(),
        None => places.iter().map(f64::to_string).collect(),
    };
    let x = canvas.names(&names);
    let index = |place: f64| match &data.categories {
        Some(_) => place,
        None => places.iter().position(|other| *other == place).unwrap_or(0) as f64,
    };
    let share = 0.8 / data.series.len() as f64;
    for (at, series) in data.series.iter().enumerate() {
        let colour = canvas.colour(at);
        for (place, value) in series.x.iter().zip(&series.y) {
            let from = index(*place) - 0.4 + share * at as f64;
            let label = format!("{}: {value}", series.name);
            canvas.rectangle((x.at(from), y.at(0.0)), (x.at(from + share), y.at(*value)), colour, 1.0, &label);
        }
    }
    let x_ticks = if data.categories.is_some() { Vec::new() } else { places };
    Ok(Axes { x: x_ticks, y: y_ticks })
}

/// Counts in bins between round numbers, as many as Sturges' rule gives at least.
pub(super) fn histogram(canvas: &mut Canvas, data: &Data) -> Axes {
    let of = range(all_y(data));
    let most = data.series.iter().map(|series| series.y.len()).max().unwrap_or(1);
    let wanted = ((most as f64).log2().ceil() as u32 + 1).clamp(2, MAX_BINS) + 1;
    let mut edges = Ticks::of(of.0, of.1, wanted);
    // The labels need not enclose the values, the bins do.
    let step = match edges.values.as_slice() {
        [first, second, ..] => second - first,
        _ => 1.0,
    };
    if let Some(first) = edges.values.first().copied().filter(|first| *first > of.0) {
        edges.values.insert(0, first - step);
    }
    if let Some(last) = edges.values.last().copied().filter(|last| *last < of.1) {
        edges.values.push(last + step);
    }
    let bins = edges.values.len().saturating_sub(1).max(1);
    let counts: Vec<Vec<f64>> = data
        .series
        .iter()
        .map(|series| {
            let mut counts = vec![0.0; bins];
            for value in &series.y {
                // A bin holds its lower edge; the last holds both.
                let bin = edges.values.partition_point(|edge| edge <= value).saturating_sub(1).min(bins - 1);
                if let Some(count) = counts.get_mut(bin) {
                    *count += 1.0;
                }
            }
            counts
        })
        .collect();
    legend(canvas, data);
    let (_, high) = range(counts.iter().flatten().copied());
    let (y, y_ticks) = vertical(canvas, (0.0, high));
    let (low, top) = range(edges.values.iter().copied());
    let shown = canvas.fitting(canvas.right - canvas.left) / 8;
    let labels = Ticks::of(low, top, (shown.clamp(2, 10)) as u32);
    let x = canvas.x_axis(&labels, (low, top));
    let opacity = if data.series.len() > 1 { 0.6 } else { 1.0 };
    for (at, counts) in counts.iter().enumerate() {
        let colour = canvas.colour(at);
        for (pair, count) in edges.values.windows(2).zip(counts) {
            if let [from, to] = pair {
                let title = format!("{from} to {to}: {count}");
                canvas.rectangle(
                    (x.at(*from) + 0.5, y.at(0.0)),
                    (x.at(*to) - 0.5, y.at(*count)),
                    colour,
                    opacity,
                    &title,
                );
            }
        }
    }
    Axes { x: edges.values, y: y_ticks }
}

/// Quartiles by linear interpolation (Hyndman and Fan's type 7).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let at = |n: f64| sorted.get(n as usize).copied().unwrap_or(0.0);
    at(place.floor()) + (at(place.ceil()) - at(place.floor())) * place.fract()
}

/// Quartiles, whiskers to the last values within one and a half of their distance, and the values beyond.
pub(super) fn boxes(canvas: &mut Canvas, data: &Data) -> Axes {
    let (y, y_ticks) = vertical(canvas, range(all_y(data)));
    let names: Vec<String> = data.series.iter().map(|series| series.name.clone()).collect();
    let x = canvas.names(&names);
    for (at, series) in data.series.iter().enumerate().filter(|(_, series)| !series.y.is_empty()) {
        let mut sorted = series.y.clone();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
        let reach = 1.5 * (high - low);
        let inside = || sorted.iter().copied().filter(|value| *value >= low - reach && *value <= high + reach);
        let (bottom, top) = range(inside());
        let place = at as f64;
        let (left, middle, right) = (x.at(place - 0.25), x.at(place), x.at(place + 0.25));
        let (colour, text) = (canvas.colour(at), canvas.theme.text());
        canvas.line((middle, y.at(bottom.min(low))), (middle, y.at(low)), text);
        canvas.line((middle, y.at(high)), (middle, y.at(top.max(high))), text);
        let title = format!("{}: median {median}, quartiles {low} and {high}", series.name);
        canvas.rectangle((left, y.at(low)), (right, y.at(high)), colour, 0.6, &title);
        canvas.line((left, y.at(median)), (right, y.at(median)), text);
        for value in sorted.iter().filter(|value| **value < low - reach || **value > high + reach) {
            canvas.mark((middle, y.at(*value)), at);
        }
    }
    Axes { x: Vec::new(), y: y_ticks }
}

/// A row of cells for each series, from the top.
pub(super) fn heatmap(canvas: &mut Canvas, data: &Data) -> Result<Axes, Failure> {
    let mut places: Vec<f64> = data.series.iter().flat_map(|series| series.x.iter().copied()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.len() * data.series.len() > MAX_CELLS {
        return Err(Failure::too_large(format!("series: a heat map has at most {MAX_CELLS} cells")));
    }
    let (low, high) = range(all_y(data));
    let font = canvas.font();
    // The colours and their ends stand on the right.
    let edge = canvas.right;
    canvas.right -= font * 5.0;
    let names: Vec<String> = match &data.categories {
        Some(names) => names.clone(),
        None => places.iter().map(f64::to_string).collect(),
    };
    let x = canvas.names(&names);
    let rows = data.series.len() as f64;
    let height = (canvas.bottom - canvas.top) / rows;
    let index: BTreeMap<u64, usize> = places.iter().enumerate().map(|(at, place)| (place.to_bits(), at)).collect();
    let share = |value: f64| if high > low { (value - low) / (high - low) } else { 0.5 };
    for (at, series) in data.series.iter().enumerate() {
        let top = canvas.top + height * at as f64;
        let room = canvas.fitting(canvas.left - font);
        let name: String = series.name.chars().take(room).collect();
        canvas.text(canvas.left - font * 0.4, top + height / 2.0 + font * 0.35, &name, Anchor::End);
        for (place, value) in series.x.iter().zip(&series.y) {
            let column = index.get(&place.to_bits()).copied().unwrap_or(0) as f64;
            let title = format!("{}: {value}", series.name);
            canvas.rectangle(
                (x.at(column - 0.5), top),
                (x.at(column + 0.5), top + height),
                &viridis(share(*value)),
                1.0,
                &title,
            );
        }
    }
    let (bar, top, bottom) = (edge - font * 4.0, canvas.top, canvas.bottom);
    for step in 0..20 {
        let at = |step: i32| bottom - (bottom - top) * f64::from(step) / 20.0;
        canvas.rectangle(
            (bar, at(step)),
            (bar + font, at(step + 1)),
            &viridis((f64::from(step) + 0.5) / 20.0),
            1.0,
            "",
        );
    }
    let short = |value: f64| Ticks::of(low, high, 5).label(value);
    canvas.text(bar + font * 1.2, bottom, &short(low), Anchor::Start);
    canvas.text(bar + font * 1.2, top + font, &short(high), Anchor::Start);
    let x_ticks = if data.categories.is_some() { Vec::new() } else { places };
    Ok(Axes { x: x_ticks, y: vec![low, high] })
}

/// A half circle: the first value on a scale of 0 to 100, or of the second to the third.
pub(super) fn gauge(canvas: &mut Canvas, data: &Data, cx: &Context) -> Result<Axes, Failure> {
    let values = data.series.iter().find(|series| !series.y.is_empty()).map(|series| series.y.as_slice());
    let (value, low, high) = match values {
        Some([value]) => (*value, 0.0, 100.0),
        Some([value, low, high]) if low < high => (*value, *low, *high),
        Some([_, _, _]) => {
            return Err(Failure::invalid(
                &["series", "0", "y"],
                "of a gauge: the third value must be above the second",
            ));
        }
        _ => return Err(Failure::invalid(&["series", "0", "y"], "of a gauge is one value, or value, least and most")),
    };
    if !(low..=high).contains(&value) {
        cx.warn("out_of_range: the value lies beyond the scale of the gauge");
    }
    let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
    let font = canvas.font();
    let (left, right) = (font, canvas.right);
    let radius = ((right - left) / 2.0).min(canvas.bottom - canvas.top) * 0.85;
    let (x, y) = ((left + right) / 2.0, canvas.bottom);
    let arc = |to: f64| {
        let angle = PI * (1.0 - to);
        let end = (x + radius * libm::cos(angle), y - radius * libm::sin(angle));
        let round = number(radius);
        format!("M{} {}A{round} {round} 0 0 1 {} {}", number(x - radius), number(y), number(end.0), number(end.1))
    };
    let thick = number(radius * 0.2);
    let grey = canvas.theme.text();
    canvas.path(&arc(1.0), &format!("stroke=\"{grey}\" stroke-opacity=\"0.2\" stroke-width=\"{thick}\" fill=\"none\""));
    let colour = canvas.colour(0);
    canvas.path(&arc(share), &format!("stroke=\"{colour}\" stroke-width=\"{thick}\" fill=\"none\""));
    let ticks = Ticks::of(low, high, 5);
    canvas.text_of_size(x, y - radius * 0.15, &value.to_string(), Anchor::Middle, (radius * 0.3).max(8.0));
    canvas.text(x - radius, y + font * 1.3, &ticks.label(low), Anchor::Middle);
    canvas.text(x + radius, y + font * 1.3, &ticks.label(high), Anchor::Middle);
    Ok(Axes { x: Vec::new(), y: vec![low, high] })
}
