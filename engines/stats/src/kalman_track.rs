//! q100: Kalman tracking.

use muster_engine::prelude::*;

use crate::kalman::{Axis, Model as Motion, Step};
use crate::support::{finite, number};

const MAX_POINTS: usize = 20_000;
/// Innovations beyond this many standard deviations are outliers.
const OUTLIER: f64 = 3.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    observations: Vec<Observation>,
    model: Model,
    process_noise: f64,
    measurement_noise: f64,
    predict_to_s: Vec<f64>,
}

#[derive(Input)]
struct Observation {
    time_s: f64,
    x: f64,
    y: Option<f64>,
}

/// Models of the motion.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Model {
    /// A level that walks randomly.
    LocalLevel,
    /// A place and a velocity that walks randomly.
    ConstantVelocity,
    /// The same in x and y.
    #[wire(name = "constant-velocity-2d")]
    ConstantVelocity2d,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    states: Vec<State>,
    predictions: Vec<Prediction>,
    log_likelihood: Option<f64>,
    outliers: Vec<i64>,
}

#[derive(Output)]
struct State {
    time: f64,
    x: f64,
    y: f64,
    vx: f64,
    vy: f64,
    sd: f64,
}

#[derive(Output)]
struct Prediction {
    time: f64,
    x: f64,
    y: f64,
    sd: f64,
}

/// Smooths the observations and predicts.
///
/// # Errors
/// `Invalid` (times that go back, no noise at all), `TooLarge`, `NoAnswer`.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    if input.observations.len() + input.predict_to_s.len() > MAX_POINTS {
        return Err(Failure::too_large(format!("observations and predict_to: at most {MAX_POINTS} in all")));
    }
    let (q, r) = (input.process_noise, input.measurement_noise);
    if q == 0.0 && r == 0.0 {
        return Err(Failure::invalid(&["measurement_noise"], "process and measurement noise must not both be 0"));
    }
    if q > 1e60 || r > 1e60 || (r > 0.0 && r < 1e-60) || (q > 0.0 && q < 1e-60) {
        return Err(Failure::invalid(&["process_noise"], "noises are 0 or from 1e-60 to 1e60"));
    }
    let two = input.model == Model::ConstantVelocity2d;
    for (at, o) in input.observations.iter().enumerate() {
        let here = ["observations", &at.to_string()];
        if [o.time_s, o.x, o.y.unwrap_or(0.0)].iter().any(|v| v.abs() > 1e60) {
            return Err(Failure::invalid(&here, "numbers must be within ±1e60"));
        }
    }
    if input.observations.windows(2).any(|w| w.first().map(|o| o.time_s) > w.last().map(|o| o.time_s)) {
        return Err(Failure::invalid(&["observations"], "times must not go back"));
    }
    if input.predict_to_s.iter().any(|t| t.abs() > 1e60) {
        return Err(Failure::invalid(&["predict_to"], "times must be within ±1e60"));
    }
    let motion = if input.model == Model::LocalLevel { Motion::Level } else { Motion::Velocity };
    // Observations and times to predict in one line of time; a time to predict is an observation that is missing.
    let mut line: Vec<(f64, Option<usize>)> =
        input.observations.iter().enumerate().map(|(at, o)| (o.time_s, Some(at))).collect();
    line.extend(input.predict_to_s.iter().map(|t| (*t, None)));
    line.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.is_some().cmp(&a.1.is_some())));
    let start = line.first().map_or(0.0, |(t, _)| *t);
    let axis = |value: &dyn Fn(&Observation) -> Option<f64>| {
        let steps: Vec<Step> = line
            .iter()
            .map(|(time, at)| Step {
                time: time - start,
                value: at.and_then(|at| input.observations.get(at)).and_then(value),
            })
            .collect();
        Axis::run(&steps, motion, q, r)
    };
    let x = axis(&|o: &Observation| Some(o.x))?;
    let y = if two { Some(axis(&|o: &Observation| o.y)?) } else { None };
    let mut output = Output { states: Vec::new(), predictions: Vec::new(), log_likelihood: None, outliers: Vec::new() };
    for (place, (time, at)) in line.iter().enumerate() {
        let Some(sx) = x.states.get(place) else { continue };
        let sy = y.as_ref().and_then(|y| y.states.get(place));
        let far = |axis: &Axis| axis.innovations.get(place).copied().flatten().is_some_and(|i| i.abs() > OUTLIER);
        let (px, vx) = (number(sx.place, "a state")?, number(sx.velocity, "a state")?);
        let (py, vy) = (sy.map_or(0.0, |s| s.place), sy.map_or(0.0, |s| s.velocity));
        let sd = number(sx.sd.max(sy.map_or(0.0, |s| s.sd)), "a deviation")?;
        let (py, vy) = (number(py, "a state")?, number(vy, "a state")?);
        match at {
            Some(at) => {
                output.states.push(State { time: *time, x: px, y: py, vx, vy, sd });
                if far(&x) || y.as_ref().is_some_and(far) {
                    output.outliers.push(*at as i64);
                }
            }
            None => output.predictions.push(Prediction { time: *time, x: px, y: py, sd }),
        }
    }
    output.log_likelihood = finite(x.log_likelihood + y.map_or(0.0, |y| y.log_likelihood));
    Ok(output)
}
