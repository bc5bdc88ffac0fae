//! q45: runout of an avalanche by the alpha-beta model.

use muster_engine::prelude::*;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    profile: Vec<Point>,
    snowpack: Option<Snowpack>,
    sigmas: f64,
}

/// A point of the profile, downhill.
#[derive(Debug, Clone, Copy, Input)]
pub struct Point {
    distance_m: f64,
    height_m: f64,
}

/// State of the snow.
#[derive(Debug, Clone, Input)]
#[expect(dead_code, reason = "the danger level is left out until the matrix can be read; the members are checked")]
pub struct Snowpack {
    stability: Stability,
    frequency: Frequency,
    size: i64,
}

/// Stability of the snowpack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Stability {
    VeryPoor,
    Poor,
    Fair,
    Good,
}

/// How many places have this stability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Frequency {
    Many,
    Some,
    Few,
    NearlyNone,
}

/// Output of the engine. The danger level stays empty: the EAWS matrix has not been transcribed from two sources yet.
#[derive(Debug, Output)]
pub struct Output {
    beta_deg: f64,
    alpha_deg: f64,
    runout_distance_m: Option<f64>,
    runout_height_m: Option<f64>,
    release_slope_deg: f64,
    danger: Option<i64>,
}

const MAX_POINTS: usize = 100_000;
/// Slope in degrees that ends the track.
const TRACK_END: f64 = 10.0;
/// Slopes in degrees on which slabs release.
const RELEASE: std::ops::RangeInclusive<f64> = 28.0..=60.0;
/// Standard deviation of alpha in degrees.
const DEVIATION: f64 = 2.3;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input.profile)?;
    let (Some(top), Some(steepest)) = (input.profile.first(), steepest(&input.profile)) else {
        return Err(Failure::invalid(&["profile"], "must have three points or more"));
    };
    let slope = steepest.1;
    if !RELEASE.contains(&slope) {
        cx.warn("outside: slabs release on slopes of about 28 to 60 degrees");
    }
    let bottom = beta_point(&input.profile, steepest.0).ok_or_else(|| {
        let message = "below its steepest part the profile never falls to 10 degrees: extend it downhill";
        Failure::no_answer(NoAnswer::OutsideValidity, message)
    })?;
    let beta = angle(top, &bottom);
    let alpha = 0.96 * beta - 1.4 + input.sigmas * DEVIATION;
    if !(0.0..90.0).contains(&alpha) || beta <= 0.0 {
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, format!("alpha of {alpha:.2} degrees is no runout")));
    }
    let end = crossing(&input.profile, top, alpha);
    if end.is_none() {
        cx.warn("outside: the line of alpha does not meet the profile: extend it downhill");
    }
    if input.snowpack.is_some() {
        cx.warn("left_out: danger is not computed; the EAWS matrix has not been transcribed from two sources yet");
    }
    cx.assume("coefficients of Norwegian paths; negative sigmas give a longer and rarer runout");
    Ok(Output {
        beta_deg: beta,
        alpha_deg: alpha,
        runout_distance_m: end.map(|end| end.distance_m - top.distance_m),
        runout_height_m: end.map(|end| end.height_m),
        release_slope_deg: slope,
        danger: None,
    })
}

fn check(profile: &[Point]) -> Result<(), Failure> {
    if profile.len() > MAX_POINTS {
        return Err(Failure::too_large(format!("at most {MAX_POINTS} points of a profile")));
    }
    if profile.len() < 3 {
        return Err(Failure::invalid(&["profile"], "must have three points or more"));
    }
    for (at, pair) in profile.windows(2).enumerate() {
        if let [before, point] = pair
            && point.distance_m <= before.distance_m
        {
            let message = "must be above that of the point before";
            return Err(Failure::invalid(&["profile", &(at + 1).to_string(), "distance"], message));
        }
    }
    let outside = |point: &Point| point.distance_m.abs() > 1e6 || point.height_m.abs() > 1e4;
    if let Some(at) = profile.iter().position(outside) {
        return Err(Failure::invalid(&["profile", &at.to_string()], "must be within 1000 km and 10000 m"));
    }
    Ok(())
}

/// Fall in degrees from one point to another.
fn angle(from: &Point, to: &Point) -> f64 {
    ((from.height_m - to.height_m) / (to.distance_m - from.distance_m)).atan().to_degrees()
}

/// The steepest part and its slope.
fn steepest(profile: &[Point]) -> Option<(usize, f64)> {
    let slopes = profile.windows(2).enumerate().filter_map(|(at, pair)| match pair {
        [from, to] => Some((at, angle(from, to))),
        _ => None,
    });
    slopes.reduce(|best, slope| if slope.1 > best.1 { slope } else { best })
}

/// Where the profile first falls by 10 degrees or less, below its steepest part.
fn beta_point(profile: &[Point], steepest: usize) -> Option<Point> {
    let below = profile.windows(2).skip(steepest + 1);
    below
        .filter_map(|pair| match pair {
            [from, to] if angle(from, to) <= TRACK_END => Some(*from),
            _ => None,
        })
        .next()
}

/// Where a line from the top that falls by `alpha` degrees meets the profile for the last time.
fn crossing(profile: &[Point], top: &Point, alpha: f64) -> Option<Point> {
    let line = |point: &Point| top.height_m - (point.distance_m - top.distance_m) * alpha.to_radians().tan();
    let over = |point: &Point| line(point) - point.height_m;
    // From below: the first part whose upper end lies below the line, and whose lower end above or on it.
    profile.windows(2).rev().find_map(|pair| match pair {
        [from, to] if over(from) > 0.0 && over(to) <= 0.0 => {
            let share = over(from) / (over(from) - over(to));
            Some(Point {
                distance_m: from.distance_m + share * (to.distance_m - from.distance_m),
                height_m: from.height_m + share * (to.height_m - from.height_m),
            })
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Vec<Point> {
        [(0.0, 1000.0), (500.0, 700.0), (1000.0, 450.0), (1500.0, 360.0), (2000.0, 330.0), (4000.0, 320.0)]
            .map(|(distance_m, height_m)| Point { distance_m, height_m })
            .to_vec()
    }

    fn runout(sigmas: f64) -> Output {
        run(Input { profile: profile(), snowpack: None, sigmas }, &Context::default()).unwrap()
    }

    #[test]
    fn a_smaller_alpha_runs_farther() {
        let distance = |sigmas: f64| runout(sigmas).runout_distance_m.unwrap();
        assert!(distance(-1.0) > distance(0.0) && distance(0.0) > distance(1.0));
        let end = runout(0.0);
        let fall = ((1000.0 - end.runout_height_m.unwrap()) / end.runout_distance_m.unwrap()).atan().to_degrees();
        assert!((fall - end.alpha_deg).abs() < 1e-9);
    }

    #[test]
    fn a_profile_that_stays_steep_has_no_answer() {
        let steep = [(0.0, 1000.0), (500.0, 700.0), (1000.0, 400.0)]
            .map(|(distance_m, height_m)| Point { distance_m, height_m });
        let input = Input { profile: steep.to_vec(), snowpack: None, sigmas: 0.0 };
        assert!(matches!(run(input, &Context::default()), Err(Failure::NoAnswer { .. })));
    }
}
