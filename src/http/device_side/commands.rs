//! The commands of a device, as it gets and answers them.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::device::CommandOutcome;
use muster_request::Request;
use serde_json::Value;
use utoipa::ToSchema;

use super::device;
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{Conflict, Disaster, NotFound, ReadErrors, SessionBodyErrors};
use crate::guard::{AnyDevice, Queried, Sent};

/// Longest wait, seconds.
const MAX_WAIT: u64 = 30;
/// Longest result, bytes of JSON.
const MAX_RESULT: usize = 8 << 10;

#[derive(Debug, Request)]
#[request(query)]
pub struct WaitQuery {
    /// How long to wait for one, in seconds.
    #[request(range = 0..=MAX_WAIT, default = MAX_WAIT)]
    wait_s: u64,
}

/// A command, as its device gets it.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub struct HandedCommand {
    pub id: String,
    pub device_id: String,
    pub name: String,
    #[schema(value_type = Object)]
    pub args: Value,
    pub state: String,
    pub created_at: String,
    pub created_by: String,
    pub expires_at: String,
    pub sent_at: Option<String>,
    pub deliveries: u32,
    pub finished_at: Option<String>,
    pub result: Option<Value>,
}

/// How a command went.
#[derive(Debug, Request)]
#[request(example = { "ok": true, "result": { "sounded_s": 10 } })]
pub struct AckBody {
    /// Whether it was done.
    pub ok: bool,
    /// Whether the device would not even try, where it was not done.
    pub refused: Option<bool>,
    /// What came of it: any JSON of at most 8 KiB.
    #[request(check = short)]
    pub result: Option<Value>,
}

fn short(result: &Value) -> Result<(), String> {
    if result.to_string().len() > MAX_RESULT { Err(format!("must be at most {MAX_RESULT} bytes")) } else { Ok(()) }
}

/// Get the next command
///
/// Returns the next command of the calling device, waiting for at most `wait_s` seconds. A command is delivered again,
/// after 30 seconds at the earliest, until it is acknowledged. If two calls wait at the same time, only the later one
/// receives a command.
#[utoipa::path(get, path = "/api/v1/device/commands/next", tag = "device side", operation_id = "next_device_command",
    params(WaitQuery),
    responses((status = 200, description = "The command", body = Data<HandedCommand>),
        (status = 204, description = "No command arrived in time"), ReadErrors<Disaster>))]
pub async fn next(
    request: Queried<AnyDevice, WaitQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let wait = request.query.wait_s;
    let command = app.devices.next_command(device(&http)?, Duration::from_secs(wait)).await?;
    Ok(command.map_or_else(|| HttpResponse::NoContent().finish(), envelope::data))
}

/// Acknowledge a command
///
/// Reports the outcome of a command. Repeating the same acknowledgement has no effect; a different one for a completed
/// command is rejected with 409.
#[utoipa::path(post, path = "/api/v1/device/commands/{id}/ack", tag = "device side", operation_id = "ack_device_command",
    request_body = AckBody, params(("id" = String, Path)),
    responses((status = 200, description = "The command", body = Data<HandedCommand>), SessionBodyErrors<Disaster>,
        NotFound<Disaster>, Conflict<Disaster>))]
pub async fn ack(
    request: Sent<AnyDevice, AckBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let AckBody { ok, refused, result } = request.body;
    let answer = match (ok, refused) {
        (true, _) => CommandOutcome::Done,
        (false, Some(true)) => CommandOutcome::Refused,
        (false, _) => CommandOutcome::Failed,
    };
    let command = app.devices.acknowledge(device(&http)?, id.into_inner(), answer, result).await?;
    Ok(envelope::data(command))
}
