//! q26: air-quality index of the US EPA.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use muster_engine::prelude::*;

use crate::table::{number, rows};

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    pm25_ug_m3: Option<f64>,
    pm10_ug_m3: Option<f64>,
    o3_8h: Option<f64>,
    co_8h: Option<f64>,
    so2_1h: Option<f64>,
    no2_1h: Option<f64>,
    hourly_pm25_ug_m3: Option<Vec<f64>>,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    aqi: u16,
    dominant: &'static str,
    category: &'static str,
    sub_indices: BTreeMap<String, u16>,
    nowcast_pm25_ug_m3: Option<f64>,
    advice: &'static str,
}

struct Breakpoint {
    pollutant: &'static str,
    low: f64,
    high: f64,
    index_low: f64,
    index_high: f64,
}

static BREAKPOINTS: LazyLock<Vec<Breakpoint>> = LazyLock::new(|| {
    let breakpoint = |row: Vec<&'static str>| Breakpoint {
        pollutant: row.first().copied().unwrap_or_default(),
        low: number(&row, 1),
        high: number(&row, 2),
        index_low: number(&row, 3),
        index_high: number(&row, 4),
    };
    rows(include_str!("../data/aqi_breakpoints.csv")).map(breakpoint).collect()
});

/// Greatest index, name and advice of each category.
const CATEGORIES: [(u16, &str, &str); 6] = [
    (50, "good", "Air quality is satisfactory: no precautions."),
    (100, "moderate", "People who are unusually sensitive: shorten long or heavy exertion outdoors."),
    (
        150,
        "unhealthy-for-sensitive-groups",
        "People with heart or lung disease, older adults, children, pregnant women and outdoor workers: reduce long or heavy exertion outdoors.",
    ),
    (
        200,
        "unhealthy",
        "Sensitive groups: avoid long or heavy exertion outdoors. Everyone else: reduce it and take more breaks.",
    ),
    (300, "very-unhealthy", "Sensitive groups: stay indoors. Everyone else: avoid exertion outdoors."),
    (
        500,
        "hazardous",
        "Everyone: avoid all physical activity outdoors; sensitive groups: stay indoors and keep activity low.",
    ),
];

/// Hours that NowCast looks back on.
const NOWCAST_HOURS: usize = 12;
const MAX_HOURS: usize = 10_000;
const MAX_INDEX: f64 = 500.0;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let hourly = input.hourly_pm25_ug_m3.unwrap_or_default();
    if hourly.len() > MAX_HOURS {
        return Err(Failure::too_large(format!("at most {MAX_HOURS} hourly values")));
    }
    if let Some(at) = hourly.iter().position(|value| *value < 0.0) {
        return Err(Failure::invalid(&["hourly_pm25", &at.to_string()], "must be at least 0"));
    }
    let nowcast = nowcast(&hourly);
    if nowcast.is_none() && !hourly.is_empty() {
        cx.warn("too_few: NowCast needs two hourly values or more");
    }
    // A 24-hour mean that was given counts, not the NowCast.
    let concentrations = [
        ("pm25", input.pm25_ug_m3.or(nowcast), 10.0),
        ("pm10", input.pm10_ug_m3, 1.0),
        ("o3_8h", input.o3_8h, 1000.0),
        ("co_8h", input.co_8h, 10.0),
        ("so2_1h", input.so2_1h, 1.0),
        ("no2_1h", input.no2_1h, 1.0),
    ];
    let mut sub_indices = BTreeMap::new();
    let (mut aqi, mut dominant) = (None, "");
    for (pollutant, concentration, steps) in concentrations {
        let Some(concentration) = concentration else { continue };
        let index = index(pollutant, truncated(concentration, steps), cx);
        sub_indices.insert(pollutant.to_owned(), index);
        if aqi.is_none_or(|aqi| index > aqi) {
            (aqi, dominant) = (Some(index), pollutant);
        }
    }
    let Some(aqi) = aqi else {
        return Err(Failure::invalid(&[], "give the concentration of one pollutant or more"));
    };
    let (_, category, advice) = category(aqi);
    Ok(Output { aqi, dominant, category, sub_indices, nowcast_pm25_ug_m3: nowcast, advice })
}

fn category(aqi: u16) -> (u16, &'static str, &'static str) {
    let [.., last] = CATEGORIES;
    CATEGORIES.iter().find(|(greatest, ..)| aqi <= *greatest).copied().unwrap_or(last)
}

/// Cuts a concentration to the digits of the table. The smallest addend makes 0.07, which is stored as a little less,
/// 0.070.
fn truncated(concentration: f64, steps: f64) -> f64 {
    (concentration * steps + 1e-6).floor() / steps
}

fn index(pollutant: &str, concentration: f64, cx: &Context) -> u16 {
    let of_it = || BREAKPOINTS.iter().filter(|breakpoint| breakpoint.pollutant == pollutant);
    let within = of_it().find(|breakpoint| concentration <= breakpoint.high + 1e-9);
    let Some(at) = within.or_else(|| of_it().next_back()) else { return 0 };
    if within.is_none() {
        let more = match pollutant {
            "o3_8h" => "above 0.200 ppm the index comes from the 1-hour concentration; at least 300",
            "so2_1h" => "from 305 ppb on the index comes from the 24-hour mean; at least 200",
            _ => "beyond the index, 500",
        };
        cx.warn(format!("extrapolated: {pollutant} is above the table: {more}"));
        return at.index_high as u16;
    }
    let share = (concentration - at.low) / (at.high - at.low);
    (at.index_low + share * (at.index_high - at.index_low)).round().clamp(0.0, MAX_INDEX) as u16
}

/// NowCast of hourly values, the newest last, cut to 0.1 µg/m³.
fn nowcast(hourly: &[f64]) -> Option<f64> {
    let recent: Vec<f64> = hourly.iter().rev().take(NOWCAST_HOURS).copied().collect();
    if recent.len() < 2 {
        return None;
    }
    let greatest = recent.iter().copied().fold(0.0, f64::max);
    let least = recent.iter().copied().fold(f64::INFINITY, f64::min);
    let weight = if greatest > 0.0 { (least / greatest).max(0.5) } else { 1.0 };
    let (mut sum, mut weights, mut power) = (0.0, 0.0, 1.0);
    for value in recent {
        sum += power * value;
        weights += power;
        power *= weight;
    }
    Some(truncated(sum / weights, 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_no_gap_and_rises() {
        for pair in BREAKPOINTS.windows(2).filter(|pair| pair[0].pollutant == pair[1].pollutant) {
            let step = pair[1].low - pair[0].high;
            assert!(step > 0.0 && step < 1.001, "{}", pair[0].pollutant);
            assert_eq!(pair[1].index_low, pair[0].index_high + 1.0);
        }
        assert_eq!(BREAKPOINTS.len(), 33);
    }

    #[test]
    fn both_ends_of_a_class_have_its_indices() {
        let cx = Context::default();
        for breakpoint in BREAKPOINTS.iter() {
            assert_eq!(f64::from(index(breakpoint.pollutant, breakpoint.low, &cx)), breakpoint.index_low);
            assert_eq!(f64::from(index(breakpoint.pollutant, breakpoint.high, &cx)), breakpoint.index_high);
        }
    }

    #[test]
    fn steady_air_has_its_concentration_as_nowcast() {
        assert_eq!(nowcast(&[35.4; 12]), Some(35.4));
        assert_eq!(nowcast(&[35.4]), None);
        assert_eq!(nowcast(&[0.0, 0.0]), Some(0.0));
    }

    #[test]
    fn a_binary_fraction_is_not_cut_below_its_decimal() {
        assert_eq!(truncated(0.07, 1000.0), 0.07);
        assert_eq!(truncated(35.4, 10.0), 35.4);
        assert_eq!(truncated(35.49, 10.0), 35.4);
    }
}
