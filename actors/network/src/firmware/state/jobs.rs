//! Jobs: planning, creation and actions of people.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::FirmwareState;
use crate::device::RolloutTarget;
use crate::firmware::artifact::Manifest;
use crate::firmware::execution::{ExecError, ExecState, Execution};
use crate::firmware::job::{GroupRun, GroupState, Job, JobAction, JobImage, JobKind, JobState, JobTarget};
use crate::firmware::policy::{Mode, OnError, Policy};
use crate::firmware::rollout::{Fit, Rollout, fit};
use crate::firmware::transaction::{FirmwareTransaction, firmware_of, job_view};
use muster_core::audit::AuditEntry;
use muster_core::guard::{ApprovalStep, GuardedAction, Need, Standing};
use muster_core::idempotency::Idempotency;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};
use muster_identity::{By, Person};

/// Number of devices above which a job takes two approvals, whatever the policy says of `firmware.rollout`.
const TWO_APPROVALS_ABOVE: u32 = 100;

/// A job to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// Name.
    pub name: String,
    /// Artifact; `None` for a restart only.
    pub artifact_id: Option<String>,
    /// Kind.
    pub kind: JobKind,
    /// Devices.
    pub target: JobTarget,
    /// Policy.
    pub policy: Policy,
    /// Earliest start.
    pub start_at: Option<Millis>,
}

/// A person's action on a job.
#[derive(Debug)]
pub struct JobActionRequest {
    pub action: JobAction,
    pub note: String,
    /// Precondition on the job's version.
    pub at: IfMatch,
    /// What the action means for the approval of a guarded job: it opens one, or decides on it.
    pub step: Option<ApprovalStep>,
}

/// By what a new job is decided that may need an approval.
#[derive(Debug)]
pub struct Opening<'a> {
    pub standing: &'a Standing,
    /// Whether a critical incident concerns one of its devices.
    pub amid_critical_incident: bool,
    /// The step that opens the approval.
    pub step: Option<ApprovalStep>,
}

/// A planned job that is not stored yet.
#[derive(Debug)]
pub struct Plan {
    pub job: Job,
    pub executions: Vec<Execution>,
}

impl Plan {
    /// Returns the approval that the job needs, if it needs one: that of a rollout to many devices, or of a downgrade.
    fn need(&self, standing: &Standing) -> Option<Need> {
        let job = &self.job;
        let many = u64::from(job.resolved_count) > standing.threshold(GuardedAction::FirmwareRollout);
        (many || job.kind == JobKind::Downgrade).then(|| need(job))
    }
}

/// Returns the need of a rollout, with what its deciders must know.
fn need(job: &Job) -> Need {
    let image = job.image.as_ref().map(|image| json!({ "version": image.version, "sha256": image.sha256 }));
    let facts = json!({ "devices": job.resolved_count, "kind": job.kind, "image": image });
    let need = Need::new(GuardedAction::FirmwareRollout, &*job.id);
    need.affecting(job.resolved_count.into()).knowing(facts)
}

impl FirmwareState {
    /// Plans a job: its devices and their initial states.
    ///
    /// # Errors
    /// The artifact cannot be rolled out; a named device does not exist or is incompatible; no or too many devices.
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
        assign_groups(&mut executions, &sizes);
        let waiting = |size| GroupRun {
            size,
            state: GroupState::Waiting,
            started_at: None,
            reached_at: None,
            passed_at: None,
            waived: None,
        };
        let two = devices > TWO_APPROVALS_ABOVE || new.kind == JobKind::Downgrade;
        let image = artifact.map(|artifact| JobImage {
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
            reasons: Vec::new(),
            rollback: None,
            approval_id: None,
            idempotency_key: None,
            version: 1,
            updated_at: now,
        };
        Ok(Plan { job, executions })
    }

    /// Returns the initial executions. Devices selected by identifier must be compatible; incompatible ones of a group
    /// or query are `removed` with the reason.
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
        let chosen = if matches!(new.target, JobTarget::DeviceIds(_)) { Selection::ByName } else { Selection::ByMatch };
        found.iter().map(|device| first_execution(id, new.kind, manifest, device, chosen, now)).collect()
    }

    /// Creates a planned job, whose executions are stored already.
    ///
    /// # Errors
    /// Its artifact changed meanwhile, or there are too many jobs; `Forbidden` (`approval_required`) for a guarded job
    /// without the step that opens its approval.
    pub fn create_job(
        &mut self,
        plan: Plan,
        by: &By,
        named: Option<&Idempotency>,
        opening: Opening<'_>,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<Value, Error> {
        let Opening { standing, amid_critical_incident, step } = opening;
        let need = plan.need(standing).map(|need| need.amid_critical_incident(amid_critical_incident));
        let step = standing.open(need, step)?;
        let Plan { mut job, executions } = plan;
        if let Some(artifact) = &job.artifact_id {
            self.deployable(artifact, now)?;
        }
        if self.active_jobs.len() >= self.rules.max_jobs {
            return Err(Error::new(Kind::Conflict, "too many jobs are not at an end yet").coded("too_many_jobs"));
        }
        job.idempotency_key = named.map(|named| named.key.clone());
        if let Some(step) = step {
            job.approvals_required = step.people;
            job.approval_id = Some(step.approval.clone());
            transaction.step(step);
        }
        let needs = job.approvals_required > 0;
        job.state = if needs { JobState::PendingApproval } else { JobState::Scheduled };
        let rollout = Rollout::new(job, executions, now);
        let view = job_view(&rollout);
        if let Some(named) = named {
            transaction.answer(named, now, view.clone());
        }
        let details = json!({ "kind": rollout.job.kind, "devices": rollout.job.resolved_count });
        transaction.audit(&AuditEntry::new(now, by.id(), "firmware.job.created", &rollout.job.id, details));
        transaction.created(&rollout, now);
        // They run what they should run already, and are in no decision of the rollout.
        for execution in rollout.executions().iter().filter(|execution| execution.state.is_success()) {
            let update = firmware_of(&rollout.job, execution);
            transaction.firmware.extend(update.map(|update| (Arc::clone(&execution.device_id), update)));
        }
        transaction.touched.insert(Arc::clone(&rollout.job.id));
        self.insert_rollout(rollout);
        Ok(view)
    }

    /// # Errors
    /// See [`Rollout::action`]; another version was read.
    pub fn apply_action(
        &mut self,
        id: &str,
        request: JobActionRequest,
        by: &Arc<Person>,
        standing: &Standing,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<Value, Error> {
        let JobActionRequest { action, note, at, step } = request;
        let job = &self.job(id)?.job;
        at.check(job.version)?;
        // The artifact of a rollback is bad, perhaps; those that the devices return to are checked.
        let returns = job.rollback.is_some() || (action == JobAction::Rollback && job.state.is_terminal());
        let allowed = job.state.allowed_actions().contains(&action);
        if returns && allowed && matches!(action, JobAction::Approve | JobAction::Rollback) {
            self.check_rollback(id, now)?;
        } else if matches!(action, JobAction::Approve | JobAction::Resume)
            && let Some(artifact) = &job.artifact_id
        {
            self.deployable(artifact, now)?;
        }
        let step = if allowed { guarded(job, action, standing, step)? } else { None };
        self.with(id, transaction, now, |rollout, _| match &step {
            Some(step) if action == JobAction::Rollback => {
                rollout.apply_action(action, by, &note, None, now)?;
                (rollout.job.approval_id, rollout.job.approvals_required) = (Some(step.approval.clone()), step.people);
                Ok(())
            }
            Some(step) => {
                rollout.keep_decisions(&step.decided_by);
                rollout.apply_action(action, by, &note, Some(step.outcome.clone()), now)
            }
            None => rollout.apply_action(action, by, &note, None, now),
        })
        .transpose()?;
        if let Some(step) = step {
            transaction.step(step);
        }
        let (by, what) = (By::Person(Arc::clone(by)), format!("firmware.job.{}", action.name()));
        transaction.audit(&AuditEntry::new(now, by.id(), &what, id, json!({ "note": note })));
        if let Some(rollout) = self.jobs.get(id) {
            transaction.touched.insert(Arc::clone(&rollout.job.id));
        }
        self.job(id).map(job_view)
    }

    /// Removes decisions on a job that waits for an approval which were withdrawn there: those of others than these.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn keep_decisions(
        &mut self,
        id: &str,
        approval: &str,
        decided_by: &[String],
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<(), Error> {
        let job = &self.job(id)?.job;
        let waits = job.state == JobState::PendingApproval && job.approval_id.as_deref() == Some(approval);
        if waits && job.approvals.iter().any(|approval| !decided_by.contains(&approval.user)) {
            self.with(id, transaction, now, |rollout, _| rollout.withdraw_decisions(decided_by, now));
        }
        Ok(())
    }

    /// Ends the wait of a job for an approval that has ended without an execution.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn end_waiting(
        &mut self,
        id: &str,
        approval: &str,
        why: &str,
        transaction: &mut FirmwareTransaction,
        now: Millis,
    ) -> Result<(), Error> {
        let job = &self.job(id)?.job;
        if job.state != JobState::PendingApproval || job.approval_id.as_deref() != Some(approval) {
            return Ok(());
        }
        self.with(id, transaction, now, |rollout, _| rollout.end_waiting(why, now));
        transaction.audit(&AuditEntry::new(now, "system", "firmware.job.cancel", id, json!({ "note": why })));
        Ok(())
    }
}

/// Returns the step of an action that opens the approval of a job, or decides on it; `None` for an action that does
/// neither.
///
/// # Errors
/// `Forbidden` (`approval_required`) without the step; `Conflict` with that of another approval.
fn guarded(
    job: &Job,
    action: JobAction,
    standing: &Standing,
    step: Option<ApprovalStep>,
) -> Result<Option<ApprovalStep>, Error> {
    match (action, &job.approval_id) {
        // The rollback of a finished job returns its devices to a lower sequence, as a downgrade does.
        (JobAction::Rollback, _) if job.state.is_terminal() => standing.open(Some(need(job)), step),
        (JobAction::Approve | JobAction::Deny, Some(approval)) if job.state == JobState::PendingApproval => {
            match step {
                Some(step) => step.decides(approval).map(Some),
                None => Err(standing.required(need(job))),
            }
        }
        _ => standing.open(None, step),
    }
}

/// Checks that a policy with rollback belongs to a job that installs something.
fn check_kind(new: &NewJob) -> Result<(), Error> {
    let backs = new.policy.auto_rollback || new.policy.groups.iter().any(|group| group.on_error == OnError::Rollback);
    if backs && (!new.kind.changes_firmware() || new.policy.mode == Mode::DownloadOnly) {
        let why = "rollback needs a job that installs: kind update or downgrade, mode forced or soft";
        return Err(Error::field(Kind::Invalid, &["body", "policy"], why, Value::Null));
    }
    Ok(())
}

/// How a device was selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selection {
    /// By identifier: it must be compatible.
    ByName,
    /// By a match: incompatible devices are removed.
    ByMatch,
}

fn first_execution(
    job: &Arc<str>,
    kind: JobKind,
    manifest: Option<&Manifest>,
    device: &RolloutTarget,
    chosen: Selection,
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
        Fit::Unfit(threat, why) if chosen == Selection::ByName => {
            let mut error = threat.refusal(format!("device {}: {why}", device.id));
            error.details = Some(Box::new(json!({ "threat": threat.rfc9124(), "device": device.id })));
            return Err(error);
        }
        Fit::Gone(code, why) if chosen == Selection::ByName => {
            let message = format!("device {}: {why}", device.id);
            return Err(Error::new(Kind::Conflict, message).coded(code));
        }
        Fit::Unfit(threat, why) => ended(ExecState::Removed, Some((threat.code(), why))),
        Fit::Gone(code, why) => ended(ExecState::Removed, Some((code, why))),
    }
    Ok(execution)
}

/// Assigns executions to groups of these sizes, in the order of their devices.
fn assign_groups(executions: &mut [Execution], sizes: &[u32]) {
    let groups = (0u32..).zip(sizes).flat_map(|(group, size)| (0..*size).map(move |_| group));
    for (execution, group) in executions.iter_mut().zip(groups) {
        execution.group = group;
    }
}
