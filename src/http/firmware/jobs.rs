//! Rollouts: made, decided on, driven, looked at.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::Page;
use muster_network::firmware::{Act, Dialect, Execution, export};
use serde::Serialize;
use serde_json::Value;

use super::artifacts::maybe_match;
use super::body::{DialectQuery, ExecutionQuery, FirmwareNoteBody, JobQuery, NewJobBody};
use super::describe::{ExecutionList, FirmwareJobBody, FirmwareJobList};
use crate::app::App;
use crate::ask;
use crate::envelope::{self, Data, Given};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{FirmwareApprove, FirmwareExecute, FirmwareRead, Guarded, Queried, Sent, by_of, person_of};

/// Jobs, newest first. Needs `firmware:read`.
#[utoipa::path(get, path = "/api/v1/firmware/jobs", tag = "firmware", operation_id = "list_firmware_jobs",
    params(JobQuery),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn list(request: Queried<FirmwareRead, JobQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let JobQuery { state, page } = request.query;
    Ok(envelope::list("jobs", &app.firmware.jobs(state, page.into()).await?))
}

/// Makes a job, whose devices are chosen now. Devices that are named must fit the artifact; of a group or a query those
/// that do not are `removed`. It needs two approvals of people with different roles for more than 100 devices and for a
/// downgrade, else as many as `firmware.approvals` says. Needs `firmware:execute`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs", tag = "firmware", operation_id = "create_firmware_job",
    request_body = NewJobBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    security(("token" = [])),
    responses((status = 201, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn create(
    request: Sent<FirmwareExecute, NewJobBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let made = app.firmware.create_job(request.body.into(), by, named).await?;
    Ok(envelope::created(made.data, Given::again_if(made.replayed)))
}

fn job(view: &Value) -> HttpResponse {
    envelope::record(view.get("version").and_then(Value::as_u64).unwrap_or(0), view)
}

/// One job with its counters. Needs `firmware:read`.
#[utoipa::path(get, path = "/api/v1/firmware/jobs/{id}", tag = "firmware", operation_id = "get_firmware_job",
    params(("id" = String, Path)),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster)))]
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

/// Executions of a job, by group and device. Needs `firmware:read`.
#[utoipa::path(get, path = "/api/v1/firmware/jobs/{id}/executions", tag = "firmware", operation_id = "list_firmware_job_executions",
    params(("id" = String, Path), ExecutionQuery),
    security(("token" = [])),
    responses((status = 200, body = Data<ExecutionList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster)))]
pub async fn executions(
    request: Queried<FirmwareRead, ExecutionQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let ExecutionQuery { state, page: DialectQuery { dialect, page } } = request.query;
    Ok(executions_page(app.firmware.executions(&id, state, page.into()).await?, dialect))
}

/// Executions of a device, newest job first. Needs `firmware:read`.
#[utoipa::path(get, path = "/api/v1/devices/{id}/executions", tag = "firmware", operation_id = "list_device_executions",
    params(("id" = String, Path), DialectQuery),
    security(("token" = [])),
    responses((status = 200, body = Data<ExecutionList>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn executions_of(
    request: Queried<FirmwareRead, DialectQuery>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let DialectQuery { dialect, page } = request.query;
    Ok(executions_page(app.firmware.executions_of(&id, page.into()).await?, dialect))
}

async fn act(
    act: Act,
    http: &HttpRequest,
    id: String,
    body: FirmwareNoteBody,
    app: &App,
) -> Result<HttpResponse, HttpError> {
    let (by, at) = (person_of(http)?, maybe_match(http)?);
    Ok(job(&app.firmware.act(id, act, by, body.note, at).await?))
}

/// Approves a job that waits for it: neither who made it nor who executes it, each person and each role once. Needs `firmware:approve`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/approve", tag = "firmware", operation_id = "approve_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; left out: whatever is there")),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn approve(
    request: Sent<FirmwareApprove, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    act(Act::Approve, &http, id.into_inner(), request.body, &app).await
}

/// Denies a job that waits for approval, for good. Needs `firmware:approve`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/deny", tag = "firmware", operation_id = "deny_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; left out: whatever is there")),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn deny(
    request: Sent<FirmwareApprove, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    act(Act::Deny, &http, id.into_inner(), request.body, &app).await
}

/// Pauses a rollout: what devices have in hand goes on, nobody else is told. Needs `firmware:execute`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/pause", tag = "firmware", operation_id = "pause_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; left out: whatever is there")),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn pause(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    act(Act::Pause, &http, id.into_inner(), request.body, &app).await
}

/// Goes on with a paused rollout; failures up to now do not count against the group any more. Needs `firmware:execute`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/resume", tag = "firmware", operation_id = "resume_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; left out: whatever is there")),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn resume(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    act(Act::Resume, &http, id.into_inner(), request.body, &app).await
}

/// Cancels a job. What was not begun is cancelled, what can be stopped is told to stop, the rest comes to its end. Needs `firmware:execute`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/cancel", tag = "firmware", operation_id = "cancel_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; left out: whatever is there")),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn cancel(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    act(Act::Cancel, &http, id.into_inner(), request.body, &app).await
}

/// Ends a rollout and takes back every device that may run the new firmware, each to what it ran before. Needs `firmware:execute`.
#[utoipa::path(post, path = "/api/v1/firmware/jobs/{id}/rollback", tag = "firmware", operation_id = "rollback_firmware_job",
    request_body = FirmwareNoteBody,
    params(("id" = String, Path), ("If-Match" = Option<String>, Header, description = "The version that was read; left out: whatever is there")),
    security(("token" = [])),
    responses((status = 200, body = Data<FirmwareJobBody>), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster), (status = 404, body = ErrorDisaster), (status = 412, body = ErrorDisaster), (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster)))]
pub async fn rollback(
    request: Sent<FirmwareExecute, FirmwareNoteBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    act(Act::Rollback, &http, id.into_inner(), request.body, &app).await
}
