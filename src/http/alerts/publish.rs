//! Publication of alerts, with confirmation by a second person where it is required.

use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::alert::AlertState;

use super::body::{AlertBody, ConfirmBody, DraftBody, RejectBody, missing};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, WriteErrors};
use crate::guard::{AlertsPublish, Sent, by_of};
use crate::parameters;

/// Publish an alert
///
/// Publishes a CAP Alert for an incident; if an alert is already published, an Update of it. An alert that is public
/// and Severe or Extreme waits up to 30 minutes for confirmation by a second person (202, state `pending_second`). An
/// incident whose status is not Actual cannot be published (409).
#[utoipa::path(post, path = "/api/v1/incidents/{id}/alerts", tag = "alerts", operation_id = "publish_alert",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = DraftBody,
    responses((status = 201, description = "The published alert", body = Data<AlertBody>),
        (status = 202, description = "The alert, which waits for a second person", body = Data<AlertBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
pub async fn publish(
    request: Sent<AlertsPublish, DraftBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let answer = app.incidents.publish(by, named, id.into_inner(), request.body.into()).await?;
    let alert = answer.alert.ok_or_else(missing)?;
    let waits = alert.state == AlertState::PendingSecond;
    let mut response = if waits { HttpResponse::Accepted() } else { HttpResponse::Created() };
    response.insert_header((LOCATION, format!("/api/v1/alerts/{}", alert.id)));
    IdempotencyReplay::from(answer.replayed).write_to(&mut response);
    Ok(response.json(Data { success: true, data: alert }))
}

/// Confirm an alert
///
/// Confirms an alert that waits for a second person, and publishes it. The person who proposed it cannot confirm it
/// (403).
#[utoipa::path(post, path = "/api/v1/alerts/{id}/confirm", tag = "alerts", operation_id = "confirm_alert",
    params(("id" = String, Path)), request_body = ConfirmBody,
    responses((status = 200, description = "The published alert", body = Data<AlertBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn confirm(
    _request: Sent<AlertsPublish, ConfirmBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let answer = app.incidents.confirm(by_of(&http)?, id.into_inner()).await?;
    let alert = answer.alert.ok_or_else(missing)?;
    Ok(envelope::record(alert.version, &*alert))
}

/// Reject an alert
///
/// Rejects an alert that waits for a second person. The person who proposed it can withdraw it this way.
#[utoipa::path(post, path = "/api/v1/alerts/{id}/reject", tag = "alerts", operation_id = "reject_alert",
    params(("id" = String, Path)), request_body = RejectBody,
    responses((status = 200, description = "The rejected alert", body = Data<AlertBody>), WriteErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn reject(
    request: Sent<AlertsPublish, RejectBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let answer = app.incidents.reject(by_of(&http)?, id.into_inner(), request.body.reason).await?;
    let alert = answer.alert.ok_or_else(missing)?;
    Ok(envelope::record(alert.version, &*alert))
}
