//! One request for pictures: room is reserved, the pictures are drawn, then stored.

use std::sync::Arc;

use actix_web::HttpRequest;
use muster_core::{Error, Kind};
use muster_gateway::{ChainError, CheckedPicture};
use muster_imaging::pictures::{NewPicture, Picture, Room};
use muster_media::sketch::{Quality, Size};
use muster_providers::{EMBEDDED_PROVIDER, ImageQuality, ImageRequest, ImageSize, Registry, Usage};
use muster_tasks::engine::EngineCaller;
use serde::Serialize;
use utoipa::ToSchema;

use super::check::FitCheck;
use super::scene::{self, SceneReply};
use super::sketch::SketchRequest;
use crate::app::App;
use crate::chat;
use crate::config::ImageFallback;
use crate::error::HttpError;
use crate::guard::{Reservation, acting};

/// Name of the embedded illustrator.
pub const SKETCH_MODEL: &str = "muster-sketch-1";
/// Bytes of a pixel of a stored picture at most, by which room is reserved.
const BYTES_PER_PIXEL: u64 = 3;
/// Bytes of a file besides its pixels.
const BYTES_BESIDES: u64 = 64 << 10;
/// Size for which room is reserved where the model chooses it.
const LARGEST_AUTO: ImageSize = ImageSize::new(1792, 1024);

/// How pictures were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// By a model of a provider.
    Model,
    /// By rules, as a flat illustration.
    Sketch,
    /// As a flat illustration of the scene that a chat model read in the prompt.
    #[serde(rename = "sketch+llm")]
    SketchLlm,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Sketch => "sketch",
            Self::SketchLlm => "sketch+llm",
        }
    }
}

/// Pictures that are requested.
#[derive(Debug, Clone)]
pub struct DrawRequest {
    pub model: Option<String>,
    pub request: ImageRequest,
    /// Seed of the illustrator; models of providers take none.
    pub seed: Option<u64>,
}

/// Pictures that are stored.
#[derive(Debug)]
pub struct Drawn {
    pub pictures: Vec<(Arc<Picture>, CheckedPicture)>,
    pub model: String,
    pub provider: String,
    pub method: Method,
    pub usage: Option<Usage>,
    pub cost_nanos: Option<u64>,
    pub warnings: Vec<String>,
    /// Of the illustrator: what was not drawn.
    pub unmatched: Option<Vec<String>>,
    pub seed: Option<u64>,
}

/// Pictures that are drawn and not stored yet.
struct Fresh {
    pictures: Vec<CheckedPicture>,
    model: String,
    provider: String,
    method: Method,
    usage: Option<Usage>,
    cost_nanos: Option<u64>,
    warnings: Vec<String>,
    unmatched: Option<Vec<String>>,
    seed: Option<u64>,
}

/// Draws pictures and stores them.
///
/// # Errors
/// `QuotaExceeded` (code `image_quota`) before anything is paid; those of the chain and of the illustrator.
pub async fn draw(
    app: &App,
    http: &HttpRequest,
    wanted: DrawRequest,
    reservation: Reservation,
) -> Result<Drawn, HttpError> {
    let drawn = draw_and_store(app, http, wanted, reservation).await;
    app.metrics.image_request(match &drawn {
        Ok(_) => "stored",
        Err(error) if matches!(error.0.kind, Kind::Invalid | Kind::QuotaExceeded | Kind::BudgetExhausted) => "refused",
        Err(_) => "failed",
    });
    drawn
}

async fn draw_and_store(
    app: &App,
    http: &HttpRequest,
    wanted: DrawRequest,
    reservation: Reservation,
) -> Result<Drawn, HttpError> {
    let caller = acting(http)?;
    let owner = caller.id().to_owned();
    let size = wanted.request.size.unwrap_or(LARGEST_AUTO);
    let n = u64::from(wanted.request.n);
    let bytes = (size.pixels() * BYTES_PER_PIXEL + BYTES_BESIDES) * n;
    let room = app.images.pictures.reserve(Room { owner: owner.clone(), pictures: n, bytes }).await?;
    let fresh = drawn(app, http, wanted, reservation, owner).await?;
    let method = fresh.method.name();
    let new = fresh.pictures.iter().map(|picture| NewPicture {
        png: picture.png.clone(),
        width: picture.width,
        height: picture.height,
        model: fresh.model.clone(),
        provider: fresh.provider.clone(),
        method: method.to_owned(),
    });
    let stored = app.images.pictures.store(room, new.collect()).await?;
    app.metrics.images(&fresh.provider, method, n);
    let method = fresh.method;
    let Fresh { pictures, model, provider, usage, cost_nanos, warnings, unmatched, seed, .. } = fresh;
    let pictures = stored.into_iter().zip(pictures).collect();
    Ok(Drawn { pictures, model, provider, method, usage, cost_nanos, warnings, unmatched, seed })
}

/// Draws by the chain, and by rules where the request names no model and no provider draws.
async fn drawn(
    app: &App,
    http: &HttpRequest,
    wanted: DrawRequest,
    reservation: Reservation,
    owner: String,
) -> Result<Fresh, HttpError> {
    let named = wanted.model.as_deref().map(str::trim);
    if matches!(named, Some(SKETCH_MODEL | EMBEDDED_PROVIDER)) {
        reservation.settle(0);
        let size = sketch_size(&wanted.request)?;
        return Ok(sketch(app, &wanted, size, None).await?);
    }
    let may_fall_back =
        Registry::is_any_image_model(named) && app.live().config.images.fallback == ImageFallback::Sketch;
    let check = FitCheck {
        engines: app.engines.clone(),
        fetcher: app.media.fetcher.clone(),
        metrics: app.metrics.clone(),
        caller: EngineCaller { actor: owner, ..EngineCaller::default() },
        size: wanted.request.size,
    };
    let failed = match chat::draw(app, http, &wanted, Arc::new(check), reservation).await {
        Ok(done) => {
            let warnings = wanted.seed.map(|_| "seed_ignored".to_owned()).into_iter().collect();
            return Ok(Fresh {
                pictures: done.pictures,
                model: done.model_id,
                provider: done.provider_id,
                method: Method::Model,
                usage: Some(done.usage),
                cost_nanos: done.cost_nanos,
                warnings,
                unmatched: None,
                seed: None,
            });
        }
        Err(failed) => failed,
    };
    let ChainError { error, .. } = failed;
    let is_available = |error: &Error| {
        matches!(error.kind, Kind::ModelUnconfigured | Kind::ModelNotFound | Kind::ProviderFailed | Kind::Unavailable)
            || error.kind == Kind::RateLimited
    };
    if !may_fall_back || !is_available(&error) {
        return Err(HttpError(error));
    }
    // The scene may cost money: what would make the drawing fail comes before it.
    let size = sketch_size(&wanted.request)?;
    app.images.sketch.load().await?;
    let scene = scene::read(app, http, &wanted.request.prompt).await;
    let mut fresh = sketch(app, &wanted, size, scene).await?;
    fresh.warnings.insert(0, "fallback_sketch".to_owned());
    // What the failed calls cost is charged all the same.
    let paid = error.details.as_ref().and_then(|details| details.get("cost_usd")?.as_f64());
    let paid = paid.map_or(0, muster_limits::ledger::nanos_of_usd);
    fresh.cost_nanos = fresh.cost_nanos.map(|cost| cost.saturating_add(paid));
    Ok(fresh)
}

/// Returns the illustrator's size for a request.
fn sketch_size(request: &ImageRequest) -> Result<Size, Error> {
    let Some(size) = request.size else { return Ok(Size::Square) };
    Size::parse(&size.to_string()).ok_or_else(|| {
        Error::field(Kind::UnsupportedValue, &["body", "size"], "the illustrator draws no such size", ().into())
    })
}

/// Draws by rules; of a scene that a chat model read, if there is one.
async fn sketch(app: &App, wanted: &DrawRequest, size: Size, scene: Option<SceneReply>) -> Result<Fresh, Error> {
    let request = &wanted.request;
    let quality = if request.quality == Some(ImageQuality::High) { Quality::Hd } else { Quality::Standard };
    let (mut pictures, mut warnings, mut unmatched, mut seed) = (Vec::new(), Vec::<String>::new(), None, None);
    for nth in 0..request.n {
        // Each of several pictures has a seed of its own.
        let own = wanted.seed.map(|seed| seed.wrapping_add(nth.into())).or((nth > 0).then_some(nth.into()));
        let (prompt, language) = match &scene {
            Some(scene) => (scene.prompt.clone(), Some("en")),
            None => (request.prompt.clone(), None),
        };
        let drawing = app.images.sketch.draw(SketchRequest { prompt, language, size, quality, seed: own }).await?;
        seed.get_or_insert(drawing.seed);
        for warning in &drawing.warnings {
            let code = warning.code().to_owned();
            if !warnings.contains(&code) {
                warnings.push(code);
            }
        }
        unmatched.get_or_insert(drawing.unmatched);
        pictures.push(CheckedPicture {
            png: drawing.png,
            width: size.width(),
            height: size.height(),
            revised_prompt: Some(drawing.revised_prompt),
        });
    }
    Ok(Fresh {
        pictures,
        model: SKETCH_MODEL.to_owned(),
        provider: EMBEDDED_PROVIDER.to_owned(),
        method: if scene.is_some() { Method::SketchLlm } else { Method::Sketch },
        usage: scene.as_ref().map(|scene| scene.usage),
        cost_nanos: scene.map_or(Some(0), |scene| scene.cost_nanos),
        warnings,
        unmatched,
        seed,
    })
}
