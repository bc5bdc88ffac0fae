//! The disaster network: devices, incidents and the alerts issued for them, geofences, and firmware rollouts.

#[warn(missing_docs)]
pub mod alert;
#[warn(missing_docs)]
pub mod device;
pub mod firmware;
#[warn(missing_docs)]
pub mod geofence;
#[warn(missing_docs)]
pub mod incident;
mod journal;
