//! Health: the report, and the liveness and readiness checks of an orchestrator.

use actix_web::web;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, OpenErrors, Unavailable};
use crate::guard::Open;
use crate::report::{self, HealthReport, Ready};

/// The result of a liveness check.
#[derive(Debug, Serialize, ToSchema)]
pub struct Live {
    pub status: &'static str,
}

/// Get the health of every module
///
/// Returns the result of the last probe of every module.
#[utoipa::path(get, path = "/api/health", tag = "health", operation_id = "get_health",
    responses((status = 200, description = "The health of the modules", body = HealthReport), OpenErrors<Agent>))]
pub async fn report(_open: Open, app: web::Data<App>) -> web::Json<HealthReport> {
    web::Json(report::health(&app))
}

/// Check that the process is running
///
/// Returns 200 while the process serves requests.
#[utoipa::path(get, path = "/api/health/live", tag = "health", operation_id = "get_liveness",
    responses((status = 200, description = "The process is running", body = Live), OpenErrors<Agent>))]
pub async fn live(_open: Open) -> web::Json<Live> {
    web::Json(Live { status: "live" })
}

/// Check that requests can be served
///
/// Returns 200 if a provider of the chain is configured or the embedded model is loaded, and 503 otherwise or while the
/// server is stopping.
#[utoipa::path(get, path = "/api/health/ready", tag = "health", operation_id = "get_readiness",
    responses((status = 200, description = "Requests can be served", body = Ready), OpenErrors<Agent>,
        Unavailable<Agent>))]
pub async fn ready(_open: Open, app: web::Data<App>) -> Result<web::Json<Ready>, HttpError> {
    Ok(web::Json(report::ready(&app)?))
}
