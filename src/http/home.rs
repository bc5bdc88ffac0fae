//! The first page: what this server is, where its descriptions are, and how it is.

use std::sync::LazyLock;

use actix_web::http::header::{self, ACCEPT};
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::app::App;
use crate::error::sets::{Agent, PageErrors};
use crate::guard::Page;

/// The manual, whose sections the page lists.
const README: &str = include_str!("../../README.md");

const SUMMARY: &str = "One server for a disaster network, an AI gateway and an agent platform.";

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem;color:#222;\
background:#fff}a{color:#0b57d0}code{background:#f1f1f1;padding:0 .25em}dt{font-weight:600}dd{margin:0 0 .5rem}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}a{color:#8ab4f8}code{background:#2a2a2a}}";

/// Pages and documents: path and description.
const LINKS: [(&str, &str); 6] = [
    ("/docs", "The API in Swagger UI"),
    ("/redoc", "The API in Redoc"),
    ("/openapi.json", "The API as an OpenAPI 3.1 document"),
    ("/asyncapi.json", "The live feed as an AsyncAPI 3.0 document"),
    ("/api/health", "The health of every module"),
    ("/README.md", "The manual"),
];

/// Nothing is loaded but the style of the page itself.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
});

/// The headings of the manual's sections.
fn sections() -> Vec<&'static str> {
    let mut in_code = false;
    let heading = |line: &'static str| {
        in_code ^= line.starts_with("```");
        line.strip_prefix("## ").filter(|_| !in_code)
    };
    README.lines().filter_map(heading).collect()
}

/// What this server is, and how it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Home {
    /// Always `muster`.
    pub name: &'static str,
    pub summary: &'static str,
    pub version: &'static str,
    /// `operational`, `degraded` or `outage`, as in `/api/health`.
    pub status: &'static str,
    /// Pages and documents.
    pub links: Vec<HomeLink>,
    /// Sections of the manual, `/README.md`.
    #[schema(value_type = Vec<String>)]
    pub sections: Vec<&'static str>,
}

/// A page or document of the server.
#[derive(Debug, Serialize, ToSchema)]
pub struct HomeLink {
    pub path: &'static str,
    pub title: &'static str,
}

impl Home {
    fn of(app: &App) -> Self {
        let links = LINKS.map(|(path, title)| HomeLink { path, title });
        Self {
            name: "muster",
            summary: SUMMARY,
            version: env!("CARGO_PKG_VERSION"),
            status: app.health.report().status.name(),
            links: links.into(),
            sections: sections(),
        }
    }

    /// Renders the page. All texts are constants of the program.
    fn page(&self) -> String {
        let Self { summary, version, status, links, sections, .. } = self;
        let links: String = links
            .iter()
            .map(|HomeLink { path, title }| format!("<dt><a href=\"{path}\">{path}</a><dd>{title}"))
            .collect();
        let sections: String = sections.iter().map(|section| format!("<li>{section}")).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Muster</title>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" href=\"data:,\">\n\
             <style>{STYLE}</style></head>\n<body><h1>Muster</h1><p>{summary}</p>\n\
             <p>Version <code>{version}</code>, status <code>{status}</code>.</p>\n<dl>{links}</dl>\n\
             <p>Sections of the manual, <a href=\"/README.md\">README.md</a>:</p><ul>{sections}</ul></body></html>\n"
        )
    }
}

/// Show what this server is
///
/// Returns a page with the server's version, its state and links to its descriptions: HTML for browsers, JSON for every
/// other client.
#[utoipa::path(get, path = "/", tag = "docs", operation_id = "show_home",
    responses((status = 200, description = "What the server is, and how it is",
        content((Home = "application/json"), (String = "text/html"))), PageErrors<Agent>))]
pub async fn home(_page: Page, request: HttpRequest, app: web::Data<App>) -> HttpResponse {
    let home = Home::of(&app);
    let accepted = request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let mut response = HttpResponse::Ok();
    response.insert_header((header::VARY, "Accept")).insert_header((header::CACHE_CONTROL, "no-store"));
    if !accepted.contains("text/html") {
        return response.json(home);
    }
    response
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY.as_str()))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .body(home.page())
}

/// Get the manual
///
/// Returns the manual of this version, as Markdown.
#[utoipa::path(get, path = "/README.md", tag = "docs", operation_id = "get_manual",
    responses((status = 200, description = "The manual", body = String, content_type = "text/plain"),
        PageErrors<Agent>))]
pub async fn manual(_page: Page) -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(README)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sections_are_headings_and_no_comments_of_examples() {
        let sections = sections();
        assert!(sections.contains(&"The AI gateway") && sections.contains(&"Operations"), "{sections:?}");
        assert!(sections.iter().all(|section| !section.contains(['<', '>', '&'])), "{sections:?}");
    }
}
