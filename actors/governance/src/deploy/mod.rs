//! What runs: a record for each start that differs from the one before, and for each reload of the settings.
//!
//! A record is open while its program runs. A clean stop ends it; one that is still open at the next start was killed, and
//! so ended at an unknown time before that start.

mod record;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use record::{Deploy, DeployEnd, Program};
pub use service::{Deploys, MAX_KEPT};
