//! The status of the server, for operators.

use actix_web::web;

use crate::app::App;
use crate::error::sets::{Agent, SessionErrors};
use crate::guard::{Guarded, Status};
use crate::report::{self, StatusReport};

/// Get the status of the server
///
/// Returns the state of modules, providers, supervised actors, the store and the embedded model.
#[utoipa::path(get, path = "/api/v1/status", tag = "status", operation_id = "get_status",
    responses((status = 200, description = "The status", body = StatusReport), SessionErrors<Agent>))]
pub async fn status(_guard: Guarded<Status>, app: web::Data<App>) -> web::Json<StatusReport> {
    web::Json(report::status(&app).await)
}
