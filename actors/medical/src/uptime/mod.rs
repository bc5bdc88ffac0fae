//! How long the interface was available: a durable mark for each minute in which its self-test passed.

mod actor;
mod service;
mod state;

pub use actor::UptimeOptions;
pub use service::Uptime;
pub use state::Availability;
