//! The model in this process, as one more provider.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use muster_models::{
    ChatModel, EmbedModel, Finish, Format, GenerateEvent, GenerateRequest, Generation, ModelError, Role as Speaker,
    TokenUsage, Turn,
};
use tokio::time::timeout;

use crate::{
    Adapter, Call, ChatEvent, ChatReply, ChatRequest, ChatStream, ClientFault, Delta, EmbedCall, EmbedReply, Fault,
    FaultClass, FinishReason, Message, Phase, ResponseFormat, Role, Timeouts, Usage,
};

/// How long a request may stand in the model's own line, on top of the call's bound of the first delta: the line is
/// bounded by the model and moves at the pace of a CPU, so waiting in it is no sign of a failure. The chain's deadline
/// for the whole request bounds it further.
pub const QUEUE_PATIENCE: Duration = Duration::from_secs(120);

const DEFAULT_TEMPERATURE: f32 = 0.7;
const DEFAULT_MAX_TOKENS: u32 = 2000;
/// Loading a model takes seconds to a minute.
pub(crate) const LOADING_RETRY: Duration = Duration::from_secs(5);
/// Nothing changes until someone installs the files.
pub(crate) const ABSENT_RETRY: Duration = Duration::from_secs(60);

/// The adapter of [`ChatModel`].
#[derive(Debug, Clone)]
pub struct EmbeddedAdapter {
    model: Arc<dyn ChatModel>,
    vectors: Option<Arc<dyn EmbedModel>>,
}

impl EmbeddedAdapter {
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self { model, vectors: None }
    }

    /// With an embedding model too; without one it gives no vectors.
    #[must_use]
    pub fn with_embeddings(mut self, model: Arc<dyn EmbedModel>) -> Self {
        self.vectors = Some(model);
        self
    }

    fn start(&self, call: &Call) -> Result<Generation, Fault> {
        let request = generate_request(call, self.model.info().max_tokens);
        self.model.generate(request).map_err(fault)
    }
}

impl Adapter for EmbeddedAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        let this = self.clone();
        async move {
            let mut stream = this.stream(call.clone()).await?;
            let mut content = String::new();
            while let Some(event) = stream.next().await {
                match event? {
                    ChatEvent::Delta(Delta::Text { text, .. }) => content.push_str(&text),
                    ChatEvent::Delta(_) => {}
                    ChatEvent::Done { finish, usage } => {
                        return Ok(ChatReply::text(content, finish, usage, call.upstream_model));
                    }
                }
            }
            Err(died(Phase::Body))
        }
        .boxed()
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        let started = self.start(&call);
        async move {
            let mut generation = started?;
            let wait = QUEUE_PATIENCE + call.timeouts.first_delta;
            let first = next(&mut generation, wait, Phase::FirstDelta).await?;
            if matches!(first, ChatEvent::Done { .. }) {
                return Ok(futures::stream::iter([Ok(first)]).boxed());
            }
            Ok(futures::stream::iter([Ok(first)]).chain(rest(generation, call.timeouts)).boxed())
        }
        .boxed()
    }

    fn embed(&self, call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        match &self.vectors {
            Some(model) => crate::embedded_vectors::embed(model, call),
            None => {
                let fault = Fault::unsupported("model", "this server runs no embedding model of its own");
                std::future::ready(Err(fault)).boxed()
            }
        }
    }

    fn count_prompt(&self, call: &Call) -> Option<u32> {
        self.model.count(&turns(&call.request))
    }
}

fn rest(generation: Generation, timeouts: Timeouts) -> impl futures::Stream<Item = Result<ChatEvent, Fault>> + Send {
    futures::stream::unfold(Some(generation), move |generation| async move {
        let mut generation = generation?;
        let item = next(&mut generation, timeouts.between_deltas, Phase::BetweenDeltas).await;
        let goes_on = matches!(item, Ok(ChatEvent::Delta(_)));
        Some((item, goes_on.then_some(generation)))
    })
}

/// The next event that says something, within `wait`.
async fn next(generation: &mut Generation, wait: Duration, phase: Phase) -> Result<ChatEvent, Fault> {
    let event = timeout(wait, async {
        loop {
            match generation.events.recv().await {
                Some(GenerateEvent::Delta(text)) if text.is_empty() => {}
                event => break event,
            }
        }
    });
    match event.await {
        Ok(Some(GenerateEvent::Delta(text))) => Ok(ChatEvent::text(text)),
        Ok(Some(GenerateEvent::Done { finish, usage })) => Ok(done(finish, usage)),
        Ok(Some(GenerateEvent::Failed(error))) => Err(Fault { phase, ..fault(error) }),
        Ok(None) => Err(died(phase)),
        Err(_) => Err(Fault::transient(phase, format!("the embedded model sent no text within {wait:?}"))),
    }
}

fn done(finish: Finish, usage: TokenUsage) -> ChatEvent {
    ChatEvent::Done {
        finish: match finish {
            Finish::Stop => FinishReason::Stop,
            Finish::Length => FinishReason::Length,
        },
        usage: Some(Usage { prompt_tokens: usage.prompt, completion_tokens: usage.completion, estimated: false }),
    }
}

fn died(phase: Phase) -> Fault {
    Fault::transient(phase, "the embedded model's engine stopped in the middle of the work")
}

fn fault(error: ModelError) -> Fault {
    let message = error.to_string();
    let transient = |wait: Option<Duration>| Fault::transient(Phase::Connect, message.clone()).with_retry_after(wait);
    let client = |kind, param: Option<&str>| Fault {
        client: Some(kind),
        param: param.map(str::to_owned),
        ..Fault::new(FaultClass::Client, Phase::Connect, message.clone())
    };
    match error {
        ModelError::Absent { .. } => transient(Some(ABSENT_RETRY)),
        ModelError::Loading { .. } => transient(Some(LOADING_RETRY)),
        ModelError::Busy { retry_after } => transient(Some(retry_after)),
        ModelError::Failed { .. } => transient(None),
        ModelError::ContextTooLong { .. } => client(ClientFault::ContextLengthExceeded, Some("messages")),
        ModelError::Unsupported { field, .. } => client(ClientFault::UnsupportedValue, Some(field)),
    }
}

fn generate_request(call: &Call, most: u32) -> GenerateRequest {
    let request = &call.request;
    let sampling = &request.sampling;
    GenerateRequest {
        turns: turns(request),
        max_tokens: request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).min(most),
        temperature: sampling.temperature.unwrap_or(DEFAULT_TEMPERATURE),
        top_p: sampling.top_p.unwrap_or(1.0),
        presence_penalty: sampling.presence_penalty.unwrap_or(0.0),
        frequency_penalty: sampling.frequency_penalty.unwrap_or(0.0),
        seed: sampling.seed.map(fold_seed),
        stop: sampling.stop.clone(),
        format: match &request.format {
            ResponseFormat::Text => Format::Text,
            ResponseFormat::JsonObject => Format::JsonObject,
            ResponseFormat::JsonSchema { schema, .. } => Format::JsonSchema(schema.clone()),
        },
    }
}

/// The engine's seed has 32 bits: those seeds stay as they are, wider ones have their halves folded together.
fn fold_seed(seed: i64) -> u32 {
    let bits = seed.cast_unsigned();
    let folded = (bits ^ (bits >> 32)) & u64::from(u32::MAX);
    u32::try_from(folded).unwrap_or_default()
}

fn turns(request: &ChatRequest) -> Vec<Turn> {
    request.messages.iter().map(turn).collect()
}

fn turn(message: &Message) -> Turn {
    Turn {
        role: match message.role {
            Role::System | Role::Developer => Speaker::System,
            Role::User => Speaker::User,
            Role::Assistant => Speaker::Assistant,
            Role::Tool => Speaker::Tool,
        },
        content: message.content.text().into_owned(),
    }
}
