//! q21: heat stress.

use muster_engine::prelude::*;

/// Input of the engine; ranges stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    temperature_deg_c: f64,
    humidity_percent: f64,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    heat_index_deg_c: f64,
    humidex: Option<f64>,
    dew_point_deg_c: Option<f64>,
    wet_bulb_deg_c: f64,
    wbgt_indoor_deg_c: f64,
    class: Class,
}

/// Classes of the heat index (National Weather Service).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
#[wire(case = "kebab")]
pub enum Class {
    None,
    Caution,
    ExtremeCaution,
    Danger,
    ExtremeDanger,
}

/// Least heat index of each class, in °F.
const CLASSES: [(f64, Class); 4] =
    [(125.0, Class::ExtremeDanger), (103.0, Class::Danger), (90.0, Class::ExtremeCaution), (80.0, Class::Caution)];

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { temperature_deg_c: t, humidity_percent: rh } = input;
    let fahrenheit = heat_index(fahrenheit(t), rh);
    let dew_point = dew_point(t, rh);
    if dew_point.is_none() {
        cx.warn("undefined: without humidity there is no dew point, and so no humidex");
    }
    if !(5.0..=99.0).contains(&rh) || !(-20.0..=50.0).contains(&t) {
        cx.warn("extrapolated: the wet-bulb formula holds from 5 to 99 % humidity and from -20 to 50 °C");
    }
    let wet_bulb = wet_bulb(t, rh);
    cx.step("heat index", fahrenheit, "degF");
    cx.assume("WBGT is that of shade: globe temperature equals air temperature");
    Ok(Output {
        heat_index_deg_c: (fahrenheit - 32.0) / 1.8,
        humidex: dew_point.map(|dew_point| humidex(t, dew_point)),
        dew_point_deg_c: dew_point,
        wet_bulb_deg_c: wet_bulb,
        wbgt_indoor_deg_c: 0.7 * wet_bulb + 0.3 * t,
        class: class(fahrenheit),
    })
}

fn fahrenheit(celsius: f64) -> f64 {
    celsius * 1.8 + 32.0
}

fn class(heat_index: f64) -> Class {
    CLASSES.iter().find(|(least, _)| heat_index >= *least).map_or(Class::None, |(_, class)| *class)
}

/// Heat index in °F: Steadman's simple form while it stays below 79 °F, else Rothfusz's regression with the Weather
/// Service's adjustments. Below 40 °F it is the air temperature.
fn heat_index(t: f64, rh: f64) -> f64 {
    if t <= 40.0 {
        return t;
    }
    let simple = -10.3 + 1.1 * t + 0.047 * rh;
    let base = if simple < 79.0 { simple } else { rothfusz(t, rh) };
    if rh <= 13.0 && (80.0..=112.0).contains(&t) {
        base - (13.0 - rh) / 4.0 * ((17.0 - (t - 95.0).abs()) / 17.0).max(0.0).sqrt()
    } else if rh > 85.0 && (80.0..=87.0).contains(&t) {
        base + 0.02 * (rh - 85.0) * (87.0 - t)
    } else {
        base
    }
}

fn rothfusz(t: f64, rh: f64) -> f64 {
    -42.379 + 2.049_015_23 * t + 10.143_331_27 * rh
        - 0.224_755_41 * t * rh
        - 6.837_83e-3 * t * t
        - 5.481_717e-2 * rh * rh
        + 1.228_74e-3 * t * t * rh
        + 8.5282e-4 * t * rh * rh
        - 1.99e-6 * t * t * rh * rh
}

/// Dew point in °C by the Magnus formula; none in absolutely dry air.
fn dew_point(t: f64, rh: f64) -> Option<f64> {
    let gamma = (rh / 100.0).ln() + 17.625 * t / (243.04 + t);
    (rh > 0.0).then(|| 243.04 * gamma / (17.625 - gamma))
}

/// Humidex of Masterton and Richardson with the vapour pressure (hPa) of the dew point.
fn humidex(t: f64, dew_point: f64) -> f64 {
    let vapour = 6.11 * (5417.7530 * (1.0 / 273.16 - 1.0 / (273.15 + dew_point))).exp();
    t + 5.0 / 9.0 * (vapour - 10.0)
}

/// Wet-bulb temperature in °C at sea level (Stull 2011, equation 1).
fn wet_bulb(t: f64, rh: f64) -> f64 {
    t * (0.151_977 * (rh + 8.313_659).sqrt()).atan() + (t + rh).atan() - (rh - 1.676_331).atan()
        + 0.003_918_38 * rh.powf(1.5) * (0.023_101 * rh).atan()
        - 4.686_035
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_changes_at_its_breakpoints() {
        for (least, at) in CLASSES {
            assert_eq!(class(least), at);
            assert!(class(least.next_down()) < at);
        }
    }

    #[test]
    fn the_heat_index_rises_with_humidity_where_it_is_hot() {
        for t in [85.0, 95.0, 105.0] {
            for rh in 20..80 {
                let (low, high) = (heat_index(t, f64::from(rh)), heat_index(t, f64::from(rh + 1)));
                assert!(high > low, "{t} °F, {rh} %");
            }
        }
    }

    #[test]
    fn saturated_air_has_its_temperature_as_dew_point() {
        for t in [-10.0, 0.0, 25.0] {
            assert!((dew_point(t, 100.0).unwrap() - t).abs() < 1e-9);
        }
    }
}
