//! The status of the server, for operators.

use actix_web::{HttpRequest, web};
use muster_identity::keys::Scope;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, SessionErrors};
use crate::guard::{Guarded, Status, caller_of};
use crate::report::{self, SessionDetail, StatusReport};

/// Get the status of the server
///
/// Returns the state of modules, providers, supervised actors, the store and the embedded model. The actors of sessions
/// are listed for callers with the scope `admin`.
#[utoipa::path(get, path = "/api/v1/status", tag = "status", operation_id = "get_status",
    responses((status = 200, description = "The status", body = StatusReport), SessionErrors<Agent>))]
pub async fn status(
    _guard: Guarded<Status>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<StatusReport>, HttpError> {
    let is_admin = caller_of(&http)?.key.has(Scope::Admin);
    let sessions = if is_admin { SessionDetail::Shown } else { SessionDetail::Hidden };
    Ok(web::Json(report::status(&app, sessions).await))
}
