//! Stored pictures: read by their owner or by a signed link, listed and deleted by their owner.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::page::{Page, PageParams};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use super::images::StoredImage;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{CallErrors, InterfaceA, NotFound, ReadErrors};
use crate::guard::{ChatA, Guarded, OwnerOrLink, Queried, acting};

/// The page of a list of pictures.
#[derive(Debug, Request)]
#[request(query, last, skip_empty)]
pub struct ImagesQuery {
    /// Maximum number of pictures of the page.
    #[request(range = 1..=200, default = 50)]
    limit: usize,
    /// `next_cursor` of the previous page.
    #[request(chars = 1..=64)]
    cursor: Option<String>,
}

/// A stored picture and how it was drawn.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedImage {
    #[serde(flatten)]
    pub image: StoredImage,
    /// RFC 3339, UTC.
    pub created_at: String,
    pub model: String,
    pub provider: String,
    /// `model`, `sketch` or `sketch+llm`.
    pub method: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ImageList {
    pub images: Vec<ListedImage>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// List pictures
///
/// Returns a page of the caller's pictures that have not expired, newest first.
#[utoipa::path(get, path = "/api/images", tag = "interface A", operation_id = "list_images",
    params(ImagesQuery),
    responses((status = 200, description = "A page of pictures", body = ImageList), ReadErrors<InterfaceA>))]
pub async fn list(
    queried: Queried<ChatA, ImagesQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ImageList>, HttpError> {
    let ImagesQuery { limit, cursor } = queried.query;
    let owner = acting(&http)?.id().to_owned();
    let Page { items, next } = app.images.pictures.list(owner, PageParams { limit, after: cursor }).await?;
    let listed = |picture: &std::sync::Arc<muster_imaging::pictures::Picture>| ListedImage {
        image: StoredImage::of(&app, &http, picture),
        created_at: picture.created.rfc3339(),
        model: picture.model.clone(),
        provider: picture.provider.clone(),
        method: picture.method.clone(),
    };
    Ok(web::Json(ImageList { images: items.iter().map(listed).collect(), next_cursor: next }))
}

/// Get a picture
///
/// Returns the file of a picture, to its owner or to whoever has its signed link (`url`). A picture that is unknown,
/// expired or another's is 404 alike.
#[utoipa::path(get, path = "/api/images/{id}", tag = "interface A", operation_id = "get_image",
    params(("id" = String, Path, description = "Identifier of the picture, `img_…`"),
        ("sig" = Option<String>, Query, description = "Signature of its link, in place of a key")),
    responses(
        (status = 200, description = "The picture. Its `ETag` is the SHA-256 of the file", content_type = "image/png", body = String),
        (status = 304, description = "The picture is the one of `If-None-Match`"),
        NotFound<InterfaceA>, CallErrors<InterfaceA>))]
pub async fn get(
    reader: OwnerOrLink,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let pictures = &app.images.pictures;
    let picture = match reader {
        OwnerOrLink::Link(signature) => pictures.by_link(&id, &signature).await?,
        OwnerOrLink::Owner => pictures.of_owner(&id, acting(&http)?.id()).await?,
    };
    let etag = format!("\"{}\"", picture.hash());
    let seconds = picture.expires.since(app.clock.now()).as_secs();
    let mut response = if is_known(&http, &etag) { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response
        .insert_header((ETAG, etag.as_str()))
        .insert_header((CACHE_CONTROL, format!("private, immutable, max-age={seconds}")))
        .insert_header(("x-content-type-options", "nosniff"));
    if is_known(&http, &etag) {
        return Ok(response.finish());
    }
    let bytes = pictures.read(&picture).await?;
    Ok(response.insert_header((CONTENT_TYPE, "image/png")).body(bytes))
}

/// Whether the client has the picture already (RFC 9110, section 13.1.2).
fn is_known(http: &HttpRequest, etag: &str) -> bool {
    let values = http.headers().get_all(IF_NONE_MATCH).filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

/// Delete a picture
///
/// Deletes a picture of the caller. A picture that is unknown, expired or another's is 404 alike.
#[utoipa::path(delete, path = "/api/images/{id}", tag = "interface A", operation_id = "delete_image",
    params(("id" = String, Path, description = "Identifier of the picture, `img_…`")),
    responses((status = 204, description = "It is deleted"), NotFound<InterfaceA>, CallErrors<InterfaceA>))]
pub async fn delete(
    _guard: Guarded<ChatA>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let owner = acting(&http)?.id().to_owned();
    app.images.pictures.delete(id.into_inner(), owner).await?;
    Ok(HttpResponse::NoContent().finish())
}
