//! Alerts as they are read: one, many, as CAP, as a feed.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_geo::BBox;
use muster_network::incident::AlertFilter;
use serde::Deserialize;
use utoipa::IntoParams;

use super::body::{AlertBody, AlertList};
use crate::app::App;
use crate::ask;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors};
use crate::guard::{AlertsRead, Guarded, by_of};

#[derive(Debug, Deserialize, IntoParams)]
pub struct ListQuery {
    /// `true`: those that say what is to be done now; `false`: the others.
    active: Option<String>,
    /// CAP's severity: this or graver.
    severity: Option<String>,
    /// West, south, east, north in degrees; west > east crosses the antimeridian.
    bbox: Option<String>,
    /// Of one incident.
    incident: Option<String>,
    /// 1 to 200, default 50.
    limit: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

fn wrong(field: &str, why: impl Into<String>, input: &str) -> Error {
    Error::field(Kind::Invalid, &["query", field], why, input.into())
}

impl ListQuery {
    fn filter(&self) -> Result<AlertFilter, Error> {
        let active = self.active.as_deref().map(|text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(wrong("active", "must be true or false", text)),
        });
        let severity = self.severity.as_deref().map(|text| {
            let why = "must be Extreme, Severe, Moderate, Minor or Unknown";
            muster_network::alert::Severity::parse(text).ok_or_else(|| wrong("severity", why, text))
        });
        let bbox = self.bbox.as_deref().map(|text| BBox::parse(text).map_err(|e| wrong("bbox", e.to_string(), text)));
        Ok(AlertFilter {
            active: active.transpose()?,
            severity: severity.transpose()?,
            bbox: bbox.transpose()?,
            incident: self.incident.clone(),
            public: None,
        })
    }
}

/// List alerts
///
/// Returns a page of the alerts that the caller may see, newest first: public alerts; for callers with the permission
/// `incidents:write` also proposals, imported and restricted alerts.
#[utoipa::path(get, path = "/api/v1/alerts", tag = "alerts", operation_id = "list_alerts", params(ListQuery),
    responses((status = 200, description = "A page of alerts", body = Data<AlertList>), ReadErrors<Disaster>))]
pub async fn list(
    _guard: Guarded<AlertsRead>,
    query: web::Query<ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = ask::page(query.limit.as_deref(), query.cursor.clone())?;
    Ok(envelope::list("alerts", &app.incidents.alerts(by_of(&http)?, query.filter()?, page).await?))
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
/// Returns the CAP 1.2 document of an alert. An imported document is returned unchanged.
#[utoipa::path(get, path = "/api/v1/alerts/{id}.cap", tag = "alerts", operation_id = "get_alert_cap",
    params(("id" = String, Path)),
    responses((status = 200, description = "The CAP 1.2 document", body = String, content_type = "application/cap+xml"),
        CallErrors<Disaster>, NotFound<Disaster>))]
pub async fn cap(
    _guard: Guarded<AlertsRead>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let xml = app.incidents.document(by_of(&http)?, id.into_inner()).await?;
    Ok(HttpResponse::Ok().content_type("application/cap+xml; charset=utf-8").body(xml))
}

/// Get the public alerts as an Atom feed
///
/// Returns the public alerts in effect as an Atom feed with links to the CAP documents. Imported alerts and alerts
/// whose status is not Actual are left out.
#[utoipa::path(get, path = "/api/v1/alerts/feed.atom", tag = "alerts", operation_id = "get_alerts_feed",
    responses((status = 200, description = "The Atom feed", body = String, content_type = "application/atom+xml"),
        CallErrors<Disaster>))]
pub async fn atom(
    _guard: Guarded<AlertsRead>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let base = {
        let asked = http.connection_info();
        let live = app.live();
        let set = live.config.auth.public_url.trim_end_matches('/');
        if set.is_empty() { format!("{}://{}", asked.scheme(), asked.host()) } else { set.to_owned() }
    };
    let xml = app.incidents.atom(by_of(&http)?, &base).await?;
    Ok(HttpResponse::Ok().content_type("application/atom+xml; charset=utf-8").body(xml))
}
