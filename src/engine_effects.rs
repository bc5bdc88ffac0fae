//! What engines need of the server: models and tasks, in the name of who called the engine and within its budget.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::ids::{IdKind, new_id};
use muster_core::page::PageParams;
use muster_engines::{Answer, ChatMessage, Need};
use muster_gateway::{GatewayChatRequest, GatewayEmbedRequest, Spend};
use muster_identity::By;
use muster_identity::keys::Keys;
use muster_providers::{ChatRequest, EmbedInput, EmbedRequest, Message, ResponseFormat, Role, Sampling, Usage};
use muster_tasks::engine::{Effects, EngineCaller};
use muster_tasks::task::{Filter, LogLine, Requester, Status, TaskRecord, Tasks};
use serde_json::{Map, Value, json};

use crate::chat::payer;
use crate::live::LiveReader;

/// Time within which a need is performed.
const LIMIT: Duration = Duration::from_secs(60);
/// Pages of tasks that one frame of the monitor shows.
const MAX_PAGES: usize = 5;
const PAGE: usize = 200;
const NANOS_PER_USD: f64 = 1e9;

/// Performs the needs of engines. Engines start before the models and tasks that they need: until
/// [`ServerEffects::provide`] everything is refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerEffects(Arc<OnceLock<Weak<EffectParts>>>);

/// What needs are performed with. Tasks hold engines, which hold the effects: so those hold this weakly, and who started
/// the tasks keeps it.
#[derive(Debug)]
pub(crate) struct EffectParts {
    live: LiveReader,
    keys: Keys,
    tasks: Tasks,
}

/// The result of a need: its answer, or why it is refused.
type Performed = Result<Value, String>;

impl ServerEffects {
    /// Sets what needs are performed with, once, for as long as the result is kept.
    pub(crate) fn provide(&self, live: &LiveReader, keys: &Keys, tasks: &Tasks) -> Arc<EffectParts> {
        let parts = Arc::new(EffectParts { live: live.clone(), keys: keys.clone(), tasks: tasks.clone() });
        // Set once, at the start.
        let _ = self.0.set(Arc::downgrade(&parts));
        parts
    }
}

impl Effects for ServerEffects {
    fn perform(&self, need: Need, caller: EngineCaller) -> BoxFuture<'static, Answer> {
        let parts = self.0.get().and_then(Weak::upgrade);
        let performed = async move {
            let parts = parts.ok_or("the server is starting or stopping")?;
            match tokio::time::timeout(LIMIT, parts.perform(need, caller)).await {
                Ok(performed) => performed,
                Err(_) => Err(format!("there was no answer within {} s", LIMIT.as_secs())),
            }
        };
        performed.map(|done: Performed| done.map_or_else(|why| Answer::Refused { why }, Answer::Given)).boxed()
    }
}

impl EffectParts {
    async fn perform(&self, need: Need, caller: EngineCaller) -> Performed {
        match need {
            Need::Embed { texts, model } => self.embed(texts, model, caller.payer).await,
            Need::Chat { messages, schema, max_tokens } => self.chat(messages, schema, max_tokens, caller.payer).await,
            Need::Gateway { .. } => Err("call POST /api/q159/llm/chat instead".to_owned()),
            Need::Tasks { request } => self.tasks(&request, caller.watcher).await,
        }
    }

    /// Returns who pays, by the present records.
    fn spend(&self, payer: Option<Box<Spend>>, max_usage: Usage) -> Result<Spend, String> {
        let mut spend = *payer.ok_or("the caller's key has no scope `chat`")?;
        payer::refresh(&self.keys, &self.live.now().config.budget, &mut spend);
        Ok(Spend { max_usage, ..spend })
    }

    async fn embed(&self, texts: Vec<String>, model: String, payer: Option<Box<Spend>>) -> Performed {
        // No tokenizer makes more tokens than there are bytes.
        let tokens =
            texts.iter().map(|text| u32::try_from(text.len()).unwrap_or(u32::MAX)).fold(0, u32::saturating_add);
        let max_usage = Usage { prompt_tokens: tokens, completion_tokens: 0, estimated: true };
        let request = GatewayEmbedRequest {
            model: Some(model),
            request: Arc::new(EmbedRequest {
                inputs: texts.into_iter().map(EmbedInput::Text).collect(),
                dimensions: None,
                user: None,
            }),
            request_id: new_id(IdKind::Request),
            traceparent: None,
            spend: Some(self.spend(payer, max_usage)?),
        };
        let done = self.live.now().chain.embed(request).await.map_err(|error| error.to_string())?;
        Ok(json!({ "vectors": done.reply.vectors, "model": done.model_id }))
    }

    async fn chat(
        &self,
        messages: Vec<ChatMessage>,
        schema: Option<Value>,
        max_tokens: u32,
        payer: Option<Box<Spend>>,
    ) -> Performed {
        let role = |name: &str| match name {
            "system" => Role::System,
            "assistant" => Role::Assistant,
            _ => Role::User,
        };
        let messages = messages.into_iter().map(|message| Message::text(role(&message.role), message.content));
        let format = schema.map_or(ResponseFormat::Text, |schema| ResponseFormat::JsonSchema {
            name: "answer".to_owned(),
            schema,
            strict: Some(true),
        });
        let request = ChatRequest {
            messages: messages.collect(),
            format,
            max_tokens: Some(max_tokens),
            // The same input gives the same answer as far as the model does.
            sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
            ..ChatRequest::default()
        };
        let max_usage = Usage {
            prompt_tokens: request.prompt_parts().size().reserved_tokens(),
            completion_tokens: max_tokens,
            estimated: true,
        };
        let request = GatewayChatRequest {
            models: Vec::new(),
            request: Arc::new(request),
            request_id: new_id(IdKind::Request),
            traceparent: None,
            deadline: Some(LIMIT),
            retries: None,
            hedge_after: None,
            spend: Some(self.spend(payer, max_usage)?),
            cache: None,
        };
        let done = self.live.now().chain.complete(request).await.map_err(|error| error.to_string())?;
        Ok(json!({ "text": done.reply.first.content, "model": done.model_id }))
    }

    /// Returns one frame of the monitor, of the tasks that the caller may see.
    async fn tasks(&self, request: &Value, watcher: Option<By>) -> Performed {
        let by = watcher.ok_or("the caller has neither the scope `agents` nor the permission `agents:read`")?;
        let requester = Requester::of(by);
        let names = |field: &str| -> Vec<String> {
            let items = request.get(field).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let (agents, states) = (names("agents"), names("states"));
        let wanted = |status: &Status| {
            if states.is_empty() { !status.ended() } else { states.iter().any(|name| name == status.name()) }
        };
        let filter = Filter { status: Status::ALL.into_iter().filter(wanted).collect(), ..Filter::default() };
        let (mut found, mut after) = (Vec::new(), None);
        if !filter.status.is_empty() {
            for _ in 0..MAX_PAGES {
                let page = PageParams { limit: PAGE, after };
                let page = self.tasks.list(filter.clone(), page, &requester).await.map_err(|error| error.message)?;
                found.extend(page.items.into_iter().filter(|task| agents.is_empty() || agents.contains(&task.agent)));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        let lines = request.get("log_lines").and_then(Value::as_u64).unwrap_or_default();
        let logs = self.logs(&found, usize::try_from(lines).unwrap_or(usize::MAX), &requester).await;
        let mut queue = Map::new();
        for task in &found {
            let count = queue.get(task.status.name()).and_then(Value::as_u64).unwrap_or_default();
            queue.insert(task.status.name().to_owned(), json!(count + 1));
        }
        let tokens = found.iter().map(|task| task.usage.prompt + task.usage.completion).sum::<u64>();
        // The sum of no numbers is −0.
        let cost = found.iter().map(cost_usd).fold(0.0, |sum, cost| sum + cost);
        Ok(json!({
            "agents": found.iter().map(shown).collect::<Vec<_>>(), "queue": queue, "logs": logs,
            "totals": { "tasks": found.len(), "tokens": tokens, "cost_usd": cost },
        }))
    }

    /// Returns the newest log lines of these tasks, oldest first.
    async fn logs(&self, tasks: &[TaskRecord], count: usize, requester: &Requester) -> Vec<String> {
        let mut lines: Vec<(LogLine, &str)> = Vec::new();
        if count > 0 {
            for task in tasks {
                // A task that has ended meanwhile has none.
                let of_task = self.tasks.logs(&task.id, requester, 0, usize::MAX).await.unwrap_or_default();
                let skipped = of_task.len().saturating_sub(count);
                lines.extend(of_task.into_iter().skip(skipped).map(|line| (line, task.id.as_str())));
            }
        }
        lines.sort_by_key(|(line, _)| line.at);
        let skipped = lines.len().saturating_sub(count);
        lines
            .into_iter()
            .skip(skipped)
            .map(|(line, task)| format!("{} {task} {}", line.at.rfc3339(), line.text))
            .collect()
    }
}

fn cost_usd(task: &TaskRecord) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "an amount to be shown")]
    let nanos = task.usage.cost_nanos as f64;
    nanos / NANOS_PER_USD
}

fn shown(task: &TaskRecord) -> Value {
    json!({
        "id": task.id, "task_id": task.id, "agent": task.agent, "state": task.status.name(),
        "progress": task.progress.percent.unwrap_or_default(), "step": task.progress.phase,
        "started_at": task.started_at.unwrap_or(task.created_at).rfc3339(),
        "tokens": task.usage.prompt + task.usage.completion, "cost_usd": cost_usd(task),
    })
}
