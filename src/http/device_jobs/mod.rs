//! The device side of firmware jobs: what is to be done, and how far it is. By the device's own token.

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

/// What a device is to do.
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code)]
pub struct DeviceJobBody {
    /// The job, to report by.
    pub id: String,
    pub kind: String,
    /// `install`, `configure`, `reboot` or `rollback`.
    pub action: String,
    /// `forced`, `soft` or `download_only`.
    pub mode: String,
    pub state: String,
    pub attempt: u32,
    /// To be sent with the next report.
    pub exec_version: u64,
    /// What it is to run: artifact, version, sequence.
    #[schema(value_type = Option<Object>)]
    pub to: Option<()>,
    /// A lower sequence than the present one is wanted.
    pub allow_downgrade: bool,
    /// The fields of the artifact's manifest with `id`, `content_url`, `content_type` and `manifest_jws`.
    #[schema(value_type = Option<Object>)]
    pub artifact: Option<()>,
    pub deadline: Option<String>,
}

/// Longest long poll, in seconds.
const LONGEST: u64 = 60;

/// How long to wait.
#[derive(Debug, Request)]
#[request(query)]
pub struct NextQuery {
    /// In seconds.
    #[request(range = 0..=LONGEST, default = 0)]
    wait_s: u64,
}

fn device_of(http: &HttpRequest) -> Result<Arc<str>, HttpError> {
    match by_of(http)? {
        By::Device(device) => Ok(device),
        By::Person(_) | By::Key(_) | By::System => {
            Err(HttpError::new(Kind::Internal, "a route for devices let another in"))
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

/// How far a device is with a job.
#[derive(Debug, Request)]
#[request(into = ExecutionReport, example = { "state": "downloading", "progress": 50, "exec_version": 2 })]
pub struct DeviceReportBody {
    /// Where it has come to; left out: as before. `downloading`, `downloaded`, `verified`, `installing`, `rebooting`,
    /// `verifying`, `succeeded`, `failed`, `rejected`, `rolling_back`, `rolled_back`.
    #[request(schema = String)]
    state: Option<ExecState>,
    /// Percent.
    #[request(rename = "progress", range = 0..=100)]
    progress_pct: Option<u8>,
    bytes_done: Option<u64>,
    /// Put over what was said before; at most 32 keys, texts of at most 1,000 characters.
    #[request(check = short_details, default)]
    details: BTreeMap<String, String>,
    /// `code` and `message`, of a failure or a refusal.
    #[request(check = short_code, schema = Object)]
    error: Option<ExecError>,
    /// The one that the device has seen.
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
