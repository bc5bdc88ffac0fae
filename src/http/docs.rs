//! The API's description and two readers for it, all without a network.

use std::sync::LazyLock;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use muster_core::Kind;

use crate::error::HttpError;
use crate::guard::Open;

/// Readers' files, packed: name, type, bytes.
const ASSETS: [(&str, &str, &[u8]); 3] = [
    (
        "swagger-ui-bundle.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../assets/swagger-ui/swagger-ui-bundle.js.gz"),
    ),
    ("swagger-ui.css", "text/css; charset=utf-8", include_bytes!("../../assets/swagger-ui/swagger-ui.css.gz")),
    (
        "redoc.standalone.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../assets/redoc/redoc.standalone.js.gz"),
    ),
];

const SWAGGER: &str = r##"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Muster API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css"></head>
<body><div id="ui"></div><script src="/docs/assets/swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({ url: "/openapi.json", dom_id: "#ui", deepLinking: true, validatorUrl: null });</script>
</body></html>"##;

const REDOC: &str = r##"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Muster API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"></head>
<body><div id="ui"></div><script src="/docs/assets/redoc.standalone.js"></script>
<script>Redoc.init("/openapi.json", { theme: { typography: { fontFamily: "sans-serif", headings: { fontFamily: "sans-serif" } } } },
document.getElementById("ui"));</script></body></html>"##;

/// The description of every route, OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", tag = "docs", security(()), responses((status = 200, body = Object)))]
pub async fn openapi(_open: Open) -> HttpResponse {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| crate::openapi::document().to_string().into());
    HttpResponse::Ok().content_type("application/json").body(DOCUMENT.clone())
}

/// The API in Swagger UI.
#[utoipa::path(get, path = "/docs", tag = "docs", security(()), responses((status = 200, body = String, content_type = "text/html")))]
pub async fn swagger(_open: Open) -> HttpResponse {
    html(SWAGGER)
}

/// The API in Redoc.
#[utoipa::path(get, path = "/redoc", tag = "docs", security(()), responses((status = 200, body = String, content_type = "text/html")))]
pub async fn redoc(_open: Open) -> HttpResponse {
    html(REDOC)
}

/// A file of the two readers.
#[utoipa::path(get, path = "/docs/assets/{file}", tag = "docs", security(()), params(("file" = String, Path)),
    responses((status = 200, content((String = "text/javascript"), (String = "text/css"))), (status = 404, body = crate::error::ErrorAgent)))]
pub async fn asset(_open: Open, file: web::Path<String>) -> Result<HttpResponse, HttpError> {
    let found = ASSETS.iter().find(|(name, _, _)| *name == file.as_str());
    let &(_, kind, bytes) = found.ok_or_else(|| HttpError::new(Kind::NotFound, "no such file"))?;
    Ok(HttpResponse::Ok()
        .content_type(kind)
        .insert_header((header::CONTENT_ENCODING, "gzip"))
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400"))
        .body(bytes))
}

fn html(page: &'static str) -> HttpResponse {
    // Nothing is loaded from elsewhere, whatever a reader would like to fetch.
    let policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
                  img-src 'self' data:; worker-src blob:; connect-src 'self'";
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        .body(page)
}
