//! Checks that several engines of this family make.

use muster_engine::prelude::*;
use muster_engine::repeated;
use muster_kernel_earth as earth;

/// Refuses more of something than an engine takes.
pub(crate) fn at_most(count: usize, most: usize, what: &str) -> Result<(), Failure> {
    if count > most {
        return Err(Failure::too_large(format!("at most {most} {what} are taken, and there are {count}")));
    }
    Ok(())
}

/// Refuses an id that occurs twice.
pub(crate) fn distinct<'a>(field: &str, ids: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    match repeated(ids) {
        Some(index) => Err(Failure::invalid(&[field, &index.to_string(), "id"], "occurs twice")),
        None => Ok(()),
    }
}

/// Refuses a member of a list that is negative.
pub(crate) fn not_negative(loc: [&str; 3], value: f64) -> Result<(), Failure> {
    if value < 0.0 { Err(Failure::invalid(&loc, "must not be negative")) } else { Ok(()) }
}

/// Refuses a number that is not positive.
pub(crate) fn positive(loc: &[&str], value: f64) -> Result<(), Failure> {
    if value > 0.0 { Ok(()) } else { Err(Failure::invalid(loc, "must be positive")) }
}

/// Checks a position, which is at `loc` in the input, and returns it.
pub(crate) fn position(loc: &[&str], lat: f64, lon: f64) -> Result<earth::LatLon, Failure> {
    for (name, value, limit) in [("lat", lat, 90.0), ("lon", lon, 180.0)] {
        if value.abs() > limit {
            return Err(Failure::invalid(&[loc, &[name]].concat(), format!("must be between -{limit} and {limit}")));
        }
    }
    Ok(earth::LatLon::new(lat, lon))
}
