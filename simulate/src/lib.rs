//! Simulated devices: a fleet that drives a server over HTTP and WebSockets, with configurable faults.
//!
//! A device is a pure state machine (`state.rs`) that decides what to do next, and four loops that do it: heartbeats,
//! telemetry, firmware jobs and commands. The crate knows a server only by its public API.

#![warn(missing_docs)]

mod api;
mod check;
mod commands;
mod device;
mod download;
mod faults;
mod feed;
mod fleet;
mod heartbeats;
mod job;
mod profile;
mod random;
mod register;
mod retry;
mod state;
mod state_file;
mod summary;
#[cfg(test)]
mod tests;
mod work;

pub use api::{Operator, SimulateError};
pub use faults::{Fault, Faults};
pub use fleet::{DeviceView, Fleet, Options};
pub use job::Version;
pub use profile::{CommandChannel, PROFILE_NAMES, Profile, ProfileError, Shares, Stretch};
pub use state::{Install, Power, Slot};
pub use state_file::StoredDevice;
pub use summary::{Summary, Totals};
