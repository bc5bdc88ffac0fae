//! Translation of interface A.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::Stream;
use muster_core::{Clock, Error, Kind};
use muster_engines::Failure;
use muster_limits::Estimate;
use muster_media::languages::{Detection, by_code};
use muster_media::marks::{Glossary, TextFormat};
use muster_media::segments::FinishedSegment;
use muster_providers::ChatRequest;
use muster_request::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Interval, interval};
use utoipa::ToSchema;

use crate::app::App;
use crate::chat;
use crate::error::sets::{InterfaceA, RunErrors};
use crate::error::{Dialect, HttpError, body as error_body};
use crate::guard::{ChatA, Metered, Priced};
use crate::media::translate::{self as engines, Outcome, Payer, TextRequest};
use crate::sse::frame;

const MAX_CHARACTERS: usize = 20_000;
/// Confidence of a detected language below which a warning says so.
const LOW_CONFIDENCE: f64 = 0.7;
/// Languages that are named where none could be detected.
const ALTERNATIVES: usize = 3;

/// Markup of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkupA {
    /// Plain text.
    #[default]
    Text,
    /// CommonMark.
    Markdown,
    /// HTML.
    Html,
}

/// A text to translate.
#[derive(Debug, Request)]
#[request(example = { "text": "The road to the harbour is closed.", "to": "pt", "from": "en" })]
pub struct TranslateBody {
    /// The text, 1 to 20,000 characters.
    #[request(check = check_text)]
    pub text: String,
    /// Code of the language to translate to; `GET /api/languages` lists them.
    #[request(check = check_code)]
    pub to: String,
    /// Code of the language of the text. Detected if it is left out.
    #[request(check = check_code)]
    pub from: Option<String>,
    /// Markup of the text, which is kept.
    #[request(default)]
    pub format: MarkupA,
    /// Terms of the text with their translations, at most 200.
    #[request(default)]
    pub glossary: BTreeMap<String, String>,
    /// Engine that is to translate, with no other in its place: `dictionary`, `neural` (or `embedded`), `model`, `rules`, or a model of
    /// `GET /api/models`. By default the first engine of the server's order that can.
    pub model: Option<String>,
    /// Streams the response as server-sent events: `segment`, then `done` or `error`.
    #[request(default = false)]
    pub stream: bool,
}

fn check_text(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("must not be empty".to_owned());
    }
    match text.chars().nth(MAX_CHARACTERS) {
        Some(_) => Err(format!("must have at most {MAX_CHARACTERS} characters: send it in parts")),
        None => Ok(()),
    }
}

fn check_code(code: &str) -> Result<(), &'static str> {
    by_code(code).map(drop).ok_or("is none of the 84 languages: GET /api/languages lists their codes")
}

impl Priced for TranslateBody {
    fn estimate(&self, app: &App) -> Estimate {
        engines::estimate(app, &self.text)
    }
}

/// A segment that should be looked at.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuspectSegment {
    /// Number of the segment, from 0.
    pub index: usize,
    /// `length`, `repeats`, `language`, `numbers` or `untranslated`.
    pub reasons: Vec<&'static str>,
}

/// A translated text.
#[derive(Debug, Serialize, ToSchema)]
pub struct TranslationA {
    /// Always true.
    pub success: bool,
    pub translation: String,
    /// Code of the language of the text.
    pub from: String,
    /// Code of the language of the translation.
    pub to: String,
    /// Whether `from` was detected.
    pub detected: bool,
    /// Probability of a detected language, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// `dictionary`, `neural`, `model`, `rules` or `identity`.
    pub method: &'static str,
    /// Who ran the engine; both of two steps, joined by `+`.
    pub provider: String,
    /// Name of the model; both of two steps, joined by `+`.
    pub model: String,
    /// Codes of the languages on the way.
    pub route: Vec<String>,
    /// Other translations of a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
    /// Codes: `low_confidence`, `through_english`, `draft`, `untranslated_segments`, `cut_at_marks`,
    /// `choices_not_translated`.
    pub warnings: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspect_segments: Vec<SuspectSegment>,
    /// Tokens by the engine's vocabulary; 0 where it has none.
    pub tokens: u32,
    /// Cost in US dollars; null if the price of the model is not known.
    pub cost_usd: Option<f64>,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

/// What is known of the language of a text.
#[derive(Debug, Clone, Copy)]
struct Source {
    /// Confidence of a detected language.
    confidence: Option<f64>,
}

fn answer(request: &TextRequest, source: Source, outcome: Outcome, clock: &Clock) -> TranslationA {
    let mut warnings = outcome.warnings;
    if source.confidence.is_some_and(|confidence| confidence < LOW_CONFIDENCE) {
        warnings.insert(0, "low_confidence");
    }
    TranslationA {
        success: true,
        translation: outcome.translation,
        from: request.from.clone(),
        to: request.to.clone(),
        detected: source.confidence.is_some(),
        confidence: source.confidence,
        method: outcome.method,
        provider: outcome.provider,
        model: outcome.model,
        route: outcome.route,
        alternatives: outcome.alternatives,
        warnings,
        suspect_segments: outcome
            .suspects
            .into_iter()
            .map(|(index, reasons)| SuspectSegment { index, reasons })
            .collect(),
        tokens: outcome.usage.total(),
        cost_usd: outcome.cost_nanos.map(|nanos| nanos as f64 / 1e9),
        timestamp: clock.now().rfc3339(),
    }
}

/// Translate a text
///
/// Translates between any two of the 84 languages that an engine of this server knows: names of things by the dictionary,
/// texts by models in this process, chat models of providers, or Apertium. Placeholders, code, URLs, tags and line ends are
/// kept. The response says which engine translated, and by which route; without one it is 503 `no_engine_for_pair`, and
/// `details.how` says what to add.
#[utoipa::path(post, path = "/api/translate", tag = "interface A", operation_id = "translate", request_body = TranslateBody,
    responses((status = 200, description = "The translation; with `stream` true an event stream of `segment` ({\"index\": integer, \"translation\": string}), then `done` (the whole response) or `error` (the error body)", content((TranslationA = "application/json"), (crate::sse::EventBody = "text/event-stream"))),
        RunErrors<InterfaceA>))]
pub async fn translate(
    request: Metered<ChatA, TranslateBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let Metered { body, reservation, .. } = request;
    let stream = body.stream;
    let (request, source) = read(&app, body).await?;
    let prepared = app.translators.prepare(request).await?;
    let reservation = reservation.sent();
    let payer = Payer { call: chat::gateway_request(&http, None, ChatRequest::default(), &reservation)? };
    let keep_alive = Duration::from_millis(app.live().config.chain.keep_alive_ms);
    let clock = app.clock.clone();
    let (out, segments) = unbounded_channel();
    let work = async move {
        let outcome = app.translators.run(&prepared, &payer, stream.then_some(&out)).await;
        reservation.settle(outcome.as_ref().map_or(0, |outcome| outcome.usage.total()));
        outcome.map(|outcome| answer(prepared.request(), source, outcome, &app.clock))
    };
    if !stream {
        return Ok(HttpResponse::Ok().json(work.await?));
    }
    let mut idle = interval(keep_alive.max(Duration::from_millis(1)));
    // The first tick is due after the interval, not at once.
    idle.reset();
    let events = TranslationEvents { work: Some(Box::pin(work)), segments, ready: VecDeque::new(), idle, clock };
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(events))
}

fn busy() -> HttpError {
    HttpError::new(Kind::Unavailable, "the server is too busy to read the text: try again")
}

/// Completes the request: the language of the text, and its glossary.
async fn read(app: &web::Data<App>, body: TranslateBody) -> Result<(TextRequest, Source), HttpError> {
    let TranslateBody { text, to, from, format, glossary, model, .. } = body;
    let terms = Glossary::new(glossary.iter().map(|(term, translation)| (term.as_str(), translation.as_str())));
    let glossary = terms
        .map_err(|why| HttpError(Error::field(Kind::Invalid, &["body", "glossary"], why.to_string(), Value::Null)))?;
    let format = match format {
        MarkupA::Text => TextFormat::Text,
        MarkupA::Markdown => TextFormat::Markdown,
        MarkupA::Html => TextFormat::Html,
    };
    let request = |text: String, from: String| TextRequest { text, from, to, format, glossary, model };
    if let Some(from) = from {
        return Ok((request(text, from), Source { confidence: None }));
    }
    let translators = app.translators.clone();
    let detected = web::block(move || {
        let detection = translators.detect(&text);
        (text, detection)
    });
    let (text, detection) = detected.await.map_err(|_| busy())?;
    let detection = detection.map_err(|absent: Failure| {
        let message = format!("{absent}, or name the language of the text in `from`");
        HttpError(Error::new(Kind::Unavailable, message).coded("model_absent"))
    })?;
    let found = detection.determined().ok_or_else(|| undetermined(&detection))?;
    Ok((request(text, found.language.code.clone()), Source { confidence: Some(found.confidence) }))
}

fn undetermined(detection: &Detection) -> HttpError {
    let guesses: Vec<&str> =
        detection.ranking.iter().take(ALTERNATIVES).map(|guess| guess.language.code.as_str()).collect();
    let why = match guesses.as_slice() {
        [] => "could not be detected, as the text has no letters: name the language".to_owned(),
        guesses => format!("could not be detected: name the language; perhaps one of {}", guesses.join(", ")),
    };
    HttpError(Error::field(Kind::Invalid, &["body", "from"], why, Value::Null))
}

/// The events of a translation. Dropping it stops the engine.
struct TranslationEvents<W> {
    work: Option<Pin<Box<W>>>,
    segments: UnboundedReceiver<FinishedSegment>,
    ready: VecDeque<Bytes>,
    idle: Interval,
    clock: Clock,
}

impl<W: Future<Output = Result<TranslationA, Error>>> TranslationEvents<W> {
    fn push(&mut self, name: &str, data: &impl Serialize) {
        let mut out = BytesMut::new();
        frame(Some(name), data, &mut out);
        self.ready.push_back(out.freeze());
        self.idle.reset();
    }

    fn push_segments(&mut self) {
        while let Ok(segment) = self.segments.try_recv() {
            self.push("segment", &json!({ "index": segment.index, "translation": segment.translation }));
        }
    }
}

impl<W: Future<Output = Result<TranslationA, Error>>> Stream for TranslationEvents<W> {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Every field is `Unpin`: the future is boxed.
        let events = self.get_mut();
        if let Some(work) = &mut events.work {
            let ended = work.as_mut().poll(context);
            events.push_segments();
            if let Poll::Ready(ended) = ended {
                events.work = None;
                match ended {
                    Ok(answer) => events.push("done", &answer),
                    Err(error) => {
                        let body = error_body(&error, Dialect::A, events.clock.now());
                        events.push("error", &body);
                    }
                }
            }
        }
        if let Some(bytes) = events.ready.pop_front() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        if events.work.is_none() {
            return Poll::Ready(None);
        }
        if events.idle.poll_tick(context).is_ready() {
            return Poll::Ready(Some(Ok(Bytes::from_static(b": keep-alive\n\n"))));
        }
        Poll::Pending
    }
}
