//! What engines need of the server: models and tasks, in the name of who called the engine and within its budget.

mod gateway;
mod memory;
mod tasks;
mod translate;

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use muster_core::ids::{IdKind, new_id};
use muster_core::{Clock, Error};
use muster_engines::{ChatMessage, Need};
use muster_gateway::{GatewayChatRequest, GatewayEmbedRequest, Spend};
use muster_identity::By;
use muster_identity::keys::{Keys, Scope};
use muster_limits::RateLimiter;
use muster_limits::ledger::Ledger;
use muster_memory::Memory;
use muster_providers::{
    ChatRequest, EmbedInput, EmbedRequest, Message, ResponseFormat, Role, Sampling, Usage as ModelUsage,
};
use muster_tasks::engine::{Effects, EngineCaller, Provided};
use muster_tasks::task::{Reach, Requester, Tasks, Usage};
use serde_json::{Value, json};

use crate::chat::{self, payer};
use crate::live::LiveReader;
use crate::media::translate::Translators;
use crate::telemetry::{Metrics, Spent};
use translate::Text;

/// Time within which a need is performed.
const LIMIT: Duration = Duration::from_secs(60);

/// Performs the needs of engines. Engines start before the models and tasks that they need: until
/// [`ServerEffects::provide`] everything is refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerEffects(Arc<OnceLock<Weak<EffectParts>>>);

/// What needs are performed with. Tasks hold engines, which hold the effects: so those hold this weakly, and who started
/// the tasks keeps it.
#[derive(Debug)]
pub(crate) struct EffectParts {
    pub(crate) live: LiveReader,
    pub(crate) keys: Keys,
    pub(crate) tasks: Tasks,
    pub(crate) ledger: Ledger,
    pub(crate) limiter: RateLimiter,
    pub(crate) translators: Translators,
    pub(crate) memory: Memory,
    pub(crate) metrics: Metrics,
    pub(crate) clock: Clock,
}

/// What was provided, or why it is refused: the engine then goes its own way.
type Performed = Result<Provided, String>;

impl ServerEffects {
    /// Sets what needs are performed with, once, for as long as the result is kept.
    pub(crate) fn provide(&self, parts: EffectParts) -> Arc<EffectParts> {
        let parts = Arc::new(parts);
        // Set once, at the start.
        let _ = self.0.set(Arc::downgrade(&parts));
        parts
    }
}

impl Effects for ServerEffects {
    fn perform(&self, need: Need, caller: EngineCaller) -> BoxFuture<'static, Result<Provided, Error>> {
        let parts = self.0.get().and_then(Weak::upgrade);
        let performed = async move {
            match parts {
                Some(parts) => parts.perform(need, caller).await,
                None => Ok(Provided::refused("the server is starting or stopping")),
            }
        };
        performed.boxed()
    }
}

impl EffectParts {
    async fn perform(&self, need: Need, caller: EngineCaller) -> Result<Provided, Error> {
        let performed = match need {
            // Nothing replaces the gateway: its error is that of the call.
            Need::Gateway { request } => return self.gateway(&request, caller).await,
            // Nor the memory: nothing read is not nothing found.
            Need::Memory { query, ranking, top } => {
                return self.remembered(&query, ranking, top, self.reader(&caller)).await;
            }
            Need::Embed { texts, model } => self.embed(texts, model, caller.payer).boxed(),
            Need::Chat { messages, schema, max_tokens } => {
                self.chat(messages, schema, max_tokens, caller.payer).boxed()
            }
            Need::Translate { text, from, to, glossary } => {
                self.translate(Text { text, from, to, glossary }, caller.payer).boxed()
            }
            Need::Tasks { request } => self
                .frame(request, self.watcher(caller))
                .map_ok(|frame| Provided::given(frame, Usage::default()))
                .boxed(),
        };
        Ok(match tokio::time::timeout(LIMIT, performed).await {
            Ok(performed) => performed.unwrap_or_else(Provided::refused),
            Err(_) => Provided::refused(format!("there was no answer within {} s", LIMIT.as_secs())),
        })
    }

    /// Returns whose tasks a frame of the monitor shows: those that a caller may see, and to an agent those of the API key for
    /// which it works.
    fn watcher(&self, caller: EngineCaller) -> Option<Requester> {
        if let Some(by) = caller.watcher {
            return Some(Requester::of(by));
        }
        let by = self.of_task(&caller, Scope::Agents)?;
        Some(Requester { reads: Reach::Own, controls: Reach::Own, by })
    }

    /// Returns whose memory is read: that of a caller with the scope, and for an agent that of the API key for which it works.
    fn reader(&self, caller: &EngineCaller) -> Option<By> {
        caller.reader.clone().or_else(|| self.of_task(caller, Scope::Memory))
    }

    /// Returns the API key for which an agent works, if it has a scope at present.
    fn of_task(&self, caller: &EngineCaller, scope: Scope) -> Option<By> {
        let key = self.keys.present(&caller.actor).filter(|key| caller.task.is_some() && key.has(scope))?;
        Some(By::Key(key))
    }

    /// Returns who pays, by the present records.
    fn spend(&self, mut payer: Spend, max_usage: ModelUsage) -> Spend {
        payer::refresh(&self.keys, &self.live.now().config.budget, &mut payer);
        Spend { max_usage, ..payer }
    }

    async fn embed(&self, texts: Vec<String>, model: String, payer: Option<Box<Spend>>) -> Performed {
        let payer = payer.ok_or(NO_PAYER)?;
        // No tokenizer makes more tokens than there are bytes.
        let tokens =
            texts.iter().map(|text| u32::try_from(text.len()).unwrap_or(u32::MAX)).fold(0, u32::saturating_add);
        let max_usage = ModelUsage { prompt_tokens: tokens, completion_tokens: 0, estimated: true };
        let call = GatewayEmbedRequest {
            model: Some(model),
            request: Arc::new(EmbedRequest {
                inputs: texts.into_iter().map(EmbedInput::Text).collect(),
                dimensions: None,
                user: None,
            }),
            request_id: new_id(IdKind::Request),
            traceparent: None,
            spend: Some(self.spend(*payer, max_usage)),
        };
        let (spent, chain) = (Spent::by(call.spend.as_ref()), self.live.now().chain.clone());
        let done = chain.embed(call).await.map_err(|error| error.to_string())?;
        chat::record_embedding(&self.metrics, &chain, &done, &spent);
        let vectors = json!({ "vectors": done.reply.vectors, "model": done.model_id });
        Ok(Provided::given(vectors, usage(done.usage, done.cost_nanos)))
    }

    async fn chat(
        &self,
        messages: Vec<ChatMessage>,
        schema: Option<Value>,
        max_tokens: u32,
        payer: Option<Box<Spend>>,
    ) -> Performed {
        let payer = payer.ok_or(NO_PAYER)?;
        let role = |name: &str| match name {
            "system" => Role::System,
            "assistant" => Role::Assistant,
            _ => Role::User,
        };
        let messages = messages.into_iter().map(|message| Message::text(role(&message.role), message.content));
        let request = ChatRequest {
            messages: messages.collect(),
            format: schema.map_or(ResponseFormat::Text, ResponseFormat::answer),
            max_tokens: Some(max_tokens),
            // The same input gives the same answer as far as the model does.
            sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
            ..ChatRequest::default()
        };
        let call = self.call(request, *payer);
        let done = chat::complete_recorded(&self.live.now().chain, &self.metrics, call)
            .await
            .map_err(|error| error.message)?;
        let answer = json!({ "text": done.reply.first.content, "model": done.model_id });
        Ok(Provided::given(answer, usage(done.usage, done.cost_nanos)))
    }

    /// Returns the call of the provider chain for a request.
    fn call(&self, request: ChatRequest, payer: Spend) -> GatewayChatRequest {
        let max_usage = ModelUsage {
            prompt_tokens: request.prompt_parts().size().reserved_tokens(),
            completion_tokens: request.max_tokens.unwrap_or(chat::LONGEST_ANSWER),
            estimated: true,
        };
        GatewayChatRequest {
            request: Arc::new(request),
            request_id: new_id(IdKind::Request),
            deadline: Some(LIMIT),
            spend: Some(self.spend(payer, max_usage)),
            ..GatewayChatRequest::default()
        }
    }
}

/// Why a caller that nobody pays for gets no answer of a model.
const NO_PAYER: &str = "the caller's key has no scope `chat`";

/// Returns the usage of a task for that of a model.
fn usage(tokens: ModelUsage, cost_nanos: Option<u64>) -> Usage {
    Usage {
        prompt: tokens.prompt_tokens.into(),
        completion: tokens.completion_tokens.into(),
        cost_nanos: cost_nanos.unwrap_or_default(),
    }
}
