//! q43: tsunami along a depth profile.

use jiff::SignedDuration;
use muster_engine::prelude::*;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    profile: Vec<Depth>,
    amplitude_m: Option<f64>,
    shore_depth_m: f64,
    origin_time: Option<Timestamp>,
}

/// Depth of the sea at a distance from the source.
#[derive(Debug, Clone, Input)]
pub struct Depth {
    distance_km: f64,
    depth_m: f64,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    minutes: f64,
    arrival: Option<Timestamp>,
    mean_speed_km_h: f64,
    coastal_amplitude_m: Option<f64>,
    class: Option<Class>,
}

/// Classes by the amplitude at the coast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
pub enum Class {
    None,
    Information,
    Advisory,
    Warning,
}

const GRAVITY: f64 = 9.81;
const MAX_POINTS: usize = 100_000;
/// Least depth in m at which the wave is still a long wave of small amplitude.
const SHALLOW: f64 = 0.1;
/// Least amplitude in m of each class (bands of the Pacific Tsunami Warning Center).
const CLASSES: [(f64, Class); 2] = [(1.0, Class::Warning), (0.3, Class::Advisory)];

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let legs = input.profile.windows(2).map(|pair| match pair {
        [from, to] => {
            let slowness = |depth: f64| 1.0 / (GRAVITY * depth).sqrt();
            (to.distance_km - from.distance_km) * 1000.0 * (slowness(from.depth_m) + slowness(to.depth_m)) / 2.0
        }
        _ => 0.0,
    });
    let seconds: f64 = legs.sum();
    let (first, last) = (input.profile.first(), input.profile.last());
    let (Some(first), Some(last)) = (first, last) else {
        return Err(Failure::invalid(&["profile"], "must have two points or more"));
    };
    // Green's law.
    let coastal = input.amplitude_m.map(|amplitude| amplitude * (first.depth_m / input.shore_depth_m).powf(0.25));
    if coastal.is_some_and(|coastal| coastal > input.shore_depth_m / 2.0) {
        cx.warn("extrapolated: the wave is high against the depth at the shore, where Green's law ends");
    }
    cx.assume("long waves; the amplitude is that at the first point; no spreading, no run-up");
    let arrival =
        input.origin_time.and_then(|time| time.checked_add(SignedDuration::from_nanos((seconds * 1e9) as i64)).ok());
    Ok(Output {
        minutes: seconds / 60.0,
        arrival: arrival.and_then(|time| time.round(jiff::Unit::Second).ok()),
        mean_speed_km_h: (last.distance_km - first.distance_km) / seconds * 3600.0,
        coastal_amplitude_m: coastal,
        class: coastal.map(class),
    })
}

fn check(input: &Input) -> Result<(), Failure> {
    if input.profile.len() > MAX_POINTS {
        return Err(Failure::too_large(format!("at most {MAX_POINTS} points of a profile")));
    }
    if input.profile.len() < 2 {
        return Err(Failure::invalid(&["profile"], "must have two points or more"));
    }
    for (at, point) in input.profile.iter().enumerate() {
        if !(SHALLOW..=12_000.0).contains(&point.depth_m) {
            return Err(Failure::invalid(&["profile", &at.to_string(), "depth"], "must be from 0.1 to 12000 m"));
        }
        let before =
            at.checked_sub(1).and_then(|before| input.profile.get(before)).map_or(-1.0, |before| before.distance_km);
        if !(point.distance_km > before && point.distance_km <= 40_000.0) {
            let message = "must be above that of the point before, from 0 to 40000 km";
            return Err(Failure::invalid(&["profile", &at.to_string(), "distance"], message));
        }
    }
    if !(SHALLOW..=12_000.0).contains(&input.shore_depth_m) {
        return Err(Failure::invalid(&["shore_depth"], "must be from 0.1 to 12000 m"));
    }
    if input.amplitude_m.is_some_and(|amplitude| amplitude > 1000.0) {
        return Err(Failure::invalid(&["amplitude"], "must be at most 1000 m"));
    }
    Ok(())
}

fn class(amplitude: f64) -> Class {
    let of_it = CLASSES.iter().find(|(least, _)| amplitude >= *least).map(|(_, class)| *class);
    of_it.unwrap_or(if amplitude > 0.0 { Class::Information } else { Class::None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_changes_at_its_breakpoints() {
        assert_eq!(class(0.0), Class::None);
        for (least, at) in CLASSES {
            assert_eq!(class(least), at);
            assert!(class(least.next_down()) < at);
        }
    }

    #[test]
    fn deeper_water_is_faster() {
        let minutes = |depth_m: f64| {
            let profile = vec![Depth { distance_km: 0.0, depth_m }, Depth { distance_km: 100.0, depth_m }];
            let input = Input { profile, amplitude_m: None, shore_depth_m: 10.0, origin_time: None };
            run(input, &Context::default()).unwrap().minutes
        };
        assert!((minutes(4000.0) - 1e5 / (9.81_f64 * 4000.0).sqrt() / 60.0).abs() < 1e-9);
        assert!(minutes(4000.0) < minutes(1000.0));
    }
}
