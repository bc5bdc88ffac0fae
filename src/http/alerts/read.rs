//! Alerts as they are read: one, many, as CAP, as a feed.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_geo::BBox;
use muster_network::alert::Severity;
use muster_network::incident::AlertFilter;
use muster_request::{Fields, Request};

use super::body::{AlertBody, AlertList};
use crate::app::App;
use crate::ask::{PageQuery, bbox};
use crate::envelope::{self, Data};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{AlertsRead, Guarded, Queried, by_of};

/// Which alerts are listed.
#[derive(Debug, Request)]
#[request(query)]
pub struct ListQuery {
    /// `true`: those that say what is to be done now; `false`: the others.
    active: Option<bool>,
    /// CAP's severity: this or graver.
    #[request(with = severity, schema = String)]
    severity: Option<Severity>,
    /// West, south, east, north in degrees; west > east crosses the antimeridian.
    #[request(with = bbox, schema = String)]
    bbox: Option<BBox>,
    /// Of one incident.
    incident: Option<String>,
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

/// The alerts that the caller may see, newest first: what was published for everybody; to those who may write incidents
/// also the rest: proposals, imports, what is for few. Needs `alerts:read`.
#[utoipa::path(get, path = "/api/v1/alerts", tag = "alerts", operation_id = "list_alerts", params(ListQuery),
    security(("token" = [])),
    responses((status = 200, body = Data<AlertList>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn list(
    request: Queried<AlertsRead, ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let ListQuery { active, severity, bbox, incident, page } = request.query;
    let filter = AlertFilter { active, severity, bbox, incident, public: None };
    Ok(envelope::list("alerts", &app.incidents.alerts(by_of(&http)?, filter, page.into()).await?))
}

/// One alert. Needs `alerts:read`.
#[utoipa::path(get, path = "/api/v1/alerts/{id}", tag = "alerts", operation_id = "get_alert",
    params(("id" = String, Path)), security(("token" = [])),
    responses((status = 200, body = Data<AlertBody>), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn get(
    _guard: Guarded<AlertsRead>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let alert = app.incidents.alert(by_of(&http)?, id.into_inner()).await?;
    Ok(envelope::record(alert.version, &*alert))
}

/// An alert's CAP 1.2 document; of an imported one as it was received. Needs `alerts:read`.
#[utoipa::path(get, path = "/api/v1/alerts/{id}.cap", tag = "alerts", operation_id = "get_alert_cap",
    params(("id" = String, Path)), security(("token" = [])),
    responses((status = 200, body = String, content_type = "application/cap+xml"),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn cap(
    _guard: Guarded<AlertsRead>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let xml = app.incidents.document(by_of(&http)?, id.into_inner()).await?;
    Ok(HttpResponse::Ok().content_type("application/cap+xml; charset=utf-8").body(xml))
}

/// What was published for everybody and says what is to be done now, as an Atom feed that links to the CAP documents.
/// Nothing imported, nothing that is not Actual. Needs `alerts:read`, as every route but the login needs a token.
#[utoipa::path(get, path = "/api/v1/alerts/feed.atom", tag = "alerts", operation_id = "get_alerts_feed",
    security(("token" = [])),
    responses((status = 200, body = String, content_type = "application/atom+xml"),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
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
