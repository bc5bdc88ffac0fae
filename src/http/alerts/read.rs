//! Reading alerts: one, a list, as CAP, as an Atom feed.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Kind;
use muster_geo::BBox;
use muster_network::alert::{AlertState, Severity};
use muster_network::incident::AlertFilter;
use muster_request::{Fields, Request};

use super::body::{AlertBody, AlertList};
use super::public::PublicReader;
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors};
use crate::guard::{AlertsRead, Guarded, Queried, base_url, by_of};
use crate::parameters::{PageQuery, bbox};

/// The filters and the page of a list of alerts.
#[derive(Debug, Request)]
#[request(query)]
pub struct ListQuery {
    /// `true`: only alerts in effect; `false`: only alerts not in effect.
    active: Option<bool>,
    /// Minimum CAP severity.
    #[request(with = severity, schema = String, traced)]
    severity: Option<Severity>,
    /// Bounding box: west, south, east, north in degrees. West > east crosses the antimeridian.
    #[request(with = bbox, schema = String)]
    bbox: Option<BBox>,
    /// Identifier of an incident: only its alerts.
    incident: Option<String>,
    /// State, such as `pending_second`: only the alerts that wait to be confirmed.
    #[request(schema = String)]
    state: Option<AlertState>,
    #[request(flatten)]
    page: PageQuery,
}

fn severity(fields: &mut Fields<'_>, name: &str) -> Option<Severity> {
    let severity = Severity::parse(&fields.string(name)?);
    if severity.is_none() {
        fields.fail(name, "must be Extreme, Severe, Moderate, Minor or Unknown");
    }
    severity
}

/// List alerts
///
/// Returns a page of the alerts that the caller may see, newest first: public alerts; for callers with the permission
/// `incidents:write` also proposals, imported and restricted alerts.
#[utoipa::path(get, path = "/api/v1/alerts", tag = "alerts", operation_id = "list_alerts", params(ListQuery),
    responses((status = 200, description = "A page of alerts", body = Data<AlertList>), ReadErrors<Disaster>))]
pub async fn list(
    request: Queried<AlertsRead, ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let ListQuery { active, severity, bbox, incident, state, page } = request.query;
    let filter = AlertFilter { active, severity, bbox, incident, state };
    Ok(envelope::list("alerts", &app.incidents.alerts(by_of(&http)?, filter, page.into()).await?))
}

/// Get an alert
///
/// Returns one alert, with its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/alerts/{id}", tag = "alerts", operation_id = "get_alert", params(("id" = String, Path)),
    responses((status = 200, description = "The alert", body = Data<AlertBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn get(
    _guard: Guarded<AlertsRead>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let alert = app.incidents.alert(by_of(&http)?, id.into_inner()).await?;
    Ok(envelope::record(alert.version, &*alert))
}

/// Get an alert as CAP
///
/// Returns the CAP 1.2 document of an alert. An imported document is returned unchanged. An alert that waits, or was
/// rejected or withdrawn, has the status Draft, on which no recipient acts.
#[utoipa::path(get, path = "/api/v1/alerts/{id}.cap", tag = "alerts", operation_id = "get_alert_cap",
    params(("id" = String, Path)),
    responses((status = 200, description = "The CAP 1.2 document", body = String, content_type = "application/cap+xml"),
        CallErrors<Disaster>, NotFound<Disaster>))]
pub async fn cap(
    reader: PublicReader,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let id = id.into_inner();
    if reader.anonymous && !app.incidents.alert(reader.by.clone(), id.clone()).await?.is_public() {
        return Err(HttpError::new(Kind::NotFound, "no public alert has this id"));
    }
    let xml = app.incidents.document(reader.by.clone(), id).await?;
    Ok(reader.document(&http, "application/cap+xml; charset=utf-8", xml))
}

/// Get the public alerts as an Atom feed
///
/// Returns the public alerts in effect as an Atom feed with links to the CAP documents. The title of an Update, an
/// all-clear or a Cancel says so; a Cancel stays in the feed until it expires. `updated` never goes back. Imported alerts
/// and alerts whose status is not Actual are left out. With the setting `incidents.public_feed` the feed and the documents
/// of its alerts need no credential. `If-None-Match` is honoured.
#[utoipa::path(get, path = "/api/v1/alerts/feed.atom", tag = "alerts", operation_id = "get_alerts_feed",
    responses((status = 200, description = "The Atom feed", body = String, content_type = "application/atom+xml"),
        CallErrors<Disaster>))]
pub async fn atom(reader: PublicReader, http: HttpRequest, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let base = base_url(&app, &http);
    let xml = app.incidents.atom(reader.by.clone(), &base).await?;
    Ok(reader.document(&http, "application/atom+xml; charset=utf-8", xml))
}
