//! A provider that does as it is told, and tells what was done to it.

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

/// What a call meets.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// "word word word", of so many words.
    Answer(usize),
    /// The same, with the provider's figures.
    Figures(usize, Usage),
    Fail(Fault),
    /// Never ends.
    Hang,
    /// Answers one word when a place of the gate is given.
    Gate(Arc<Semaphore>),
    /// Streams so many words, and then does not end well.
    Break(usize, Ending),
    /// The same after so long.
    Late(Duration, Box<Act>),
    /// Streams these texts, escaped as in JSON, as their provider sent them, with its figures or without.
    Verbatim(&'static [&'static str], Option<Usage>),
    /// A word each time this long has passed, without end.
    Drip(Duration),
}

#[derive(Debug, Clone)]
pub(super) enum Ending {
    Fault(Fault),
    /// The stream just ends.
    Cut,
    Hang,
}

/// The calls of several doubles that are under way, and the most there ever were.
#[derive(Debug, Clone, Default)]
pub(super) struct Air(Arc<(AtomicUsize, AtomicUsize)>);

impl Air {
    fn enter(&self) {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
    }

    pub(super) fn peak(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

#[derive(Debug, Default)]
struct Facts {
    script: Mutex<VecDeque<Act>>,
    always: Mutex<Option<Act>>,
    calls: Mutex<Vec<Call>>,
    embeds: Mutex<Vec<EmbedCall>>,
    open: AtomicUsize,
    air: Mutex<Air>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Double(Arc<Facts>);

/// One call that is not over.
struct Open(Arc<Facts>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.air.lock().unwrap().0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Double {
    pub(super) fn always(act: Act) -> Self {
        let double = Self::default();
        double.now_always(act);
        double
    }

    /// These acts in turn, then what it always does.
    pub(super) fn first(self, acts: impl IntoIterator<Item = Act>) -> Self {
        self.0.script.lock().unwrap().extend(acts);
        self
    }

    pub(super) fn in_air(self, air: &Air) -> Self {
        *self.0.air.lock().unwrap() = air.clone();
        self
    }

    pub(super) fn now_always(&self, act: Act) {
        *self.0.always.lock().unwrap() = Some(act);
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

    /// Calls that are still under way.
    pub(super) fn open(&self) -> usize {
        self.0.open.load(Ordering::SeqCst)
    }

    fn begin(&self) -> (Open, Act) {
        self.0.air.lock().unwrap().enter();
        self.0.open.fetch_add(1, Ordering::SeqCst);
        let next = self.0.script.lock().unwrap().pop_front();
        let act = next.unwrap_or_else(|| self.0.always.lock().unwrap().clone().unwrap());
        (Open(Arc::clone(&self.0)), act)
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

async fn stream_of(mut act: Act) -> Result<ChatStream, Fault> {
    while let Act::Late(wait, then) = act {
        muster_core::test_world::after(wait).await;
        act = *then;
    }
    match act {
        Act::Late(..) => unreachable!("it has come"),
        Act::Verbatim(texts, usage) => Ok(verbatim(texts, usage)),
        Act::Answer(count) => Ok(words(count, Ok(None))),
        Act::Figures(count, usage) => Ok(words(count, Ok(Some(usage)))),
        Act::Fail(fault) => Err(fault),
        Act::Hang => std::future::pending().await,
        Act::Gate(gate) => {
            gate.acquire().await.unwrap().forget();
            Ok(words(1, Ok(None)))
        }
        Act::Break(count, ending) => Ok(words(count, Err(ending))),
        Act::Drip(every) => Ok(drip(every)),
    }
}

impl Adapter for Double {
    fn complete(&self, call: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        let model = call.upstream_model.clone();
        self.0.calls.lock().unwrap().push(call);
        let (open, act) = self.begin();
        async move {
            let _open = open;
            let mut stream = stream_of(act).await?;
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

    /// A vector of one dimension for each input, its place among them.
    fn embed(&self, call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
        let (model, inputs) = (call.upstream_model.clone(), call.request.inputs.len());
        self.0.embeds.lock().unwrap().push(call);
        let (open, act) = self.begin();
        async move {
            let _open = open;
            let mut stream = stream_of(act).await?;
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
        let (open, act) = self.begin();
        async move {
            let stream = stream_of(act).await?;
            let guarded = futures::stream::unfold((stream, open), |(mut stream, open)| async move {
                stream.next().await.map(|item| (item, (stream, open)))
            });
            Ok(guarded.boxed())
        }
        .boxed()
    }
}

/// A token is a word.
#[derive(Debug)]
pub(super) struct Words;

impl TokenCounter for Words {
    fn prompt(&self, model_id: &str, request: &ChatRequest) -> u32 {
        request.messages.iter().map(|message| self.text(model_id, &message.content.text())).sum()
    }

    fn text(&self, _: &str, text: &str) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap()
    }
}
