//! Runs a translation: the dictionary, then each way until one ends.

use std::borrow::Cow;
use std::time::Duration;

use muster_core::{Error, Kind};
use muster_media::marks::Glossary;
use muster_media::segments::{FinishedSegment, SegmentError, TextOptions, Translated, Translation};
use muster_providers::{EMBEDDED_PROVIDER, Usage};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::plan::{Leg, Plan, no_engine, plans};
use super::provider::{self, Payer};
use super::{TextRequest, Translators};
use crate::config::TranslationEngine;

/// Where segments go as they are finished.
pub type Segments = UnboundedSender<FinishedSegment>;

/// Time after which a full queue may have room.
const RETRY: Duration = Duration::from_secs(5);

/// Why an engine did not translate.
#[derive(Debug)]
pub(super) enum LegError {
    /// Its queue is full.
    Busy(String),
    /// It failed; the next one is asked.
    Failed(String),
    /// The caller is told.
    Refused(Box<Error>),
}

impl From<SegmentError> for LegError {
    fn from(error: SegmentError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A translated text, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The text.
    pub translation: String,
    /// `dictionary`, `neural`, `model`, `rules` or `identity`.
    pub method: &'static str,
    /// Who ran the engine: `embedded`, `apertium`, `cldr` or a provider; both of two steps, joined by `+`.
    pub provider: String,
    /// Name of the model; both of two steps, joined by `+`.
    pub model: String,
    /// Codes of the languages on the way.
    pub route: Vec<String>,
    /// Other translations.
    pub alternatives: Vec<String>,
    /// Codes.
    pub warnings: Vec<&'static str>,
    /// Segments that should be looked at: index, reasons.
    pub suspects: Vec<(usize, Vec<&'static str>)>,
    /// Tokens of the text and of the translation, by the engine's vocabulary.
    pub usage: Usage,
    /// Cost in billionths of a US dollar; `None` if the price is unknown.
    pub cost_nanos: Option<u64>,
}

impl Outcome {
    fn simple(translation: String, method: &'static str, provider: &str, model: &str, request: &TextRequest) -> Self {
        Self {
            translation,
            method,
            provider: provider.to_owned(),
            model: model.to_owned(),
            route: vec![request.from.clone(), request.to.clone()],
            alternatives: Vec::new(),
            warnings: Vec::new(),
            suspects: Vec::new(),
            usage: Usage::default(),
            cost_nanos: Some(0),
        }
    }
}

/// One step that was taken.
struct LegDone {
    translated: Translated,
    usage: Usage,
    cost_nanos: Option<u64>,
    provider: String,
    model: String,
}

/// A text, and how it will be translated.
#[derive(Debug)]
pub struct Prepared {
    request: TextRequest,
    way: PreparedWay,
}

#[derive(Debug)]
enum PreparedWay {
    /// No engine is needed.
    Known(Box<Outcome>),
    /// The ways that are tried in turn.
    Engines(Vec<Plan>),
}

impl Translators {
    /// Finds how a text can be translated.
    ///
    /// # Errors
    /// No engine translates the pair of languages (`no_engine_for_pair`).
    pub async fn prepare(&self, request: TextRequest) -> Result<Prepared, Error> {
        let translators = self.clone();
        let known = tokio::task::spawn_blocking(move || {
            let known = without_engine(&translators, &request);
            (request, known)
        });
        let (request, known) = known
            .await
            .map_err(|_| Error::new(Kind::Unavailable, "the server is too busy to read the text: try again"))?;
        let way = match known {
            Some(outcome) => PreparedWay::Known(Box::new(outcome)),
            None => PreparedWay::Engines(self.ways(&request).await?),
        };
        Ok(Prepared { request, way })
    }

    /// Returns the ways of the pair of languages; those of the named engine or model only, if one was named.
    async fn ways(&self, request: &TextRequest) -> Result<Vec<Plan>, Error> {
        use TranslationEngine::{Dictionary, Model, Neural, Rules};
        let named = request.model.as_deref().map(|name| {
            let engine = [Dictionary, Neural, Model, Rules].into_iter().find(|engine| engine.name() == name);
            if name == EMBEDDED_PROVIDER { Neural } else { engine.unwrap_or(Model) }
        });
        let plans = plans(self, &self.live.now(), (&request.from, &request.to), named).await;
        if plans.is_empty() { Err(no_engine(&request.from, &request.to, &[])) } else { Ok(plans) }
    }

    /// Translates a text and counts it in the metrics. Segments go out as they are finished. Dropping the future stops the
    /// engine.
    ///
    /// # Errors
    /// Each way failed (`no_engine_for_pair`), a queue is full, or the caller's budget does not allow it.
    pub async fn run(&self, prepared: &Prepared, payer: &Payer, segments: Option<&Segments>) -> Result<Outcome, Error> {
        let Prepared { request, way } = prepared;
        let outcome = match way {
            PreparedWay::Known(outcome) => {
                if let Some(segments) = segments {
                    // Who asked may be gone.
                    drop(segments.send(FinishedSegment { index: 0, translation: outcome.translation.clone() }));
                }
                Ok(Outcome::clone(outcome))
            }
            PreparedWay::Engines(plans) => translate(self, payer, request, plans, segments).await,
        };
        let method = outcome.as_ref().map_or("none", |outcome| outcome.method);
        let result = match &outcome {
            Ok(outcome) if outcome.suspects.is_empty() => "translated",
            Ok(_) => "suspect",
            Err(_) => "failed",
        };
        let words = if outcome.is_ok() { request.text.split_whitespace().count() } else { 0 };
        self.metrics.translation(method, result, words as u64);
        outcome
    }
}

impl Prepared {
    /// Returns what is translated.
    pub const fn request(&self) -> &TextRequest {
        &self.request
    }
}

/// Translates a text without an engine where it need not have one: into its own language, or a name of the dictionary.
fn without_engine(translators: &Translators, request: &TextRequest) -> Option<Outcome> {
    if request.from == request.to {
        let text = request.text.clone();
        return Some(Outcome {
            route: vec![request.from.clone()],
            ..Outcome::simple(text, "identity", "embedded", "none", request)
        });
    }
    let asked = match request.model.as_deref() {
        Some(named) => named == TranslationEngine::Dictionary.name(),
        None => translators.order.contains(&TranslationEngine::Dictionary) && request.glossary.is_empty(),
    };
    let dictionary = translators.dictionary().filter(|_| asked)?;
    let text = request.text.trim();
    let named = dictionary.translate(text, &request.from, &request.to)?;
    let around = request.text.split_once(text).unwrap_or_default();
    let around = |name: String| format!("{}{name}{}", around.0, around.1);
    let mut outcome = Outcome::simple(around(named.translation), "dictionary", "cldr", "CLDR annotations", request);
    outcome.alternatives = named.alternatives.into_iter().map(around).collect();
    Some(outcome)
}

/// Translates a text by the first of the ways that ends. Segments of the last step go out as they are finished; once one
/// did, no other way is tried. Dropping the future stops the engine.
///
/// # Errors
/// No way is there (`no_engine_for_pair`), each failed, a queue is full, or the caller's budget does not allow it.
async fn translate(
    translators: &Translators,
    payer: &Payer,
    request: &TextRequest,
    plans: &[Plan],
    segments: Option<&Segments>,
) -> Result<Outcome, Error> {
    let (mut tried, mut busy) = (Vec::<Value>::new(), None);
    for plan in plans {
        let (watched, mut finished) = tokio::sync::mpsc::unbounded_channel();
        let mut begun = false;
        let ran = {
            let run = run(translators, payer, request, plan, segments.map(|_| watched));
            let mut run = std::pin::pin!(run);
            loop {
                tokio::select! {
                    biased;
                    Some(segment) = finished.recv() => {
                        begun = true;
                        if let Some(segments) = segments {
                            drop(segments.send(segment));
                        }
                    }
                    ran = &mut run => break ran,
                }
            }
        };
        while let Ok(segment) = finished.try_recv() {
            begun = true;
            if let Some(segments) = segments {
                drop(segments.send(segment));
            }
        }
        let why = match ran {
            Ok(outcome) => return Ok(outcome),
            Err(LegError::Refused(error)) => return Err(*error),
            Err(LegError::Busy(why)) => {
                busy = Some(why.clone());
                why
            }
            Err(LegError::Failed(why)) => why,
        };
        let engine = plan.engine(&translators.order).map(TranslationEngine::name);
        tracing::info!(engine, route = ?plan.languages(), why, "an engine did not translate");
        if begun {
            return Err(Error::new(Kind::ProviderFailed, format!("the translation broke off: {why}")));
        }
        tried.push(json!({ "engine": engine, "route": plan.languages(), "why": why }));
    }
    if let Some(why) = busy {
        return Err(Error { retry_after: Some(RETRY), ..Error::new(Kind::Unavailable, why) });
    }
    Err(no_engine(&request.from, &request.to, &tried))
}

/// Goes one way.
async fn run(
    translators: &Translators,
    payer: &Payer,
    request: &TextRequest,
    plan: &Plan,
    segments: Option<Segments>,
) -> Result<Outcome, LegError> {
    let mut text = Cow::Borrowed(request.text.as_str());
    let mut outcome = Outcome::simple(String::new(), "identity", "", "", request);
    let (mut providers, mut models) = (Vec::<String>::new(), Vec::<String>::new());
    outcome.route = plan.languages();
    outcome.method = plan.engine(&translators.order).map_or("identity", TranslationEngine::name);
    for (nth, leg) in plan.0.iter().enumerate() {
        let is_last = nth + 1 == plan.0.len();
        let out = segments.clone().filter(|_| is_last);
        let done = step(translators, payer, request, leg, &text, out).await?;
        outcome.usage = outcome.usage.and(done.usage);
        outcome.cost_nanos = outcome.cost_nanos.zip(done.cost_nanos).map(|(sum, cost)| sum.saturating_add(cost));
        for warning in done.translated.warnings {
            if !outcome.warnings.contains(&warning) {
                outcome.warnings.push(warning);
            }
        }
        if is_last {
            let reasons = |suspect: &muster_media::segments::Suspect| {
                (suspect.index, suspect.reasons.iter().map(|reason| reason.code()).collect())
            };
            outcome.suspects = done.translated.suspects.iter().map(reasons).collect();
        }
        for (list, name) in [(&mut providers, done.provider), (&mut models, done.model)] {
            if !list.contains(&name) {
                list.push(name);
            }
        }
        if leg.engine == TranslationEngine::Rules
            && super::rules::quality(&leg.from, &leg.to) == Some(super::rules::Quality::Draft)
        {
            outcome.warnings.push("draft");
        }
        text = Cow::Owned(done.translated.text);
    }
    if plan.0.len() > 1 {
        outcome.warnings.push("through_english");
    }
    outcome.translation = text.into_owned();
    (outcome.provider, outcome.model) = (providers.join("+"), models.join("+"));
    Ok(outcome)
}

/// Takes one step.
async fn step(
    translators: &Translators,
    payer: &Payer,
    request: &TextRequest,
    leg: &Leg,
    text: &str,
    segments: Option<Segments>,
) -> Result<LegDone, LegError> {
    if leg.engine == TranslationEngine::Neural {
        let pair = translators.neural.get(&(leg.from.clone(), leg.to.clone()));
        let pair = pair.ok_or_else(|| LegError::Failed("the model is not there".to_owned()))?;
        let translated = pair.translate(translators, text.to_owned(), request, &leg.to, segments).await?;
        let (translated, usage) = translated;
        let model = pair.name.to_string();
        return Ok(LegDone { translated, usage, cost_nanos: Some(0), provider: "embedded".to_owned(), model });
    }
    let none = Glossary::default();
    // Terms are given in the target's language; on the way to English there are none.
    let glossary = if leg.to == request.to { &request.glossary } else { &none };
    let options = TextOptions { format: request.format, to: &leg.to, glossary };
    let mut translation = Translation::new(text, &options, &|_| true);
    let (mut usage, mut cost_nanos) = (Usage::default(), Some(0_u64));
    let (mut provider, mut model) = ("apertium".to_owned(), "Apertium".to_owned());
    loop {
        let requests = translation.requests();
        if requests.is_empty() {
            break;
        }
        let replies = if leg.engine == TranslationEngine::Rules {
            translators.rules.segments(&leg.from, &leg.to, &requests).await?
        } else {
            let named = request.model.as_deref().filter(|name| *name != TranslationEngine::Model.name());
            let reply = provider::segments(translators, payer, named, (&leg.from, &leg.to), &requests).await?;
            usage = usage.and(reply.usage);
            cost_nanos = cost_nanos.zip(reply.cost_nanos).map(|(sum, cost)| sum.saturating_add(cost));
            (provider, model) = (reply.provider, reply.model);
            reply.replies
        };
        translation.accept(replies)?;
        while let Some(segment) = translation.next_finished() {
            if let Some(segments) = &segments {
                drop(segments.send(segment));
            }
        }
    }
    while let Some(segment) = translation.next_finished() {
        if let Some(segments) = &segments {
            drop(segments.send(segment));
        }
    }
    let language_of = |text: &str| translators.certain(text);
    let translated = translation.finish(Some(&language_of));
    Ok(LegDone { translated, usage, cost_nanos, provider, model })
}
