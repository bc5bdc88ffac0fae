//! q76: drift of a person or object at sea.

use muster_engine::prelude::*;
use muster_kernel_earth::{self as earth, inverse, wrap_longitude};
use muster_kernel_numeric::sample::Sampler;
use muster_kernel_numeric::summary;
use serde_json::json;

use crate::bounds::{at_most, not_negative};

const MAX_TIMES: usize = 5_000;
/// Longest drift in seconds: 30 days. Steps are of ten minutes.
const MAX_SECONDS: f64 = 30.0 * 86_400.0;
const STEP: f64 = 600.0;
/// Particles times steps.
const MAX_WORK: usize = 10_000_000;
const MAX_SPEED: f64 = 100.0;
/// Near a pole longitude moves without bound.
const MAX_LATITUDE: f64 = 89.0;
/// Wind in m/s below which offsets and errors shrink with it: without wind there is no leeway.
const CALM: f64 = 2.0;
/// The circle with half of the probability has this many standard deviations: sqrt(2 ln 2).
const HALF: f64 = 1.177_410_022_515_474_7;
const MAX_TRACK: usize = 200;
/// WGS 84.
const SEMI_MAJOR: f64 = 6_378_137.0;
const ECCENTRICITY_SQUARED: f64 = 6.694_379_990_141_316_5e-3;

static TABLE: &str = include_str!("../data/leeway.csv");

#[derive(Input)]
pub struct Input {
    last_known: LatLon,
    time: Timestamp,
    target_time: Timestamp,
    object: Object,
    wind: Vec<Wind>,
    current: Vec<Current>,
    position_error_km: f64,
    particles: usize,
    seed: i64,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
enum Object {
    PersonInWater,
    LifeRaftBallast,
    LifeRaftNoBallast,
    Surfboard,
    SeaKayak,
    FishingVessel,
    Debris,
}

#[derive(Input)]
struct Wind {
    time: Timestamp,
    speed_m_s: f64,
    from_deg: f64,
}

#[derive(Input)]
struct Current {
    time: Timestamp,
    speed_m_s: f64,
    to_deg: f64,
}

#[derive(Output)]
pub struct Output {
    mean: LatLon,
    radius_50_km: f64,
    radius_95_km: f64,
    left: LatLon,
    right: LatLon,
    track: Vec<LatLon>,
    area: Value,
}

/// Slope as a share of the wind, offset and standard error in m/s.
#[derive(Debug, Clone, Copy)]
struct Leeway {
    slope: f64,
    offset: f64,
    error: f64,
}

/// East and north in m/s at a number of seconds after the begin.
#[derive(Debug, Clone, Copy)]
struct Flow {
    at: f64,
    east: f64,
    north: f64,
}

#[derive(Debug, Clone, Copy)]
struct Particle {
    /// Degrees; the longitude counts from the last known position, and is not wrapped.
    lat: f64,
    east: f64,
    down: Leeway,
    cross: Leeway,
    /// Deviations of this particle in m/s.
    down_error: f64,
    cross_error: f64,
}

/// Drifts a cloud of particles.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` near the poles.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let seconds = input.time.duration_until(input.target_time).as_secs_f64();
    if seconds < 0.0 {
        return Err(Failure::invalid(&["target_time"], "must not be before time"));
    }
    if seconds > MAX_SECONDS {
        return Err(Failure::too_large("target_time: at most 30 days after time"));
    }
    if input.last_known.lat.abs() > MAX_LATITUDE {
        return Err(near_pole());
    }
    let wind = flows("wind", &input.wind, |wind| (wind.time, wind.speed_m_s, wind.from_deg + 180.0), input.time)?;
    let current =
        flows("current", &input.current, |current| (current.time, current.speed_m_s, current.to_deg), input.time)?;
    if wind.is_empty() {
        return Err(Failure::invalid(&["wind"], "must have a value: without wind give speed 0"));
    }
    for (name, flows) in [("wind", &wind), ("current", &current)] {
        let ends = flows.first().zip(flows.last());
        if ends.is_some_and(|(first, last)| first.at > 3_600.0 || last.at < seconds - 6.0 * 3_600.0) {
            cx.warn(format!("extrapolated: {name} is not given for all of the time; its first and last value stay"));
        }
    }
    let steps = (seconds / STEP).ceil() as usize;
    if steps.max(1) * input.particles > MAX_WORK {
        return Err(Failure::too_large(format!("particles: at most {} for this time", MAX_WORK / steps.max(1))));
    }
    let mut cloud = seeded(&input)?;
    let every = steps.div_ceil(MAX_TRACK).max(1);
    let mut track = vec![mean_of(&input.last_known, cloud.iter())];
    for step in 0..steps {
        let at = step as f64 * STEP;
        let dt = (seconds - at).min(STEP);
        let (wind, current) = (at_time(&wind, at), at_time(&current, at));
        for particle in &mut cloud {
            particle.drift(wind, current, dt);
        }
        if cloud.iter().any(|particle| particle.lat.abs() > MAX_LATITUDE) {
            return Err(near_pole());
        }
        if (step + 1) % every == 0 || step + 1 == steps {
            cx.progress(step as u64 + 1, steps as u64, "drifting");
            track.push(mean_of(&input.last_known, cloud.iter()));
        }
    }
    output(&input, &cloud, track, cx)
}

fn near_pole() -> Failure {
    Failure::no_answer(NoAnswer::OutsideValidity, format!("the drift leads beyond {MAX_LATITUDE} degrees of latitude"))
}

/// Checks a list of speeds and directions, and returns it in order of time.
fn flows<T>(
    field: &str,
    list: &[T],
    parts: impl Fn(&T) -> (Timestamp, f64, f64),
    begin: Timestamp,
) -> Result<Vec<Flow>, Failure> {
    at_most(list.len(), MAX_TIMES, field)?;
    let mut flows = Vec::new();
    for (at, item) in list.iter().enumerate() {
        let (time, speed, toward) = parts(item);
        let at = at.to_string();
        not_negative([field, &at, "speed"], speed)?;
        if speed > MAX_SPEED {
            return Err(Failure::invalid(&[field, &at, "speed"], format!("must be at most {MAX_SPEED} m/s")));
        }
        let angle = toward.rem_euclid(360.0).to_radians();
        let seconds = begin.duration_until(time).as_secs_f64();
        flows.push(Flow { at: seconds, east: speed * libm::sin(angle), north: speed * libm::cos(angle) });
    }
    flows.sort_by(|a, b| a.at.total_cmp(&b.at));
    if let Some(pair) = flows.windows(2).find(|pair| matches!(pair, [a, b] if a.at == b.at)) {
        let second = pair.first().map_or(0.0, |flow| flow.at);
        return Err(Failure::invalid(&[field], format!("has two values for the time {second} s after the begin")));
    }
    Ok(flows)
}

/// Interpolates between the values around a time; beyond the ends they stay.
fn at_time(flows: &[Flow], at: f64) -> Flow {
    let none = Flow { at, east: 0.0, north: 0.0 };
    let next = flows.partition_point(|flow| flow.at <= at);
    match (next.checked_sub(1).and_then(|before| flows.get(before)), flows.get(next)) {
        (Some(a), Some(b)) => {
            let share = (at - a.at) / (b.at - a.at);
            Flow { at, east: a.east + (b.east - a.east) * share, north: a.north + (b.north - a.north) * share }
        }
        (Some(only), None) | (None, Some(only)) => *only,
        (None, None) => none,
    }
}

/// The three kinds of leeway of an object: downwind, to the right, to the left.
fn leeway(object: Object) -> Option<[Leeway; 3]> {
    let line = TABLE.lines().find(|line| line.split(',').next() == Some(object.word()))?;
    let numbers: Vec<f64> = line.split(',').skip(2).filter_map(|number| number.parse().ok()).collect();
    let kind = |at: usize| match numbers.get(3 * at..3 * at + 3)? {
        // Per cent, and centimetres in a second.
        [slope, offset, error] => Some(Leeway { slope: slope / 100.0, offset: offset / 100.0, error: error / 100.0 }),
        _ => None,
    };
    Some([kind(0)?, kind(1)?, kind(2)?])
}

/// Particles around the last known position; every other one drifts to the left of the wind.
fn seeded(input: &Input) -> Result<Vec<Particle>, Failure> {
    let [down, right, left] =
        leeway(input.object).ok_or_else(|| Failure::internal("the table of leeway has no such object"))?;
    let mut sampler = Sampler::new(input.seed);
    let spread = input.position_error_km * 1_000.0 / HALF;
    let (meridian, parallel) = radii(input.last_known.lat);
    let cloud = (0..input.particles).map(|at| {
        let cross = if at % 2 == 0 { right } else { left };
        let (north, east) = (sampler.normal() * spread, sampler.normal() * spread);
        let mut down_error = sampler.normal() * down.error;
        // Nothing drifts against the wind for ever (Breivik and Allen 2008, section 3).
        for _ in 0..100 {
            if down.slope + down_error / 20.0 >= 0.0 {
                break;
            }
            down_error = sampler.normal() * down.error;
        }
        Particle {
            lat: input.last_known.lat + (north / meridian).to_degrees(),
            east: (east / parallel).to_degrees(),
            down,
            cross,
            down_error,
            cross_error: sampler.normal() * cross.error,
        }
    });
    Ok(cloud.collect())
}

/// Radii of the ellipsoid along the meridian and along the parallel, in metres.
fn radii(lat: f64) -> (f64, f64) {
    let sine = libm::sin(lat.to_radians());
    let root = 1.0 - ECCENTRICITY_SQUARED * sine * sine;
    let meridian = SEMI_MAJOR * (1.0 - ECCENTRICITY_SQUARED) / (root * root.sqrt());
    (meridian, SEMI_MAJOR / root.sqrt() * libm::cos(lat.to_radians()))
}

impl Particle {
    /// Allen's regression with the particle's own deviation: of the slope a twentieth for each m/s of wind, of the offset a
    /// half, so that at 10 m/s the deviation is that of the experiments.
    fn drift(&mut self, wind: Flow, current: Flow, dt: f64) {
        let speed = libm::hypot(wind.east, wind.north);
        let calm = (speed / CALM).min(1.0);
        let leeway = |of: Leeway, error: f64| (of.slope + error / 20.0) * speed + (of.offset + error / 2.0) * calm;
        let (down, cross) = (leeway(self.down, self.down_error), leeway(self.cross, self.cross_error));
        let (east, north) = if speed > 0.0 { (wind.east / speed, wind.north / speed) } else { (0.0, 0.0) };
        // Right of the wind is clockwise.
        let (east, north) = (down * east + cross * north, down * north - cross * east);
        let (meridian, parallel) = radii(self.lat);
        self.lat += ((north + current.north) * dt / meridian).to_degrees();
        self.east += ((east + current.east) * dt / parallel).to_degrees();
    }
}

fn mean_of<'a>(origin: &LatLon, cloud: impl Iterator<Item = &'a Particle> + Clone) -> LatLon {
    let count = cloud.clone().count().max(1) as f64;
    let lat = cloud.clone().map(|particle| particle.lat).sum::<f64>() / count;
    let east = cloud.map(|particle| particle.east).sum::<f64>() / count;
    LatLon { lat, lon: wrap_longitude(origin.lon + east) }
}

fn output(input: &Input, cloud: &[Particle], track: Vec<LatLon>, cx: &Context) -> Result<Output, Failure> {
    let origin = &input.last_known;
    let mean = mean_of(origin, cloud.iter());
    let centre = earth::LatLon::new(mean.lat, mean.lon);
    let distances: Vec<f64> = cloud
        .iter()
        .map(|particle| {
            let place = earth::LatLon::new(particle.lat, wrap_longitude(origin.lon + particle.east));
            inverse(centre, place).distance / 1_000.0
        })
        .collect();
    let sorted = summary::sorted(&distances);
    let (radius_50, radius_95) = (summary::quantile_sorted(&sorted, 0.5), summary::quantile_sorted(&sorted, 0.95));
    let near = cloud.iter().zip(&distances).filter(|(_, distance)| **distance <= radius_95 + 1e-9);
    let hull = hull(near.map(|(particle, _)| [particle.east, particle.lat]).collect());
    let ring: Vec<Value> = hull.iter().map(|[east, lat]| json!([wrap_longitude(origin.lon + east), lat])).collect();
    if hull.iter().any(|[east, _]| (origin.lon + east).abs() > 180.0) {
        cx.warn("antimeridian: the area crosses 180 degrees of longitude");
    }
    let area = match (ring.first(), ring.len()) {
        (Some(first), 3..) => {
            let closed: Vec<Value> = ring.iter().chain([first]).cloned().collect();
            json!({ "type": "Polygon", "coordinates": [closed] })
        }
        (Some(first), _) => json!({ "type": "Point", "coordinates": first }),
        (None, _) => json!({ "type": "Point", "coordinates": [mean.lon, mean.lat] }),
    };
    Ok(Output {
        left: mean_of(origin, cloud.iter().skip(1).step_by(2)),
        right: mean_of(origin, cloud.iter().step_by(2)),
        mean,
        radius_50_km: radius_50,
        radius_95_km: radius_95,
        track,
        area,
    })
}

/// The convex hull, counterclockwise (Andrew 1979).
fn hull(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.sort_by(|[ax, ay], [bx, by]| ax.total_cmp(bx).then(ay.total_cmp(by)));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let half = |points: &mut dyn Iterator<Item = &[f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for [x, y] in points {
            while let [.., [ax, ay], [bx, by]] = chain.as_slice() {
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push([*x, *y]);
        }
        chain.pop();
        chain
    };
    let mut hull = half(&mut points.iter());
    hull.extend(half(&mut points.iter().rev()));
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_has_its_leeway() {
        for (object, word) in Object::ALL {
            assert!(leeway(*object).is_some(), "{word}");
        }
    }

    /// 10 m/s from the west, the mean of many: 0.96 % downwind, and 0.54 % to either side, which is north for the left.
    #[test]
    fn the_mean_drift_is_that_of_the_table() {
        let input = json!({
            "last_known": { "lat": 0, "lon": 0 }, "time": "2026-01-01T00:00:00Z", "target_time": "2026-01-01T10:00:00Z",
            "wind": [{ "time": "2026-01-01T00:00:00Z", "speed": 10, "from": 270 }], "position_error": 0, "particles": 20000,
        });
        let output = crate::FAMILY.run(76, input, &Context::default()).unwrap();
        let (left, right) = (&output["left"], &output["right"]);
        let metre = 1.0 / 110_574.0;
        // The standard error of 9.4 cm/s of 10,000 particles is 1 mm/s, in ten hours 34 m.
        assert!((left["lat"].as_f64().unwrap() - 0.054 * 36_000.0 * metre).abs() < 140.0 * metre, "{left}");
        assert!((right["lat"].as_f64().unwrap() + 0.054 * 36_000.0 * metre).abs() < 140.0 * metre, "{right}");
    }

    /// The cloud follows wind and current only: elsewhere on the parallel it is the same, and half of it is within the
    /// smaller circle.
    #[test]
    fn the_cloud_is_the_same_on_every_meridian() {
        let at = |lon: f64| {
            let input = json!({
                "last_known": { "lat": 55, "lon": lon }, "time": "2026-01-01T00:00:00Z", "target_time": "2026-01-01T12:00:00Z",
                "wind": [{ "time": "2026-01-01T00:00:00Z", "speed": 12, "from": 300 }], "object": "life-raft-no-ballast",
            });
            crate::FAMILY.run(76, input, &Context::default()).unwrap()
        };
        let (here, there) = (at(3.0), at(-178.0));
        let number = |output: &Value, name: &str| output[name].as_f64().unwrap();
        assert!(number(&here, "radius_50") < number(&here, "radius_95"));
        assert!((number(&here, "radius_95") - number(&there, "radius_95")).abs() < 1e-6);
        let east = |output: &Value, from: f64| wrap_longitude(output["mean"]["lon"].as_f64().unwrap() - from);
        assert!((east(&here, 3.0) - east(&there, -178.0)).abs() < 1e-9);
        // From 300 degrees the wind blows to the east and south.
        assert!(east(&here, 3.0) > 0.0 && here["mean"]["lat"].as_f64().unwrap() < 55.0);
    }
}
