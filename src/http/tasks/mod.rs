//! Tasks: their state, their events and their control.

mod body;
mod bulk;
mod control;
mod events;
mod filter;
mod read;
mod stream;

use crate::route::operations;

operations! {
    read::list,
    bulk::control,
    read::get,
    events::events,
    control::pause,
    control::resume,
    control::kill,
    control::redirect,
}
