//! Simulated devices: a fleet that drives a server over real HTTP and sockets, with faults.
//!
//! A device is a pure machine (`state.rs`) that says what it does next, and three loops that do it: heartbeats and
//! readings, jobs of firmware, commands. The server is whatever answers at the address: nothing here looks inside.

mod api;
mod beats;
mod check;
mod commands;
mod device;
mod download;
mod faults;
mod feed;
mod fleet;
mod job;
mod keep;
mod profile;
mod random;
mod register;
mod retry;
mod state;
mod summary;
#[cfg(test)]
mod tests;
mod work;

pub use api::{Operator, SimulateError};
pub use faults::{Fault, Faults};
pub use fleet::{Fleet, Options, View};
pub use job::Version;
pub use keep::Kept;
pub use profile::{Hears, NAMES, Profile, ProfileError, Shares, Stretch};
pub use state::{Install, Power, Slot};
pub use summary::{Summary, Totals};
