//! Pictures from text in interface A.

use actix_web::{HttpRequest, web};
use muster_imaging::pictures::Picture;
use muster_limits::Estimate;
use muster_providers::{EmbedInput, ImageBackground, ImageQuality, ImageRequest, ImageSize};
use muster_request::{Fields, Request};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat;
use crate::error::HttpError;
use crate::error::sets::{InterfaceA, RunErrors};
use crate::guard::{ChatA, Metered, Priced, base_url};
use crate::images::{DrawRequest, Method, draw};

/// Sizes that may be requested.
pub(super) const SIZES: [&str; 3] = ["1024x1024", "1792x1024", "1024x1792"];

/// A picture to draw.
#[derive(Debug, Request)]
#[request(open, example = { "prompt": "three red boats on the sea at night", "size": "1024x1024", "quality": "standard" })]
pub struct GenerateImageBody {
    /// Description of the picture.
    #[request(chars = 1..=1_000, check = check_prompt)]
    pub prompt: String,
    /// `1024x1024` (default), `1792x1024` or `1024x1792`. The picture has exactly this size.
    #[request(with = size, schema = String)]
    pub size: Option<ImageSize>,
    /// `standard` (default) or `hd`.
    #[request(with = quality, schema = String)]
    pub quality: Option<ImageQuality>,
    /// Image model, such as `gpt-image-2` or `muster-sketch-1`; a named model is replaced by no other. By default every
    /// configured one in order, then, unless `images.fallback` is "none", the embedded illustrator `muster-sketch-1`.
    #[request(chars = 1..=256)]
    pub model: Option<String>,
    /// Seed of the embedded illustrator: the same prompt and seed give the same picture. Other models take none.
    #[request(range = 0..=9_007_199_254_740_991)]
    pub seed: Option<u64>,
}

pub(super) fn check_prompt(prompt: &str) -> Result<(), &'static str> {
    if prompt.trim().is_empty() { Err("must not be empty") } else { Ok(()) }
}

fn size(fields: &mut Fields<'_>, name: &str) -> Option<ImageSize> {
    let text = fields.string(name)?;
    let known = SIZES.contains(&text.as_str()).then(|| text.parse().ok()).flatten();
    if known.is_none() {
        fields.fail(name, format!("must be one of {}", SIZES.join(", ")));
    }
    known
}

fn quality(fields: &mut Fields<'_>, name: &str) -> Option<ImageQuality> {
    match fields.string(name)?.as_str() {
        "standard" => Some(ImageQuality::Medium),
        "hd" => Some(ImageQuality::High),
        _ => {
            fields.fail(name, "must be standard or hd");
            None
        }
    }
}

/// Returns the tokens to reserve: those of the prompt. Pictures do not count as tokens of a limit.
pub(super) fn estimate(app: &App, prompt: &str) -> Estimate {
    let prompt = chat::tokens_of_inputs(app, &[EmbedInput::Text(prompt.to_owned())]);
    Estimate { prompt: prompt.into(), completion: 0 }
}

impl Priced for GenerateImageBody {
    fn estimate(&self, app: &App) -> Estimate {
        estimate(app, &self.prompt)
    }
}

/// A stored picture.
#[derive(Debug, Serialize, ToSchema)]
pub struct StoredImage {
    /// Identifier, `img_…`.
    pub id: String,
    /// Address of the file, which needs no key: its signature is valid until the picture expires.
    pub url: String,
    pub width: u32,
    pub height: u32,
    /// Always `png`.
    pub format: &'static str,
    /// Size of the file.
    pub bytes: u64,
    /// RFC 3339, UTC: 24 hours after it was drawn.
    pub expires_at: String,
}

impl StoredImage {
    pub(super) fn of(app: &App, http: &HttpRequest, picture: &Picture) -> Self {
        Self {
            id: picture.id.clone(),
            url: url_of(app, http, picture),
            width: picture.width,
            height: picture.height,
            format: "png",
            bytes: picture.bytes,
            expires_at: picture.expires.rfc3339(),
        }
    }
}

/// Returns the absolute address of a picture with its signature.
pub(super) fn url_of(app: &App, http: &HttpRequest, picture: &Picture) -> String {
    let signature = app.images.pictures.link(picture);
    format!("{}/api/images/{}?sig={signature}", base_url(app, http), picture.id)
}

/// A picture that was drawn.
#[derive(Debug, Serialize, ToSchema)]
pub struct GeneratedImage {
    /// Always true.
    pub success: bool,
    pub image: StoredImage,
    /// Model that drew it.
    pub model: String,
    /// Provider that drew it; `embedded` for this server.
    pub provider: String,
    /// `model` for a model of a provider, `sketch` for an illustration by rules, `sketch+llm` for one of
    /// the scene that a chat model read in the prompt.
    pub method: Method,
    /// Seed of an illustration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What was drawn, if the model says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revised_prompt: Option<String>,
    /// Of an illustration: words that were not drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<Vec<String>>,
    /// Codes: `fallback_sketch` if no provider drew and no model was named, `seed_ignored` if the model takes no seed, and
    /// those of the illustrator.
    pub warnings: Vec<String>,
    /// Cost in US dollars; null if the price of the model is unknown.
    pub cost_usd: Option<f64>,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

/// Draw a picture
///
/// Returns a picture drawn from a text, stored for 24 hours. If a provider fails, the next one is tried; a provider that
/// refuses the prompt is not (400 `content_policy_violation`). Room is reserved before anything is paid (429 `image_quota`).
#[utoipa::path(post, path = "/api/generate-image", tag = "interface A", operation_id = "generate_image",
    request_body = GenerateImageBody,
    responses((status = 200, description = "The picture", body = GeneratedImage), RunErrors<InterfaceA>))]
pub async fn generate(
    request: Metered<ChatA, GenerateImageBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<GeneratedImage>, HttpError> {
    let Metered { body, reservation, .. } = request;
    let request = ImageRequest {
        prompt: body.prompt,
        n: 1,
        size: Some(body.size.unwrap_or(ImageSize::new(1024, 1024))),
        quality: Some(body.quality.unwrap_or(ImageQuality::Medium)),
        background: ImageBackground::Auto,
        user: None,
    };
    let wanted = DrawRequest { model: body.model, request, seed: body.seed };
    let mut drawn = draw(&app, &http, wanted, reservation).await?;
    let Some((stored, checked)) = drawn.pictures.pop() else {
        return Err(HttpError::new(muster_core::Kind::Internal, "no picture was drawn"));
    };
    Ok(web::Json(GeneratedImage {
        success: true,
        image: StoredImage::of(&app, &http, &stored),
        model: drawn.model,
        provider: drawn.provider,
        method: drawn.method,
        seed: drawn.seed,
        revised_prompt: checked.revised_prompt,
        unmatched: drawn.unmatched,
        warnings: drawn.warnings,
        cost_usd: chat::cost_usd(drawn.cost_nanos),
        timestamp: app.clock.now().rfc3339(),
    }))
}
