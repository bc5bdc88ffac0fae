//! Checks that several engines of this family make, and positions of the wire.

use muster_engine::prelude::*;
use muster_kernel_earth as earth;

/// Refuses more of something than an engine takes.
pub(crate) fn at_most(count: usize, most: usize, what: &str) -> Result<(), Failure> {
    if count > most {
        return Err(Failure::too_large(format!("at most {most} {what} are taken, and there are {count}")));
    }
    Ok(())
}

/// Checks a position that is written as two members, and returns it.
pub(crate) fn position(loc: &[&str], lat: f64, lon: f64) -> Result<earth::LatLon, Failure> {
    let within = |value: f64, limit: f64, name: &str| {
        if value.abs() <= limit {
            return Ok(());
        }
        let loc: Vec<&str> = loc.iter().copied().chain([name]).collect();
        Err(Failure::invalid(&loc, format!("must be between -{limit} and {limit}")))
    };
    within(lat, 90.0, "lat")?;
    within(lon, 180.0, "lon")?;
    Ok(earth::LatLon::new(lat, lon))
}

/// Returns the position in the kernel's type.
pub(crate) fn of_wire(position: LatLon) -> earth::LatLon {
    earth::LatLon::new(position.lat, position.lon)
}

/// Returns the position in the type of the wire.
pub(crate) fn to_wire(position: earth::LatLon) -> LatLon {
    LatLon { lat: position.lat, lon: position.lon }
}
