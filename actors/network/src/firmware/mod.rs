//! Firmware: signed images, and their rollout to devices in groups.
//!
//! An artifact is announced, uploaded in pieces, verified against a manifest that a trusted key has signed, and then
//! ready for jobs. A job goes through approval and groups; each of its devices has an execution of its own, which the
//! device reports on and time bounds. `rollout/` is the pure machine of both; the actor stores what changes in one batch
//! with the events that tell of it.

mod actor;
mod artifact;
mod devices;
mod execution;
mod export;
mod forward;
mod image;
mod job;
mod messages;
mod policy;
mod record;
mod requests;
mod rollout;
mod schedule;
mod service;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod threat;
mod turn;

pub use artifact::{Artifact, ArtifactState, FORMATS, KeyTrust, Manifest, SigningKey};
pub use execution::{ExecError, ExecState, Execution};
pub use export::{Dialect, export};
pub use image::{BLOCK, Images, Piece};
pub use job::{
    Act, After, Approval, Decision, GroupRun, GroupState, Image, Job, JobKind, JobState, JobTarget, TargetQuery,
};
pub use messages::View;
pub use policy::{
    AbortOn, AbortRule, GateRule, GroupPolicy, HealthGate, Mode, OnError, OnSuccess, Policy, Probe, Rate, Window,
};
pub use record::lacking;
pub use rollout::{Fit, Report, Rollout, Tally, fit};
pub use service::{Content, Firmwares, Options, Page};
pub use state::{DeviceJob, MANIFEST_TYP, NewArtifact, NewJob, Rules};
pub use threat::Threat;
