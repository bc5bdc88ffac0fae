//! q36: standardised precipitation index (SPI), and with evaporation SPEI.

mod fit;

use std::collections::BTreeMap;

use muster_engine::prelude::*;

/// Input of the engine; defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    precipitation_mm: Vec<f64>,
    pet_mm: Option<Vec<f64>>,
    start_month: usize,
    scales_months: Vec<usize>,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    series: Vec<Series>,
    latest: BTreeMap<String, f64>,
    class: &'static str,
    events: Vec<Event>,
}

/// Index of a scale; its first value is that of month `scale` of the input, counted from 1.
#[derive(Debug, Clone, Output)]
pub struct Series {
    scale: usize,
    values: Vec<f64>,
}

/// A drought: from the first month below zero to the last, if the index fell to -1. Months are counted from 0.
#[derive(Debug, Clone, PartialEq, Output)]
pub struct Event {
    start: usize,
    end: usize,
    severity: f64,
}

const MAX_MONTHS: usize = 12_000;
const MAX_SCALES: usize = 12;
const MAX_SCALE: usize = 72;
/// Values of a calendar month that a distribution is fitted to at least.
const LEAST_YEARS: usize = 4;
/// Indices beyond are cut off: no record supports rarer months.
const MOST: f64 = 3.09;
/// Least index of each class (McKee, Doesken and Kleist 1993).
const CLASSES: [(f64, &str); 7] = [
    (2.0, "extremely-wet"),
    (1.5, "very-wet"),
    (1.0, "moderately-wet"),
    (-1.0, "near-normal"),
    (-1.5, "moderately-dry"),
    (-2.0, "severely-dry"),
    (f64::NEG_INFINITY, "extremely-dry"),
];

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let balance = balance(&input)?;
    let with_evaporation = input.pet_mm.is_some();
    let mut series = Vec::new();
    for scale in &input.scales_months {
        let sums = rolling(&balance, *scale);
        let years = sums.len() / 12;
        if years < LEAST_YEARS {
            cx.warn(format!("too_few: scale {scale} has {years} full years of sums, and {LEAST_YEARS} are needed"));
            continue;
        }
        if years < 30 {
            cx.assume(format!("scale {scale} rests on {years} years; WMO-No. 1090 recommends 30"));
        }
        let first_month = input.start_month - 1 + scale - 1;
        series.push(Series { scale: *scale, values: standardise(&sums, first_month, with_evaporation)? });
    }
    let Some(first) = series.first() else {
        return Err(Failure::no_answer(
            NoAnswer::TooFew,
            format!("a scale needs {LEAST_YEARS} years and its own months before"),
        ));
    };
    if series.iter().flat_map(|series| &series.values).any(|value| value.abs() >= MOST) {
        cx.warn(format!("clipped: some indices are beyond ±{MOST}"));
    }
    let latest = |series: &Series| Some((series.scale.to_string(), *series.values.last()?));
    let class = class(first.values.last().copied().unwrap_or_default());
    let events = events(&first.values, first.scale - 1);
    Ok(Output { latest: series.iter().filter_map(latest).collect(), class, events, series })
}

/// Checks the input and returns precipitation, less evaporation if it is given.
fn balance(input: &Input) -> Result<Vec<f64>, Failure> {
    let months = input.precipitation_mm.len();
    if months > MAX_MONTHS || input.scales_months.len() > MAX_SCALES {
        return Err(Failure::too_large(format!("at most {MAX_MONTHS} months and {MAX_SCALES} scales")));
    }
    if let Some(at) = input.scales_months.iter().position(|scale| !(1..=MAX_SCALE).contains(scale)) {
        return Err(Failure::invalid(&["scales", &at.to_string()], format!("must be from 1 to {MAX_SCALE} months")));
    }
    let wrong = |values: &[f64]| values.iter().position(|value| !(0.0..=1e5).contains(value));
    for (name, values) in [("precipitation", Some(&input.precipitation_mm)), ("pet", input.pet_mm.as_ref())] {
        if let Some(at) = values.and_then(|values| wrong(values)) {
            return Err(Failure::invalid(&[name, &at.to_string()], "must be from 0 to 100000 mm"));
        }
    }
    match &input.pet_mm {
        Some(pet) if pet.len() != months => {
            Err(Failure::invalid(&["pet"], format!("must have {months} values, as precipitation has")))
        }
        Some(pet) => Ok(input.precipitation_mm.iter().zip(pet).map(|(rain, pet)| rain - pet).collect()),
        None => Ok(input.precipitation_mm.clone()),
    }
}

/// Sums of each `scale` months.
fn rolling(values: &[f64], scale: usize) -> Vec<f64> {
    values.windows(scale).map(|window| window.iter().sum()).collect()
}

/// Index of each sum among those of its calendar month.
fn standardise(sums: &[f64], first_month: usize, with_evaporation: bool) -> Result<Vec<f64>, Failure> {
    let mut indices = vec![0.0; sums.len()];
    for month in 0..12 {
        let of_month: Vec<f64> = sums.iter().skip(month).step_by(12).copied().collect();
        let fitted = if with_evaporation { fit::log_logistic(&of_month) } else { fit::gamma(&of_month) };
        let calendar = (first_month + month) % 12 + 1;
        let standardised = fitted.ok_or_else(|| {
            let message =
                format!("the sums of month {calendar} vary too little, or too few are above 0, for a distribution");
            Failure::no_answer(NoAnswer::Singular, message)
        })?;
        for (index, sum) in indices.iter_mut().skip(month).step_by(12).zip(of_month) {
            *index = standardised(sum).clamp(-MOST, MOST);
        }
    }
    Ok(indices)
}

fn class(index: f64) -> &'static str {
    // Wet classes begin at their bound, dry ones are left above it.
    let within = |(least, _): &&(f64, &str)| if *least > 0.0 { index >= *least } else { index > *least };
    CLASSES.iter().find(within).map_or("extremely-dry", |(_, name)| *name)
}

fn events(values: &[f64], offset: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut at = 0;
    while at < values.len() {
        let run: Vec<f64> = values.iter().skip(at).take_while(|value| **value < 0.0).copied().collect();
        if run.iter().any(|value| *value <= -1.0) {
            let severity = -run.iter().sum::<f64>();
            events.push(Event { start: offset + at, end: offset + at + run.len() - 1, severity });
        }
        at += run.len().max(1);
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_changes_at_its_breakpoints() {
        for (index, name) in [
            (2.0, "extremely-wet"),
            (1.99, "very-wet"),
            (1.0, "moderately-wet"),
            (0.99, "near-normal"),
            (-0.99, "near-normal"),
            (-1.0, "moderately-dry"),
            (-1.5, "severely-dry"),
            (-2.0, "extremely-dry"),
        ] {
            assert_eq!(class(index), name, "{index}");
        }
    }

    #[test]
    fn an_event_lasts_while_the_index_is_below_zero() {
        let values = [0.5, -0.2, -1.4, -0.3, 0.1, -0.9, 0.4, -2.0];
        let found = events(&values, 2);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].start, found[0].end), (3, 5));
        assert!((found[0].severity - 1.9).abs() < 1e-12);
        assert_eq!((found[1].start, found[1].end), (9, 9));
    }

    #[test]
    fn more_rain_has_a_greater_index() {
        let rain: Vec<f64> = (0..240).map(|month| f64::from(month * 37 % 101) + 5.0).collect();
        let values = standardise(&rain, 0, false).unwrap();
        for month in 0..12 {
            let mut pairs: Vec<(f64, f64)> =
                rain.iter().zip(&values).skip(month).step_by(12).map(|(rain, index)| (*rain, *index)).collect();
            pairs.sort_by(|one, two| one.0.total_cmp(&two.0));
            assert!(pairs.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        }
    }
}
