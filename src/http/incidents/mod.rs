//! Incidents: reported, moved through their states, listed, drawn on a map.

mod body;
mod edits;
mod ending;
mod moves;
mod read;
mod shown;
mod transitions;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/incidents", get => read::list, post => edits::report))
        .service(resource!("/api/v1/incidents.geojson", get => read::geojson))
        .service(resource!("/api/v1/incidents/{id}.cap", get => read::cap))
        .service(resource!("/api/v1/incidents/{id}", get => read::get, patch => edits::patch))
        .service(resource!("/api/v1/incidents/{id}/timeline", get => read::timeline))
        .service(resource!("/api/v1/incidents/{id}/notes", post => edits::note))
        .service(resource!("/api/v1/incidents/{id}/resources", post => edits::add, patch => edits::change))
        .service(resource!("/api/v1/incidents/{id}/triage", post => transitions::triage))
        .service(resource!("/api/v1/incidents/{id}/acknowledge", post => transitions::acknowledge))
        .service(resource!("/api/v1/incidents/{id}/activate", post => transitions::activate))
        .service(resource!("/api/v1/incidents/{id}/contain", post => transitions::contain))
        .service(resource!("/api/v1/incidents/{id}/escalate", post => transitions::escalate))
        .service(resource!("/api/v1/incidents/{id}/assign", post => transitions::assign))
        .service(resource!("/api/v1/incidents/{id}/silence", post => transitions::silence))
        .service(resource!("/api/v1/incidents/{id}/resolve", post => ending::resolve))
        .service(resource!("/api/v1/incidents/{id}/close", post => ending::close))
        .service(resource!("/api/v1/incidents/{id}/reopen", post => ending::reopen))
        .service(resource!("/api/v1/incidents/{id}/duplicate", post => ending::duplicate))
        .service(resource!("/api/v1/incidents/{id}/false-alarm", post => ending::false_alarm))
        .service(resource!("/api/v1/incidents/{id}/cancel", post => ending::cancel));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(
    read::list,
    read::geojson,
    read::cap,
    read::get,
    read::timeline,
    edits::report,
    edits::patch,
    edits::note,
    edits::add,
    edits::change,
    transitions::triage,
    transitions::acknowledge,
    transitions::activate,
    transitions::contain,
    transitions::escalate,
    transitions::assign,
    transitions::silence,
    ending::resolve,
    ending::close,
    ending::reopen,
    ending::duplicate,
    ending::false_alarm,
    ending::cancel,
))]
pub struct Api;
