//! Publication of alerts, with confirmation by a second person where it is required.

use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_governance::{ApprovalAct, DecisionKind, GovernanceCaller};
use muster_network::alert::{AlertAction, AlertState, Urgency};
use muster_network::incident::{AlertTexts, Draft, IncidentResponse};

use super::body::{AlertBody, AllClearBody, CancelBody, ConfirmBody, DraftBody, PatchAlertBody, RejectBody, missing};
use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay};
use crate::error::HttpError;
use crate::error::sets::{Disaster, Gone, NotFound, VersionErrors, VersionFailed, WriteErrors};
use crate::governance::{self, WaitingThings};
use crate::guard::{AlertsPublish, Sent, by_of};
use crate::parameters;

/// Publish an alert
///
/// Publishes a CAP Alert for an incident; if an alert is already published, an Update of it. An alert that is public
/// and Severe or Extreme, and every later message of its chain, waits for confirmation by a second person (202, state
/// `pending_second`), for up to 30 minutes. An incident whose status is not Actual cannot be published (409).
///
/// Once each role of the quorum has a decider, an alert that is actual, public and Extreme opens an approval
/// (`approval_id`) whose reason is that in `Muster-Reason`; it is confirmed and rejected by its deciders.
///
/// `dry_run` returns the alert as it would be published, with its area, texts and state.
#[utoipa::path(post, path = "/api/v1/incidents/{id}/alerts", tag = "alerts", operation_id = "publish_alert",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = DraftBody,
    responses((status = 201, description = "The published alert", body = Data<AlertBody>),
        (status = 200, description = "With `dry_run`: the alert as it would be published", body = Data<AlertBody>),
        (status = 202, description = "The alert, which waits for a second person", body = Data<AlertBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
pub async fn publish(
    request: Sent<AlertsPublish, DraftBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    if request.body.dry_run {
        let answer = app.incidents.try_publish(by, id.into_inner(), request.body.into()).await?;
        return Ok(envelope::data(answer.alert.ok_or_else(missing)?));
    }
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let (id, draft) = (id.into_inner(), Draft::from(request.body));
    let why = format!("publish an alert of {id}");
    let answer = governance::opening(&app, &http, &request.sent, &why, |step| {
        let (incidents, by, named) = (app.incidents.clone(), by.clone(), named.clone());
        let (id, draft) = (id.clone(), draft.clone());
        async move { incidents.publish(by, named, id, draft, step).await }
    });
    proposed(&answer.await?)
}

/// Returns 201 with a published alert, 202 with one that waits.
fn proposed(answer: &IncidentResponse) -> Result<HttpResponse, HttpError> {
    let alert = answer.alert.as_ref().ok_or_else(missing)?;
    let waits = alert.state == AlertState::PendingSecond;
    let mut response = if waits { HttpResponse::Accepted() } else { HttpResponse::Created() };
    response.insert_header((LOCATION, format!("/api/v1/alerts/{}", alert.id)));
    IdempotencyReplay::from(answer.replayed).write_to(&mut response);
    Ok(response.json(Data { success: true, data: alert }))
}

/// Confirm an alert
///
/// Confirms an alert that waits, and publishes it. Where two people publish it, the one who proposed it or changed its
/// text last cannot confirm it (403). Send the version that was read as `If-Match`: a text that was changed since is then
/// rejected (412).
///
/// Of an alert with an `approval_id` this is a decision on that approval, with `role` and a signature. Where its urgency is
/// Immediate, two super administrators may sign a break-glass instead: without `role`, over
/// `"decision": "break_glass"` and `"role": "super_admin"`. The answer is the alert, published once the quorum is met.
#[utoipa::path(post, path = "/api/v1/alerts/{id}/confirm", tag = "alerts", operation_id = "confirm_alert",
    params(("id" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The version that was read; any version by default")),
    request_body = ConfirmBody,
    responses((status = 200, description = "The published alert", body = Data<AlertBody>), WriteErrors<Disaster>,
        Gone<Disaster>, NotFound<Disaster>, VersionFailed<Disaster>))]
pub async fn confirm(
    request: Sent<AlertsPublish, ConfirmBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match, id) = (by_of(&http)?, parameters::optional_if_match(&http)?, id.into_inner());
    let Some(approval) = app.incidents.awaited_approval(&id).await? else {
        return record(&app.incidents.confirm(by, id, if_match, None).await?);
    };
    let ConfirmBody { comment, decision } = request.body;
    let alert = app.incidents.alert(by.clone(), id.clone()).await?;
    let is_immediate = alert.info.as_ref().is_some_and(|info| info.urgency == Urgency::Immediate);
    let breaks_glass = is_immediate && decision.role.is_none();
    let kind = if breaks_glass { DecisionKind::BreakGlass } else { DecisionKind::Approve };
    let (decision, incidents) = (decision.decision(kind, comment)?, app.incidents.clone());
    let decided = governance::decided(&app, &http, (approval, false), decision, |step| async move {
        incidents.confirm(by, id, if_match, Some(step)).await
    });
    record(&decided.await?)
}

/// Reject an alert
///
/// Rejects an alert that waits. The person who proposed it can withdraw it this way. Where it would have ended a published
/// alert, that alert stands; `POST /api/v1/alerts/{id}/cancel` and `all-clear` end it later. Of an alert with an
/// `approval_id`, who did not propose it decides on that approval, with `role` and a signature.
#[utoipa::path(post, path = "/api/v1/alerts/{id}/reject", tag = "alerts", operation_id = "reject_alert",
    params(("id" = String, Path)), request_body = RejectBody,
    responses((status = 200, description = "The rejected alert", body = Data<AlertBody>), WriteErrors<Disaster>,
        Gone<Disaster>, NotFound<Disaster>))]
pub async fn reject(
    request: Sent<AlertsPublish, RejectBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, id) = (by_of(&http)?, id.into_inner());
    let RejectBody { note, decision } = request.body;
    let Some(approval) = app.incidents.awaited_approval(&id).await? else {
        return record(&app.incidents.reject(by, id, Some(note.note), None).await?);
    };
    let caller = governance::caller(&app, &http)?;
    let requested = app.governance.approval(GovernanceCaller::system(), &approval).await?;
    if requested.record.requester.id == caller.id() {
        let cancelled = app.governance.act(caller, approval, ApprovalAct::Cancel(note.note)).await?;
        WaitingThings::in_app(&app).follow(&cancelled).await?;
        return Ok(envelope::data(app.incidents.alert(by, id).await?));
    }
    let decision = decision.decision(DecisionKind::Reject, Some(note.note.clone()))?;
    let incidents = app.incidents.clone();
    let decided = governance::decided(&app, &http, (approval, false), decision, |step| async move {
        incidents.reject(by, id, Some(note.note), Some(step)).await
    });
    record(&decided.await?)
}

/// Change an alert that waits
///
/// Changes the text of an alert that waits to be confirmed, before it is published. Who changes it is its author from then
/// on (`made_by`): where two people publish it, another person confirms it. A published alert cannot be changed (409): an
/// Update follows it.
#[utoipa::path(patch, path = "/api/v1/alerts/{id}", tag = "alerts", operation_id = "change_alert",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    request_body = PatchAlertBody,
    responses((status = 200, description = "The changed alert", body = Data<AlertBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>))]
pub async fn change(
    request: Sent<AlertsPublish, PatchAlertBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, parameters::if_match(&http)?);
    let (id, texts) = (id.into_inner(), AlertTexts::from(request.body));
    let before = app.incidents.awaited_approval(&id).await?;
    let why = format!("publish the new text of {id}");
    let answer = governance::opening(&app, &http, &request.sent, &why, |step| {
        let (incidents, by) = (app.incidents.clone(), by.clone());
        let (id, texts) = (id.clone(), texts.clone());
        async move { incidents.edit_alert(by, id, if_match, texts, step).await }
    });
    let answer = answer.await?;
    if let Some(before) = before {
        WaitingThings::in_app(&app).cancel(&before).await?;
    }
    record(&answer)
}

/// Cancel a published alert
///
/// Ends a published alert by a CAP Cancel, whatever the state of its incident. Where two people published it, the Cancel
/// waits for a second person (202), and the alert stands until then.
#[utoipa::path(post, path = "/api/v1/alerts/{id}/cancel", tag = "alerts", operation_id = "cancel_alert",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = CancelBody,
    responses((status = 201, description = "The published Cancel", body = Data<AlertBody>),
        (status = 202, description = "The Cancel, which waits for a second person", body = Data<AlertBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
pub async fn cancel(
    request: Sent<AlertsPublish, CancelBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let CancelBody { note, texts } = request.body;
    let (note, texts) = (Some(note.note), texts.into());
    proposed(&app.incidents.end_alert(by, named, id.into_inner(), AlertAction::Cancel, note, texts).await?)
}

/// Give the all-clear for a published alert
///
/// Ends a published alert by a CAP Update with the response type AllClear, whatever the state of its incident. Where two
/// people published it, the all-clear waits for a second person (202), and the alert stands until then.
#[utoipa::path(post, path = "/api/v1/alerts/{id}/all-clear", tag = "alerts", operation_id = "give_all_clear",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    request_body = AllClearBody,
    responses((status = 201, description = "The published all-clear", body = Data<AlertBody>),
        (status = 202, description = "The all-clear, which waits for a second person", body = Data<AlertBody>),
        WriteErrors<Disaster>, NotFound<Disaster>))]
pub async fn all_clear(
    request: Sent<AlertsPublish, AllClearBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let named = parameters::idempotency(&http, by.id(), &request.sent)?;
    let AllClearBody { note, texts } = request.body;
    let texts = texts.into();
    proposed(&app.incidents.end_alert(by, named, id.into_inner(), AlertAction::AllClear, note.note, texts).await?)
}

/// Returns 200 with the alert of an answer.
fn record(answer: &IncidentResponse) -> Result<HttpResponse, HttpError> {
    let alert = answer.alert.as_ref().ok_or_else(missing)?;
    Ok(envelope::record(alert.version, &**alert))
}
