//! The guarantees of the limits, tested through the public interface.

mod allowances;
mod crashes;
mod failures;
mod log;
mod records;
mod reservations;
mod shards;
mod support;
