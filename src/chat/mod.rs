//! Chat for all dialects: calls the provider chain, settles reserved tokens and records usage.

pub mod agent_reply;
pub mod agent_request;
pub mod cached;
pub mod payer;
pub mod read;
pub mod tags;

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_gateway::{
    AnswerStream, CacheUse, Chain, ChainError, CompletedChat, CompletedEmbedding, CompletedImages, GatewayChatRequest,
    GatewayEmbedRequest, GatewayImageRequest, PictureCheck, Settlement, Spend, StreamEnd, Substitute,
};
use muster_limits::Estimate;
use muster_providers::{ChatDefaults, ChatRequest, EmbedInput, EmbedRequest, PromptParts, Usage, image_tokens_at_most};

use crate::app::App;
use crate::error::HttpError;
use crate::guard::{Caller, Reservation};
use crate::images::DrawRequest;
use crate::otel::{self, ChatSpan, Operation};
use crate::respond::RequestId;
use crate::sse::{self, Frames, StreamForm};
use crate::telemetry::{Metrics, Spent};
use crate::tokens::{self, CountFor};

pub use read::{messages, tool_choice, tools};

/// Tokens reserved from a limit for an answer whose length nothing bounds; what it really has is charged afterwards.
const USUAL_ANSWER: u32 = 4096;
/// Tokens for which money is reserved where neither the request nor the catalogue bounds the answer: no model of the
/// catalogue gives a longer answer in practice.
pub const LONGEST_ANSWER: u32 = 128_000;

/// Calls the provider chain and settles the reservation.
pub async fn complete(
    app: &App,
    http: &HttpRequest,
    call: GatewayChatRequest,
    reservation: Reservation,
) -> Result<CompletedChat, HttpError> {
    let reservation = reservation.sent();
    let chain = app.live().chain.clone();
    let span = app.otel.as_ref().map(|otel| ChatSpan::begin(otel, &chain, &call));
    let spent = Spent::by(call.spend.as_ref());
    let answer = match chain.complete(call).await {
        Ok(answer) => answer,
        Err(refused) => {
            reservation.settle(0);
            app.metrics.attempts(&refused.attempts, |model| label(&chain, model));
            if let Some(span) = &span {
                span.refused(&refused);
            }
            return Err(HttpError::from(refused));
        }
    };
    app.metrics.cache(answer.cache);
    http.extensions_mut().insert(answer.cache);
    reservation.settle(record(&app.metrics, &chain, &answer, &spent).total());
    let answered = AnsweredBy::new(&answer.provider_id, &answer.model_id, answer.substitute);
    http.extensions_mut().insert(AnsweredBy { despite_open: answer.despite_open, ..answered });
    if let Some(span) = &span {
        span.answered(&answer);
    }
    Ok(answer)
}

/// Records a complete answer in the metrics; returns the tokens that it used. A cached answer uses none: its usage is that
/// of the first one.
pub fn record(metrics: &Metrics, chain: &Chain, answer: &CompletedChat, spent: &Spent) -> Usage {
    let usage = if matches!(answer.cache, CacheUse::Hit { .. }) { Usage::default() } else { answer.usage };
    let model = label(chain, &answer.model_id);
    metrics.attempts(&answer.attempts, |model| label(chain, model));
    metrics.tokens(&answer.provider_id, model, usage);
    metrics.spent(spent, &answer.provider_id, model, answer.cost_nanos);
    usage
}

/// Completes a chat and records it in the metrics.
///
/// # Errors
/// Those of the chain.
pub(crate) async fn complete_recorded(
    chain: &Chain,
    metrics: &Metrics,
    call: GatewayChatRequest,
) -> Result<CompletedChat, Error> {
    let spent = Spent::by(call.spend.as_ref());
    match chain.complete(call).await {
        Ok(done) => {
            record(metrics, chain, &done, &spent);
            Ok(done)
        }
        Err(refused) => {
            metrics.attempts(&refused.attempts, |model| label(chain, model));
            Err(refused.error)
        }
    }
}

/// Opens a stream and returns its response: once the first content has arrived, or, where that takes longer than the
/// keep-alive interval, with keep-alives until then. The reservation is settled when the stream ends, in whatever way.
pub async fn stream<F: Frames + Unpin + 'static>(
    app: &App,
    call: GatewayChatRequest,
    reservation: Reservation,
    form: StreamForm,
    frames: impl AsyncFnOnce(&AnswerStream) -> Result<F, HttpError> + 'static,
) -> Result<HttpResponse, HttpError> {
    let (metrics, reservation) = (app.metrics.clone(), reservation.sent());
    let live = app.live();
    let chain = live.chain.clone();
    let span = app.otel.as_ref().map(|otel| Arc::new(ChatSpan::begin(otel, &chain, &call)));
    let (settled, labels) = (span.clone(), chain.clone());
    let (spent, tried, attempts) = (Spent::by(call.spend.as_ref()), chain.clone(), metrics.clone());
    let settle = move |end: Settlement| {
        if let Some(span) = &settled {
            span.settled(&end);
        }
        match (end.end, end.usage.total()) {
            // The client left before the first content. What a provider may have read by then stays charged.
            (StreamEnd::ClientGone, 0) => drop(reservation),
            (_, spent) => reservation.settle(spent),
        }
        if let (Some(provider), Some(model)) = (&end.provider_id, &end.model_id) {
            metrics.tokens(provider, label(&labels, model), end.usage);
            metrics.spent(&spent, provider, label(&labels, model), end.cost_nanos);
        }
    };
    let opening = async move {
        let streaming = chain.stream(call, settle).await;
        let made = streaming.as_ref().map_or_else(|refused| &refused.attempts, |streaming| &streaming.attempts);
        attempts.attempts(made, |model| label(&tried, model));
        attempts.cache(streaming.as_ref().map_or(CacheUse::Off, |streaming| streaming.cache));
        match (&span, &streaming) {
            (Some(span), Ok(streaming)) => span.opened(&streaming.attempts),
            (Some(span), Err(refused)) => span.refused(refused),
            (None, _) => {}
        }
        let streaming = streaming?;
        let frames = frames(&streaming).await?;
        Ok((streaming, frames))
    };
    sse::open(opening, form, Duration::from_millis(live.config.chain.keep_alive_ms)).await
}

/// Returns the label of a model in metrics: its name if the catalogue or the settings have it. Names that clients invent
/// would be labels without bound.
pub fn label<'a>(chain: &Chain, model: &'a str) -> &'a str {
    if chain.registry().names_model(model) { model } else { OTHER_MODEL }
}

/// Label of models that neither the catalogue nor the settings have.
pub const OTHER_MODEL: &str = "other";

/// Who answered a request, for the headers of its response.
#[derive(Debug, Clone)]
pub struct AnsweredBy {
    pub provider: String,
    pub model: String,
    pub substitute: Substitute,
    /// Whether the provider was called although its circuit breaker was open.
    pub despite_open: bool,
}

impl AnsweredBy {
    fn new(provider: &str, model: &str, substitute: Substitute) -> Self {
        Self { provider: header_text(provider), model: header_text(model), substitute, despite_open: false }
    }

    /// Returns the headers that name it.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let always = [
            ("x-muster-provider", self.provider.as_str()),
            ("x-muster-model", self.model.as_str()),
            ("x-muster-fallback", self.substitute.as_str()),
        ];
        always.into_iter().chain(self.despite_open.then_some(("x-muster-circuit", "open")))
    }
}

impl From<&AnswerStream> for AnsweredBy {
    fn from(answer: &AnswerStream) -> Self {
        let answered = Self::new(&answer.provider_id, &answer.model_id, answer.substitute);
        Self { despite_open: answer.despite_open, ..answered }
    }
}

/// Characters of a name in a header.
const MAX_HEADER_NAME: usize = 200;

/// Returns a name in characters that a header may have: a client may request any name where a provider accepts it.
fn header_text(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    name.chars().take(MAX_HEADER_NAME).map(fit).collect()
}

/// Rejects members that no provider's settings forward: their cost is not known.
pub fn check_extensions(app: &App, extensions: &[String]) -> Result<(), HttpError> {
    let live = app.live();
    let named = |member: &String| live.config.provider.iter().any(|provider| provider.forward.contains(member));
    let Some(member) = extensions.iter().find(|member| !named(member)) else { return Ok(()) };
    let member: String = member.chars().take(MAX_QUOTED_MEMBER).collect();
    let message = format!(
        "`{member}` is not forwarded to providers, because its cost is not known here: leave it out; the operator can \
         allow it with `forward` of a [[provider]]"
    );
    Err(HttpError(Error::field(Kind::UnsupportedValue, &["body", &member], message, serde_json::Value::Null)))
}

/// Characters of a member's name in an error.
const MAX_QUOTED_MEMBER: usize = 100;

/// Returns what is sent for a request that leaves it open, in dialects that have such defaults.
pub fn defaults(app: &App) -> ChatDefaults {
    ChatDefaults { max_tokens: app.live().config.chat.default_max_tokens.value(), temperature: None }
}

/// Returns the tokens to reserve from a limit for one answer: as many as requested, else the default.
pub fn answer_tokens(app: &App, requested: Option<u32>) -> u32 {
    requested.or(app.live().config.chat.default_max_tokens.value()).unwrap_or(USUAL_ANSWER)
}

/// Builds the call of the provider chain for a request.
///
/// # Errors
/// `Invalid` for tags of a wrong form.
pub fn gateway_request(
    http: &HttpRequest,
    model: Option<String>,
    mut request: ChatRequest,
    reservation: &Reservation,
) -> Result<GatewayChatRequest, HttpError> {
    // Tokens beyond the reservation must not be generated, counted over all choices of the request. Where no bound is
    // sent, what is generated is charged afterwards.
    let answers = request.choices();
    let bound = reservation.answer_bound.map(|bound| (bound / answers).max(1));
    for limit in [&mut request.max_tokens, &mut request.defaults.max_tokens] {
        *limit = limit.map(|limit| bound.map_or(limit, |bound| limit.min(bound)));
    }
    let images = request.prompt_parts().images().map(image_tokens_at_most).fold(0, u32::saturating_add);
    let max_usage = Usage {
        // Images are reserved by the formula of the provider that is called.
        prompt_tokens: reservation.prompt().saturating_sub(images),
        completion_tokens: request.max_tokens.unwrap_or(LONGEST_ANSWER).saturating_mul(answers),
        estimated: true,
    };
    let spend = spend(http, max_usage)?;
    let cache = cache_policy(http);
    Ok(GatewayChatRequest {
        models: model.into_iter().collect(),
        request: Arc::new(request),
        request_id: request_id(http),
        traceparent: otel::traceparent(http),
        spend,
        cache,
        ..GatewayChatRequest::default()
    })
}

/// Returns whose budgets a request is charged to, and which models they allow.
fn spend(http: &HttpRequest, max_usage: Usage) -> Result<Option<Spend>, HttpError> {
    let tags = tags::of(http)?;
    let paid = |app: &web::Data<App>| {
        let extensions = http.extensions();
        let key = &extensions.get::<Caller>()?.key;
        Some(payer::spend(&app.keys, &app.live().config.budget, key, tags, max_usage))
    };
    Ok(http.app_data().and_then(paid))
}

fn cache_policy(http: &HttpRequest) -> Option<muster_gateway::CachePolicy> {
    let app = http.app_data::<web::Data<App>>()?;
    cached::policy(http, app, &http.extensions().get::<Caller>()?.key)
}

/// Requests embeddings and settles the reservation.
pub async fn embed(
    app: &App,
    http: &HttpRequest,
    model: String,
    request: EmbedRequest,
    reservation: Reservation,
) -> Result<CompletedEmbedding, HttpError> {
    let reservation = reservation.sent();
    let max_usage = Usage { prompt_tokens: reservation.prompt(), completion_tokens: 0, estimated: true };
    let call = GatewayEmbedRequest {
        model: Some(model),
        request: Arc::new(request),
        request_id: request_id(http),
        traceparent: otel::traceparent(http),
        spend: spend(http, max_usage)?,
    };
    let spent = Spent::by(call.spend.as_ref());
    let chain = app.live().chain.clone();
    let span = app
        .otel
        .as_ref()
        .map(|otel| ChatSpan::of(otel, &chain, Operation::Embeddings, call.model.clone(), call.traceparent.as_deref()));
    match chain.embed(call).await {
        Ok(embedded) => {
            if let Some(span) = &span {
                span.embedded(&embedded);
            }
            let answered = AnsweredBy::new(&embedded.provider_id, &embedded.model_id, embedded.substitute);
            http.extensions_mut().insert(answered);
            reservation.settle(embedded.usage.total());
            record_embedding(&app.metrics, &chain, &embedded, &spent);
            Ok(embedded)
        }
        Err(refused) => {
            reservation.settle(0);
            if let Some(span) = &span {
                span.refused(&refused);
            }
            Err(HttpError::from(refused))
        }
    }
}

/// Records embeddings in the metrics.
pub fn record_embedding(metrics: &Metrics, chain: &Chain, embedded: &CompletedEmbedding, spent: &Spent) {
    let model = label(chain, &embedded.model_id);
    metrics.tokens(&embedded.provider_id, model, embedded.usage);
    metrics.spent(spent, &embedded.provider_id, model, embedded.cost_nanos);
    metrics.attempts(&embedded.attempts, |model| label(chain, model));
}

/// Returns the identifier of a request, which is forwarded to providers.
pub(crate) fn request_id(http: &HttpRequest) -> String {
    http.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default()
}

/// Returns the tokens to reserve: those of everything that is sent, and the longest possible answer.
///
/// A short prompt is counted with the embedded model's tokenizer if it is loaded. A long one would block a serving
/// thread and is estimated by its bytes, rather too many tokens than too few. The final charge is what the provider
/// counted.
pub fn estimate(app: &App, parts: &PromptParts<'_>, max_tokens: u32) -> Estimate {
    let text = tokens::of_prompt(&*app.model, parts, CountFor::Reservation, tokens::QUICK_BYTES);
    let images = parts.images().map(image_tokens_at_most).fold(0, u32::saturating_add);
    Estimate { prompt: text.saturating_add(images).into(), completion: max_tokens.into() }
}

/// Returns the tokens to reserve for texts to embed, counted like a chat prompt.
pub fn tokens_of_inputs(app: &App, inputs: &[EmbedInput]) -> u32 {
    let texts = inputs.iter().map(|input| match input {
        EmbedInput::Text(text) => tokens::of_text(&*app.model, text, CountFor::Reservation),
        EmbedInput::Tokens(tokens) => u32::try_from(tokens.len()).unwrap_or(u32::MAX),
    });
    texts.fold(0, u32::saturating_add)
}

/// Returns the tokens of everything that a request puts before the model, as far as they can be counted here.
pub async fn count(app: &App, request: ChatRequest) -> Result<u32, HttpError> {
    let model = Arc::clone(&app.model);
    let count = move || tokens::of_prompt(&*model, &request.prompt_parts(), CountFor::Usage, tokens::EXACT_BYTES);
    let counted = web::block(count).await;
    counted.map_err(|_| HttpError::new(Kind::Unavailable, "the server is too busy to count the tokens: try again"))
}

/// Requests pictures and settles the reservation with the tokens of the prompt.
///
/// # Errors
/// What the chain returns; the caller decides on what follows.
pub async fn draw(
    app: &App,
    http: &HttpRequest,
    wanted: &DrawRequest,
    check: Arc<dyn PictureCheck>,
    reservation: Reservation,
) -> Result<CompletedImages, ChainError> {
    let reservation = reservation.sent();
    let max_usage = Usage { prompt_tokens: reservation.prompt(), completion_tokens: 0, estimated: true };
    let spend = spend(http, max_usage).map_err(|HttpError(error)| ChainError { error, attempts: Vec::new() })?;
    let call = GatewayImageRequest {
        model: wanted.model.clone(),
        request: Arc::new(wanted.request.clone()),
        check,
        request_id: request_id(http),
        traceparent: otel::traceparent(http),
        spend,
    };
    let spent = Spent::by(call.spend.as_ref());
    let chain = app.live().chain.clone();
    let drawn = chain.draw(call).await;
    let attempts = drawn.as_ref().map_or_else(|refused| &refused.attempts, |drawn| &drawn.attempts);
    app.metrics.attempts(attempts, |model| label(&chain, model));
    match &drawn {
        Ok(drawn) => {
            let answered = AnsweredBy::new(&drawn.provider_id, &drawn.model_id, drawn.substitute);
            http.extensions_mut().insert(answered);
            reservation.settle(drawn.usage.prompt_tokens);
            let model = label(&chain, &drawn.model_id);
            app.metrics.tokens(&drawn.provider_id, model, drawn.usage);
            app.metrics.spent(&spent, &drawn.provider_id, model, drawn.cost_nanos);
        }
        Err(_) => reservation.settle(0),
    }
    drawn
}

/// Converts billionths of a dollar to dollars; `None` if the price of the model is unknown.
pub fn cost_usd(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|nanos| nanos as f64 / 1e9)
}

/// The three token counts under the names that interface B uses.
pub fn totals(usage: Usage) -> (u32, u32, u32) {
    (usage.prompt_tokens, usage.completion_tokens, usage.total())
}
