//! Rollouts: create, approve, control and read jobs and their executions.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::Page;
use muster_governance::DecisionKind;
use muster_network::firmware::{Dialect, Execution, JobAction, NewJob, export};
use serde::Serialize;
use serde_json::Value;

use super::body::{
    DialectQuery, ExecutionQuery, FirmwareDecisionBody, FirmwareNoteBody, JobQuery, NewJobBody, RollbackDeviceBody,
};
use super::describe::{ExecutionList, FirmwareJobBody, FirmwareJobList};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Disaster, Gone, NotFound, ReadErrors, VersionFailed, WriteErrors};
use crate::governance::{self, WaitingThings};
use crate::guard::{FirmwareApprove, FirmwareExecute, FirmwareRead, Guarded, Queried, Sent, by_of, person_of};
use crate::parameters::{self, optional_if_match};

/// List firmware jobs
///
/// Returns a page of the jobs, newest first.
#[utoipa::path(get, path = "/api/v1/firmware/jobs", tag = "firmware", operation_id = "list_firmware_jobs", params(JobQuery),
    responses((status = 200, description = "A page of jobs", body = Data<FirmwareJobList>), ReadErrors<Disaster>))]
pub async fn list(request: Queried<FirmwareRead, JobQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let JobQuery { state, page } = request.query;
    Ok(envelope::list("jobs", &app.firmware.jobs(state, page.into()).await?))
}

/// Create a firmware job
///
/// Creates a job and selects its devices. Devices named by identifier must fit the artifact; devices of a group or
/// query that do not fit are `removed`. A job for more than 100 devices and a downgrade need two approvals by users
/// with different roles; other jobs need as many approvals as `firmware.approvals` sets. Once each role of the quorum has
/// a decider, a job for more devices than the policy sets, and a downgrade, open an approval (`approval_id`) whose reason is
/// that in `Muster-Reason`; the job is approved and denied by its deciders.
#[utoipa::path(post, path = "/api/v1/firmware/jobs", tag = "firmware", operation_id = "create_firmware_job",
    request_body = NewJobBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn create(
    request: Sent<FirmwareExecute, NewJobBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let new = NewJob::from(request.body);
    let why = format!("roll out: {}", new.name);
    let made = governance::opening(&app, &http, &request.sent, &why, |step| {
        let (firmware, new, by, named) = (app.firmware.clone(), new.clone(), by.clone(), named.clone());
        async move { firmware.create_job(new, by, named, step).await }
    });
    let made = made.await?;
    Ok(envelope::created(made.data, IdempotencyReplay::from(made.replayed)))
}

fn job(view: &Value) -> HttpResponse {
    envelope::record(view.get("version").and_then(Value::as_u64).unwrap_or(0), view)
}

/// Get a firmware job
///
/// Returns one job with its counters.
#[utoipa::path(get, path = "/api/v1/firmware/jobs/{id}", tag = "firmware", operation_id = "get_firmware_job",
    params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = Data<FirmwareJobBody>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn get(
    _guard: Guarded<FirmwareRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    Ok(job(&app.firmware.job(&id).await?))
}

fn executions_page(page: Page<Execution>, dialect: Option<Dialect>) -> HttpResponse {
    fn list<T: Serialize>(page: &Page<T>) -> HttpResponse {
        envelope::list("executions", page)
    }
    match dialect {
        Some(dialect) => list(&page.map(|execution| export(&execution, dialect))),
        None => list(&page),
    }
}

/// List the executions of a firmware job
///
/// Returns a page of the executions of a job, by group and device.
#[utoipa::path(get, path = "/api/v1/firmware/jobs/{id}/executions", tag = "firmware",
    operation_id = "list_firmware_job_executions", params(("id" = String, Path), ExecutionQuery),
    responses((status = 200, description = "A page of executions", body = Data<ExecutionList>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn executions(
    request: Queried<FirmwareRead, ExecutionQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let ExecutionQuery { state, page: DialectQuery { dialect, page } } = request.query;
    Ok(executions_page(app.firmware.executions(&id, state, page.into()).await?, dialect))
}

/// List the firmware executions of a device
///
/// Returns a page of the executions on a device, newest job first.
#[utoipa::path(get, path = "/api/v1/devices/{id}/executions", tag = "firmware", operation_id = "list_device_executions",
    params(("id" = String, Path), DialectQuery),
    responses((status = 200, description = "A page of executions", body = Data<ExecutionList>), ReadErrors<Disaster>))]
pub async fn executions_of(
    request: Queried<FirmwareRead, DialectQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let DialectQuery { dialect, page } = request.query;
    Ok(executions_page(app.firmware.executions_of(&id, page.into()).await?, dialect))
}

async fn apply_action(
    action: JobAction,
    http: &HttpRequest,
    id: String,
    body: FirmwareNoteBody,
    app: &App,
) -> Result<HttpResponse, HttpError> {
    let (by, at) = (person_of(http)?, optional_if_match(http)?);
    let awaited = app.firmware.awaited_approval(&id).await?;
    let view = app.firmware.apply_action(id, action, by, body.note, at, None).await?;
    if let (JobAction::Cancel, Some((approval, _))) = (action, awaited) {
        WaitingThings::in_app(app).cancel(&approval).await?;
    }
    Ok(job(&view))
}

/// Decides on a job: by its approval, if it waits for one.
async fn decide(
    action: JobAction,
    http: &HttpRequest,
    id: String,
    body: FirmwareDecisionBody,
    app: &web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, at) = (person_of(http)?, optional_if_match(http)?);
    let FirmwareDecisionBody { note, decision, .. } = body;
    let Some(awaited) = app.firmware.awaited_approval(&id).await? else {
        return Ok(job(&app.firmware.apply_action(id, action, by, note, at, None).await?));
    };
    let kind = if action == JobAction::Deny { DecisionKind::Reject } else { DecisionKind::Approve };
    let decision = decision.decision(kind, Some(note.clone()).filter(|note| !note.is_empty()))?;
    let firmware = app.firmware.clone();
    let decided = governance::decided(app, http, awaited, decision, |step| async move {
        firmware.apply_action(id, action, by, note, at, Some(step)).await
    });
    Ok(job(&decided.await?))
}

/// Approve a firmware job
///
/// Approves a job that waits for approval. Neither its creator nor the user who executes it can approve it; each user
/// and each role counts once. Of a job with an `approval_id` this is a decision on that approval, with `role` and a
/// signature; `POST /api/v1/governance/approvals/{id}/decisions` does the same.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/approve", tag = "firmware", operation_id = "approve_firmware_job",
    request_body = FirmwareDecisionBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    responses((status = 200, description = "The changed job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        Gone<Disaster>, NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn approve(
    request: Sent<FirmwareApprove, FirmwareDecisionBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    decide(JobAction::Approve, &http, id.into_inner(), request.body, &app).await
}

/// Deny a firmware job
///
/// Denies a job that waits for approval, permanently.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/deny", tag = "firmware", operation_id = "deny_firmware_job",
    request_body = FirmwareDecisionBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    responses((status = 200, description = "The changed job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        Gone<Disaster>, NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn deny(
    request: Sent<FirmwareApprove, FirmwareDecisionBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    decide(JobAction::Deny, &http, id.into_inner(), request.body, &app).await
}

/// Pause a firmware job
///
/// Pauses a rollout. Executions in progress continue; no further device is started.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/pause", tag = "firmware", operation_id = "pause_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    responses((status = 200, description = "The changed job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn pause(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    apply_action(JobAction::Pause, &http, id.into_inner(), request.body, &app).await
}

/// Resume a firmware job
///
/// Resumes a paused rollout. Failures so far no longer count towards the failure threshold of the group.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/resume", tag = "firmware", operation_id = "resume_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    responses((status = 200, description = "The changed job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn resume(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    apply_action(JobAction::Resume, &http, id.into_inner(), request.body, &app).await
}

/// Cancel a firmware job
///
/// Cancels a job. Executions that have not begun are cancelled, those that can be stopped are instructed to stop, and
/// the others are completed.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/cancel", tag = "firmware", operation_id = "cancel_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    responses((status = 200, description = "The changed job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn cancel(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    apply_action(JobAction::Cancel, &http, id.into_inner(), request.body, &app).await
}

/// Roll back a firmware job
///
/// Ends a rollout and returns every device that may run the new firmware to its previous firmware. The rollback of a job
/// that has finished waits for two approvals, or for its approval, as a downgrade does (`pending_approval`); denied or
/// canceled, the job is again what it was. Devices whose firmware a later job has changed stay as they are. What the executions failed with
/// stays in their `failures`, and why the job was stopped in its `reasons`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/rollback", tag = "firmware", operation_id = "rollback_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    responses((status = 200, description = "The changed job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn rollback(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, at, id) = (person_of(&http)?, optional_if_match(&http)?, id.into_inner());
    let (note, why) = (request.body.note, format!("roll back {id}"));
    let view = governance::opening(&app, &http, &request.sent, &why, |step| {
        let (firmware, id, by, note) = (app.firmware.clone(), id.clone(), by.clone(), note.clone());
        async move { firmware.apply_action(id, JobAction::Rollback, by, note, at, step).await }
    });
    Ok(job(&view.await?))
}

/// Roll back one device
///
/// Creates a job for one device that returns it to the firmware which it ran before, or to that of `artifact_id`. It is
/// a job like any other: a return to a lower sequence is a `downgrade`, which needs two approvals, and the image must be
/// verified and its key trusted. Devices learn from the approved job that a lower sequence is allowed.
#[utoipa::path(post, path = "/api/v1/devices/{id}/rollback", tag = "firmware", operation_id = "rollback_device",
    request_body = RollbackDeviceBody,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new job", body = Data<FirmwareJobBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn rollback_device(
    request: Sent<FirmwareExecute, RollbackDeviceBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let (artifact, why) = (request.body.artifact_id, format!("roll back {id}"));
    let made = governance::opening(&app, &http, &request.sent, &why, |step| {
        let (firmware, id, artifact) = (app.firmware.clone(), id.clone(), artifact.clone());
        let (by, named) = (by.clone(), named.clone());
        async move { firmware.rollback_device(&id, artifact, by, named, step).await }
    });
    let made = made.await?;
    Ok(envelope::created(made.data, IdempotencyReplay::from(made.replayed)))
}
