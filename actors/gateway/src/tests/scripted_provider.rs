//! A scripted provider that records its calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use muster_providers::{
    Adapter, Call, ChatEvent, ChatReply, ChatRequest, ChatStream, Delta, EmbedCall, EmbedReply, Fault, FinishReason,
    Phase, Usage, Verbatim,
};
use tokio::sync::Semaphore;

use crate::TokenCounter;

/// What a call does.
#[derive(Debug, Clone)]
pub(super) enum CallScript {
    /// Answers "word word word" with this many words.
    Answer(usize),
    /// The same, with usage reported by the provider.
    Figures(usize, Usage),
    Fail(Fault),
    /// Never ends.
    Hang,
    /// Returns one word once the semaphore grants a permit.
    Gate(Arc<Semaphore>),
    /// Streams this many words, then ends abnormally.
    Break(usize, Ending),
    /// The same after a delay.
    Delayed(Duration, Box<CallScript>),
    /// Streams these JSON-escaped texts verbatim, with or without reported usage.
    Verbatim(&'static [&'static str], Option<Usage>),
    /// Streams a word each time this long has passed, without end.
    Drip(Duration),
}

#[derive(Debug, Clone)]
pub(super) enum Ending {
    Fault(Fault),
    /// The stream ends without its end marker.
    Cut,
    Hang,
}

/// Counts calls in progress over several providers, and their maximum.
#[derive(Debug, Clone, Default)]
pub(super) struct CallGauge(Arc<(AtomicUsize, AtomicUsize)>);

impl CallGauge {
    fn enter(&self) {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
    }

    pub(super) fn peak(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

#[derive(Debug, Default)]
struct ProviderRecord {
    script: Mutex<VecDeque<CallScript>>,
    answering: Mutex<Option<CallScript>>,
    calls: Mutex<Vec<Call>>,
    embeds: Mutex<Vec<EmbedCall>>,
    open: AtomicUsize,
    gauge: Mutex<CallGauge>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ScriptedProvider(Arc<ProviderRecord>);

/// Guard of one call in progress.
struct CallInProgress(Arc<ProviderRecord>);

impl Drop for CallInProgress {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.gauge.lock().unwrap().0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ScriptedProvider {
    pub(super) fn answering(step: CallScript) -> Self {
        let provider = Self::default();
        provider.set_default(step);
        provider
    }

    /// Plays these steps in order, then the default one.
    pub(super) fn first(self, steps: impl IntoIterator<Item = CallScript>) -> Self {
        self.0.script.lock().unwrap().extend(steps);
        self
    }

    pub(super) fn with_gauge(self, gauge: &CallGauge) -> Self {
        *self.0.gauge.lock().unwrap() = gauge.clone();
        self
    }

    pub(super) fn set_default(&self, step: CallScript) {
        *self.0.answering.lock().unwrap() = Some(step);
    }

    pub(super) fn calls(&self) -> usize {
        self.0.calls.lock().unwrap().len() + self.0.embeds.lock().unwrap().len()
    }

    pub(super) fn last_embed(&self) -> EmbedCall {
        self.0.embeds.lock().unwrap().last().unwrap().clone()
    }

    pub(super) fn last_call(&self) -> Call {
        self.0.calls.lock().unwrap().last().unwrap().clone()
    }

    /// Returns the number of calls in progress.
    pub(super) fn in_progress(&self) -> usize {
        self.0.open.load(Ordering::SeqCst)
    }

    fn start_call(&self) -> (CallInProgress, CallScript) {
        self.0.gauge.lock().unwrap().enter();
        self.0.open.fetch_add(1, Ordering::SeqCst);
        let next = self.0.script.lock().unwrap().pop_front();
        let step = next.unwrap_or_else(|| self.0.answering.lock().unwrap().clone().unwrap());
        (CallInProgress(Arc::clone(&self.0)), step)
    }
}

fn delta() -> ChatEvent {
    ChatEvent::text("word ")
}

fn words(count: usize, end: Result<Option<Usage>, Ending>) -> ChatStream {
    let deltas = futures::stream::repeat_with(|| Ok(delta())).take(count);
    match end {
        Ok(usage) => {
            deltas.chain(futures::stream::iter([Ok(ChatEvent::Done { finish: FinishReason::Stop, usage })])).boxed()
        }
        Err(Ending::Fault(fault)) => deltas.chain(futures::stream::iter([Err(fault)])).boxed(),
        Err(Ending::Cut) => deltas.boxed(),
        Err(Ending::Hang) => deltas.chain(futures::stream::pending()).boxed(),
    }
}

fn drip(every: Duration) -> ChatStream {
    futures::stream::unfold((), move |()| async move {
        muster_core::test_world::after(every).await;
        Some((Ok(delta()), ()))
    })
    .boxed()
}

fn verbatim(texts: &'static [&'static str], usage: Option<Usage>) -> ChatStream {
    let delta = |text: &&'static str| {
        let (choices, escaped) = (b"[]".as_slice().into(), text.as_bytes().into());
        Ok(ChatEvent::Delta(Delta::Verbatim(Verbatim { choices, escaped })))
    };
    let end = Ok(ChatEvent::Done { finish: FinishReason::Stop, usage });
    futures::stream::iter(texts.iter().map(delta).chain([end])).boxed()
}

async fn stream_of(mut step: CallScript) -> Result<ChatStream, Fault> {
    while let CallScript::Delayed(wait, then) = step {
        muster_core::test_world::after(wait).await;
        step = *then;
    }
    match step {
        CallScript::Delayed(..) => unreachable!("it has come"),
        CallScript::Verbatim(texts, usage) => Ok(verbatim(texts, usage)),
        CallScript::Answer(count) => Ok(words(count, Ok(None))),
        CallScript::Figures(count, usage) => Ok(words(count, Ok(Some(usage)))),
        CallScript::Fail(fault) => Err(fault),
        CallScript::Hang => std::future::pending().await,
        CallScript::Gate(gate) => {
            gate.acquire().await.unwrap().forget();
            Ok(words(1, Ok(None)))
        }
        CallScript::Break(count, ending) => Ok(words(count, Err(ending))),
        CallScript::Drip(every) => Ok(drip(every)),
    }
}

impl Adapter for ScriptedProvider {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        let model = call.upstream_model.clone();
        self.0.calls.lock().unwrap().push(call);
        let (open, step) = self.start_call();
        async move {
            let _open = open;
            let mut stream = stream_of(step).await?;
            let mut content = String::new();
            while let Some(event) = stream.next().await {
                match event? {
                    ChatEvent::Delta(delta) => content.push_str(&delta.text().unwrap_or_default()),
                    ChatEvent::Done { finish, usage } => return Ok(ChatReply::text(content, finish, usage, model)),
                }
            }
            Err(Fault::transient(Phase::Body, "the answer was cut short"))
        }
        .boxed()
    }

    /// Returns a one-dimensional vector per input: its index.
    fn embed(&self, call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        let (model, inputs) = (call.upstream_model.clone(), call.request.inputs.len());
        self.0.embeds.lock().unwrap().push(call);
        let (open, step) = self.start_call();
        async move {
            let _open = open;
            let mut stream = stream_of(step).await?;
            let vectors = (0..inputs).map(|place| vec![place as f32]).collect();
            while let Some(event) = stream.next().await {
                if let ChatEvent::Done { usage, .. } = event? {
                    return Ok(EmbedReply { vectors, usage, model });
                }
            }
            Err(Fault::transient(Phase::Body, "the answer was cut short"))
        }
        .boxed()
    }

    fn stream(&self, call: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        self.0.calls.lock().unwrap().push(call);
        let (open, step) = self.start_call();
        async move {
            let stream = stream_of(step).await?;
            let guarded = futures::stream::unfold((stream, open), |(mut stream, open)| async move {
                stream.next().await.map(|item| (item, (stream, open)))
            });
            Ok(guarded.boxed())
        }
        .boxed()
    }
}

/// Counts a token per word.
#[derive(Debug)]
pub(super) struct WordCounter;

impl TokenCounter for WordCounter {
    fn prompt(&self, model_id: &str, request: &ChatRequest) -> u32 {
        request.messages.iter().map(|message| self.text(model_id, &message.content.text())).sum()
    }

    fn text(&self, _: &str, text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap()
    }
}
