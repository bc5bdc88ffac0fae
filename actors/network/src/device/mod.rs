//! Devices of the network: their records, health, commands and trust.
//!
//! One actor owns the records. It publishes a read-only view of the credentials ([`DeviceDirectory`]), so that
//! authentication needs no message to the actor. A change is published once it is durable. Heartbeats and readings that
//! change nothing else are applied at once and stored within a minute.

mod actions;
mod actor;
mod command;
mod command_changes;
mod credential_changes;
mod credentials;
mod deadline;
mod directory;
mod drift;
mod due;
mod entry;
mod flap;
mod health;
mod heartbeat;
mod history;
mod messages;
mod options;
mod pending;
mod ports;
mod queries;
mod record;
mod register;
mod requests;
mod service;
mod snapshot;
mod state;
mod status;
mod telemetry;
#[cfg(test)]
mod tests;
mod transaction;
mod trust;

pub use actions::{DeviceAction, Rotated};

pub use command::{Command, CommandOutcome, CommandState};
pub use command_changes::{NewCommand, QueuedCommand};
pub use directory::{AuthenticatedDevice, DeviceDirectory};
pub use entry::Heartbeat;
pub use health::{HealthRules, ReportedErrorPolicy};
pub use heartbeat::HeartbeatResponse;
pub use history::HistoryEntry;
pub use options::DeviceRules;
pub use ports::{DeviceFilter, DeviceSelection, FirmwareStateUpdate, FirmwareView, ReceivedHeartbeat, RolloutTarget};
pub use record::{Credentials, Device, DeviceKind, Firmware, FirmwareSync, FirmwareVersion, Health, Slot, Status};
pub use register::{Description, DevicePatch, NewDevice, Registered};
pub use service::{DeviceOptions, Devices};

pub use telemetry::{Reading, Telemetry};
