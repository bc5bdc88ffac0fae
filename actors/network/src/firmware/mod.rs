//! Firmware: signed images and their rollout to devices in groups.
//!
//! An artifact is announced, uploaded in pieces and verified against a manifest that a trusted key has signed; then
//! jobs can roll it out. A job passes approval and groups. Each of its devices has an execution, which the device
//! reports on and which is bounded in time. `rollout/` is the pure state machine of both; the actor stores changes and
//! their events in one batch.

mod actor;
mod artifact;
mod artifact_service;
mod device_selection;
mod device_updates;
mod execution;
mod export;
mod handlers;
mod image;
mod job;
mod job_service;
mod messages;
mod pacing;
mod policy;
mod record;
mod rollout;
mod service;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod threat;
mod transaction;

pub use artifact::{Artifact, ArtifactState, Manifest, SigningKey};
pub use artifact_service::ImageContent;
pub use execution::{ExecError, ExecFailure, ExecState, Execution};
pub use export::{Dialect, export};
pub use image::UploadPiece;
pub use job::{Job, JobAction, JobKind, JobState, JobTarget, TargetQuery};
pub use messages::CreateResponse;
pub use policy::{
    AbortOn, AbortRule, GateRule, GroupPolicy, HealthGate, Mode, OnError, OnSuccess, Policy, Probe, Rate, Window,
};
pub use record::missing_images;
pub use rollout::ExecutionReport;
pub use service::{FirmwareOptions, Firmwares, Page};
pub use state::{DeviceArtifact, DeviceJob, FirmwareRules, MANIFEST_TYP, NewArtifact, NewJob, is_public_key};
