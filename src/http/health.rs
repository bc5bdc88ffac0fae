//! Health: the report, and the two questions of an orchestrator.

use actix_web::web;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::{ErrorAgent, HttpError};
use crate::guard::Open;
use crate::report::{self, HealthReport, Ready};

/// Whether the process serves.
#[derive(Debug, Serialize, ToSchema)]
pub struct Live {
    pub status: &'static str,
}

/// The health of every module that exists, by the last results of its probe.
#[utoipa::path(get, path = "/api/health", tag = "health", security(()),
    responses((status = 200, body = HealthReport), (status = 429, body = ErrorAgent)))]
pub async fn report(_open: Open, app: web::Data<App>) -> web::Json<HealthReport> {
    web::Json(report::health(&app))
}

/// The process serves.
#[utoipa::path(get, path = "/api/health/live", tag = "health", security(()), responses((status = 200, body = Live)))]
pub async fn live(_open: Open) -> web::Json<Live> {
    web::Json(Live { status: "live" })
}

/// Requests can be answered: some provider of the chain is configured, or the embedded model is loaded.
#[utoipa::path(get, path = "/api/health/ready", tag = "health", security(()),
    responses((status = 200, body = Ready), (status = 503, body = ErrorAgent)))]
pub async fn ready(_open: Open, app: web::Data<App>) -> Result<web::Json<Ready>, HttpError> {
    Ok(web::Json(report::ready(&app)?))
}
