//! Pictures from text in the format of OpenAI.

use actix_web::{HttpRequest, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_limits::Estimate;
use muster_providers::{ImageBackground, ImageQuality, ImageRequest, ImageSize};
use muster_request::{Fields, Request};
use serde::Serialize;
use utoipa::ToSchema;

use super::images::{SIZES, check_prompt, estimate, url_of};
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{OpenAi, RunErrors};
use crate::guard::{ChatB, Metered, Priced, Reservation};
use crate::images::{DrawRequest, Method, draw};

/// How pictures are returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResponseFormat {
    #[default]
    Url,
    Base64,
}

/// Pictures to draw.
#[derive(Debug, Request)]
#[request(open, example = { "prompt": "three red boats on the sea at night", "n": 1, "size": "1024x1024" })]
pub struct ImagesBody {
    /// Description of the pictures.
    #[request(chars = 1..=1_000, check = check_prompt)]
    pub prompt: String,
    /// Image model; a named model is replaced by no other. By default every configured one in order, then, unless
    /// `images.fallback` is "none", the embedded illustrator `muster-sketch-1`.
    #[request(chars = 1..=256)]
    pub model: Option<String>,
    /// Number of pictures.
    #[request(range = 1..=4, default = 1)]
    pub n: u32,
    /// `1024x1024`, `1792x1024`, `1024x1792`, or `auto` (default), which leaves it to the model.
    #[request(with = size, schema = String)]
    pub size: Option<ImageSize>,
    /// `standard` or `medium`, `hd` or `high`, `low`, or `auto` (default), which leaves it to the model.
    #[request(with = quality, schema = String)]
    pub quality: Option<ImageQuality>,
    /// `url` (default): an address that is valid for 24 hours and needs no key; or `b64_json`.
    #[request(with = response_format, default, schema = String)]
    #[schema(default = "url")]
    pub response_format: ResponseFormat,
    /// Only `png`.
    #[request(with = output_format)]
    #[expect(dead_code, reason = "checked while it is read: nothing but png is supported")]
    pub output_format: Option<String>,
    /// `opaque`, or `auto` (default), which leaves it to the model.
    #[request(with = background, default, schema = String)]
    #[schema(default = "auto")]
    pub background: ImageBackground,
    /// Identifier of your end user, forwarded where a provider accepts it.
    pub user: Option<String>,
}

fn unsupported<T>(fields: &mut Fields<'_>, name: &str, accepted: &str) -> Option<T> {
    fields.unsupported(name, format!("must be one of {accepted}"));
    None
}

fn size(fields: &mut Fields<'_>, name: &str) -> Option<ImageSize> {
    match fields.string(name)?.as_str() {
        "auto" => None,
        text if SIZES.contains(&text) => text.parse().ok(),
        _ => unsupported(fields, name, &format!("auto, {}", SIZES.join(", "))),
    }
}

fn quality(fields: &mut Fields<'_>, name: &str) -> Option<ImageQuality> {
    match fields.string(name)?.as_str() {
        "auto" => None,
        "low" => Some(ImageQuality::Low),
        "medium" | "standard" => Some(ImageQuality::Medium),
        "high" | "hd" => Some(ImageQuality::High),
        _ => unsupported(fields, name, "auto, standard, hd, low, medium, high"),
    }
}

fn response_format(fields: &mut Fields<'_>, name: &str) -> Option<ResponseFormat> {
    match fields.string(name)?.as_str() {
        "url" => Some(ResponseFormat::Url),
        "b64_json" => Some(ResponseFormat::Base64),
        _ => unsupported(fields, name, "url, b64_json"),
    }
}

fn output_format(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    match fields.string(name)? {
        png if png == "png" => Some(png),
        _ => unsupported(fields, name, "png"),
    }
}

fn background(fields: &mut Fields<'_>, name: &str) -> Option<ImageBackground> {
    match fields.string(name)?.as_str() {
        "auto" => Some(ImageBackground::Auto),
        "opaque" => Some(ImageBackground::Opaque),
        _ => unsupported(fields, name, "auto, opaque"),
    }
}

impl Priced for ImagesBody {
    fn estimate(&self, app: &App) -> Estimate {
        estimate(app, &self.prompt)
    }
}

/// One picture.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImageDatum {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b64_json: Option<String>,
    /// What was drawn, if the model says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revised_prompt: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ImageTokenDetails {
    pub image_tokens: u32,
    pub text_tokens: u32,
}

/// Tokens of a model that is priced by them.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImagesUsage {
    pub input_tokens: u32,
    pub input_tokens_details: ImageTokenDetails,
    pub output_tokens: u32,
    pub total_tokens: u32,
    /// Whether the provider reported no usage, so that it is an estimate of this server.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// The pictures that were drawn.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImagesResponse {
    /// Unix time in seconds.
    pub created: u64,
    pub data: Vec<ImageDatum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ImagesUsage>,
    /// Size of the first picture.
    pub size: String,
    /// Quality that was requested.
    pub quality: &'static str,
    /// Always `png`.
    pub output_format: &'static str,
    /// Model that drew them.
    pub model: String,
    /// Provider that drew them; `embedded` for this server.
    pub provider: String,
    /// `model` for a model of a provider, `sketch` for an illustration by rules, `sketch+llm` for one of
    /// the scene that a chat model read in the prompt.
    pub method: Method,
    /// Codes, such as `fallback_sketch` if no provider drew and no model was named.
    pub warnings: Vec<String>,
    /// Cost in US dollars; null if the price of the model is unknown.
    pub cost_usd: Option<f64>,
}

/// Draw pictures
///
/// Returns pictures drawn from a text in OpenAI's format: all `n`, or none. If a provider fails, the next one is tried; a
/// provider that refuses the prompt is not (400 `content_policy_violation`). Same as `POST /v1/images/generate`.
#[utoipa::path(post, path = "/v1/images/generations", tag = "interface B", operation_id = "create_images",
    request_body = ImagesBody,
    responses((status = 200, description = "The pictures", body = ImagesResponse), RunErrors<OpenAi>))]
pub async fn create(
    request: Metered<ChatB, ImagesBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ImagesResponse>, HttpError> {
    let Metered { body, reservation, .. } = request;
    respond(&app, &http, body, reservation).await
}

/// Draw pictures
///
/// Same as `POST /v1/images/generations`.
#[utoipa::path(post, path = "/v1/images/generate", tag = "interface B", operation_id = "generate_images",
    request_body = ImagesBody,
    responses((status = 200, description = "The pictures", body = ImagesResponse), RunErrors<OpenAi>))]
pub async fn generate(
    request: Metered<ChatB, ImagesBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ImagesResponse>, HttpError> {
    let Metered { body, reservation, .. } = request;
    respond(&app, &http, body, reservation).await
}

async fn respond(
    app: &App,
    http: &HttpRequest,
    body: ImagesBody,
    reservation: Reservation,
) -> Result<web::Json<ImagesResponse>, HttpError> {
    let ImagesBody { prompt, model, n, size, quality, response_format, background, user, .. } = body;
    let request = ImageRequest { prompt, n, size, quality, background, user };
    let drawn = draw(app, http, DrawRequest { model, request, seed: None }, reservation).await?;
    let size = drawn.pictures.first().map(|(_, first)| format!("{}x{}", first.width, first.height));
    let datum =
        |(stored, checked): &(std::sync::Arc<muster_imaging::pictures::Picture>, muster_gateway::CheckedPicture)| {
            let base64 = response_format == ResponseFormat::Base64;
            ImageDatum {
                url: (!base64).then(|| url_of(app, http, stored)),
                b64_json: base64.then(|| STANDARD.encode(&checked.png)),
                revised_prompt: checked.revised_prompt.clone(),
            }
        };
    let usage = drawn.usage.map(|usage| ImagesUsage {
        input_tokens: usage.prompt_tokens,
        input_tokens_details: ImageTokenDetails { image_tokens: 0, text_tokens: usage.prompt_tokens },
        output_tokens: usage.completion_tokens,
        total_tokens: usage.total(),
        estimated: usage.estimated,
    });
    Ok(web::Json(ImagesResponse {
        created: app.clock.now().seconds(),
        data: drawn.pictures.iter().map(datum).collect(),
        usage,
        size: size.unwrap_or_default(),
        quality: quality.map_or("auto", ImageQuality::as_str),
        output_format: "png",
        model: drawn.model,
        provider: drawn.provider,
        method: drawn.method,
        warnings: drawn.warnings,
        cost_usd: crate::chat::cost_usd(drawn.cost_nanos),
    }))
}
