//! Health: every module is probed at its own interval; readers only see the last results, so requesting health cannot
//! load the server.

mod actor;
mod probe;
mod state;

pub use actor::{Health, HealthActor};
pub use probe::{Probe, ProbeResult};
pub use state::{HealthReport, ModuleHealth, ModuleStatus, OverallStatus};
