//! Devices: what is out there, how it is, what it was asked to do, and whether it is trusted.
//!
//! One actor owns the records. Who is let in by a device's own token is a read-only view that it publishes
//! ([`DeviceDirectory`]), so that authentication costs no hop. A change is published once it is durable; heartbeats and
//! readings that change nothing else are taken over at once and written within a minute.

mod actor;
mod beat;
mod changes;
mod command;
mod deadline;
mod directory;
mod entry;
mod flap;
mod health;
mod history;
mod key;
mod messages;
mod options;
mod orders;
mod pending;
mod ports;
mod read;
mod record;
mod register;
mod requests;
mod service;
mod shift;
mod snapshot;
mod state;
mod status;
mod telemetry;
#[cfg(test)]
mod tests;
mod tick;
mod trust;
mod turn;

pub use actor::DeviceActor;
pub use beat::HeartbeatAnswer;
pub use command::{Answer, Command, CommandState};
pub use directory::{DeviceDirectory, LetIn};
pub use entry::{Report, Vouched};
pub use health::{Errors, HealthRules};
pub use history::{HistoryEntry, MAX_HISTORY};
pub use options::DeviceRules;
pub use orders::{NewCommand, Ordered};
pub use ports::{Beat, DeviceFilter, FirmwareView, Select, SetFirmware, Target};
pub use record::{Credentials, Device, DeviceKind, Firmware, FirmwareVersion, Health, Slot, Status, Sync};
pub use register::{DEFAULT_HEARTBEAT_S, Description, DevicePatch, NewDevice, Registered};
pub use service::{DeviceOptions, Devices};
pub use shift::{Deed, Rotated};
pub use status::Move;
pub use telemetry::{MAX_READINGS, Reading, Telemetry};
