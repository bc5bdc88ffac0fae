//! The disaster network: devices, incidents and the alerts issued for them, geofences, and firmware rollouts.

#![warn(missing_docs)]

pub mod alert;
pub mod device;
pub mod firmware;
pub mod geofence;
pub mod incident;
mod journal;
pub mod shapes;
