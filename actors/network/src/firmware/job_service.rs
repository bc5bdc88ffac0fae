//! Jobs and executions in the service of firmware. Apart from `service.rs` because of their number.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::execution::{ExecState, Execution};
use super::job::{JobAction, JobState, JobTarget};
use super::messages::{CreateOnce, CreateResponse, FindReplay, WaitForJob};
use super::record;
use super::rollout::{ExecutionReport, Rollout};
use super::service::{Firmwares, Page};
use super::state::{DeviceJob, FirmwareState, JobActionRequest, NewJob, Opening};
use super::transaction::{FirmwareTransaction, job_view};
use crate::device::{DeviceFilter, DeviceSelection, RolloutTarget};
use muster_core::guard::ApprovalStep;
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};
use muster_identity::{By, Person};

impl Firmwares {
    /// Creates a job; its devices are selected now. Durable when this returns. Where there is a quorum of deciders, a
    /// guarded job is made with the step that opens its approval.
    ///
    /// # Errors
    /// `Forbidden` (`approval_required`) for a guarded job without that step: its resource is the identifier of the job;
    /// `Invalid`; `Conflict` if the artifact cannot be rolled out, a named device is incompatible, or there are too
    /// many jobs; `IdempotencyConflict`; `Unavailable`.
    pub async fn create_job(
        &self,
        new: NewJob,
        by: By,
        named: Option<Idempotency>,
        step: Option<ApprovalStep>,
    ) -> Result<CreateResponse, Error> {
        if let Some(request) = named.clone()
            && let Some(first) = self.handle.ask(FindReplay(request)).await??
        {
            return Ok(first);
        }
        let found = self.resolve(&new.target).await?;
        let id: Arc<str> = step.as_ref().map_or_else(|| new_id(IdKind::Job), |step| step.resource.clone()).into();
        let (now, planner) = (self.clock.now(), by.clone());
        let plan = self.read(move |state| state.plan(id, new, &found, &planner, now)).await??;
        if let Some(image) = &plan.job.image {
            self.images.require(&image.id, image.size).await?;
        }
        // Executions without a job have no effect: a server that dies in between deletes them at its start.
        let executions = record::writes(&plan.executions)?;
        let amid = plan.executions.iter().any(|execution| self.critical.concern(&execution.device_id));
        let (request, standing) = (named.clone(), self.standing.clone());
        let change = move |state: &mut FirmwareState, transaction: &mut FirmwareTransaction, now| {
            let approval = Opening { standing: &standing.get(), amid_critical_incident: amid, step };
            let made = state.create_job(plan, &by, named.as_ref(), approval, transaction, now)?;
            transaction.earlier = executions;
            Ok(made)
        };
        self.handle.ask(CreateOnce { change, request }).await?
    }

    /// Creates the job that returns one device to its previous firmware, or to that of an artifact. Durable when this
    /// returns.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` (`no_previous_firmware`), and as [`Firmwares::create_job`].
    pub async fn rollback_device(
        &self,
        device: &str,
        artifact: Option<String>,
        by: By,
        named: Option<Idempotency>,
        step: Option<ApprovalStep>,
    ) -> Result<CreateResponse, Error> {
        // A repeated request gets its first response, whatever the device runs by now.
        if let Some(request) = named.clone()
            && let Some(first) = self.handle.ask(FindReplay(request)).await??
        {
            return Ok(first);
        }
        let target = JobTarget::DeviceIds(vec![device.into()]);
        let none = || {
            Error::new(Kind::NotFound, format!("there is no device {}", device.chars().take(64).collect::<String>()))
        };
        let found = self.resolve(&target).await?.into_iter().next().ok_or_else(none)?;
        let new = self.read(move |state| state.rollback_of(&found, artifact.as_deref())).await??;
        self.create_job(new, by, named, step).await
    }

    async fn resolve(&self, target: &JobTarget) -> Result<Vec<RolloutTarget>, Error> {
        let select = match target {
            JobTarget::DeviceIds(ids) => DeviceSelection::Ids(ids.clone()),
            JobTarget::Group(group) => DeviceSelection::Group(group.clone()),
            JobTarget::Query(query) => DeviceSelection::Query(DeviceFilter {
                tag: query.tag.clone(),
                group: query.group.clone(),
                hw_class: query.hw_class.clone(),
                kind: query.kind,
                ..DeviceFilter::default()
            }),
        };
        let mut found = self.devices.select(select).await?;
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.dedup_by(|a, b| a.id == b.id);
        Ok(found)
    }

    /// Returns a job as JSON, with counters and progress.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn job(&self, id: &str) -> Result<Value, Error> {
        let id = id.to_owned();
        self.read(move |state| state.job(&id).map(job_view)).await?
    }

    /// Newest first.
    pub async fn jobs(&self, state: Option<JobState>, page: PageParams) -> Result<Page<Value>, Error> {
        self.read(move |all| {
            let after = |id: &str| page.after.as_deref().is_none_or(|last| id < last);
            let wanted = |rollout: &&Rollout| state.is_none_or(|state| rollout.job.state == state);
            let from = all.jobs.values().rev().filter(|rollout| after(&rollout.job.id)).filter(wanted);
            Page::of(from, page.limit, |rollout| rollout.job.id.to_string()).map(job_view)
        })
        .await
    }

    /// Applies an action to a job; returns the job as JSON. The decisions on a guarded job, and the rollback of a finished
    /// one, come with the step of its approval.
    ///
    /// # Errors
    /// `Forbidden` (`approval_required`) without that step;
    /// `NotFound`; `PreconditionFailed`; `Conflict` with the allowed actions; `Forbidden` if it violates the separation
    /// of duties.
    pub async fn apply_action(
        &self,
        id: String,
        action: JobAction,
        by: Arc<Person>,
        note: String,
        at: IfMatch,
        step: Option<ApprovalStep>,
    ) -> Result<Value, Error> {
        let (independence, standing) = (self.independence.clone(), self.standing.clone());
        // Of a guarded job the approval has judged who decides.
        let is_judged = step.is_some();
        let request = JobActionRequest { action, note, at, step };
        self.change(move |state, transaction, now| {
            if action == JobAction::Approve && !is_judged {
                let job = &state.job(&id)?.job;
                let others = job.approvals.iter().map(|approval| approval.user.as_str());
                for other in others.chain([job.created_by.as_str()]) {
                    independence.require(other, &by.user_id, now)?;
                }
            }
            state.apply_action(&id, request, &by, &standing.get(), transaction, now)
        })
        .await
    }

    /// Returns the approval that a job waits for, and whether a critical incident concerns one of its devices.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn awaited_approval(&self, id: &str) -> Result<Option<(String, bool)>, Error> {
        let (id, critical) = (id.to_owned(), self.critical.clone());
        let awaited = move |state: &FirmwareState| {
            let rollout = state.job(&id)?;
            let approval = rollout.job.approval_id.clone().filter(|_| rollout.job.state == JobState::PendingApproval);
            let amid = || rollout.executions().iter().any(|execution| critical.concern(&execution.device_id));
            Ok(approval.map(|approval| (approval, amid())))
        };
        self.read(awaited).await?
    }

    /// Returns the jobs that wait for an approval, with that approval.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn awaiting_approvals(&self) -> Result<Vec<(String, String)>, Error> {
        self.read(|state| {
            let jobs = state.active_jobs().into_iter().filter_map(|id| state.job(&id).ok());
            let jobs = jobs.filter(|rollout| rollout.job.state == JobState::PendingApproval);
            jobs.filter_map(|rollout| Some((rollout.job.id.to_string(), rollout.job.approval_id.clone()?))).collect()
        })
        .await
    }

    /// Removes decisions on a job that were withdrawn from its approval: those of others than `decided_by`.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn keep_decisions(&self, id: String, approval: String, decided_by: Vec<String>) -> Result<(), Error> {
        self.change(move |state, transaction, now| state.keep_decisions(&id, &approval, &decided_by, transaction, now))
            .await
    }

    /// Ends the wait of a job for an approval that has ended without an execution. A job that waits for another approval,
    /// or no longer waits, is left as it is.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn end_waiting(&self, id: String, approval: String, why: String) -> Result<(), Error> {
        self.change(move |state, transaction, now| state.end_waiting(&id, &approval, &why, transaction, now)).await
    }

    /// Returns a page of the executions of a job, ordered by group and device.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn executions(
        &self,
        job: &str,
        state: Option<ExecState>,
        page: PageParams,
    ) -> Result<Page<Execution>, Error> {
        let job = job.to_owned();
        self.read(move |all| {
            let after = |execution: &&Execution| {
                page.after.as_deref().is_none_or(|last| (execution.group, &*execution.device_id) > parse_cursor(last))
            };
            let wanted = |execution: &&Execution| state.is_none_or(|state| execution.state == state);
            let from = all.job(&job)?.executions().iter().filter(after).filter(wanted).cloned();
            let cursor = |execution: &Execution| format!("{}.{}", execution.group, execution.device_id);
            Ok(Page::of(from, page.limit, cursor))
        })
        .await?
    }

    /// Returns a page of the executions of a device, newest job first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn executions_of(&self, device: &str, page: PageParams) -> Result<Page<Execution>, Error> {
        let device = device.to_owned();
        self.read(move |state| {
            let after = |id: &str| page.after.as_deref().is_none_or(|last| id < last);
            let jobs = state.jobs_of(&device).filter(|rollout| after(&rollout.job.id));
            let from = jobs.filter_map(|rollout| rollout.execution(&device)).cloned();
            Page::of(from, page.limit, |execution| execution.job_id.to_string())
        })
        .await
    }

    /// Returns the current job of a device; waits at most `wait` for one.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn next(&self, device: Arc<str>, wait: Duration) -> Result<Option<DeviceJob>, Error> {
        let selected = Arc::clone(&device);
        if let Some(job) = self.read(move |state| state.next(&selected)).await? {
            return Ok(Some(job));
        }
        if wait.is_zero() {
            return Ok(None);
        }
        let result = self.handle.ask(WaitForJob(Arc::clone(&device))).await?;
        match tokio::time::timeout(wait, result).await {
            Ok(Ok(())) => self.read(move |state| state.next(&device)).await,
            // No job came, or another poll of the same device has replaced this one.
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    /// Applies a device's report on its job; returns the job as the device sees it.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a stale version or an illegal transition; `Invalid`; `Unavailable`.
    pub async fn report(&self, device: Arc<str>, job: String, report: ExecutionReport) -> Result<DeviceJob, Error> {
        self.change(move |state, transaction, now| state.report(&device, &job, report, transaction, now)).await
    }
}

/// Returns the group and device of a cursor.
fn parse_cursor(cursor: &str) -> (u32, &str) {
    let (group, device) = cursor.split_once('.').unwrap_or(("0", cursor));
    (group.parse().unwrap_or(0), device)
}
