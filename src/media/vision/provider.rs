//! Vision by chat models of providers: the picture and a JSON schema. An answer that breaks the schema is malformed, and the
//! next model is called.

use std::sync::Arc;

use actix_web::web;
use muster_core::{Error, Kind};
use muster_gateway::CompletedChat;
use muster_limits::Estimate;
use muster_providers::{ChatRequest, EMBEDDED_PROVIDER, ImageSource, ResolveError, Usage};
use serde_json::Value;

use super::VisionTask;
use super::outcome::{AttemptA, Payer};
use super::prompt::{ANSWER, data, prompt};
use super::reply::{SeenResult, read};
use super::run::VisionRequest;
use crate::app::App;
use crate::chat;
use crate::live::Live;
use crate::telemetry::Spent;

/// Family of models that see.
const FAMILY: &str = "vision";

/// What a provider's model returned.
#[derive(Debug)]
pub struct Seen {
    pub result: SeenResult,
    pub provider: String,
    pub model: String,
    pub usage: Usage,
    pub cost_nanos: Option<u64>,
}

/// Models of providers that see, best first, each once.
fn models(live: &Live) -> Vec<String> {
    let candidates = live.registry().resolve(Some(FAMILY)).unwrap_or_default();
    let mut models = Vec::new();
    for candidate in candidates {
        if candidate.provider_id != EMBEDDED_PROVIDER && !models.contains(&candidate.model_id) {
            models.push(candidate.model_id);
        }
    }
    models
}

/// Returns whether a provider has a model that sees.
pub fn is_configured(live: &Live) -> bool {
    !models(live).is_empty()
}

/// Returns the tokens to reserve for a call of a provider, whatever the picture's size.
pub fn estimate(app: &App, task: VisionTask, question: Option<&str>) -> Estimate {
    let source = ImageSource::Url(String::new());
    let request = prompt(task, question, None, source);
    let estimate = chat::estimate(app, &request.prompt_parts(), ANSWER);
    Estimate { completion: ANSWER.into(), ..estimate }
}

/// Serves a task by the models that see, or by the one that was named. Attempts are added to `attempts`, also where none
/// succeeds.
///
/// # Errors
/// No model succeeded, or the caller may not use one.
pub async fn see(
    app: &App,
    payer: &Payer,
    request: &VisionRequest,
    attempts: &mut Vec<AttemptA>,
) -> Result<Seen, Error> {
    let live = app.live();
    let models = match &request.model {
        Some(named) => {
            check_sees(&live, named)?;
            vec![named.clone()]
        }
        None => models(&live),
    };
    let picture = Arc::clone(&request.upright.picture);
    let source = web::block(move || data(&picture)).await.ok().flatten();
    let source = source.ok_or_else(|| Error::new(Kind::Internal, "the picture cannot be encoded for a provider"))?;
    let chat = prompt(request.task, request.question.as_deref(), request.language.as_deref(), source);
    let mut last = Error::new(Kind::ModelUnconfigured, "no provider with a model that sees is configured");
    for model in models {
        match call(app, payer, &model, chat.clone(), attempts).await {
            Ok(answer) => match read(request, &answer.reply.first.content) {
                Some(result) => {
                    let CompletedChat { usage, cost_nanos, provider_id, model_id, .. } = answer;
                    return Ok(Seen { result, provider: provider_id, model: model_id, usage, cost_nanos });
                }
                None => {
                    if let Some(attempt) = attempts.last_mut() {
                        attempt.outcome = "malformed";
                    }
                    let message = format!("{} did not answer in the form that was requested", answer.model_id);
                    last = Error::new(Kind::ProviderFailed, message);
                }
            },
            Err(error) => match error.kind {
                // The caller's own limits hold for the next model too, or are to be told.
                Kind::BudgetExhausted | Kind::ModelNotAllowed | Kind::ModelUnpriced | Kind::Invalid => {
                    return Err(error);
                }
                _ => last = error,
            },
        }
    }
    Err(last)
}

/// Refuses a model that the catalogue knows to see nothing.
fn check_sees(live: &Live, named: &str) -> Result<(), Error> {
    let candidates = live.registry().resolve(Some(named)).map_err(|error| {
        let kind = match error {
            ResolveError::NotFound { .. } => Kind::ModelNotFound,
            ResolveError::Unconfigured { .. } => Kind::ModelUnconfigured,
        };
        Error::new(kind, error.to_string())
    })?;
    let entry = candidates.first().and_then(|candidate| candidate.entry.as_ref());
    if entry.is_some_and(|entry| !entry.capabilities.iter().any(|capability| capability == FAMILY)) {
        let why = format!("{named} reads no pictures: GET /api/models lists those with the capability `vision`");
        return Err(Error::field(Kind::UnsupportedValue, &["body", "model"], why, Value::Null));
    }
    Ok(())
}

async fn call(
    app: &App,
    payer: &Payer,
    model: &str,
    request: ChatRequest,
    attempts: &mut Vec<AttemptA>,
) -> Result<CompletedChat, Error> {
    let call = chat::gateway_request(&payer.http, Some(model.to_owned()), request, &payer.reservation);
    let mut call = call.map_err(|error| error.0)?;
    call.cache = None;
    let chain = app.live().chain.clone();
    let spent = Spent::by(call.spend.as_ref());
    let answer = chain.complete(call).await;
    let made = answer.as_ref().map_or_else(|refused| &refused.attempts, |answer| &answer.attempts);
    app.metrics.attempts(made, |model| chat::label(&chain, model));
    attempts.extend(made.iter().map(AttemptA::from));
    let answer = answer.map_err(|refused| refused.error)?;
    let label = chat::label(&chain, &answer.model_id);
    app.metrics.tokens(&answer.provider_id, label, answer.usage);
    app.metrics.spent(&spent, &answer.provider_id, label, answer.cost_nanos);
    if answer.provider_id == EMBEDDED_PROVIDER {
        return Err(Error::new(Kind::ProviderFailed, "the embedded chat model reads no pictures"));
    }
    Ok(answer)
}
