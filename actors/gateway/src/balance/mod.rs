//! Load balancing between the providers of one model: by weight, or by latency.
//!
//! The circuit breakers decide who may be called; the balance decides who of them is called first. Loads are figures in
//! atomic cells that every thread reads and writes, so that a choice costs no message.

mod load;
mod state;

pub(super) use load::{InFlight, LoadTable, RouteLoad};
pub use state::Balance;
pub(super) use state::{LatencyKind, Standing, arranged};

#[cfg(test)]
mod tests;
