//! Reading incidents: one, a list, a map, a timeline, as CAP.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::Millis;
use muster_core::page::PageParams;
use muster_geo::{BBox, Geometry};
use muster_network::alert::Severity;
use muster_network::incident::{Incident, IncidentFilter, IncidentKind, State};
use muster_request::{Fields, Request};
use serde_json::{Value, json};

use super::response::{IncidentDetailsBody, IncidentList, IncidentView, Timeline, details};
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors};
use crate::guard::{Guarded, IncidentsRead, Queried, by_of};
use crate::parameters::{PageQuery, bbox, time};

/// Maximum number of features of a map.
const MAX_FEATURES: usize = 1_000;

/// The filters of a list and of a map.
#[derive(Debug, Request)]
#[request(query, into = IncidentFilter)]
pub struct FilterQuery {
    /// States, separated by commas.
    #[request(rename = "state", with = states, default, schema = String)]
    states: Vec<State>,
    #[request(schema = String)]
    kind: Option<IncidentKind>,
    /// Minimum CAP severity.
    #[request(schema = String)]
    min_severity: Option<Severity>,
    /// Bounding box: west, south, east, north in degrees. West > east crosses the antimeridian.
    #[request(with = bbox, schema = String)]
    bbox: Option<BBox>,
    /// Returns only incidents changed at or after this time, RFC 3339.
    #[request(with = time, schema = String)]
    since: Option<Millis>,
    /// Identifier of a user (`usr_…`): only incidents that the user is assigned to or commands.
    assignee: Option<String>,
    tag: Option<String>,
}

/// The filters and the page of a list of incidents.
#[derive(Debug, Request)]
#[request(query)]
pub struct ListQuery {
    #[request(flatten)]
    filter: FilterQuery,
    #[request(flatten)]
    page: PageQuery,
}

/// The filters and the page of a map of incidents.
#[derive(Debug, Request)]
#[request(query)]
pub struct MapQuery {
    #[request(flatten)]
    filter: FilterQuery,
    /// Maximum number of features.
    #[request(range = 1..=MAX_FEATURES, default = MAX_FEATURES, message = "must be 1 to 1,000")]
    limit: usize,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

fn states(fields: &mut Fields<'_>, name: &str) -> Option<Vec<State>> {
    let text = fields.string(name)?;
    let states = text.split(',').filter(|state| !state.is_empty());
    match states.map(|state| serde_json::from_value(state.into())).collect() {
        Ok(states) => Some(states),
        Err(error) => {
            fields.fail(name, error.to_string());
            None
        }
    }
}

/// List incidents
///
/// Returns a page of the incidents that the caller may see, newest first.
#[utoipa::path(get, path = "/api/v1/incidents", tag = "incidents", operation_id = "list_incidents", params(ListQuery),
    responses((status = 200, description = "A page of incidents", body = Data<IncidentList>), ReadErrors<Disaster>))]
pub async fn list(
    request: Queried<IncidentsRead, ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let ListQuery { filter, page } = request.query;
    let found = app.incidents.list(by_of(&http)?, filter.into(), page.into()).await?;
    let next = found.next.clone();
    let incidents = found.items.iter().map(|incident| IncidentView::new(incident)).collect();
    Ok(envelope::list("incidents", &muster_core::page::Page { items: incidents, next }))
}

/// Get an incident
///
/// Returns one incident, with its version as `ETag`. An incident that the caller may not see is 404.
#[utoipa::path(get, path = "/api/v1/incidents/{id}", tag = "incidents", operation_id = "get_incident",
    params(("id" = String, Path)),
    responses((status = 200, description = "The incident", body = Data<IncidentDetailsBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn get(
    _guard: Guarded<IncidentsRead>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    Ok(details(&app.incidents.details(by_of(&http)?, id.into_inner()).await?))
}

/// Get the timeline of an incident
///
/// Returns the events of an incident, oldest first.
#[utoipa::path(get, path = "/api/v1/incidents/{id}/timeline", tag = "incidents", operation_id = "get_incident_timeline",
    params(("id" = String, Path), PageQuery),
    responses((status = 200, description = "A page of events", body = Data<Timeline>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn timeline(
    request: Queried<IncidentsRead, PageQuery>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = request.query.into();
    Ok(envelope::list("entries", &app.incidents.timeline(by_of(&http)?, id.into_inner(), page).await?))
}

/// Get an incident as CAP
///
/// Returns the latest CAP 1.2 message of an incident; if none was published, a message with the status Draft, on which
/// no recipient acts. It shows the area as it would be published: a point has the radius of the incident's kind.
#[utoipa::path(get, path = "/api/v1/incidents/{id}.cap", tag = "incidents", operation_id = "get_incident_cap",
    params(("id" = String, Path)),
    responses((status = 200, description = "The CAP 1.2 document", body = String, content_type = "application/cap+xml"),
        CallErrors<Disaster>, NotFound<Disaster>))]
pub async fn cap(
    _guard: Guarded<IncidentsRead>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let xml = app.incidents.incident_document(by_of(&http)?, id.into_inner()).await?;
    Ok(HttpResponse::Ok().content_type("application/cap+xml; charset=utf-8").body(xml))
}

/// List incidents as GeoJSON
///
/// Returns the incidents that the caller may see as a GeoJSON `FeatureCollection`, newest first, with the filters of
/// `GET /api/v1/incidents`. A circle is represented by its centre, with `radius_m` (metres) in the properties.
/// `next_cursor` is a member beside `features`.
#[utoipa::path(get, path = "/api/v1/incidents.geojson", tag = "incidents", operation_id = "get_incidents_geojson",
    params(MapQuery),
    responses((status = 200, description = "A page of incidents as GeoJSON", body = Object, content_type = "application/geo+json"),
        ReadErrors<Disaster>))]
pub async fn geojson(
    request: Queried<IncidentsRead, MapQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let MapQuery { filter, limit, cursor } = request.query;
    let page = PageParams { limit, after: cursor.filter(|cursor| !cursor.is_empty()) };
    let found = app.incidents.list(by_of(&http)?, filter.into(), page).await?;
    let features: Vec<Value> = found.items.iter().map(|incident| feature(incident)).collect();
    let map = json!({ "type": "FeatureCollection", "features": features, "next_cursor": found.next });
    Ok(HttpResponse::Ok().content_type("application/geo+json").body(map.to_string()))
}

/// Returns an incident as a GeoJSON feature, whose properties are all fields but the geometry.
fn feature(incident: &Incident) -> Value {
    let mut properties = json!(incident);
    if let Some(properties) = properties.as_object_mut() {
        properties.remove("geometry");
        if let Some(Geometry::Circle { radius_m, .. }) = &incident.geometry {
            properties.insert("radius_m".to_owned(), json!(radius_m));
        }
    }
    let geometry = incident.geometry.as_ref().map(plain);
    json!({ "type": "Feature", "id": incident.id, "bbox": incident.bbox, "geometry": geometry,
        "properties": properties })
}

/// Approximates a circle by a polygon, as GeoJSON has no circles.
fn plain(geometry: &Geometry) -> Geometry {
    match geometry {
        Geometry::Circle { center, .. } => Geometry::Point(*center),
        Geometry::GeometryCollection(members) => Geometry::GeometryCollection(members.iter().map(plain).collect()),
        other => other.clone(),
    }
}
