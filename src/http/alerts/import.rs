//! CAP documents from elsewhere.

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_network::incident::Fate;
use serde_json::json;

use super::body::{Imported, missing};
use crate::app::App;
use crate::body;
use crate::envelope::Data;
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{Guarded, IncidentsWrite, by_of};

/// Largest document, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Imports a CAP 1.2 document; the same one (identifier, sender, sent) again changes nothing (200). An actual Alert opens
/// a triaged incident; what is Exercise, Test, System or Draft is only kept. An Update or Cancel changes the incident of
/// the message that it refers to; where that is not here yet, it is kept for a week and told so (409 `cap_parked`), and
/// takes effect when that message comes. What is imported is not published again. Needs `incidents:write`.
#[utoipa::path(post, path = "/api/v1/cap", tag = "alerts", operation_id = "import_cap",
    request_body(content = String, content_type = "application/cap+xml",
        description = "At most 1 MiB; also `application/xml` and `text/xml`"),
    security(("token" = [])),
    responses((status = 201, body = Data<Imported>), (status = 200, body = Data<Imported>),
        (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn import(
    _guard: Guarded<IncidentsWrite>,
    http: HttpRequest,
    payload: web::Payload,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    is_xml(&http)?;
    let document = body::read(&http, &mut payload.into_inner(), MAX_BYTES).await?;
    let answer = app.incidents.import(by_of(&http)?, &document).await?;
    let alert = answer.alert.ok_or_else(missing)?;
    if alert.state == muster_network::alert::AlertState::Parked {
        let message = "none of the messages that it refers to is here: it is kept, and takes effect when one comes";
        let details = json!({ "alert": alert.id, "references": alert.references, "waits_until": alert.waits_until });
        return Err(HttpError(Error::new(Kind::Conflict, message).coded("cap_parked").detailing(details)));
    }
    let known = answer.fate == Some(Fate::Known);
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    let data = json!({ "alert": alert, "incident_id": alert.incident_id, "fate": answer.fate });
    Ok(HttpResponse::build(status).json(Data { success: true, data }))
}

fn is_xml(request: &HttpRequest) -> Result<(), Error> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if ["application/cap+xml", "application/xml", "text/xml"].contains(&essence.as_str()) {
        return Ok(());
    }
    let message = format!("the body must be sent with Content-Type: application/cap+xml, not `{kind}`");
    Err(Error::new(Kind::UnsupportedMediaType, message))
}
