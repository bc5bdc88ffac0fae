//! The disaster network: devices, incidents and the alerts issued for them, geofences, and firmware rollouts.

pub mod alert;
#[warn(missing_docs)]
pub mod device;
pub mod firmware;
#[warn(missing_docs)]
pub mod geofence;
pub mod incident;
mod journal;
