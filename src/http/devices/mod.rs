//! Devices: the registry, operations on them, and their reports.

mod body;
mod commands;
mod heartbeat;
mod places;
mod record;
mod registry;

use crate::route::operations;

// Paths with a fixed segment in the place of an identifier come first.
operations! {
    places::near,
    places::within,
    registry::list,
    registry::create,
    registry::get,
    registry::patch,
    registry::retire,
    heartbeat::heartbeat,
    heartbeat::telemetry,
    heartbeat::measured,
    heartbeat::history,
    commands::commands,
    commands::command,
    commands::quarantine,
    commands::release,
    commands::maintenance,
    commands::retire,
    commands::rotate,
}
