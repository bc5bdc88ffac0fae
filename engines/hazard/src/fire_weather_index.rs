//! q29: Canadian forest fire weather index. Equation numbers are those of Van Wagner (1987), Forestry Technical Report 35.

use muster_engine::prelude::*;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    days: Vec<Weather>,
    latitude_deg: f64,
    ffmc0: f64,
    dmc0: f64,
    dc0: f64,
}

/// Weather at noon of local standard time, with the rain of the 24 hours before.
#[derive(Debug, Clone, Input)]
pub struct Weather {
    temperature_deg_c: f64,
    humidity_percent: f64,
    wind_km_h: f64,
    rain_mm: f64,
    month: usize,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    days: Vec<Indices>,
}

/// Codes and indices of a day.
#[derive(Debug, Clone, Output)]
pub struct Indices {
    ffmc: f64,
    dmc: f64,
    dc: f64,
    isi: f64,
    bui: f64,
    fwi: f64,
    dsr: f64,
    danger: &'static str,
}

const MAX_DAYS: usize = 20_000;
/// Least index of each danger class of EFFIS.
const CLASSES: [(f64, &str); 6] =
    [(50.0, "extreme"), (38.0, "very-high"), (21.3, "high"), (11.2, "moderate"), (5.2, "low"), (0.0, "very-low")];

/// Effective hours of daylight for the duff moisture code by month, with the least latitude.
const DAYLIGHT: [(f64, [f64; 12]); 5] = [
    (30.0, [6.5, 7.5, 9.0, 12.8, 13.9, 13.9, 12.4, 10.9, 9.4, 8.0, 7.0, 6.0]),
    (15.0, [7.9, 8.4, 8.9, 9.5, 9.9, 10.2, 10.1, 9.7, 9.1, 8.6, 8.1, 7.8]),
    (-15.0, [9.0; 12]),
    (-30.0, [10.1, 9.6, 9.1, 8.5, 8.1, 7.8, 7.9, 8.3, 8.9, 9.4, 9.9, 10.2]),
    (-90.0, [11.5, 10.5, 9.2, 7.9, 6.8, 6.2, 6.5, 7.4, 8.7, 10.0, 11.2, 11.8]),
];
/// Day-length factors for the drought code by month, with the least latitude.
const DROUGHT_FACTOR: [(f64, [f64; 12]); 3] = [
    (15.0, [-1.6, -1.6, -1.6, 0.9, 3.8, 5.8, 6.4, 5.0, 2.4, 0.4, -1.6, -1.6]),
    (-15.0, [1.39; 12]),
    (-90.0, [6.4, 5.0, 2.4, 0.4, -1.6, -1.6, -1.6, -1.6, -1.6, 0.9, 3.8, 5.8]),
];

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.days.len() > MAX_DAYS {
        return Err(Failure::too_large(format!("at most {MAX_DAYS} days")));
    }
    for (name, value, most) in [("ffmc0", input.ffmc0, 101.0), ("dmc0", input.dmc0, 2000.0), ("dc0", input.dc0, 5000.0)]
    {
        if !(0.0..=most).contains(&value) {
            return Err(Failure::invalid(&[name], format!("must be from 0 to {most}")));
        }
    }
    let (mut ffmc, mut dmc, mut dc) = (input.ffmc0, input.dmc0, input.dc0);
    let mut days = Vec::with_capacity(input.days.len());
    for (at, day) in input.days.iter().enumerate() {
        check(day, at)?;
        // The equations leave the range of the relative humidity at 100 %.
        let day = Weather { humidity_percent: day.humidity_percent.min(99.99), ..day.clone() };
        ffmc = fine_fuel(&day, ffmc);
        dmc = duff(&day, dmc, by_month(&DAYLIGHT, input.latitude_deg, day.month));
        dc = drought(&day, dc, by_month(&DROUGHT_FACTOR, input.latitude_deg, day.month));
        let (isi, bui) = (spread(ffmc, day.wind_km_h), build_up(dmc, dc));
        let fwi = fire_weather(isi, bui);
        let dsr = 0.0272 * fwi.powf(1.77);
        days.push(Indices { ffmc, dmc, dc, isi, bui, fwi, dsr, danger: danger(fwi) });
    }
    cx.assume("weather of noon standard time; rain of the 24 hours before; no overwintering");
    Ok(Output { days })
}

fn check(day: &Weather, at: usize) -> Result<(), Failure> {
    let ranges = [
        ("temperature", day.temperature_deg_c, -60.0, 60.0),
        ("humidity", day.humidity_percent, 0.0, 100.0),
        ("wind", day.wind_km_h, 0.0, 300.0),
        ("rain", day.rain_mm, 0.0, 2000.0),
        ("month", day.month as f64, 1.0, 12.0),
    ];
    match ranges.iter().find(|(_, value, least, most)| !(*least..=*most).contains(value)) {
        Some((name, _, least, most)) => {
            Err(Failure::invalid(&["days", &at.to_string(), name], format!("must be from {least} to {most}")))
        }
        None => Ok(()),
    }
}

fn by_month(table: &[(f64, [f64; 12])], latitude: f64, month: usize) -> f64 {
    let band = table.iter().find(|(least, _)| latitude >= *least);
    band.and_then(|(_, months)| months.get(month - 1)).copied().unwrap_or_default()
}

fn danger(fwi: f64) -> &'static str {
    CLASSES.iter().find(|(least, _)| fwi >= *least).map_or("very-low", |(_, class)| *class)
}

/// Fine fuel moisture code (equations 1 to 10).
fn fine_fuel(day: &Weather, before: f64) -> f64 {
    let (t, h, w) = (day.temperature_deg_c, day.humidity_percent, day.wind_km_h);
    let mut m = 147.2 * (101.0 - before) / (59.5 + before);
    if day.rain_mm > 0.5 {
        let rain = day.rain_mm - 0.5;
        let wetted = m + 42.5 * rain * (-100.0 / (251.0 - m)).exp() * (1.0 - (-6.93 / rain).exp());
        let very_wet = if m > 150.0 { 0.0015 * (m - 150.0).powi(2) * rain.sqrt() } else { 0.0 };
        m = (wetted + very_wet).min(250.0);
    }
    let heat = 0.18 * (21.1 - t) * (1.0 - (-0.115 * h).exp());
    let drying = 0.942 * h.powf(0.679) + 11.0 * ((h - 100.0) / 10.0).exp() + heat;
    let wetting = 0.618 * h.powf(0.753) + 10.0 * ((h - 100.0) / 10.0).exp() + heat;
    let rate = |share: f64| {
        let rate = 0.424 * (1.0 - share.powf(1.7)) + 0.0694 * w.sqrt() * (1.0 - share.powi(8));
        10_f64.powf(-rate * 0.581 * (0.0365 * t).exp())
    };
    if m > drying {
        m = drying + (m - drying) * rate(h / 100.0);
    } else if m < wetting {
        m = wetting - (wetting - m) * rate((100.0 - h) / 100.0);
    }
    (59.5 * (250.0 - m) / (147.2 + m)).clamp(0.0, 101.0)
}

/// Duff moisture code (equations 11 to 17).
fn duff(day: &Weather, before: f64, daylight: f64) -> f64 {
    let drying = 1.894 * (day.temperature_deg_c.max(-1.1) + 1.1) * (100.0 - day.humidity_percent) * daylight * 1e-4;
    if day.rain_mm <= 1.5 {
        return before + drying;
    }
    let rain = 0.92 * day.rain_mm - 1.27;
    let moisture = 20.0 + 280.0 / (0.023 * before).exp();
    let slope = if before <= 33.0 {
        100.0 / (0.5 + 0.3 * before)
    } else if before <= 65.0 {
        14.0 - 1.3 * before.ln()
    } else {
        6.2 * before.ln() - 17.2
    };
    let wetted = moisture + 1000.0 * rain / (48.77 + slope * rain);
    (43.43 * (5.6348 - (wetted - 20.0).ln())).max(0.0) + drying
}

/// Drought code (equations 18 to 23).
fn drought(day: &Weather, before: f64, factor: f64) -> f64 {
    let evaporation = (0.36 * (day.temperature_deg_c.max(-2.8) + 2.8) + factor).max(0.0) / 2.0;
    if day.rain_mm <= 2.8 {
        return before + evaporation;
    }
    let rain = 0.83 * day.rain_mm - 1.27;
    let moisture = 800.0 * (-before / 400.0).exp();
    (before - 400.0 * (1.0 + 3.937 * rain / moisture).ln()).max(0.0) + evaporation
}

/// Initial spread index (equations 24 to 26).
fn spread(ffmc: f64, wind: f64) -> f64 {
    let m = 147.2 * (101.0 - ffmc) / (59.5 + ffmc);
    19.1152 * (-0.1386 * m).exp() * (1.0 + m.powf(5.31) / 4.93e7) * (0.05039 * wind).exp()
}

/// Build-up index (equation 27).
fn build_up(dmc: f64, dc: f64) -> f64 {
    if dmc == 0.0 {
        return 0.0;
    }
    if dmc <= 0.4 * dc {
        return 0.8 * dmc * dc / (dmc + 0.4 * dc);
    }
    (dmc - (1.0 - 0.8 * dc / (dmc + 0.4 * dc)) * (0.92 + (0.0114 * dmc).powf(1.7))).max(0.0)
}

/// Fire weather index (equations 28 to 30).
fn fire_weather(isi: f64, bui: f64) -> f64 {
    let duff =
        if bui <= 80.0 { 0.626 * bui.powf(0.809) + 2.0 } else { 1000.0 / (25.0 + 108.64 * (-0.023 * bui).exp()) };
    let b = 0.1 * isi * duff;
    if b > 1.0 { (2.72 * (0.434 * b.ln()).powf(0.647)).exp() } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weather() -> Weather {
        Weather { temperature_deg_c: 25.0, humidity_percent: 40.0, wind_km_h: 15.0, rain_mm: 0.0, month: 7 }
    }

    fn fwi(day: Weather) -> f64 {
        let input = Input { days: vec![day], latitude_deg: 46.0, ffmc0: 85.0, dmc0: 6.0, dc0: 15.0 };
        run(input, &Context::default()).unwrap().days[0].fwi
    }

    #[test]
    fn drier_hotter_and_windier_days_are_more_dangerous() {
        let base = fwi(weather());
        assert!(fwi(Weather { humidity_percent: 30.0, ..weather() }) > base);
        assert!(fwi(Weather { temperature_deg_c: 30.0, ..weather() }) > base);
        assert!(fwi(Weather { wind_km_h: 25.0, ..weather() }) > base);
        assert!(fwi(Weather { rain_mm: 5.0, ..weather() }) < base);
    }

    #[test]
    fn the_class_changes_at_its_breakpoints() {
        for pair in CLASSES.windows(2) {
            assert_eq!(danger(pair[0].0), pair[0].1);
            assert_eq!(danger(pair[0].0.next_down()), pair[1].1);
        }
    }
}
