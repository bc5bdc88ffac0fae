//! The system's status, for operators.

use actix_web::web;

use crate::app::App;
use crate::error::ErrorAgent;
use crate::guard::{Guarded, Status};
use crate::report::{self, StatusReport};

/// Modules, providers, supervised actors, store and embedded model. Any valid key may read it.
#[utoipa::path(get, path = "/api/v1/status", tag = "status",
    responses((status = 200, body = StatusReport), (status = 401, body = ErrorAgent), (status = 429, body = ErrorAgent)))]
pub async fn status(_guard: Guarded<Status>, app: web::Data<App>) -> web::Json<StatusReport> {
    web::Json(report::status(&app).await)
}
