//! The foundation of every actor: the supervision tree, the durable journal, the clock, identifiers, error kinds,
//! principals and permissions, feed events, paging, idempotency and audit entries.
//!
//! This crate has no HTTP server and reads neither the environment nor settings files: actors receive typed options,
//! typed requests and the time.

#![warn(missing_docs)]

pub mod audit;
pub mod clock;
pub mod error;
pub mod event;
pub mod guard;
pub mod health;
pub mod idempotency;
pub mod ids;
pub mod journal;
pub mod page;
pub mod precondition;
pub mod principal;
pub mod supervise;
#[cfg(any(test, feature = "test-world"))]
pub mod test_world;
pub mod upkeep;

pub use clock::{Clock, Millis};
pub use error::{Error, FieldError, Kind};
