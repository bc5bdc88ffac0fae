//! The API description and two pages that display it, served without access to other hosts.

use std::sync::LazyLock;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use muster_core::Kind;
use muster_engines::Family;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::envelope;

use crate::error::HttpError;
use crate::error::sets::{Agent, NotFound, OpenErrors, PageErrors};
use crate::guard::{Open, Page};

/// Files of the API readers, compressed: name, content type, bytes.
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

/// Get this description
///
/// Returns the description of every HTTP operation as an OpenAPI 3.1 document.
#[utoipa::path(get, path = "/openapi.json", tag = "docs", operation_id = "get_openapi",
    responses((status = 200, description = "The OpenAPI document", body = Object), OpenErrors<Agent>))]
pub async fn openapi(_open: Open, http: HttpRequest) -> HttpResponse {
    static DOCUMENT: LazyLock<Document> = LazyLock::new(|| Document::of(&crate::openapi::served()));
    DOCUMENT.answer(&http)
}

/// Get the description of a family of engines
///
/// Returns the operations of one family of engines as an OpenAPI 3.1 document: `<family>.json`, such as `hazard.json`.
#[utoipa::path(get, path = "/openapi/engines/{file}", tag = "docs", operation_id = "get_openapi_of_engines",
    params(("file" = String, Path)),
    responses((status = 200, description = "The OpenAPI document", body = Object), OpenErrors<Agent>, NotFound<Agent>))]
pub async fn engines(_open: Open, file: web::Path<String>, http: HttpRequest) -> Result<HttpResponse, HttpError> {
    static DOCUMENTS: LazyLock<Vec<(&str, Document)>> = LazyLock::new(|| {
        let whole = crate::openapi::document();
        let slice = |family: Family| (family.name(), Document::of(&crate::openapi::slice(&whole, family)));
        Family::ALL.map(slice).into()
    });
    let family = file.strip_suffix(".json").unwrap_or_default();
    let found = DOCUMENTS.iter().find(|(name, _)| *name == family);
    let missing = || {
        let names = Family::ALL.map(Family::name).join(", ");
        HttpError::new(Kind::NotFound, format!("write <family>.json; the families are {names}"))
    };
    found.map(|(_, document)| document.answer(&http)).ok_or_else(missing)
}

/// A document that is made once.
struct Document {
    text: Bytes,
    tag: String,
}

impl Document {
    fn of(document: &Value) -> Self {
        let text = document.to_string();
        let hex: String = Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { text: text.into(), tag: format!("\"{hex}\"") }
    }

    /// Returns the document with its entity tag, or 304 if the client has it.
    fn answer(&self, http: &HttpRequest) -> HttpResponse {
        let known = envelope::is_known(http, &self.tag);
        let mut answer = if known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        answer.insert_header((header::ETAG, self.tag.clone())).insert_header((header::CACHE_CONTROL, "no-cache"));
        if known { answer.finish() } else { answer.content_type("application/json").body(self.text.clone()) }
    }
}

/// Show the API in Swagger UI
///
/// Returns a page that displays the API with Swagger UI.
#[utoipa::path(get, path = "/docs", tag = "docs", operation_id = "show_swagger_ui",
    responses((status = 200, description = "The page", body = String, content_type = "text/html"), PageErrors<Agent>))]
pub async fn swagger(_page: Page) -> HttpResponse {
    html(SWAGGER)
}

/// Show the API in Redoc
///
/// Returns a page that displays the API with Redoc.
#[utoipa::path(get, path = "/redoc", tag = "docs", operation_id = "show_redoc",
    responses((status = 200, description = "The page", body = String, content_type = "text/html"), PageErrors<Agent>))]
pub async fn redoc(_page: Page) -> HttpResponse {
    html(REDOC)
}

/// Get the page of roles, permissions and scopes
///
/// Returns every role, permission and scope with the routes and channels that require it, as Markdown.
#[utoipa::path(get, path = "/docs/permissions", tag = "docs", operation_id = "show_permissions",
    responses((status = 200, description = "The page", body = String, content_type = "text/markdown"), PageErrors<Agent>))]
pub async fn permissions(_page: Page) -> HttpResponse {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| crate::permissions::page().into());
    HttpResponse::Ok().content_type("text/markdown; charset=utf-8").body(TEXT.clone())
}

/// Get a file of the documentation pages
///
/// Returns a script or style sheet of the documentation pages, compressed with gzip.
#[utoipa::path(get, path = "/docs/assets/{file}", tag = "docs", operation_id = "get_docs_asset", params(("file" = String, Path)),
    responses((status = 200, description = "The file", content((String = "text/javascript"), (String = "text/css"))),
        PageErrors<Agent>, NotFound<Agent>))]
pub async fn asset(_page: Page, file: web::Path<String>) -> Result<HttpResponse, HttpError> {
    let found = ASSETS.iter().find(|(name, _, _)| *name == file.as_str());
    let &(_, kind, bytes) = found.ok_or_else(|| HttpError::new(Kind::NotFound, "no such file"))?;
    Ok(HttpResponse::Ok()
        .content_type(kind)
        .insert_header((header::CONTENT_ENCODING, "gzip"))
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400"))
        .body(bytes))
}

fn html(page: &'static str) -> HttpResponse {
    // The page may load nothing from other hosts.
    let policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
                  img-src 'self' data:; worker-src blob:; connect-src 'self'";
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        .body(page)
}
