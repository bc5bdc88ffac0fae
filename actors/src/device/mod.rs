//! Devices: what is out there, how it is, what it was asked to do, and whether it is trusted.

mod ports;
mod record;

pub use ports::{Beat, DeviceFilter, FirmwareView, Select, SetFirmware, Target, Watcher};
pub use record::{Credentials, Device, DeviceKind, Firmware, FirmwareVersion, Health, Place, Slot, Status, Sync};
