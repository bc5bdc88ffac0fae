//! Adapter of the in-process models.

mod answers;
mod fault;
mod relevance;
mod request;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use muster_models::{ChatModel, EmbedModel, Generation};

use crate::{
    Adapter, Call, ChatEvent, ChatReply, ChatStream, Choice, Delta, EmbedCall, EmbedReply, Fault, FinishReason,
    ToolCall, ToolDelta,
};
use answers::Answers;
use fault::fault;
pub(crate) use fault::{ABSENT_RETRY, LOADING_RETRY};

/// How long a request may wait in the model's own queue, in addition to the call's first-delta limit. The queue is
/// bounded by the model and moves at the speed of a CPU, so waiting in it is no failure. The gateway's deadline still
/// applies.
pub const QUEUE_TIMEOUT: Duration = Duration::from_secs(120);

/// Adapter for an in-process [`ChatModel`].
#[derive(Debug, Clone)]
pub struct EmbeddedAdapter {
    model: Arc<dyn ChatModel>,
    vectors: Option<Arc<dyn EmbedModel>>,
}

impl EmbeddedAdapter {
    /// Creates the adapter without embeddings.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self { model, vectors: None }
    }

    /// Adds an embedding model; without one, embedding requests are rejected.
    #[must_use]
    pub fn with_embeddings(mut self, model: Arc<dyn EmbedModel>) -> Self {
        self.vectors = Some(model);
        self
    }

    /// Starts all answers or none: if one is not admitted, those already admitted are cancelled by being dropped.
    fn start(&self, call: &Call) -> Result<Answers, Fault> {
        let requests = request::generate_requests(call, self.model.info().max_tokens)?;
        let started: Result<Vec<Generation>, _> =
            requests.into_iter().map(|request| self.model.generate(request)).collect();
        Ok(Answers::new(started.map_err(fault)?, call.timeouts))
    }
}

impl Adapter for EmbeddedAdapter {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        let started = self.start(&call);
        async move {
            let mut answers = started?;
            let mut choices = vec![Choice::text("", FinishReason::Stop); call.request.choices() as usize];
            loop {
                match answers.next().await? {
                    ChatEvent::Delta(delta) => add(&mut choices, delta),
                    ChatEvent::Done { finish, usage } => {
                        let mut choices = choices.into_iter();
                        let first = choices.next().unwrap_or_else(|| Choice::text("", finish));
                        let first = Choice { finish, ..first };
                        let (more, model) = (choices.collect(), call.upstream_model);
                        return Ok(ChatReply { first, more, usage, model, verbatim: None });
                    }
                }
            }
        }
        .boxed()
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        let started = self.start(&call);
        async move {
            let mut answers = started?;
            // A failure before the first text is returned here, so that the gateway can still fail over.
            let first = answers.next().await?;
            let answers = matches!(first, ChatEvent::Delta(_)).then_some(answers);
            let rest = futures::stream::unfold(answers, |answers| async move {
                let mut answers = answers?;
                let event = answers.next().await;
                let goes_on = matches!(event, Ok(ChatEvent::Delta(_)));
                Some((event, goes_on.then_some(answers)))
            });
            Ok(futures::stream::iter([Ok(first)]).chain(rest).boxed())
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
        let toolbox = request::toolbox(&call.request);
        let tools = toolbox.as_ref().map_or(&[][..], |toolbox| &toolbox.tools);
        self.model.count(&request::turns(&call.request), tools)
    }
}

fn add(choices: &mut [Choice], delta: Delta) {
    let of = |choice: u32| usize::try_from(choice).unwrap_or(usize::MAX);
    match delta {
        Delta::Text { choice, text } => {
            if let Some(choice) = choices.get_mut(of(choice)) {
                choice.content.push_str(&text);
            }
        }
        Delta::Tool { choice, call } => {
            if let Some(choice) = choices.get_mut(of(choice)) {
                add_call(&mut choice.tool_calls, call);
            }
        }
        Delta::Finish { choice, finish } => {
            if let Some(choice) = choices.get_mut(of(choice)) {
                choice.finish = finish;
            }
        }
        Delta::Verbatim(_) => {}
    }
}

/// The model generates its calls one after the other.
fn add_call(calls: &mut Vec<ToolCall>, delta: ToolDelta) {
    if let (Some(id), Some(name)) = (delta.id, delta.name) {
        calls.push(ToolCall { id, name, arguments: String::new() });
    }
    if let Some(call) = calls.last_mut() {
        call.arguments.push_str(&delta.arguments);
    }
}
