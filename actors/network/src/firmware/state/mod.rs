//! Everything that the actor owns, pure: artifacts, signing keys, jobs with their executions, and who has what in hand.

mod artifacts;
mod jobs;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub use artifacts::{Hashed, MANIFEST_TYP, NewArtifact, blocks_key, public};
pub use jobs::{Deed, DeviceJob, NewJob};

use super::artifact::{Artifact, ArtifactState, KeyTrust, SigningKey};
use super::execution::Execution;
use super::job::Job;
use super::rollout::Rollout;
use super::turn::Turn;
use muster_core::{Error, Kind, Millis};

/// Bounds and rules of the settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Largest image, in bytes.
    pub max_image_bytes: u64,
    /// Most devices of a job.
    pub max_devices: usize,
    /// Approvals of a job that needs no two of them: 0, 1 or 2.
    pub approvals: u32,
    /// Most jobs that are not at an end.
    pub max_jobs: usize,
    /// Most artifacts.
    pub max_artifacts: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { max_image_bytes: 512 << 20, max_devices: 10_000, approvals: 1, max_jobs: 200, max_artifacts: 10_000 }
    }
}

/// What is read back from the store.
#[derive(Debug, Default)]
pub struct Stored {
    pub artifacts: Vec<Artifact>,
    pub keys: Vec<SigningKey>,
    pub jobs: Vec<Job>,
    pub executions: HashMap<Arc<str>, Vec<Execution>>,
}

/// All of it.
#[derive(Debug)]
pub struct State {
    pub(super) rules: Rules,
    pub(super) artifacts: BTreeMap<String, Artifact>,
    pub(super) keys: BTreeMap<String, SigningKey>,
    pub(super) jobs: BTreeMap<Arc<str>, Rollout>,
    /// Jobs that something may happen to.
    live: BTreeSet<Arc<str>>,
    /// Which job a device has in hand; never two.
    busy: HashMap<Arc<str>, Arc<str>>,
    /// Its jobs, oldest first.
    of_device: HashMap<Arc<str>, Vec<Arc<str>>>,
}

impl State {
    /// From what is stored; `trusted` are keys of the settings. An image that was being verified is to be verified anew.
    pub fn new(rules: Rules, stored: Stored, trusted: Vec<SigningKey>, now: Millis) -> Self {
        let Stored { artifacts, keys, jobs, mut executions } = stored;
        let mut state = Self {
            rules,
            artifacts: artifacts.into_iter().map(|artifact| (artifact.id.clone(), artifact)).collect(),
            keys: trusted.into_iter().chain(keys).map(|key| (key.kid.clone(), key)).collect(),
            jobs: BTreeMap::new(),
            live: BTreeSet::new(),
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
            state.adopt(Rollout::new(job, of, now));
        }
        state
    }

    /// Takes a rollout in.
    fn adopt(&mut self, rollout: Rollout) {
        let id = Arc::clone(&rollout.job.id);
        for execution in rollout.executions() {
            self.of_device.entry(Arc::clone(&execution.device_id)).or_default().push(Arc::clone(&id));
        }
        for device in rollout.active_devices() {
            self.busy.insert(Arc::clone(device), Arc::clone(&id));
        }
        if !rollout.is_settled() {
            self.live.insert(Arc::clone(&id));
        }
        self.jobs.insert(id, rollout);
    }

    /// Runs `with` on a rollout, and takes over what it has changed.
    fn with<R>(
        &mut self,
        id: &str,
        turn: &mut Turn,
        now: Millis,
        with: impl FnOnce(&mut Rollout, super::rollout::Free<'_>) -> R,
    ) -> Option<R> {
        let busy = &self.busy;
        let rollout = self.jobs.get_mut(id)?;
        let free = |device: &str| busy.get(device).is_none_or(|job| &**job == id);
        let answer = with(rollout, &free);
        let before = turn.events.len();
        turn.collect(rollout, now);
        if turn.events.len() > before || rollout.is_settled() {
            self.note_hands(id);
        }
        Some(answer)
    }

    /// Brings up to date which devices have the job in hand.
    fn note_hands(&mut self, id: &str) {
        let Some(rollout) = self.jobs.get(id) else { return };
        let key = Arc::clone(&rollout.job.id);
        if rollout.is_settled() {
            self.live.remove(id);
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

    /// Does what is due in a job, at most `most` executions; tells how many were moved.
    pub fn advance(&mut self, id: &str, most: usize, turn: &mut Turn, now: Millis) -> usize {
        let moved = self.with(id, turn, now, |rollout, free| rollout.advance(now, most, free));
        moved.unwrap_or(0)
    }

    /// Jobs that something may happen to.
    pub fn live(&self) -> Vec<Arc<str>> {
        self.live.iter().cloned().collect()
    }

    /// The job that a device has in hand.
    pub fn job_in_hand(&self, device: &str) -> Option<&Rollout> {
        self.busy.get(device).and_then(|id| self.jobs.get(id))
    }

    /// Every device with something in hand.
    pub fn busy_devices(&self) -> Vec<Arc<str>> {
        self.busy.keys().cloned().collect()
    }

    pub fn job(&self, id: &str) -> Result<&Rollout, Error> {
        self.jobs.get(id).ok_or_else(|| Error::new(Kind::NotFound, format!("there is no job {}", shown(id))))
    }

    pub fn artifact(&self, id: &str) -> Result<&Artifact, Error> {
        self.artifacts.get(id).ok_or_else(|| Error::new(Kind::NotFound, format!("there is no artifact {}", shown(id))))
    }

    /// Jobs of a device, newest first.
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
    /// Why the artifact cannot be rolled out now.
    pub fn deployable(&self, id: &str, now: Millis) -> Result<&Artifact, Error> {
        let artifact = self.artifact(id)?;
        artifact.deployable(self.trust(artifact), now)?;
        Ok(artifact)
    }
}

/// What a client sent as an identifier is said back, but not a megabyte of it.
fn shown(id: &str) -> String {
    id.chars().take(60).collect()
}
