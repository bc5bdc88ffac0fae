//! Import of CAP documents.

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_network::incident::{ImportOutcome, ImportedDocument};
use serde_json::json;

use super::body::{Imported, missing};
use crate::app::App;
use crate::body;
use crate::envelope::Data;
use crate::error::HttpError;
use crate::error::sets::{Disaster, WriteErrors};
use crate::guard::{Guarded, IncidentsWrite, by_of};

/// Maximum size of a document, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Import a CAP document
///
/// Imports a CAP 1.2 document of at most 1 MiB. A document with a known identifier, sender and time of sending changes
/// nothing (200). An Alert with the status Actual creates a triaged incident; documents with another status are only
/// stored. Imported documents are not published again.
///
/// An Update or Cancel changes the incident of the message that it refers to. If that message has not been imported,
/// the document is stored for a week and 409 `cap_parked` is returned; it takes effect when the message arrives. If it ends
/// or changes an alert that is published here, a message follows by the rules of publication: `pending_alert` is one that
/// waits.
#[utoipa::path(post, path = "/api/v1/cap", tag = "alerts", operation_id = "import_cap",
    request_body(content = String, content_type = "application/cap+xml",
        description = "At most 1 MiB; also `application/xml` and `text/xml`"),
    responses((status = 201, description = "The imported alert and its incident", body = Data<Imported>),
        (status = 200, description = "The alert, which was imported before", body = Data<Imported>),
        WriteErrors<Disaster>))]
pub async fn import(
    _guard: Guarded<IncidentsWrite>,
    http: HttpRequest,
    payload: web::Payload,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    is_xml(&http)?;
    let document = body::read(&app, &http, &mut payload.into_inner(), MAX_BYTES).await?;
    let ImportedDocument { response: answer, warnings } = app.incidents.import(by_of(&http)?, document).await?;
    let alert = answer.alert.ok_or_else(missing)?;
    if alert.state == muster_network::alert::AlertState::Parked {
        let message = "none of the messages that the document refers to has been imported: it is stored and takes effect when one arrives";
        let details = json!({ "alert": alert.id, "references": alert.references, "waits_until": alert.waits_until });
        return Err(HttpError(Error::new(Kind::Conflict, message).coded("cap_parked").detailing(details)));
    }
    let known = answer.outcome == Some(ImportOutcome::AlreadyImported);
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    let data = json!({ "alert": alert, "incident_id": alert.incident_id, "fate": answer.outcome, "warnings": warnings,
        "pending_alert": answer.pending_alert });
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
