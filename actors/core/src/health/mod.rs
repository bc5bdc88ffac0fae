//! Health: every module is probed on its own clock; readers only see the last results, so that asking for health
//! cannot load the server.

mod actor;
mod probe;
mod state;

pub use actor::{Health, HealthActor};
pub use probe::{Probe, Verdict};
pub use state::{HealthReport, ModuleHealth, ModuleStatus, OverallStatus};
