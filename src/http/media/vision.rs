//! Vision of interface A.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_limits::Estimate;
use muster_media::languages::by_code;
use muster_request::Request;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::form::FormFields;
use crate::chat::cost_usd;
use crate::error::HttpError;
use crate::error::sets::{InterfaceA, RunErrors};
use crate::guard::{ChatA, Metered, Priced, acting};
use crate::media::picture::{self, Upright};
use crate::media::vision::{
    AttemptA, Outcome, Payer, VisionRequest, VisionResult, VisionTask, estimate, is_configured, serve,
};

/// A picture and what is to be done with it.
#[derive(Debug, Request)]
#[request(takes_images, example = {
    "image": "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAALElEQVR4nGNkYGBg+M/AwMCIg2ZiIAAoV8CIz35GOrmBAY/9o+EwGg4jNBwA05wgNfG83zYAAAAASUVORK5CYII=",
    "task": "describe"
})]
pub struct VisionBody {
    /// PNG, JPEG, WebP, GIF (first picture) or BMP, at most 20 MiB, 16,384 pixels a side and 40 megapixels: base64, a
    /// `data:` URL, or an http or https URL, which the server fetches from public addresses only.
    pub image: String,
    /// `detect` finds objects of 80 everyday classes (a small, quick model of mediocre accuracy), `ocr` reads text in
    /// Chinese, Japanese and Latin script, `moderate` scores content that may harm, `describe` says what is to be seen.
    pub task: VisionTask,
    /// Model that is to serve it, with no other in its place: `embedded` for that of this server, one of `nanodet-416`,
    /// `pp-ocrv5-mobile`, `tesseract`, `open-nsfw`, `omni-moderation-latest` and `facts`, or a model of `GET /api/models` with the capability `vision`.
    #[request(chars = 1..=200)]
    pub model: Option<String>,
    /// Code of a language: of the description, or of the text to be read.
    #[request(check = check_language)]
    pub language: Option<String>,
    /// Lowest score of an object (0.4 by default) or of a line of text.
    #[request(range = 0.0..=1.0)]
    pub min_score: Option<f64>,
    /// Largest number of objects.
    #[request(range = 1..=100, default = 50)]
    pub max_results: usize,
    /// A question about the picture, for `describe`.
    #[request(chars = 1..=1000)]
    pub question: Option<String>,
}

fn check_language(code: &str) -> Result<(), &'static str> {
    by_code(code).map(drop).ok_or("is none of the 84 languages: GET /api/languages lists their codes")
}

impl Priced for VisionBody {
    const FORM: Option<FormFields> = Some(FormFields { files: &["image"], numbers: &["min_score", "max_results"] });

    fn estimate(&self, app: &App) -> Estimate {
        let may_ask = match self.task {
            VisionTask::Ocr | VisionTask::Describe => self.model.is_some() || is_configured(&app.live()),
            VisionTask::Detect | VisionTask::Moderate => self.model.is_some(),
        };
        if may_ask { estimate(app, self.task, self.question.as_deref()) } else { Estimate::default() }
    }
}

/// The picture as it was sent, upright.
#[derive(Debug, Serialize, ToSchema)]
pub struct PictureA {
    pub width: u32,
    pub height: u32,
    /// `png`, `jpeg`, `webp`, `gif` or `bmp`, by its first bytes.
    pub format: String,
    /// Size of the file.
    pub bytes: usize,
    /// Whether it was turned or mirrored, as its Exif says.
    pub oriented: bool,
}

impl From<&Upright> for PictureA {
    fn from(upright: &Upright) -> Self {
        let (width, height) = upright.sides;
        let format = upright.format.name().to_ascii_lowercase();
        Self { width, height, format, bytes: upright.bytes, oriented: upright.oriented }
    }
}

/// Tokens of the calls of providers.
#[derive(Debug, Serialize, ToSchema)]
pub struct VisionUsage {
    pub prompt_tokens: u32,
    pub completion_tokens: u32,
    pub total_tokens: u32,
}

/// What was found in a picture.
#[derive(Debug, Serialize, ToSchema)]
pub struct VisionA {
    /// Always true.
    pub success: bool,
    /// As requested.
    pub task: &'static str,
    /// Model that served it; several are joined by `+`.
    pub model: String,
    /// `embedded`, or a provider; several are joined by `+`.
    pub provider: String,
    /// `neural` (a model in this process), `model` (a chat model), `moderation`, `neural+moderation`, `tesseract` (a program
    /// on this machine), or `facts` (rules).
    pub method: &'static str,
    pub image: PictureA,
    pub result: VisionResult,
    /// Codes: `first_frame_only`, `approximate_boxes`, `script_not_covered`, `borderline`, `recall_unmeasured`,
    /// `provider_failed`, `objects_not_assessed`, `text_not_assessed`, `question_not_answered`, `language_not_available`.
    pub warnings: Vec<&'static str>,
    /// Calls of providers, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptA>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<VisionUsage>,
    /// Cost in US dollars; null if the price of the model is not known.
    pub cost_usd: Option<f64>,
    /// Milliseconds from the whole body to the response.
    pub latency_ms: u64,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

/// See a picture
///
/// Finds objects, reads text, scores content or describes a picture, by models in this process or of providers. The response
/// says which model served it and what was not assessed. Boxes are in pixels of the upright picture as it was sent. The
/// picture is not stored; what goes to a provider is encoded anew, without its metadata. A model that is not on this machine
/// is 503 `model_absent` with the command that fetches it. The body is JSON, or a form with the file part `image` and the
/// other fields as texts.
#[utoipa::path(post, path = "/api/vision", tag = "interface A", operation_id = "see_picture",
    request_body(content((VisionBody = "application/json"), (VisionBody = "multipart/form-data"))),
    responses((status = 200, description = "What was found", body = VisionA), RunErrors<InterfaceA>))]
pub async fn see(
    request: Metered<ChatA, VisionBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let begun = std::time::Instant::now();
    let Metered { body, sent, reservation, .. } = request;
    // The picture is held once from here on.
    drop(sent);
    let task = body.task;
    let mut counted = Counted::begin(&app, task);
    let seen = seen(&app, http, body, reservation).await;
    counted.end(seen.as_ref().map(|(_, outcome)| outcome).map_err(|error| &error.0));
    let (image, outcome) = seen?;
    Ok(HttpResponse::Ok().json(VisionA {
        success: true,
        task: task.name(),
        model: outcome.model,
        provider: outcome.provider,
        method: outcome.method,
        image,
        result: outcome.result,
        warnings: outcome.warnings,
        attempts: outcome.attempts,
        usage: outcome.usage.map(|usage| VisionUsage {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: usage.total(),
        }),
        cost_usd: cost_usd(outcome.cost_nanos),
        latency_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        timestamp: app.clock.now().rfc3339(),
    }))
}

async fn seen(
    app: &App,
    http: HttpRequest,
    body: VisionBody,
    reservation: crate::guard::Reservation,
) -> Result<(PictureA, Outcome), HttpError> {
    if body.question.is_some() && body.task != VisionTask::Describe {
        let why = "is answered by the task describe only";
        return Err(HttpError(Error::field(Kind::Invalid, &["body", "question"], why, Value::Null)));
    }
    let by = acting(&http)?;
    let upright = picture::load(app, body.image, &by).await?;
    let image = PictureA::from(&upright);
    let VisionBody { task, model, language, min_score, max_results, question, .. } = body;
    let request = VisionRequest { upright, task, model, language, min_score, max_results, question };
    let payer = Payer { http, reservation };
    let outcome = serve(app, &payer, &request).await;
    let tokens = outcome.as_ref().ok().and_then(|outcome| outcome.usage).map_or(0, |usage| usage.total());
    payer.reservation.settle(tokens);
    Ok((image, outcome?))
}

/// Counts a request by its outcome; one that is dropped was left by its client.
struct Counted<'a> {
    app: &'a App,
    task: VisionTask,
    ended: bool,
}

impl<'a> Counted<'a> {
    fn begin(app: &'a App, task: VisionTask) -> Self {
        Self { app, task, ended: false }
    }

    fn end(&mut self, outcome: Result<&Outcome, &Error>) {
        self.ended = true;
        let (provider, method, outcome) = match outcome {
            Ok(outcome) if outcome.provider == "embedded" => ("embedded", outcome.method, "served"),
            Ok(outcome) => (outcome.provider.as_str(), outcome.method, "served"),
            Err(error) => ("none", "none", if error.kind == Kind::Invalid { "refused" } else { "failed" }),
        };
        self.app.metrics.vision(self.task.name(), provider, method, outcome);
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.app.metrics.vision(self.task.name(), "none", "none", "left");
        }
    }
}
