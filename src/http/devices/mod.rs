//! Devices, as people see them, and what each says of itself.

mod body;
mod deeds;
mod life;
mod places;
mod record;
mod registry;

use crate::route::operations;

// Paths with a word in the place of an identifier come first.
operations! {
    places::near,
    places::within,
    registry::list,
    registry::create,
    registry::get,
    registry::patch,
    registry::retire,
    life::heartbeat,
    life::telemetry,
    life::measured,
    life::history,
    deeds::commands,
    deeds::command,
    deeds::quarantine,
    deeds::release,
    deeds::maintenance,
    deeds::rotate,
}
