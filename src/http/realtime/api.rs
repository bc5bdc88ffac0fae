//! `GET /asyncapi.json`

use actix_web::HttpResponse;

use crate::asyncapi;
use crate::error::HttpError;
use crate::guard::Open;

/// The description of the live feed, in AsyncAPI 3.0.
#[utoipa::path(
    get, path = "/asyncapi.json", operation_id = "asyncapi", tag = "realtime", security(()),
    responses(
        (status = 200, description = "AsyncAPI 3.0", body = Object),
        (status = 429, description = "Too many requests", body = Object),
    ),
)]
pub async fn asyncapi(_counted: Open) -> Result<HttpResponse, HttpError> {
    Ok(HttpResponse::Ok().json(asyncapi::description()))
}
