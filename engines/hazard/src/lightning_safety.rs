//! q44: lightning near a site.

use jiff::SignedDuration;
use muster_engine::prelude::*;
use muster_kernel_earth as earth;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    flash_to_bang_s: Option<f64>,
    temperature_deg_c: f64,
    site: Option<LatLon>,
    strikes: Option<Vec<Strike>>,
    now: Option<Timestamp>,
    radius_km: f64,
    clear_minutes: f64,
}

/// A stroke of lightning.
#[derive(Debug, Clone, Input)]
pub struct Strike {
    time: Timestamp,
    lat: f64,
    lon: f64,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    distance_km: Option<f64>,
    state: State,
    nearest_km: Option<f64>,
    strikes_in_radius: Option<usize>,
    all_clear_at: Option<Timestamp>,
    trend: Trend,
}

/// What to do: stop and shelter, watch, or go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
pub enum State {
    Clear,
    Watch,
    Stop,
}

/// How the strikes move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Trend {
    Approaching,
    Steady,
    Receding,
    Unknown,
}

/// Seconds from flash to thunder up to which people take shelter (30-30 rule), and up to which they watch.
const STOP_S: f64 = 30.0;
const WATCH_S: f64 = 60.0;
/// Strikes within this many radii are watched.
const WATCH_RADII: f64 = 2.0;
/// Speed in km/min from which strikes approach or recede.
const MOVING: f64 = 0.1;
/// Strikes that a trend needs, and the latest that it looks at.
const TREND: (usize, usize) = (4, 400);
const MAX_STRIKES: usize = 50_000;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let speed = 331.3 * (1.0 + input.temperature_deg_c / 273.15).sqrt();
    let distance = input.flash_to_bang_s.map(|seconds| seconds * speed / 1000.0);
    let by_thunder = input.flash_to_bang_s.map(|seconds| match seconds {
        _ if seconds <= STOP_S => State::Stop,
        _ if seconds <= WATCH_S => State::Watch,
        _ => State::Clear,
    });
    let strikes = input.strikes.unwrap_or_default();
    let now = input.now.or_else(|| strikes.iter().map(|strike| strike.time).max());
    let recent = match (input.site, now) {
        (Some(site), Some(now)) => recent(&strikes, site, now, input.clear_minutes),
        _ if !strikes.is_empty() => return Err(Failure::invalid(&["site"], "is needed with strikes")),
        _ => Vec::new(),
    };
    let known = !strikes.is_empty();
    if by_thunder.is_none() && !known {
        return Err(Failure::invalid(&["flash_to_bang"], "give flash_to_bang, or site and strikes"));
    }
    let inside: Vec<&Seen> = recent.iter().filter(|seen| seen.km <= input.radius_km).collect();
    let nearest = recent.iter().map(|seen| seen.km).reduce(f64::min);
    let by_strikes = match nearest {
        Some(km) if km <= input.radius_km => State::Stop,
        Some(km) if km <= WATCH_RADII * input.radius_km => State::Watch,
        _ => State::Clear,
    };
    let wait = SignedDuration::from_nanos((input.clear_minutes * 6e10) as i64);
    let all_clear = inside.iter().map(|seen| seen.time).max().and_then(|time| time.checked_add(wait).ok());
    if known && input.now.is_none() {
        cx.assume("it is the time of the latest strike");
    }
    Ok(Output {
        distance_km: distance,
        state: by_thunder.unwrap_or(State::Clear).max(if known { by_strikes } else { State::Clear }),
        nearest_km: nearest,
        strikes_in_radius: known.then_some(inside.len()),
        all_clear_at: all_clear,
        trend: trend(&recent),
    })
}

fn check(input: &Input) -> Result<(), Failure> {
    let strikes = input.strikes.as_deref().unwrap_or_default();
    if strikes.len() > MAX_STRIKES {
        return Err(Failure::too_large(format!("at most {MAX_STRIKES} strikes")));
    }
    for (at, strike) in strikes.iter().enumerate() {
        if !(-90.0..=90.0).contains(&strike.lat) || !(-180.0..=180.0).contains(&strike.lon) {
            return Err(Failure::invalid(
                &["strikes", &at.to_string(), "lat"],
                "must be a place: -90 to 90, -180 to 180",
            ));
        }
    }
    for (name, value, least, most) in [
        ("temperature", input.temperature_deg_c, -90.0, 70.0),
        ("radius", input.radius_km, 0.0, 1000.0),
        ("clear_minutes", input.clear_minutes, 0.0, 1440.0),
        ("flash_to_bang", input.flash_to_bang_s.unwrap_or_default(), 0.0, 600.0),
    ] {
        if !(least..=most).contains(&value) {
            return Err(Failure::invalid(&[name], format!("must be from {least} to {most}")));
        }
    }
    Ok(())
}

/// A strike with its distance.
struct Seen {
    time: Timestamp,
    km: f64,
}

/// Strikes of the minutes before now, by time.
fn recent(strikes: &[Strike], site: LatLon, now: Timestamp, minutes: f64) -> Vec<Seen> {
    let site = earth::LatLon::new(site.lat, site.lon);
    let within = |strike: &&Strike| {
        let age = now.duration_since(strike.time).as_secs_f64() / 60.0;
        (0.0..=minutes).contains(&age)
    };
    let seen = |strike: &Strike| {
        let km = earth::inverse(site, earth::LatLon::new(strike.lat, strike.lon)).distance / 1000.0;
        Seen { time: strike.time, km }
    };
    let mut recent: Vec<Seen> = strikes.iter().filter(within).map(seen).collect();
    recent.sort_by_key(|seen| seen.time);
    recent
}

/// Median slope of distance over time between all pairs (Theil and Sen).
fn trend(recent: &[Seen]) -> Trend {
    let (least, most) = TREND;
    let latest = recent.get(recent.len().saturating_sub(most)..).unwrap_or_default();
    let mut slopes = Vec::new();
    for (at, earlier) in latest.iter().enumerate() {
        for later in latest.iter().skip(at + 1) {
            let minutes = later.time.duration_since(earlier.time).as_secs_f64() / 60.0;
            if minutes > 0.0 {
                slopes.push((later.km - earlier.km) / minutes);
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    let middle = slopes.len() / 2;
    let median = match (slopes.get(middle.wrapping_sub(1)), slopes.get(middle)) {
        (Some(low), Some(high)) if slopes.len() % 2 == 0 => (low + high) / 2.0,
        (_, Some(middle)) => *middle,
        _ => return Trend::Unknown,
    };
    match median {
        _ if latest.len() < least => Trend::Unknown,
        _ if median <= -MOVING => Trend::Approaching,
        _ if median >= MOVING => Trend::Receding,
        _ => Trend::Steady,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storm(km: impl Fn(f64) -> f64) -> Output {
        let start = "2026-07-01T12:00:00Z".parse::<Timestamp>().unwrap();
        let strike = |minute: i32| Strike {
            time: start + SignedDuration::from_mins(i64::from(minute)),
            lat: km(f64::from(minute)) / 110.574,
            lon: 0.0,
        };
        let input = Input {
            flash_to_bang_s: None,
            temperature_deg_c: 20.0,
            site: Some(LatLon { lat: 0.0, lon: 0.0 }),
            strikes: Some((0..20).map(strike).collect()),
            now: None,
            radius_km: 10.0,
            clear_minutes: 30.0,
        };
        run(input, &Context::default()).unwrap()
    }

    #[test]
    fn a_storm_that_comes_nearer_approaches() {
        let near = storm(|minute| 40.0 - 1.7 * minute);
        assert_eq!((near.trend, near.state), (Trend::Approaching, State::Stop));
        assert_eq!(near.all_clear_at.unwrap().to_string(), "2026-07-01T12:49:00Z");
        let far = storm(|minute| 30.0 + minute);
        assert_eq!((far.trend, far.state, far.all_clear_at), (Trend::Receding, State::Clear, None));
        assert_eq!(storm(|_| 15.0).trend, Trend::Steady);
        assert_eq!(storm(|_| 15.0).state, State::Watch);
    }

    #[test]
    fn thirty_seconds_are_the_bound() {
        let state = |seconds: f64| {
            let input = Input {
                flash_to_bang_s: Some(seconds),
                temperature_deg_c: 20.0,
                site: None,
                strikes: None,
                now: None,
                radius_km: 10.0,
                clear_minutes: 30.0,
            };
            run(input, &Context::default()).unwrap().state
        };
        assert_eq!((state(30.0), state(30.0_f64.next_up()), state(61.0)), (State::Stop, State::Watch, State::Clear));
    }
}
