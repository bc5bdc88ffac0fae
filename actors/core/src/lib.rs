//! What every actor of the server is built from: the supervision tree, the durable journal, the clock, identifiers,
//! error kinds, principals' permissions, feed events, paging, idempotency and the audit entry.
//!
//! Knows no HTTP server, no environment and no settings file: actors get typed options, typed requests and the time.

pub mod audit;
pub mod clock;
pub mod error;
pub mod event;
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
