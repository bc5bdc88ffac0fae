//! The order of engines of each task.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use muster_core::{Error, Kind};
use muster_imaging::engines::{Tesseract, TesseractError};
use muster_models::{DetectOptions, Detector, Moderator, Ocr};
use muster_providers::{EMBEDDED_PROVIDER, Usage};
use serde_json::Value;

use super::outcome::{AttemptA, Outcome, Payer};
use super::provider::{self, Seen};
use super::reply::SeenResult;
use super::result::{DescribedA, DetectedA, FactsA, ReadA, Scale};
use super::{VisionEngine, VisionResult, VisionTask, facts, moderation};
use crate::app::App;
use crate::media::picture::Upright;

/// Score of a category from which it is flagged.
pub(super) const THRESHOLD: f64 = 0.8;
/// Score from which a category that is not flagged is borderline.
const BORDERLINE: f64 = 0.2;
/// Name of the description by rules.
const FACTS: &str = "facts";

/// A task with its picture.
#[derive(Debug)]
pub struct VisionRequest {
    pub upright: Upright,
    pub task: VisionTask,
    /// Model that is to serve it, with no other in its place.
    pub model: Option<String>,
    /// Code of a language: of the description, or expected of the text.
    pub language: Option<String>,
    pub min_score: Option<f64>,
    pub max_results: usize,
    /// Question about the picture.
    pub question: Option<String>,
}

impl VisionRequest {
    fn scale(&self) -> Scale {
        let picture = &self.upright.picture;
        Scale { from: (picture.width(), picture.height()), to: self.upright.sides }
    }

    /// Whether this model is to serve it: it is named, or none is.
    fn permits(&self, model: &str) -> bool {
        self.model.as_deref().is_none_or(|named| named == model)
    }

    /// Whether this model of this process is to serve it: it is named, by its name or as `embedded`, or none is.
    fn permits_embedded(&self, model: &str) -> bool {
        self.permits(model) || self.model.as_deref() == Some(EMBEDDED_PROVIDER)
    }
}

/// Serves a task.
///
/// # Errors
/// No engine can, or a provider's call is refused.
pub async fn serve(app: &App, payer: &Payer, request: &VisionRequest) -> Result<Outcome, Error> {
    let mut outcome = match request.task {
        VisionTask::Detect => detect(app, payer, request).await,
        VisionTask::Ocr => read(app, payer, request).await,
        VisionTask::Moderate => moderate(app, payer, request).await,
        VisionTask::Describe => describe(app, payer, request).await,
    }?;
    if request.upright.frames > 1 {
        outcome.warnings.push("first_frame_only");
    }
    Ok(outcome)
}

async fn detect(app: &App, payer: &Payer, request: &VisionRequest) -> Result<Outcome, Error> {
    if request.permits_embedded(Detector::MODEL) {
        let found = objects(app, request).await?;
        return Ok(Outcome::embedded(Detector::MODEL, VisionResult::Detected(found)));
    }
    by_provider(app, payer, request).await
}

async fn objects(app: &App, request: &VisionRequest) -> Result<DetectedA, Error> {
    let default = DetectOptions::default();
    let min_score = request.min_score.map_or(default.min_score, |score| score as f32);
    let options = DetectOptions { min_score, max_results: request.max_results };
    let found = app.media.vision.detector.run(&request.upright.picture, options).await?;
    Ok(request.scale().objects(found))
}

async fn read(app: &App, payer: &Payer, request: &VisionRequest) -> Result<Outcome, Error> {
    if request.model.as_deref() == Some(Tesseract::MODEL) {
        return by_tesseract(app, request).await.map_err(unread);
    }
    if !request.permits_embedded(Ocr::MODEL) {
        return by_provider(app, payer, request).await;
    }
    let may_ask = request.model.is_none() && provider::is_configured(&app.live());
    let page = match app.media.vision.ocr.run(&request.upright.picture, ()).await {
        Ok(page) => page,
        Err(absent) if absent.code == Some("model_absent") && may_ask => return by_provider(app, payer, request).await,
        Err(error) => return Err(error),
    };
    let not_covered = page.script_not_covered;
    let page = request.scale().page(page, request.min_score);
    let mut outcome = Outcome::embedded(Ocr::MODEL, VisionResult::Read(page));
    if not_covered && may_ask {
        let mut attempts = Vec::new();
        match provider::see(app, payer, request, &mut attempts).await {
            Ok(seen) => return finish(app, request, seen, attempts).await,
            Err(error) => {
                tracing::info!(%error, "no provider read a text of a script that the embedded model does not know")
            }
        }
        outcome.attempts = attempts;
    }
    if not_covered && request.model.is_none() {
        match by_tesseract(app, request).await {
            Ok(read) => return Ok(Outcome { attempts: outcome.attempts, ..read }),
            Err(TesseractError::NotInstalled) => {}
            Err(error) => tracing::info!(%error, "Tesseract did not read a text either"),
        }
    }
    if not_covered {
        outcome.warnings.push("script_not_covered");
    }
    Ok(outcome)
}

async fn by_tesseract(app: &App, request: &VisionRequest) -> Result<Outcome, TesseractError> {
    let page = app.media.tesseract.read(&request.upright.picture, request.language.as_deref()).await?;
    let read = request.scale().tesseract(page, request.min_score);
    let outcome = Outcome::embedded(Tesseract::MODEL, VisionResult::Read(read));
    Ok(Outcome { method: Tesseract::MODEL, ..outcome })
}

/// Why Tesseract, which the request names, read nothing.
fn unread(error: TesseractError) -> Error {
    let message = error.to_string();
    match error {
        TesseractError::NotInstalled | TesseractError::NoData { .. } => {
            Error::new(Kind::Unavailable, message).coded("model_absent")
        }
        TesseractError::Busy => {
            Error::new(Kind::Unavailable, message).coded("vision_busy").retry_in(Duration::from_secs(5))
        }
        TesseractError::Run(_) => Error::new(Kind::Unavailable, message),
    }
}

async fn moderate(app: &App, payer: &Payer, request: &VisionRequest) -> Result<Outcome, Error> {
    let embedded = request.permits_embedded(Moderator::MODEL);
    let outside = request.permits(moderation::MODEL).then(|| moderation::provider(app)).flatten();
    if !embedded && outside.is_none() {
        return by_provider(app, payer, request).await;
    }
    let picture = &request.upright.picture;
    let own = async { if embedded { Some(app.media.vision.moderator.run(picture, ()).await) } else { None } };
    let theirs = async {
        match &outside {
            Some(provider) => Some(moderation::assess(provider, payer, picture).await),
            None => None,
        }
    };
    let (own, theirs) = futures::join!(own, theirs);
    let named = request.model.is_some();
    let (own, theirs) = match (own, theirs) {
        (Some(Err(error)), None) | (None, Some(Err(error))) => return Err(error),
        (Some(Err(error)), Some(Err(_))) => return Err(error),
        (own, theirs) => {
            let failed = own.as_ref().is_some_and(Result::is_err) || theirs.as_ref().is_some_and(Result::is_err);
            if failed && named {
                return Err(Error::new(Kind::Unavailable, "the model that was named did not answer: try again"));
            }
            (own.and_then(Result::ok), theirs.and_then(Result::ok))
        }
    };
    let id = outside.as_ref().map_or("", |provider| provider.id.as_str());
    Ok(moderation::combined(own, theirs, id, outside.is_some(), BORDERLINE))
}

async fn describe(app: &App, payer: &Payer, request: &VisionRequest) -> Result<Outcome, Error> {
    let mut attempts = Vec::new();
    let by_rules = matches!(request.model.as_deref(), Some(FACTS | EMBEDDED_PROVIDER));
    if !by_rules && (request.model.is_some() || provider::is_configured(&app.live())) {
        match provider::see(app, payer, request, &mut attempts).await {
            Ok(seen) => return finish(app, request, seen, attempts).await,
            Err(error) if request.model.is_some() => return Err(error),
            // The caller's own limits are told, not passed over.
            Err(error)
                if matches!(
                    error.kind,
                    Kind::BudgetExhausted | Kind::ModelNotAllowed | Kind::ModelUnpriced | Kind::Invalid
                ) =>
            {
                return Err(error);
            }
            Err(error) => tracing::info!(%error, "no provider described a picture"),
        }
    }
    let mut measured = measured(request).await?;
    let (objects, page) = futures::join!(objects(app, request), app.media.vision.ocr.run(&request.upright.picture, ()));
    let mut warnings = Vec::new();
    let objects = found(objects, "objects_not_assessed", &mut warnings);
    let page = found(page, "text_not_assessed", &mut warnings).and_then(|page| {
        if page.script_not_covered {
            warnings.push("script_not_covered");
        }
        // What is probably wrong is not said.
        (!page.script_not_covered).then(|| request.scale().page(page, None))
    });
    facts::add(&mut measured, objects, page);
    if request.question.is_some() {
        warnings.push("question_not_answered");
    }
    if request.language.as_deref().is_some_and(|language| language != "en") {
        warnings.push("language_not_available");
    }
    let description = facts::sentence(&measured, request.upright.sides);
    let result = DescribedA { description, language: "en".to_owned(), facts: measured };
    let outcome = Outcome::embedded(FACTS, VisionResult::Described(result));
    Ok(Outcome { method: FACTS, warnings, attempts, ..outcome })
}

/// What a model found, or a warning that nothing is known.
fn found<T>(result: Result<T, Error>, warning: &'static str, warnings: &mut Vec<&'static str>) -> Option<T> {
    result.inspect_err(|_| warnings.push(warning)).ok()
}

async fn measured(request: &VisionRequest) -> Result<FactsA, Error> {
    let (picture, sides) = (Arc::clone(&request.upright.picture), request.upright.sides);
    let measured = web::block(move || facts::facts(&picture, sides)).await.ok().flatten();
    measured.ok_or_else(|| Error::new(Kind::Unavailable, "the server is too busy to measure the picture: try again"))
}

async fn by_provider(app: &App, payer: &Payer, request: &VisionRequest) -> Result<Outcome, Error> {
    if let Some(other) = request.model.as_deref().filter(|name| is_embedded(name)) {
        let why = format!("{other} does not serve the task {}", request.task.name());
        return Err(Error::field(Kind::UnsupportedValue, &["body", "model"], why, Value::Null));
    }
    let mut attempts = Vec::new();
    let seen = provider::see(app, payer, request, &mut attempts).await?;
    finish(app, request, seen, attempts).await
}

fn is_embedded(name: &str) -> bool {
    [Detector::MODEL, Ocr::MODEL, Moderator::MODEL, Tesseract::MODEL, moderation::MODEL, FACTS].contains(&name)
}

async fn finish(_: &App, request: &VisionRequest, seen: Seen, attempts: Vec<AttemptA>) -> Result<Outcome, Error> {
    let Seen { result, provider, model, usage, cost_nanos } = seen;
    let result = match result {
        SeenResult::Done(result) => result,
        SeenResult::Described(description) => {
            let language = request.language.clone().unwrap_or_else(|| "en".to_owned());
            VisionResult::Described(DescribedA { description, language, facts: measured(request).await? })
        }
    };
    let warnings = match &result {
        VisionResult::Detected(_) | VisionResult::Read(ReadA { .. }) => vec!["approximate_boxes"],
        _ => Vec::new(),
    };
    let usage: Option<Usage> = Some(usage);
    Ok(Outcome { result, provider, model, method: "model", warnings, attempts, usage, cost_nanos })
}
