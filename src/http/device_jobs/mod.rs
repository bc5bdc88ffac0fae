//! Firmware jobs as a device sees them: the next job and reports of its progress. Needs the device's own token.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Kind;
use muster_identity::By;
use muster_network::firmware::{ExecError, ExecState, ExecutionReport};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, ReadErrors, WriteErrors};
use crate::guard::{AnyDevice, Queried, Sent, by_of};
use crate::route::operations;

operations! {
    next,
    report,
}

/// A firmware job as a device receives it.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct DeviceJobBody {
    /// Identifier of the job, used in reports.
    pub id: String,
    pub kind: String,
    /// Action: `install`, `configure`, `reboot` or `rollback`.
    pub action: String,
    /// Mode: `forced`, `soft` or `download_only`.
    pub mode: String,
    pub state: String,
    pub attempt: u32,
    /// Version of the execution, to be sent with the next report.
    pub exec_version: u64,
    /// Target: artifact, version and sequence.
    #[schema(value_type = Option<Object>)]
    pub to: Option<()>,
    /// Whether a sequence below the present one is permitted.
    pub allow_downgrade: bool,
    /// Manifest fields of the artifact with `id`, `content_url`, `content_type` and `manifest_jws`.
    #[schema(value_type = Option<Object>)]
    pub artifact: Option<()>,
    pub deadline: Option<String>,
}

/// Maximum duration of a long poll, in seconds.
const LONGEST: u64 = 60;

/// The duration of a long poll.
#[derive(Debug, Request)]
#[request(query)]
pub struct NextQuery {
    /// Maximum time to wait for a job, in seconds.
    #[request(range = 0..=LONGEST, default = 0)]
    wait_s: u64,
}

fn device_of(http: &HttpRequest) -> Result<Arc<str>, HttpError> {
    match by_of(http)? {
        By::Device(device) => Ok(device),
        By::Person(_) | By::Key(_) | By::System => {
            Err(HttpError::new(Kind::Internal, "a route for devices admitted another caller"))
        }
    }
}

/// Get the next firmware job
///
/// Returns the job in progress on the calling device, otherwise the next job, waiting for at most `wait_s` seconds. A
/// newer call of the same device ends an older one that waits. The same information is published on the channel
/// `devices:{id}` as `firmware.execution.changed`.
#[utoipa::path(get, path = "/api/v1/device/jobs/next", tag = "device side", operation_id = "next_device_job", params(NextQuery),
    responses((status = 200, description = "The job", body = Data<DeviceJobBody>),
        (status = 204, description = "No job arrived in time"), ReadErrors<Disaster>))]
async fn next(
    request: Queried<AnyDevice, NextQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let job = app.firmware.next(device_of(&http)?, Duration::from_secs(request.query.wait_s)).await?;
    Ok(job.map_or_else(|| HttpResponse::NoContent().finish(), envelope::data))
}

/// The progress of a job on a device.
#[derive(Debug, Request)]
#[request(into = ExecutionReport, example = { "state": "downloading", "progress": 50, "exec_version": 2 })]
pub struct DeviceReportBody {
    /// New state; unchanged if it is left out. `downloading`, `downloaded`, `verified`, `installing`, `rebooting`,
    /// `verifying`, `succeeded`, `failed`, `rejected`, `rolling_back`, `rolled_back`.
    #[request(schema = String)]
    state: Option<ExecState>,
    /// Progress in percent.
    #[request(rename = "progress", range = 0..=100)]
    progress_pct: Option<u8>,
    bytes_done: Option<u64>,
    /// Details that are merged into those reported before: at most 32 keys, values of at most 1,000 characters.
    #[request(check = short_details, default)]
    details: BTreeMap<String, String>,
    /// `code` and `message` of a failure or a rejection.
    #[request(check = short_code, schema = Object)]
    error: Option<ExecError>,
    /// Version of the execution that the device received last.
    exec_version: u64,
}

fn short_details(details: &BTreeMap<String, String>) -> Result<(), &'static str> {
    if details.iter().any(|(key, value)| key.len() > 100 || value.chars().count() > 1_000) {
        return Err("must be texts of at most 1,000 characters under keys of at most 100");
    }
    Ok(())
}

fn short_code(error: &ExecError) -> Result<(), &'static str> {
    if error.code.len() > 100 { Err("`code` must be at most 100 characters") } else { Ok(()) }
}

/// Report the progress of a firmware job
///
/// Reports the progress of the calling device. The response has the `exec_version` for the next report.
///
/// A stale version is rejected with 409 `stale_execution`, a transition that is not allowed with 409
/// `illegal_transition`; both contain the current state. A job of another device is 404.
#[utoipa::path(patch, path = "/api/v1/device/jobs/{id}", tag = "device side", operation_id = "report_device_job",
    request_body = DeviceReportBody, params(("id" = String, Path)),
    responses((status = 200, description = "The job after the report", body = Data<DeviceJobBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
async fn report(
    request: Sent<AnyDevice, DeviceReportBody>,
    http: HttpRequest,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    Ok(envelope::data(app.firmware.report(device_of(&http)?, id.into_inner(), request.body.into()).await?))
}
