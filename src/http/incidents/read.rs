//! Incidents as they are read: one, many, on a map, as CAP.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::PageAsk;
use muster_core::{Error, Kind, Millis};
use muster_geo::{BBox, Geometry};
use muster_network::incident::{Filter, Incident};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::shown::{IncidentBody, IncidentList, Shown, Timeline};
use crate::app::App;
use crate::ask;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{CallErrors, Disaster, NotFound, ReadErrors};
use crate::guard::{Guarded, IncidentsRead, by_of};

/// Most features of one map.
const MAX_FEATURES: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
pub struct ListQuery {
    /// One or more states, separated by commas.
    state: Option<String>,
    kind: Option<String>,
    /// CAP's severity: this or graver.
    min_severity: Option<String>,
    /// West, south, east, north in degrees; west > east crosses the antimeridian.
    bbox: Option<String>,
    /// RFC 3339: changed then or later.
    since: Option<String>,
    /// Assigned to, or commanded by: `usr_…`.
    assignee: Option<String>,
    tag: Option<String>,
    /// 1 to 200, default 50; of a map 1 to 1,000, default 1,000.
    limit: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

fn wrong(field: &str, why: &str, input: &str) -> Error {
    Error::field(Kind::Invalid, &["query", field], why, input.into())
}

/// A word of one of the house's enumerations.
fn word<T: DeserializeOwned>(field: &str, text: &str) -> Result<T, Error> {
    serde_json::from_value(Value::from(text)).map_err(|error| wrong(field, &error.to_string(), text))
}

impl ListQuery {
    fn filter(&self) -> Result<Filter, Error> {
        let states = self.state.iter().flat_map(|states| states.split(',')).filter(|state| !state.is_empty());
        let bbox = self.bbox.as_deref().map(|text| BBox::parse(text).map_err(|e| wrong("bbox", &e.to_string(), text)));
        let since = self
            .since
            .as_deref()
            .map(|text| Millis::parse_rfc3339(text).ok_or_else(|| wrong("since", "must be an RFC 3339 time", text)));
        Ok(Filter {
            states: states.map(|state| word("state", state)).collect::<Result<_, _>>()?,
            kind: self.kind.as_deref().map(|kind| word("kind", kind)).transpose()?,
            min_severity: self.min_severity.as_deref().map(|least| word("min_severity", least)).transpose()?,
            bbox: bbox.transpose()?,
            since: since.transpose()?,
            assignee: self.assignee.clone(),
            tag: self.tag.clone(),
        })
    }
}

/// List incidents
///
/// Returns a page of the incidents that the caller may see, newest first.
#[utoipa::path(get, path = "/api/v1/incidents", tag = "incidents", operation_id = "list_incidents", params(ListQuery),
    responses((status = 200, description = "A page of incidents", body = Data<IncidentList>), ReadErrors<Disaster>))]
pub async fn list(
    _guard: Guarded<IncidentsRead>,
    query: web::Query<ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let page = ask::page(query.limit.as_deref(), query.cursor.clone())?;
    let found = app.incidents.list(by_of(&http)?, query.filter()?, page).await?;
    let next = found.next.clone();
    let shown = found.items.iter().map(|incident| Shown::new(incident)).collect();
    Ok(envelope::list("incidents", &muster_core::page::Page { items: shown, next }))
}

/// Get an incident
///
/// Returns one incident, with its version as `ETag`. An incident that the caller may not see is 404.
#[utoipa::path(get, path = "/api/v1/incidents/{id}", tag = "incidents", operation_id = "get_incident",
    params(("id" = String, Path)),
    responses((status = 200, description = "The incident", body = Data<IncidentBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn get(
    _guard: Guarded<IncidentsRead>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let incident = app.incidents.get(by_of(&http)?, id.into_inner()).await?;
    Ok(envelope::record(incident.version, Shown::new(&incident)))
}

#[derive(Debug, Deserialize, IntoParams)]
pub struct PageQuery {
    /// 1 to 200, default 50.
    limit: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Get the timeline of an incident
///
/// Returns the events of an incident, oldest first.
#[utoipa::path(get, path = "/api/v1/incidents/{id}/timeline", tag = "incidents", operation_id = "get_incident_timeline",
    params(("id" = String, Path), PageQuery),
    responses((status = 200, description = "A page of events", body = Data<Timeline>), ReadErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn timeline(
    _guard: Guarded<IncidentsRead>,
    id: web::Path<String>,
    query: web::Query<PageQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let PageQuery { limit, cursor } = query.into_inner();
    let page = ask::page(limit.as_deref(), cursor)?;
    Ok(envelope::list("entries", &app.incidents.timeline(by_of(&http)?, id.into_inner(), page).await?))
}

/// Get an incident as CAP
///
/// Returns the latest CAP 1.2 message of an incident; if none was published, a message with the status Draft, on which
/// no recipient acts.
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
    params(ListQuery),
    responses((status = 200, description = "A page of incidents as GeoJSON", body = Object, content_type = "application/geo+json"),
        ReadErrors<Disaster>))]
pub async fn geojson(
    _guard: Guarded<IncidentsRead>,
    query: web::Query<ListQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let limit = query.limit.as_deref().map_or(Ok(MAX_FEATURES), |text| {
        let fits = text.parse().ok().filter(|limit| (1..=MAX_FEATURES).contains(limit));
        fits.ok_or_else(|| wrong("limit", "must be 1 to 1,000", text))
    })?;
    let page = PageAsk { limit, after: query.cursor.clone().filter(|cursor| !cursor.is_empty()) };
    let found = app.incidents.list(by_of(&http)?, query.filter()?, page).await?;
    let features: Vec<Value> = found.items.iter().map(|incident| feature(incident)).collect();
    let map = json!({ "type": "FeatureCollection", "features": features, "next_cursor": found.next });
    Ok(HttpResponse::Ok().content_type("application/geo+json").body(map.to_string()))
}

/// Everything but the geometry is a property.
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

/// GeoJSON has no circles.
fn plain(geometry: &Geometry) -> Geometry {
    match geometry {
        Geometry::Circle { center, .. } => Geometry::Point(*center),
        Geometry::GeometryCollection(members) => Geometry::GeometryCollection(members.iter().map(plain).collect()),
        other => other.clone(),
    }
}
