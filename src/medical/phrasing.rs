//! Calls of the providers that the operator has named for medical content, and the explanations and translations of their
//! models: checked, and refused at the slightest doubt.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, web};
use muster_clinical::Sending;
use muster_gateway::{CompletedChat, GatewayChatRequest};
use muster_limits::Estimate;
use muster_medical::base::Base;
use muster_medical::gate::{self, Check, FactSheet};
use muster_providers::{ChatRequest, Message, ModelRules, Role, Usage};
use serde_json::json;
use tokio::time::Instant;

use crate::app::App;
use crate::chat;
use crate::config::{Phrasing, Sent};
use crate::error::HttpError;
use crate::guard::{Reservation, caller_of};
use crate::otel::ChatSpan;
use crate::telemetry::Spent;

/// Most tokens of an explanation, and of a translation.
const MAX_TOKENS: u32 = 1_500;
/// How often a model is asked.
const ATTEMPTS: usize = 2;

/// The providers that may be asked about a request, within its budgets.
#[derive(Debug)]
pub struct ProviderCalls {
    app: web::Data<App>,
    /// Without messages.
    template: GatewayChatRequest,
    owner: String,
    providers: Vec<String>,
    sent: Sent,
    limit: Duration,
}

/// What a model wrote, and what was wrong with it.
#[derive(Debug, Default)]
pub struct Explained {
    /// The explanation, if one passed every check.
    pub text: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub usage: Usage,
    /// Checks that failed, each once.
    pub rejected: Vec<Check>,
}

/// Translated paragraphs.
#[derive(Debug, Default)]
pub struct Translated {
    /// The paragraphs in their order, if all passed.
    pub paragraphs: Option<Vec<String>>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub usage: Usage,
    pub rejected: Vec<Check>,
}

impl ProviderCalls {
    /// Returns the calls that a request may make; `None` where the rules phrase, which is the default.
    ///
    /// # Errors
    /// `Invalid` for tags of a wrong form.
    pub fn of(app: &web::Data<App>, http: &HttpRequest) -> Result<Option<Self>, HttpError> {
        let live = app.live();
        let settings = &live.config.medical;
        if settings.phrasing == Phrasing::Rules {
            return Ok(None);
        }
        Self::to(app, http, None, settings.providers.clone())
    }

    /// Returns calls that only these providers get; `None` if there are none.
    ///
    /// # Errors
    /// `Invalid` for tags of a wrong form.
    pub(super) fn to(
        app: &web::Data<App>,
        http: &HttpRequest,
        model: Option<&str>,
        providers: Vec<String>,
    ) -> Result<Option<Self>, HttpError> {
        // Without a provider there would be no rule, and no rule allows all.
        if providers.is_empty() {
            return Ok(None);
        }
        let live = app.live();
        let settings = &live.config.medical;
        let reservation = Reservation::uncounted(Estimate::default());
        let mut template = chat::gateway_request(http, model.map(str::to_owned), ChatRequest::default(), &reservation)?;
        let allowed: Vec<String> = providers.iter().map(|id| format!("{id}/*")).collect();
        let Some(spend) = &mut template.spend else { return Ok(None) };
        spend.models = ModelRules::of(spend.models.lists().chain([allowed.as_slice()]));
        // What is kept for other requests would be data at rest.
        template.cache = None;
        template.retries = Some(0);
        let limit = Duration::from_secs(settings.phrasing_seconds);
        let (owner, sent) = (caller_of(http)?.key.id.clone(), settings.send);
        Ok(Some(Self { app: app.clone(), template, owner, providers, sent, limit }))
    }

    /// When the calls of a request that begin now have to be answered.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.limit
    }

    /// What a provider gets of a message.
    const fn sent(&self) -> &'static str {
        match self.sent {
            Sent::Facts => "facts",
            Sent::RedactedText => "redacted_text",
        }
    }

    /// Asks for an explanation of facts. A text that fails a check is asked for once more with the reason.
    pub async fn explain(&self, base: &Base, facts: &FactSheet, message: &str) -> Explained {
        let redacted = (self.sent == Sent::RedactedText).then(|| gate::redact(base, message));
        let facts_text = facts.to_json(redacted.as_deref()).to_string();
        let mut messages =
            vec![Message::text(Role::System, gate::instructions()), Message::text(Role::User, facts_text)];
        let mut explained = Explained::default();
        let mut rejected = BTreeSet::new();
        let deadline = self.deadline();
        if !self.note("explanation", self.sent()).await {
            return explained;
        }
        for _ in 0..ATTEMPTS {
            let Some(answer) = self.write(&messages, deadline).await else { break };
            add(&mut explained.usage, answer.usage);
            explained.provider = Some(answer.provider_id);
            explained.model = Some(answer.model_id);
            let written = answer.reply.first.content;
            match gate::check(base, facts, &written) {
                Ok(text) => {
                    explained.text = Some(text);
                    break;
                }
                Err(failed) => {
                    self.app.metrics.phrasing_rejected(&failed);
                    messages.push(Message::text(Role::Assistant, written));
                    messages.push(Message::text(Role::User, gate::refused_because(&failed)));
                    rejected.extend(failed);
                }
            }
        }
        explained.rejected = rejected.into_iter().collect();
        explained
    }

    /// Asks for a translation of each paragraph. One that fails a check is asked for once more.
    pub async fn translate(&self, language: &str, paragraphs: &[&str]) -> Translated {
        let mut translated = Translated::default();
        let mut rejected = BTreeSet::new();
        let mut done = Vec::new();
        let deadline = self.deadline();
        if !self.note("translation", self.sent()).await {
            return translated;
        }
        'paragraphs: for paragraph in paragraphs {
            let mut messages = vec![
                Message::text(Role::System, gate::translation_instructions(language)),
                Message::text(Role::User, *paragraph),
            ];
            for _ in 0..ATTEMPTS {
                let Some(answer) = self.write(&messages, deadline).await else { break 'paragraphs };
                add(&mut translated.usage, answer.usage);
                translated.provider = Some(answer.provider_id);
                translated.model = Some(answer.model_id);
                let written = answer.reply.first.content;
                match gate::check_translation(paragraph, &written) {
                    Ok(()) => {
                        done.push(written.trim().to_owned());
                        continue 'paragraphs;
                    }
                    Err(failed) => {
                        self.app.metrics.phrasing_rejected(&failed);
                        messages.push(Message::text(Role::Assistant, written));
                        messages.push(Message::text(Role::User, gate::refused_because(&failed)));
                        rejected.extend(failed);
                    }
                }
            }
            break;
        }
        translated.paragraphs = (done.len() == paragraphs.len()).then_some(done);
        translated.rejected = rejected.into_iter().collect();
        translated
    }

    /// Writes into the audit log that something is sent. If that is not durable, nothing is sent.
    pub(super) async fn note(&self, what: &str, send: &str) -> bool {
        let sending = Sending {
            owner: self.owner.clone(),
            request_id: self.template.request_id.clone(),
            details: json!({ "providers": self.providers, "send": send, "what": what }),
        };
        let noted = self.app.medical.conversations.note_sending(sending).await;
        if let Err(error) = &noted {
            tracing::warn!(%error, "nothing is sent to a provider, because the audit log takes no entry");
        }
        noted.is_ok()
    }

    /// Lets a model write the next message of a chat.
    async fn write(&self, messages: &[Message], deadline: Instant) -> Option<CompletedChat> {
        let (messages, max_tokens) = (messages.to_vec(), Some(MAX_TOKENS));
        self.ask(ChatRequest { messages, max_tokens, ..ChatRequest::default() }, deadline).await
    }

    /// Calls the providers; `None` if none answers in time. What they were asked is in no log, metric or span.
    pub(super) async fn ask(&self, request: ChatRequest, deadline: Instant) -> Option<CompletedChat> {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        let max_tokens = request.max_tokens.unwrap_or(MAX_TOKENS);
        let estimate = chat::estimate(&self.app, &request.prompt_parts(), max_tokens);
        let mut call = self.template.clone();
        if let Some(spend) = &mut call.spend {
            let prompt_tokens = u32::try_from(estimate.prompt).unwrap_or(u32::MAX);
            spend.max_usage = Usage { prompt_tokens, completion_tokens: max_tokens, estimated: true };
        }
        call.request = Arc::new(request);
        call.deadline = Some(left);
        let chain = self.app.live().chain.clone();
        let span = self.app.otel.as_ref().map(|otel| ChatSpan::begin(otel, &chain, &call));
        let spent = Spent::by(call.spend.as_ref());
        let metrics = &self.app.metrics;
        match tokio::time::timeout_at(deadline, chain.complete(call)).await {
            Ok(Ok(answer)) => {
                metrics.attempts(&answer.attempts, |model| chat::label(&chain, model));
                let model = chat::label(&chain, &answer.model_id);
                metrics.tokens(&answer.provider_id, model, answer.usage);
                metrics.spent(&spent, &answer.provider_id, model, answer.cost_nanos);
                if let Some(span) = &span {
                    span.answered(&answer);
                }
                Some(answer)
            }
            Ok(Err(refused)) => {
                metrics.attempts(&refused.attempts, |model| chat::label(&chain, model));
                if let Some(span) = &span {
                    span.refused(&refused);
                }
                tracing::warn!(kind = ?refused.error.kind, "no provider answered: the rules' answer stands without it");
                None
            }
            Err(_) => None,
        }
    }
}

fn add(sum: &mut Usage, usage: Usage) {
    sum.prompt_tokens = sum.prompt_tokens.saturating_add(usage.prompt_tokens);
    sum.completion_tokens = sum.completion_tokens.saturating_add(usage.completion_tokens);
    sum.estimated |= usage.estimated;
}
