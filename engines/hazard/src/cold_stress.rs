//! q22: cold stress.

use muster_engine::prelude::*;

/// Input of the engine; ranges stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    temperature_deg_c: f64,
    wind_speed_km_h: f64,
}

/// Output of the engine. The time to frostbite stays empty: its formula has no second source yet.
#[derive(Debug, Output)]
pub struct Output {
    wind_chill_deg_c: Option<f64>,
    frostbite_minutes: Option<f64>,
    class: Class,
}

/// Risk classes of Environment Canada.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
#[wire(case = "kebab")]
pub enum Class {
    Low,
    Moderate,
    High,
    VeryHigh,
    Severe,
    Extreme,
}

/// Greatest wind chill of each class: the index is published in whole degrees, "-10 to -27" is moderate.
const CLASSES: [(f64, Class); 5] = [
    (-55.0, Class::Extreme),
    (-48.0, Class::Severe),
    (-40.0, Class::VeryHigh),
    (-28.0, Class::High),
    (-10.0, Class::Moderate),
];

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { temperature_deg_c: t, wind_speed_km_h: v } = input;
    let wind_chill = (t <= 10.0 && v >= 4.8).then(|| wind_chill(t, v));
    if wind_chill.is_none() {
        cx.warn(
            "undefined: wind chill is defined up to 10 °C and from 4.8 km/h; the class is that of the air temperature",
        );
    }
    cx.warn("left_out: frostbite_minutes has no second source yet and is not computed");
    Ok(Output { wind_chill_deg_c: wind_chill, frostbite_minutes: None, class: class(wind_chill.unwrap_or(t)) })
}

/// Wind chill in °C (Osczevski and Bluestein 2005) of the wind at 10 m in km/h.
fn wind_chill(t: f64, v: f64) -> f64 {
    let v = v.powf(0.16);
    13.12 + 0.6215 * t - 11.37 * v + 0.3965 * t * v
}

fn class(wind_chill: f64) -> Class {
    let whole = wind_chill.round();
    CLASSES.iter().find(|(greatest, _)| whole <= *greatest).map_or(Class::Low, |(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_wind_and_less_warmth_are_colder() {
        for t in [-50.0, -20.0, 0.0, 10.0] {
            for v in [5.0, 20.0, 60.0, 150.0] {
                assert!(wind_chill(t, v + 1.0) < wind_chill(t, v), "{t} {v}");
                assert!(wind_chill(t - 1.0, v) < wind_chill(t, v), "{t} {v}");
            }
        }
    }

    #[test]
    fn class_changes_at_its_breakpoints() {
        for (greatest, at) in CLASSES {
            assert_eq!(class(greatest), at);
            assert_eq!(class(greatest + 0.4), at);
            assert!(class(greatest + 1.0) < at);
        }
    }
}
