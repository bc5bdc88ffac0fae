//! Chat for all dialects: calls the provider chain, settles reserved tokens and records usage.

pub mod read;

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest, web};
use muster_core::Kind;
use muster_gateway::{
    AnswerStream, CompletedChat, CompletedEmbedding, GatewayChatRequest, GatewayEmbedRequest, Settlement, Spend,
    StreamEnd,
};
use muster_limits::Estimate;
use muster_limits::ledger::nanos_of_usd;
use muster_providers::{ChatRequest, EmbedInput, EmbedRequest, Message, Usage};

use crate::app::App;
use crate::error::HttpError;
use crate::guard::{Caller, Reservation};
use crate::otel::{self, ChatSpan, Operation};
use crate::respond::RequestId;
use crate::tokens;

pub use read::{messages, tool_choice, tools};

/// Bytes per token assumed for a reservation: rather too many tokens are reserved than too few.
const RESERVED_BYTES_PER_TOKEN: usize = 3;
/// Tokens reserved for an answer without a limit.
const UNBOUNDED_ANSWER: u32 = 4096;
/// Bytes per token assumed without a reservation: the usual value for English prose.
const COUNTED_BYTES_PER_TOKEN: usize = 4;

/// Calls the provider chain and settles the reservation.
pub async fn complete(
    app: &App,
    call: GatewayChatRequest,
    reservation: Reservation,
) -> Result<CompletedChat, HttpError> {
    let reservation = reservation.sent();
    let span = app.otel.as_ref().map(|otel| ChatSpan::begin(otel, &call));
    let answer = match app.live().chain.complete(call).await {
        Ok(answer) => answer,
        Err(refused) => {
            reservation.settle(0);
            if let Some(span) = &span {
                span.refused(&refused);
            }
            return Err(HttpError::from(refused));
        }
    };
    reservation.settle(answer.usage.total());
    app.metrics.tokens(&answer.provider_id, &answer.model_id, answer.usage);
    if let Some(span) = &span {
        span.answered(&answer);
    }
    Ok(answer)
}

/// Opens a stream and returns once its first content has arrived. The reservation is settled when the stream ends, in
/// whatever way.
pub async fn stream(app: &App, call: GatewayChatRequest, reservation: Reservation) -> Result<AnswerStream, HttpError> {
    let (metrics, reservation) = (app.metrics.clone(), reservation.sent());
    let span = app.otel.as_ref().map(|otel| Arc::new(ChatSpan::begin(otel, &call)));
    let settled = span.clone();
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
            metrics.tokens(provider, model, end.usage);
        }
    };
    let streaming = app.live().chain.stream(call, settle).await;
    match (&span, &streaming) {
        (Some(span), Ok(streaming)) => span.opened(&streaming.attempts),
        (Some(span), Err(refused)) => span.refused(refused),
        (None, _) => {}
    }
    Ok(streaming?)
}

/// Builds the call of the provider chain for a request.
pub fn gateway_request(
    http: &HttpRequest,
    model: Option<String>,
    mut request: ChatRequest,
    reservation: &Reservation,
) -> GatewayChatRequest {
    // Tokens beyond the reservation must not be generated, counted over all choices of the request.
    let answers = request.choices();
    let bound = reservation.answer_bound.map(|bound| (bound / answers).max(1));
    request.max_tokens = [request.max_tokens, bound].into_iter().flatten().min();
    let max_usage = Usage {
        prompt_tokens: reservation.prompt(),
        completion_tokens: request.max_tokens.unwrap_or(UNBOUNDED_ANSWER).saturating_mul(answers),
        estimated: true,
    };
    GatewayChatRequest {
        models: model.into_iter().collect(),
        request: Arc::new(request),
        request_id: request_id(http),
        traceparent: otel::traceparent(http),
        deadline: None,
        retries: None,
        hedge_after: None,
        spend: spend(http, max_usage),
    }
}

/// Returns whose budget a request is charged to.
fn spend(http: &HttpRequest, max_usage: Usage) -> Option<Spend> {
    let extensions = http.extensions();
    let key = &extensions.get::<Caller>()?.key;
    Some(Spend { key_id: key.id.clone(), key_limit: key.budget_usd.map(nanos_of_usd), call_limit: None, max_usage })
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
        spend: spend(http, max_usage),
    };
    let span = app
        .otel
        .as_ref()
        .map(|otel| ChatSpan::of(otel, Operation::Embeddings, call.model.clone(), call.traceparent.as_deref()));
    match app.live().chain.embed(call).await {
        Ok(embedded) => {
            if let Some(span) = &span {
                span.embedded(&embedded);
            }
            reservation.settle(embedded.usage.total());
            app.metrics.tokens(&embedded.provider_id, &embedded.model_id, embedded.usage);
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

fn request_id(http: &HttpRequest) -> String {
    http.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default()
}

/// Returns the tokens to reserve: those of the prompt and the longest possible answer.
///
/// A short prompt is counted with the embedded model's tokenizer if it is loaded. A long one would block a serving
/// thread and is estimated at one token per three bytes, rather too many than too few. The final charge is what the
/// provider counted.
pub fn estimate<'a>(app: &App, messages: impl Iterator<Item = &'a Message> + Clone, max_tokens: u32) -> Estimate {
    let prompt = tokens::of_prompt(&*app.model, messages, RESERVED_BYTES_PER_TOKEN);
    Estimate { prompt: prompt.into(), completion: max_tokens.into() }
}

/// Returns the tokens to reserve for texts to embed, counted like a chat prompt.
pub fn tokens_of_inputs(app: &App, inputs: &[EmbedInput]) -> u32 {
    let texts = inputs.iter().map(|input| match input {
        EmbedInput::Text(text) => tokens::of_text(&*app.model, text, RESERVED_BYTES_PER_TOKEN),
        EmbedInput::Tokens(tokens) => u32::try_from(tokens.len()).unwrap_or(u32::MAX),
    });
    texts.fold(0, u32::saturating_add)
}

/// Returns the tokens of everything that a request puts before the model, as far as they can be counted here.
pub async fn count(app: &App, request: ChatRequest) -> Result<u32, HttpError> {
    let model = Arc::clone(&app.model);
    let counted = web::block(move || tokens::of_everything(&*model, &request, COUNTED_BYTES_PER_TOKEN)).await;
    counted.map_err(|_| HttpError::new(Kind::Unavailable, "the server is too busy to count the tokens: try again"))
}

/// Converts billionths of a dollar to dollars; `None` if the price of the model is unknown.
pub fn cost_usd(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|nanos| nanos as f64 / 1e9)
}

/// The three token counts under the names that interface B uses.
pub fn totals(usage: Usage) -> (u32, u32, u32) {
    (usage.prompt_tokens, usage.completion_tokens, usage.total())
}
