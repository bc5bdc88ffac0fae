//! q10: coordinate reference system transform.

use muster_engine::prelude::*;
use proj4rs::Proj;

use crate::bounds::at_most;

const MAX_POINTS: usize = 50_000;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    points: Vec<Vec<f64>>,
    from_epsg: i64,
    to_epsg: i64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    points: Vec<Vec<f64>>,
    unit: &'static str,
    from_name: String,
    to_name: String,
}

/// A reference system.
struct System {
    name: String,
    definition: &'static str,
    projection: Proj,
}

/// Transforms points, x (or longitude) first. Angles are in degrees.
///
/// # Errors
/// An unknown or unsupported system, a point without two numbers, a point outside of what a projection can show.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.points.len(), MAX_POINTS, "points")?;
    let (from, to) = (system("from_epsg", input.from_epsg)?, system("to_epsg", input.to_epsg)?);
    accuracy(&from, &to, cx);
    let mut points = Vec::with_capacity(input.points.len());
    for (index, point) in input.points.iter().enumerate() {
        points.push(
            transform(&from, &to, point)
                .map_err(|message| Failure::invalid(&["points", &index.to_string()], message))?,
        );
    }
    let unit = if to.projection.is_latlong() { "degree" } else { unit(&to.projection) };
    Ok(Output { points, unit, from_name: from.name, to_name: to.name })
}

fn system(field: &str, code: i64) -> Result<System, Failure> {
    let unknown = || Failure::invalid(&[field], format!("EPSG:{code} is not among the systems that are known here"));
    let definition = u16::try_from(code).ok().and_then(crs_definitions::from_code).ok_or_else(unknown)?;
    let unsupported = |error| Failure::invalid(&[field], format!("EPSG:{code} is not supported: {error}"));
    let projection = Proj::from_proj_string(definition.proj4).map_err(unsupported)?;
    if projection.is_geocent() {
        return Err(Failure::invalid(&[field], format!("EPSG:{code} is geocentric, which has no plane")));
    }
    // The name is the first quoted text.
    let name = definition.wkt.split('"').nth(1).unwrap_or_default().to_owned();
    Ok(System { name, definition: definition.proj4, projection })
}

/// Warns where the definitions leave the datum shift out.
fn accuracy(from: &System, to: &System, cx: &Context) {
    let part = |system: &System, name: &str| {
        system.definition.split_whitespace().find(|part| part.starts_with(name)).map(str::to_owned)
    };
    let datum = |system: &System| {
        part(system, "+datum=").or_else(|| part(system, "+towgs84=")).or_else(|| part(system, "+ellps="))
    };
    if datum(from) == datum(to) {
        return;
    }
    for system in [from, to] {
        if system.definition.contains("+nadgrids=") && !system.definition.contains("@null") {
            cx.warn(format!(
                "accuracy: {} needs a grid of shifts, which is not shipped: results may be off by metres",
                system.name
            ));
        } else if part(system, "+datum=").is_none() && part(system, "+towgs84=").is_none() {
            cx.warn(format!(
                "accuracy: the definition of {} has no shift to WGS 84; its datum is taken as equal",
                system.name
            ));
        } else if part(system, "+towgs84=")
            .is_some_and(|shift| shift.split([',', '=']).skip(1).any(|number| number != "0"))
        {
            cx.warn(format!("accuracy: the shift of {} to WGS 84 is a formula: about 1 to 5 m", system.name));
        }
    }
}

fn transform(from: &System, to: &System, point: &[f64]) -> Result<Vec<f64>, String> {
    let (x, y, z) = match *point {
        [x, y] => (x, y, 0.0),
        [x, y, z] => (x, y, z),
        _ => return Err("must have two numbers, or three with a height".to_owned()),
    };
    let latlong = from.projection.is_latlong();
    if latlong && (x.abs() > 360.0 || y.abs() > 90.0) {
        return Err("must be longitude, then latitude between -90 and 90".to_owned());
    }
    let mut at = if latlong { (x.to_radians(), y.to_radians(), z) } else { (x, y, z) };
    proj4rs::transform::transform(&from.projection, &to.projection, &mut at)
        .map_err(|error| format!("cannot be transformed: {error}"))?;
    if !(at.0.is_finite() && at.1.is_finite()) {
        return Err("cannot be transformed: it has no place in the projection".to_owned());
    }
    let (x, y) = if to.projection.is_latlong() { (at.0.to_degrees(), at.1.to_degrees()) } else { (at.0, at.1) };
    Ok(match point {
        [_, _, z] => vec![x, y, *z],
        _ => vec![x, y],
    })
}

fn unit(projection: &Proj) -> &'static str {
    match projection.units() {
        "us-ft" => "US survey foot",
        "ft" => "foot",
        "km" => "kilometre",
        _ if projection.to_meter() == 1.0 => "metre",
        other => other,
    }
}
