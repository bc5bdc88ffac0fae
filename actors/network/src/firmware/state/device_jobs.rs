//! Jobs as devices see them, apart from their planning: what a device is to do, its reports, and which devices are
//! notified next.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::FirmwareState;
use crate::device::{FirmwareVersion, RolloutTarget};
use crate::firmware::artifact::Manifest;
use crate::firmware::execution::{ExecState, Execution};
use crate::firmware::job::{Job, JobKind};
use crate::firmware::policy::Mode;
use crate::firmware::rollout::{ExecutionReport, GateHeartbeat, Rollout};
use crate::firmware::threat::Threat;
use crate::firmware::transaction::FirmwareTransaction;
use muster_core::{Error, Kind, Millis};

/// A job as its device sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceJob {
    /// Identifier of the job, for reports.
    pub id: Arc<str>,
    /// Kind of the job.
    pub kind: JobKind,
    /// Action: `install`, `configure`, `reboot` or `rollback`.
    pub action: &'static str,
    /// How to install the image.
    pub mode: Mode,
    /// State of the execution.
    pub state: ExecState,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Version of the execution, for reports.
    pub exec_version: u64,
    /// Version that the device should run afterwards; `None` if it stays.
    pub to: Option<FirmwareVersion>,
    /// Whether a lower sequence is allowed: for a rollback to the previous version, or a downgrade.
    pub allow_downgrade: bool,
    /// Artifact to be downloaded, with its signed manifest.
    pub artifact: Option<DeviceArtifact>,
    /// Time at which the execution times out.
    pub deadline: Option<Millis>,
}

/// An artifact as its device sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceArtifact {
    /// Identifier, `art_…`.
    pub id: String,
    /// Path of the image.
    pub content_url: String,
    /// Media type of the image.
    pub content_type: String,
    /// Manifest.
    #[serde(flatten)]
    pub manifest: Manifest,
    /// Signed manifest, to be verified by the device.
    pub manifest_jws: Option<String>,
}

impl FirmwareState {
    /// # Errors
    /// See [`Rollout::report`].
    pub fn report(
        &mut self,
        device: &str,
        job: &str,
        report: ExecutionReport,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<DeviceJob, Error> {
        let none = || Error::new(Kind::NotFound, "this device has no such job");
        self.with(job, transaction, now, |rollout, _| rollout.report(device, report, now)).ok_or_else(none)??;
        let rollout = self.jobs.get(job).ok_or_else(none)?;
        let execution = rollout.execution(device).ok_or_else(none)?;
        Ok(self.device_job(rollout, execution))
    }

    /// Applies a heartbeat of a device.
    pub fn heartbeat(&mut self, heartbeat: &GateHeartbeat<'_>, transaction: &mut FirmwareTransaction, now: Millis) {
        if let Some(id) = self.busy.get(heartbeat.device).cloned() {
            self.with(&id, transaction, now, |rollout, _| rollout.heartbeat(heartbeat, now));
        }
    }

    /// Returns the current job of a device.
    pub fn next(&self, device: &str) -> Option<DeviceJob> {
        let rollout = self.job_in_hand(device)?;
        rollout.execution(device).map(|execution| self.device_job(rollout, execution))
    }

    fn device_job(&self, rollout: &Rollout, execution: &Execution) -> DeviceJob {
        let job = &rollout.job;
        let back = execution.state == ExecState::RollingBack;
        let to = if back { &execution.from } else { &execution.to };
        let wanted = if back { to.as_ref().and_then(|to| to.artifact.clone()) } else { job.artifact_id.clone() };
        let artifact = wanted.and_then(|id| self.artifacts.get(&id)).map(|artifact| DeviceArtifact {
            id: artifact.id.clone(),
            content_url: format!("/api/v1/firmware/artifacts/{}/content", artifact.id),
            content_type: artifact.content_type.clone(),
            manifest: artifact.manifest.clone(),
            manifest_jws: artifact.signature.clone(),
        });
        DeviceJob {
            id: Arc::clone(&job.id),
            kind: job.kind,
            action: match job.kind {
                _ if back => "rollback",
                JobKind::Update | JobKind::Downgrade => "install",
                JobKind::Config => "configure",
                JobKind::Reboot => "reboot",
            },
            mode: job.policy.mode,
            state: execution.state,
            attempt: execution.attempt,
            exec_version: execution.exec_version,
            to: to.clone(),
            allow_downgrade: back || job.kind == JobKind::Downgrade,
            artifact,
            deadline: execution.deadline,
        }
    }

    /// Returns whether a device may download an artifact: it belongs to its current job.
    pub fn may_fetch(&self, device: &str, artifact: &str) -> bool {
        self.next(device).and_then(|job| job.artifact).is_some_and(|wanted| wanted.id == artifact)
    }

    /// Returns the devices that may be notified now, by job; at most `most` in all.
    pub fn candidates(&mut self, most: usize, now: Millis) -> Vec<(Arc<str>, Vec<Arc<str>>)> {
        let (mut left, mut all, mut taken) = (most, Vec::new(), BTreeSet::new());
        for id in self.active_jobs() {
            let busy = &self.busy;
            let free = |device: &str| !busy.contains_key(device) && !taken.contains(device);
            let Some(rollout) = self.jobs.get_mut(&id) else { continue };
            let devices = rollout.candidates(now, left, &free);
            left -= devices.len();
            taken.extend(devices.iter().map(|device| device.to_string()));
            if !devices.is_empty() {
                all.push((id, devices));
            }
        }
        all
    }

    /// Notifies the selected devices, given their current records.
    pub fn notify_devices(
        &mut self,
        id: &str,
        selected: &[Arc<str>],
        found: &[RolloutTarget],
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) {
        let artifact = self.jobs.get(id).and_then(|rollout| rollout.job.artifact_id.clone());
        if let Some(error) = artifact.as_ref().and_then(|artifact| self.deployable(artifact, now).err()) {
            let why = format!("{}: {}", error.code.unwrap_or("artifact"), error.message);
            self.with(id, transaction, now, |rollout, _| rollout.withdraw(&why, now));
            return;
        }
        let manifest = artifact.and_then(|id| self.artifacts.get(&id)).map(|artifact| artifact.manifest.clone());
        if self.jobs.get(id).is_some_and(|rollout| !approved(&rollout.job, manifest.as_ref())) {
            let why = format!("{}: the image is not the one that was approved", Threat::ImageReplaced.code());
            self.with(id, transaction, now, |rollout, _| rollout.withdraw(&why, now));
            return;
        }
        let free: Vec<_> = selected.iter().filter(|device| !self.busy.contains_key(*device)).cloned().collect();
        self.with(id, transaction, now, |rollout, _| rollout.notify_devices(&free, found, manifest.as_ref(), now));
    }

    /// Publishes the progress of each job that has made some.
    pub fn progress(&mut self, transaction: &mut FirmwareTransaction, now: Millis) {
        for id in self.active_jobs() {
            self.with(&id, transaction, now, |rollout, _| rollout.publish_progress(now));
        }
    }
}

/// Returns whether every approval was for the image that is rolled out.
fn approved(job: &Job, manifest: Option<&Manifest>) -> bool {
    let hash = manifest.map(|manifest| manifest.sha256.as_str());
    job.approvals.iter().all(|approval| approval.sha256.as_deref() == hash)
        && job.image.as_ref().map(|image| image.sha256.as_str()) == hash
}
