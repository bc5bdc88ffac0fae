//! Jobs: made, decided on, told to devices, reported on.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::State;
use crate::device::{FirmwareVersion, RolloutTarget};
use crate::firmware::artifact::Manifest;
use crate::firmware::execution::{ExecError, ExecState, Execution};
use crate::firmware::job::{Act, GroupRun, GroupState, Image, Job, JobKind, JobState, JobTarget};
use crate::firmware::policy::{Mode, OnError, Policy};
use crate::firmware::rollout::{Fit, Gate, Report, Rollout, fit};
use crate::firmware::threat::Threat;
use crate::firmware::turn::{Turn, job_view};
use muster_core::audit::AuditEntry;
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};
use muster_identity::{By, Person};

/// What a new job is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    pub name: String,
    /// `None` of a restart only.
    pub artifact_id: Option<String>,
    pub kind: JobKind,
    pub target: JobTarget,
    pub policy: Policy,
    pub start_at: Option<Millis>,
}

/// What a person does with a job.
#[derive(Debug)]
pub struct Deed {
    pub act: Act,
    pub note: String,
    /// The version that was read.
    pub at: IfMatch,
}

/// A job that is not stored yet.
#[derive(Debug)]
pub struct Plan {
    pub job: Job,
    pub executions: Vec<Execution>,
}

/// A job as its device is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceJob {
    /// The job's identifier, to report by.
    pub id: Arc<str>,
    pub kind: JobKind,
    /// `install`, `configure`, `reboot` or `rollback`.
    pub action: &'static str,
    pub mode: Mode,
    pub state: ExecState,
    pub attempt: u32,
    pub exec_version: u64,
    /// What it is to run afterwards; `None` where that stays.
    pub to: Option<FirmwareVersion>,
    /// A lower sequence than the present one is wanted: only to what the device ran before, or by a downgrade.
    pub allow_downgrade: bool,
    /// What is to be fetched: the record of the artifact with its signed manifest.
    pub artifact: Option<DeviceArtifact>,
    pub deadline: Option<Millis>,
}

/// An artifact as a device is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceArtifact {
    pub id: String,
    /// Where its bytes are.
    pub content_url: String,
    pub content_type: String,
    #[serde(flatten)]
    pub manifest: Manifest,
    /// The manifest, signed: to be verified by the device.
    pub manifest_jws: Option<String>,
}

impl State {
    /// Which devices a job gets, and in which state each begins.
    ///
    /// # Errors
    /// The artifact cannot be rolled out; a named device is not there or does not fit; no or too many devices.
    pub fn plan(
        &self,
        id: Arc<str>,
        new: NewJob,
        found: &[RolloutTarget],
        by: &By,
        now: Millis,
    ) -> Result<Plan, Error> {
        new.policy.check()?;
        let artifact = match (&new.artifact_id, new.kind) {
            (None, JobKind::Reboot) => None,
            (Some(id), kind) if kind != JobKind::Reboot => Some(self.deployable(id, now)?),
            _ => {
                let why = "is needed by every kind but `reboot`, and taken by none of those";
                return Err(Error::field(Kind::Invalid, &["body", "artifact_id"], why, Value::Null));
            }
        };
        check_kind(&new)?;
        let manifest = artifact.map(|artifact| &artifact.manifest);
        let mut executions = self.resolve(&id, &new, found, manifest, now)?;
        let devices = u32::try_from(executions.len()).unwrap_or(u32::MAX);
        let sizes = new.policy.sizes(devices);
        spread(&mut executions, &sizes);
        let waiting = |size| GroupRun {
            size,
            state: GroupState::Waiting,
            started_at: None,
            reached_at: None,
            passed_at: None,
            waived: None,
        };
        let two = devices > 100 || new.kind == JobKind::Downgrade;
        let image = artifact.map(|artifact| Image {
            id: artifact.id.clone(),
            name: artifact.manifest.name.clone(),
            version: artifact.manifest.version.clone(),
            sequence: artifact.manifest.sequence,
            size: artifact.manifest.size,
            sha256: artifact.manifest.sha256.clone(),
        });
        let job = Job {
            id,
            name: new.name,
            artifact_id: new.artifact_id,
            image,
            kind: new.kind,
            target: new.target,
            resolved_count: devices,
            state: JobState::Draft,
            policy: new.policy,
            approvals: Vec::new(),
            approvals_required: if two { 2 } else { self.rules.approvals.min(2) },
            groups: sizes.into_iter().map(waiting).collect(),
            current_group: 0,
            start_at: new.start_at,
            after: None,
            executed_by: BTreeSet::new(),
            created_by: by.id().to_owned(),
            created_at: now,
            started_at: None,
            finished_at: None,
            end_reason: None,
            idempotency_key: None,
            version: 1,
            updated_at: now,
        };
        Ok(Plan { job, executions })
    }

    /// Devices that were named must fit; of a group or a query, those that do not are `removed`, with the reason.
    fn resolve(
        &self,
        id: &Arc<str>,
        new: &NewJob,
        found: &[RolloutTarget],
        manifest: Option<&Manifest>,
        now: Millis,
    ) -> Result<Vec<Execution>, Error> {
        if let JobTarget::DeviceIds(named) = &new.target {
            let present: BTreeSet<&str> = found.iter().map(|device| &*device.id).collect();
            if let Some(missing) = named.iter().find(|id| !present.contains(&***id)) {
                let why = format!("there is no device {missing}");
                return Err(Error::field(Kind::Invalid, &["body", "target", "device_ids"], why, json!(missing)));
            }
        }
        if found.is_empty() || found.len() > self.rules.max_devices {
            let why = format!("is {} devices: 1 to {} are taken", found.len(), self.rules.max_devices);
            return Err(Error::field(Kind::Invalid, &["body", "target"], why, Value::Null));
        }
        let chosen = if matches!(new.target, JobTarget::DeviceIds(_)) { Chosen::ByName } else { Chosen::ByMatch };
        found.iter().map(|device| first_execution(id, new.kind, manifest, device, chosen, now)).collect()
    }

    /// Takes a planned job in; its executions are stored already.
    ///
    /// # Errors
    /// Its artifact changed meanwhile; too many jobs.
    pub fn create_job(
        &mut self,
        plan: Plan,
        by: &By,
        named: Option<&Idempotency>,
        turn: &mut Turn,
        now: Millis,
    ) -> Result<Value, Error> {
        let Plan { mut job, executions } = plan;
        if let Some(artifact) = &job.artifact_id {
            self.deployable(artifact, now)?;
        }
        if self.live.len() >= self.rules.max_jobs {
            return Err(Error::new(Kind::Conflict, "too many jobs are not at an end yet").coded("too_many_jobs"));
        }
        job.idempotency_key = named.map(|named| named.key.clone());
        let needs = job.approvals_required > 0;
        job.state = if needs { JobState::PendingApproval } else { JobState::Scheduled };
        let rollout = Rollout::new(job, executions, now);
        let view = job_view(&rollout);
        if let Some(named) = named {
            turn.answer(named, now, view.clone());
        }
        let details = json!({ "kind": rollout.job.kind, "devices": rollout.job.resolved_count });
        turn.audit(&AuditEntry::new(now, by.id(), "firmware.job.created", &rollout.job.id, details));
        turn.created(&rollout, now);
        turn.touched.insert(Arc::clone(&rollout.job.id));
        self.adopt(rollout);
        Ok(view)
    }

    /// # Errors
    /// See [`Rollout::act`]; another version was read.
    pub fn act(
        &mut self,
        id: &str,
        deed: &Deed,
        by: &Arc<Person>,
        turn: &mut Turn,
        now: Millis,
    ) -> Result<Value, Error> {
        let Deed { act, note, at } = deed;
        let (act, job) = (*act, &self.job(id)?.job);
        at.check(job.version)?;
        if matches!(act, Act::Approve | Act::Resume)
            && let Some(artifact) = &job.artifact_id
        {
            self.deployable(artifact, now)?;
        }
        self.with(id, turn, now, |rollout, _| rollout.act(act, by, note, now)).transpose()?;
        let (by, what) = (By::Person(Arc::clone(by)), format!("firmware.job.{}", act.name()));
        turn.audit(&AuditEntry::new(now, by.id(), &what, id, json!({ "note": note })));
        if let Some(rollout) = self.jobs.get(id) {
            turn.touched.insert(Arc::clone(&rollout.job.id));
        }
        self.job(id).map(job_view)
    }

    /// # Errors
    /// See [`Rollout::report`].
    pub fn report(
        &mut self,
        device: &str,
        job: &str,
        report: Report,
        turn: &mut Turn,
        now: Millis,
    ) -> Result<DeviceJob, Error> {
        let none = || Error::new(Kind::NotFound, "this device has no such job");
        self.with(job, turn, now, |rollout, _| rollout.report(device, report, now)).ok_or_else(none)??;
        let rollout = self.jobs.get(job).ok_or_else(none)?;
        let execution = rollout.execution(device).ok_or_else(none)?;
        Ok(self.device_job(rollout, execution))
    }

    /// A heartbeat of a device.
    pub fn beat(&mut self, beat: &Gate<'_>, turn: &mut Turn, now: Millis) {
        if let Some(id) = self.busy.get(beat.device).cloned() {
            self.with(&id, turn, now, |rollout, _| rollout.beat(beat, now));
        }
    }

    /// What a device is to do now.
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

    /// Whether a device may fetch an artifact now: it has it in hand.
    pub fn may_fetch(&self, device: &str, artifact: &str) -> bool {
        self.next(device).and_then(|job| job.artifact).is_some_and(|wanted| wanted.id == artifact)
    }

    /// Devices that may be told now, by job; at most `most` in all.
    pub fn candidates(&mut self, most: usize, now: Millis) -> Vec<(Arc<str>, Vec<Arc<str>>)> {
        let (mut left, mut all, mut taken) = (most, Vec::new(), BTreeSet::new());
        for id in self.live() {
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

    /// Tells the devices that were asked about, as they are now.
    pub fn tell(&mut self, id: &str, asked: &[Arc<str>], found: &[RolloutTarget], turn: &mut Turn, now: Millis) {
        let artifact = self.jobs.get(id).and_then(|rollout| rollout.job.artifact_id.clone());
        if let Some(refused) = artifact.as_ref().and_then(|artifact| self.deployable(artifact, now).err()) {
            let why = format!("{}: {}", refused.code.unwrap_or("artifact"), refused.message);
            self.with(id, turn, now, |rollout, _| rollout.withdraw(&why, now));
            return;
        }
        let manifest = artifact.and_then(|id| self.artifacts.get(&id)).map(|artifact| artifact.manifest.clone());
        if self.jobs.get(id).is_some_and(|rollout| !approved(&rollout.job, manifest.as_ref())) {
            let why = format!("{}: the image is not the one that was approved", Threat::ImageReplaced.code());
            self.with(id, turn, now, |rollout, _| rollout.withdraw(&why, now));
            return;
        }
        let free: Vec<_> = asked.iter().filter(|device| !self.busy.contains_key(*device)).cloned().collect();
        self.with(id, turn, now, |rollout, _| rollout.tell(&free, found, manifest.as_ref(), now));
    }

    /// Tells the progress of each job that has made some.
    pub fn progress(&mut self, turn: &mut Turn, now: Millis) {
        for id in self.live() {
            self.with(&id, turn, now, |rollout, _| rollout.tell_progress(now));
        }
    }
}

/// Every decision was on the image that is rolled out.
fn approved(job: &Job, manifest: Option<&Manifest>) -> bool {
    let hash = manifest.map(|manifest| manifest.sha256.as_str());
    job.approvals.iter().all(|approval| approval.sha256.as_deref() == hash)
        && job.image.as_ref().map(|image| image.sha256.as_str()) == hash
}

/// A job that installs nothing has nothing to take back.
fn check_kind(new: &NewJob) -> Result<(), Error> {
    let backs = new.policy.auto_rollback || new.policy.groups.iter().any(|group| group.on_error == OnError::Rollback);
    if backs && (!new.kind.changes_firmware() || new.policy.mode == Mode::DownloadOnly) {
        let why = "rollback needs a job that installs: kind update or downgrade, mode forced or soft";
        return Err(Error::field(Kind::Invalid, &["body", "policy"], why, Value::Null));
    }
    Ok(())
}

/// How a device came into a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// It must fit.
    ByName,
    /// One that does not fit is left out.
    ByMatch,
}

fn first_execution(
    job: &Arc<str>,
    kind: JobKind,
    manifest: Option<&Manifest>,
    device: &RolloutTarget,
    chosen: Chosen,
    now: Millis,
) -> Result<Execution, Error> {
    let mut execution = Execution::new(Arc::clone(job), Arc::clone(&device.id), 0, now);
    let mut ended = |state, error: Option<(&str, String)>| {
        execution.state = state;
        execution.times.insert(state, now);
        execution.error = error.map(|(code, message)| ExecError { code: code.to_owned(), message });
    };
    match fit(kind, manifest, device) {
        Fit::Fits => {}
        Fit::Installed => ended(ExecState::AlreadyInstalled, None),
        Fit::Unfit(threat, why) if chosen == Chosen::ByName => {
            let mut refused = threat.refusal(format!("device {}: {why}", device.id));
            refused.details = Some(Box::new(json!({ "threat": threat.rfc9124(), "device": device.id })));
            return Err(refused);
        }
        Fit::Gone(code, why) if chosen == Chosen::ByName => {
            let message = format!("device {}: {why}", device.id);
            return Err(Error::new(Kind::Conflict, message).coded(code));
        }
        Fit::Unfit(threat, why) => ended(ExecState::Removed, Some((threat.code(), why))),
        Fit::Gone(code, why) => ended(ExecState::Removed, Some((code, why))),
    }
    Ok(execution)
}

/// Puts the executions into groups of these sizes, in the order of their devices.
fn spread(executions: &mut [Execution], sizes: &[u32]) {
    let groups = (0u32..).zip(sizes).flat_map(|(group, size)| (0..*size).map(move |_| group));
    for (execution, group) in executions.iter_mut().zip(groups) {
        execution.group = group;
    }
}
