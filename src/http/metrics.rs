//! Figures in Prometheus' text format.

use actix_web::{HttpResponse, web};

use crate::app::App;
use crate::error::{ErrorAgent, HttpError};
use crate::guard::{Guarded, MetricsRead};

/// Requests, tokens, actors, store and embedded model, in Prometheus' text format. Scope `metrics`, which grants this alone; `admin` includes it.
#[utoipa::path(get, path = "/metrics", tag = "status",
    responses((status = 200, body = String, content_type = "text/plain"), (status = 401, body = ErrorAgent),
        (status = 403, body = ErrorAgent), (status = 429, body = ErrorAgent)))]
pub async fn metrics(_guard: Guarded<MetricsRead>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    app.refresh_gauges().await;
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(app.metrics.text()))
}
