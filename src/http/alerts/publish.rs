//! Alerts of incidents: published by one person, or by two.

use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::alert::AlertState;

use super::body::{AlertBody, ConfirmBody, DraftBody, RejectBody, missing};
use crate::app::App;
use crate::ask;
use crate::envelope::{self, Data, Given};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{AlertsPublish, Sent, by_of};

/// Publishes a CAP Alert of an incident; where one stands, an Update of it. What is Severe or Extreme and Public waits for
/// a second person (202, state `pending_second`) for 30 minutes. An incident whose status is not Actual is never
/// published (409). Needs `alerts:publish`.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/alerts", tag = "alerts", operation_id = "publish_alert",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = DraftBody, security(("token" = [])),
    responses((status = 201, body = Data<AlertBody>), (status = 202, body = Data<AlertBody>),
        (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster),
        (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn publish(
    request: Sent<AlertsPublish, DraftBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = ask::idempotency(&http, by.id(), &request.sent)?;
    let answer = app.incidents.publish(by, named, id.into_inner(), request.body.into()).await?;
    let alert = answer.alert.ok_or_else(missing)?;
    let waits = alert.state == AlertState::PendingSecond;
    let mut response = if waits { HttpResponse::Accepted() } else { HttpResponse::Created() };
    response.insert_header((LOCATION, format!("/api/v1/alerts/{}", alert.id)));
    Given::again_if(answer.replayed).tell(&mut response);
    Ok(response.json(Data { success: true, data: alert }))
}

/// The second person's yes: the alert is published now. Who proposed it is refused (403). Needs `alerts:publish`.
#[utoipa::path(post, path = "/api/v1/alerts/{id}/confirm", tag = "alerts", operation_id = "confirm_alert",
    params(("id" = String, Path)), request_body = ConfirmBody, security(("token" = [])),
    responses((status = 200, body = Data<AlertBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
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

/// A no to an alert that waits: by anybody with `alerts:publish`; who proposed it takes it back so.
#[utoipa::path(post, path = "/api/v1/alerts/{id}/reject", tag = "alerts", operation_id = "reject_alert",
    params(("id" = String, Path)), request_body = RejectBody, security(("token" = [])),
    responses((status = 200, body = Data<AlertBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
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
