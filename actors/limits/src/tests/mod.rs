//! What the limits promise, tried from outside.

mod crashes;
mod failures;
mod log;
mod records;
mod reservations;
mod shards;
mod support;
