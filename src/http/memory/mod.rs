//! Semantic memory: stored, found, read, deleted, forgotten.

mod batch;
mod entry;
mod forget;
mod queries;
mod read;
mod remove;
mod search;
mod search_request;
mod shown;
mod stats;
mod store;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room. `{key}` may be any text, percent-encoded; the names of other routes here are reached by id,
/// or as `key` of the list.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/memory", get => read::list, delete => remove::delete_named))
        .service(resource!("/api/memory/store", post => store::store))
        .service(resource!("/api/memory/batch", post => batch::store_many))
        .service(resource!("/api/memory/search", get => search::search, post => search::search_by_body))
        .service(resource!("/api/memory/history", get => read::history))
        .service(resource!("/api/memory/stats", get => stats::stats))
        .service(resource!("/api/memory/owners/{owner}", delete => forget::forget))
        .service(resource!("/api/memory/{key}", get => read::get, delete => remove::delete));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(
    store::store,
    batch::store_many,
    search::search,
    search::search_by_body,
    read::list,
    read::get,
    read::history,
    remove::delete,
    remove::delete_named,
    stats::stats,
    forget::forget
))]
pub struct Api;
