//! Snapshots of the channels `firmware` and `firmware:{job}`.

use serde_json::value::to_raw_value;

use super::rollout::Rollout;
use super::state::FirmwareState;
use super::transaction::{execution_id, job_view};
use muster_core::principal::Permission;
use muster_core::principal::Viewer;
use muster_feed::{Denied, SnapshotReply, SnapshotRequest, StateItem};

/// Number of newest jobs in a snapshot of `firmware`, besides all unfinished ones.
const NEWEST: usize = 200;

/// A snapshot request that is answered even if it is dropped.
#[derive(Debug)]
pub(crate) struct SnapshotQuery {
    pub(crate) channel: String,
    pub(crate) viewer: Viewer,
    reply: Option<SnapshotReply>,
}

impl From<SnapshotRequest> for SnapshotQuery {
    fn from(request: SnapshotRequest) -> Self {
        Self { channel: request.channel, viewer: request.viewer, reply: Some(request.reply) }
    }
}

impl SnapshotQuery {
    /// Returns the state of the channel.
    pub(crate) fn items(&self, state: &FirmwareState) -> Result<Vec<StateItem>, Denied> {
        items(state, &self.channel, &self.viewer)
    }

    pub(crate) fn answer(mut self, items: Result<Vec<StateItem>, Denied>) {
        if let Some(reply) = self.reply.take() {
            reply.send(items);
        }
    }
}

impl Drop for SnapshotQuery {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            reply.send(Err(Denied::Unavailable));
        }
    }
}

fn items(state: &FirmwareState, channel: &str, viewer: &Viewer) -> Result<Vec<StateItem>, Denied> {
    if !viewer.permissions.has(Permission::FirmwareRead) {
        return Err(Denied::NotFound);
    }
    if channel == "firmware" {
        let visible_jobs = state.jobs.values().rev().enumerate();
        let visible_jobs = visible_jobs.filter(|(nth, rollout)| *nth < NEWEST || !rollout.job.state.is_terminal());
        let artifacts = state.artifacts.values().rev().take(NEWEST).filter_map(|artifact| {
            let data = to_raw_value(artifact).ok()?;
            Some(StateItem { id: artifact.id.clone(), version: artifact.record_version, data })
        });
        return Ok(visible_jobs.filter_map(|(_, rollout)| job_item(rollout)).chain(artifacts).collect());
    }
    let id = channel.strip_prefix("firmware:").ok_or(Denied::NotFound)?;
    let rollout = state.job(id).map_err(|_| Denied::NotFound)?;
    let executions = rollout.executions().iter().filter_map(|execution| {
        let data = to_raw_value(execution).ok()?;
        Some(StateItem { id: execution_id(execution), version: execution.exec_version, data })
    });
    Ok(job_item(rollout).into_iter().chain(executions).collect())
}

fn job_item(rollout: &Rollout) -> Option<StateItem> {
    let data = to_raw_value(&job_view(rollout)).ok()?;
    Some(StateItem { id: rollout.job.id.to_string(), version: rollout.job.version, data })
}
