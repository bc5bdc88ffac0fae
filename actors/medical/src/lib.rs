//! The state of the medical interface: the knowledge base with its checksum and self-tests, and the minutes in which it
//! was available. Nothing clinical is kept here.

#![warn(missing_docs)]

mod knowledge;
mod latency;
mod uptime;

pub use knowledge::{Defect, Knowledge};
pub use latency::{Latencies, LatencySummary};
pub use uptime::{Availability, Uptime, UptimeOptions};
