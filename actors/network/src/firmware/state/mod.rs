//! State of the actor: artifacts, signing keys, jobs with their executions, and the current job of each device. Pure.

pub(super) mod artifacts;
mod device_jobs;
mod jobs;
mod rollback;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub use artifacts::{Hashed, MANIFEST_TYP, NewArtifact, blocks_key, is_public_key, public};
pub use device_jobs::{DeviceArtifact, DeviceJob};
pub use jobs::{JobActionRequest, NewJob, Opening};

use super::artifact::{Artifact, ArtifactState, KeyTrust, SigningKey};
use super::execution::Execution;
use super::job::Job;
use super::rollout::Rollout;
use super::transaction::FirmwareTransaction;
use muster_core::{Error, Kind, Millis};

/// Bounds and rules of firmware.
#[derive(Debug, Clone, PartialEq)]
pub struct FirmwareRules {
    /// Largest image, in bytes.
    pub max_image_bytes: u64,
    /// Largest number of devices of a job.
    pub max_devices: usize,
    /// Number of approvals of a job for which two are not mandatory: 0, 1 or 2.
    pub approvals: u32,
    /// Largest number of unfinished jobs.
    pub max_jobs: usize,
    /// Largest number of artifacts.
    pub max_artifacts: usize,
}

impl Default for FirmwareRules {
    fn default() -> Self {
        Self { max_image_bytes: 512 << 20, max_devices: 10_000, approvals: 1, max_jobs: 200, max_artifacts: 10_000 }
    }
}

/// Stored records.
#[derive(Debug, Default)]
pub struct StoredFirmware {
    pub artifacts: Vec<Artifact>,
    pub keys: Vec<SigningKey>,
    pub jobs: Vec<Job>,
    pub executions: HashMap<Arc<str>, Vec<Execution>>,
}

/// State of firmware.
#[derive(Debug)]
pub struct FirmwareState {
    pub(super) rules: FirmwareRules,
    pub(super) artifacts: BTreeMap<String, Artifact>,
    pub(super) keys: BTreeMap<String, SigningKey>,
    pub(super) jobs: BTreeMap<Arc<str>, Rollout>,
    /// Jobs that may still change.
    active_jobs: BTreeSet<Arc<str>>,
    /// Current job of a device; never two.
    busy: HashMap<Arc<str>, Arc<str>>,
    /// Jobs of a device, oldest first.
    of_device: HashMap<Arc<str>, Vec<Arc<str>>>,
}

impl FirmwareState {
    /// Builds the state from stored records; `trusted` are configured keys. An interrupted verification must be
    /// repeated.
    pub fn new(rules: FirmwareRules, stored: StoredFirmware, trusted: Vec<SigningKey>, now: Millis) -> Self {
        let StoredFirmware { artifacts, keys, jobs, mut executions } = stored;
        let mut state = Self {
            rules,
            artifacts: artifacts.into_iter().map(|artifact| (artifact.id.clone(), artifact)).collect(),
            keys: trusted.into_iter().chain(keys).map(|key| (key.kid.clone(), key)).collect(),
            jobs: BTreeMap::new(),
            active_jobs: BTreeSet::new(),
            busy: HashMap::new(),
            of_device: HashMap::new(),
        };
        for artifact in state.artifacts.values_mut().filter(|artifact| artifact.state == ArtifactState::Verifying) {
            artifact.state = ArtifactState::Uploading;
        }
        let mut jobs = jobs;
        jobs.sort_by(|a, b| a.id.cmp(&b.id));
        for job in jobs {
            let of = executions.remove(&job.id).unwrap_or_default();
            state.insert_rollout(Rollout::new(job, of, now));
        }
        state
    }

    /// Inserts a rollout.
    fn insert_rollout(&mut self, rollout: Rollout) {
        let id = Arc::clone(&rollout.job.id);
        for execution in rollout.executions() {
            self.of_device.entry(Arc::clone(&execution.device_id)).or_default().push(Arc::clone(&id));
        }
        for device in rollout.active_devices() {
            self.busy.insert(Arc::clone(device), Arc::clone(&id));
        }
        if !rollout.is_settled() {
            self.active_jobs.insert(Arc::clone(&id));
        }
        self.jobs.insert(id, rollout);
    }

    /// Runs `with` on a rollout and adds its changes to the transaction.
    fn with<R>(
        &mut self,
        id: &str,
        transaction: &mut FirmwareTransaction,
        now: Millis,
        with: impl FnOnce(&mut Rollout, super::rollout::IsFree<'_>) -> R,
    ) -> Option<R> {
        let busy = &self.busy;
        let rollout = self.jobs.get_mut(id)?;
        let free = |device: &str| busy.get(device).is_none_or(|job| &**job == id);
        let answer = with(rollout, &free);
        let before = transaction.events.len();
        transaction.collect(rollout, now);
        if transaction.events.len() > before || rollout.is_settled() {
            self.update_busy_devices(id);
        }
        Some(answer)
    }

    /// Updates the current jobs of the rollout's devices.
    fn update_busy_devices(&mut self, id: &str) {
        let Some(rollout) = self.jobs.get(id) else { return };
        let key = Arc::clone(&rollout.job.id);
        // The rollback of a finished job makes it active again.
        if rollout.is_settled() {
            self.active_jobs.remove(id);
        } else {
            self.active_jobs.insert(Arc::clone(&key));
        }
        for execution in rollout.recent() {
            let Some(execution) = rollout.at(*execution) else { continue };
            if execution.state.is_active() {
                self.busy.insert(Arc::clone(&execution.device_id), Arc::clone(&key));
            } else if self.busy.get(&execution.device_id).is_some_and(|job| **job == *key) {
                self.busy.remove(&execution.device_id);
            }
        }
    }

    /// Applies what is due in a job to at most `most` executions; returns how many it changed.
    pub fn advance(&mut self, id: &str, most: usize, transaction: &mut FirmwareTransaction, now: Millis) -> usize {
        // A device that a later job has changed stays as that job left it.
        let superseded = self.jobs.get(id).filter(|rollout| rollout.is_returning()).map(|rollout| {
            let devices = rollout.revertible().map(|execution| &execution.device_id);
            devices.filter(|device| self.is_superseded(device, id)).cloned().collect()
        });
        let superseded: BTreeSet<Arc<str>> = superseded.unwrap_or_default();
        let moved = self.with(id, transaction, now, |rollout, free| {
            rollout.advance(now, most, &|device| free(device), &superseded)
        });
        moved.unwrap_or(0)
    }

    /// Returns the jobs that may still change.
    pub fn active_jobs(&self) -> Vec<Arc<str>> {
        self.active_jobs.iter().cloned().collect()
    }

    /// Returns the current job of a device.
    pub fn job_in_hand(&self, device: &str) -> Option<&Rollout> {
        self.busy.get(device).and_then(|id| self.jobs.get(id))
    }

    /// Returns all devices with a current job.
    pub fn busy_devices(&self) -> Vec<Arc<str>> {
        self.busy.keys().cloned().collect()
    }

    pub fn job(&self, id: &str) -> Result<&Rollout, Error> {
        self.jobs.get(id).ok_or_else(|| Error::new(Kind::NotFound, format!("there is no job {}", truncated(id))))
    }

    pub fn artifact(&self, id: &str) -> Result<&Artifact, Error> {
        self.artifacts
            .get(id)
            .ok_or_else(|| Error::new(Kind::NotFound, format!("there is no artifact {}", truncated(id))))
    }

    /// Returns the jobs of a device, newest first.
    pub fn jobs_of(&self, device: &str) -> impl Iterator<Item = &Rollout> {
        self.of_device.get(device).into_iter().flatten().rev().filter_map(|id| self.jobs.get(id))
    }

    fn trust(&self, artifact: &Artifact) -> KeyTrust {
        let key = artifact.signing_kid.as_ref().and_then(|kid| self.keys.get(kid));
        match key {
            Some(key) if key.revoked_at.is_none() => KeyTrust::Trusted,
            _ => KeyTrust::Revoked,
        }
    }

    /// # Errors
    /// The artifact cannot be rolled out now.
    pub fn deployable(&self, id: &str, now: Millis) -> Result<&Artifact, Error> {
        let artifact = self.artifact(id)?;
        artifact.deployable(self.trust(artifact), now)?;
        Ok(artifact)
    }
}

/// Truncates an identifier sent by a client for an error message.
fn truncated(id: &str) -> String {
    id.chars().take(60).collect()
}
