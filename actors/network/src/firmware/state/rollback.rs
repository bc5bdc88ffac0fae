//! Rollbacks: of a finished job, and of one device. Apart from the jobs because neither begins with a plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{FirmwareState, NewJob};
use crate::device::{FirmwareVersion, RolloutTarget};
use crate::firmware::artifact::{Artifact, ArtifactState};
use crate::firmware::job::{JobKind, JobTarget};
use crate::firmware::policy::Policy;
use muster_core::{Error, Kind, Millis};

impl FirmwareState {
    /// Checks that a finished job can be rolled back: some device still runs its firmware, and what they all ran before
    /// may be installed.
    pub(super) fn check_rollback(&self, id: &str, now: Millis) -> Result<(), Error> {
        let rollout = self.job(id)?;
        if rollout.job.rollback.is_none() && !rollout.is_settled() {
            let message = "devices of this job are still finishing: roll it back once they are done";
            return Err(Error::new(Kind::Conflict, message).coded("job_not_settled"));
        }
        let mut previous = BTreeSet::new();
        let mut found = false;
        for execution in rollout.revertible().filter(|execution| !self.is_superseded(&execution.device_id, id)) {
            found = true;
            previous.extend(execution.from.as_ref().and_then(|from| from.artifact.as_deref()));
        }
        if !found {
            let message = "no device of this job runs its firmware any more: nothing can be rolled back";
            return Err(Error::new(Kind::Conflict, message).coded("nothing_to_roll_back"));
        }
        previous.into_iter().try_for_each(|artifact| self.deployable(artifact, now).map(drop))
    }

    /// Returns whether a later job has changed the firmware of a device.
    pub(super) fn is_superseded(&self, device: &str, job: &str) -> bool {
        let later = self.jobs_of(device).take_while(|rollout| *rollout.job.id != *job);
        later.filter(|rollout| rollout.job.kind.changes_firmware()).any(|rollout| {
            rollout.execution(device).is_some_and(|execution| execution.touched() || execution.state.is_active())
        })
    }

    /// Finds the verified image of a version that a device of this hardware class ran.
    fn image_of(&self, version: &FirmwareVersion, hw_class: Option<&str>) -> Option<&Artifact> {
        if let Some(artifact) = version.artifact.as_ref().and_then(|id| self.artifacts.get(id)) {
            return Some(artifact);
        }
        self.artifacts.values().rev().find(|artifact| {
            artifact.state == ArtifactState::Ready
                && Some(artifact.manifest.hw_class.as_str()) == hw_class
                && artifact.manifest.version == version.version
                && (version.sequence == 0 || version.sequence == artifact.manifest.sequence)
        })
    }

    /// Returns the job that returns one device to its previous firmware, or to that of an artifact. It is a downgrade
    /// like any other: two people approve it, and the image must be verified.
    ///
    /// # Errors
    /// `Conflict` (`no_previous_firmware`) if it is not known or not here what the device ran before; `NotFound` for an
    /// unknown artifact.
    pub fn rollback_of(&self, device: &RolloutTarget, artifact: Option<&str>) -> Result<NewJob, Error> {
        let none = |message: String| Error::new(Kind::Conflict, message).coded("no_previous_firmware");
        let artifact = match (artifact, &device.firmware.previous) {
            (Some(id), _) => self.artifact(id)?,
            (None, Some(previous)) => self.image_of(previous, device.hw_class.as_deref()).ok_or_else(|| {
                none(format!(
                    "the image of version {} is not on this server: upload and verify it, or name an `artifact_id`",
                    previous.version
                ))
            })?,
            (None, None) => {
                return Err(none("it is not known what the device ran before: name an `artifact_id`".to_owned()));
            }
        };
        let runs = device.firmware.current.as_ref().map_or(0, |current| current.sequence);
        let kind = if artifact.manifest.sequence > runs { JobKind::Update } else { JobKind::Downgrade };
        Ok(NewJob {
            name: format!("roll back {} to {}", device.id, artifact.manifest.version),
            artifact_id: Some(artifact.id.clone()),
            kind,
            target: JobTarget::DeviceIds(vec![Arc::clone(&device.id)]),
            policy: Policy::default(),
            start_at: None,
        })
    }
}
