//! `GET /asyncapi.json`

use actix_web::HttpResponse;

use crate::asyncapi;
use crate::error::HttpError;
use crate::error::sets::{Agent, OpenErrors};
use crate::guard::Open;

/// Get the description of the live feed
///
/// Returns the description of the live feed as an AsyncAPI 3.0 document.
#[utoipa::path(get, path = "/asyncapi.json", tag = "realtime", operation_id = "get_asyncapi",
    responses((status = 200, description = "The AsyncAPI document", body = Object), OpenErrors<Agent>))]
pub async fn asyncapi(_counted: Open) -> Result<HttpResponse, HttpError> {
    Ok(HttpResponse::Ok().json(asyncapi::description()))
}
