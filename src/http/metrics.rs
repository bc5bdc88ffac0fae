//! Metrics in the Prometheus text format.

use actix_web::{HttpResponse, web};

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors};
use crate::guard::{Guarded, MetricsRead};

/// Get metrics
///
/// Returns metrics of requests, tokens, actors, the store and the embedded model in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "status", operation_id = "get_metrics",
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain"),
        CallErrors<Agent>))]
pub async fn metrics(_guard: Guarded<MetricsRead>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    app.refresh_gauges().await;
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(app.metrics.text()))
}
