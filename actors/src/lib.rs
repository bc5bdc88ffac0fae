//! The supervised actors of the house and their pure state machines.
//!
//! Knows no HTTP server, no environment, no settings file: actors get typed options, typed requests, and the time.

pub mod agent;
pub mod alert;
pub mod audit;
pub mod clock;
pub mod device;
pub mod engine;
pub mod error;
pub mod feed;
pub mod firmware;
pub mod geofence;
pub mod health;
pub mod idempotency;
pub mod identity;
pub mod ids;
pub mod incident;
mod journal;
pub mod keys;
pub mod ledger;
pub mod limits;
pub mod memory;
pub mod page;
pub mod precondition;
pub mod provider;
pub mod supervise;
pub mod task;
pub mod upkeep;
#[cfg(test)]
pub(crate) mod world;

pub use clock::{Clock, Millis};
pub use error::{Error, FieldError, Kind};
