//! Cost of the chain per stream event, compared with the same stream read without the chain.
//!
//! `cargo bench -p muster-gateway --bench streams` prints a table.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use actix_rt::Arbiter;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use futures::{FutureExt, Stream};
use muster_core::Clock;
use muster_core::supervise::{ActorState, Tree};
use muster_gateway::{Chain, ChainOptions, GatewayChatRequest, Provider, ProviderTimeouts, TokenCounter};
use muster_providers::{
    Adapter, Call, Catalogue, ChatEvent, ChatReply, ChatRequest, ChatStream, Delta, Fault, FinishReason, Message,
    ProviderKind, ProviderSettings, Registry, Role, Usage, Verbatim,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const EVENTS: usize = 200_000;
const RUNS: usize = 9;

/// What a provider streams.
#[derive(Debug, Clone, Copy)]
struct Script {
    kind: AnswerKind,
    usage: Option<Usage>,
}

#[derive(Debug, Clone, Copy)]
enum AnswerKind {
    Text,
    Verbatim,
}

const FIGURES: Option<Usage> = Some(Usage { prompt_tokens: 10, completion_tokens: 200_000, estimated: false });

fn events(script: Script) -> ChatStream {
    let delta = move |_| {
        Ok(ChatEvent::Delta(match script.kind {
            AnswerKind::Text => Delta::Text { choice: 0, text: "word\n".to_owned() },
            AnswerKind::Verbatim => Delta::Verbatim(Verbatim {
                choices: br#"[{"index":0,"delta":{"content":"word\n"}}]"#.as_slice().into(),
                escaped: br"word\n".as_slice().into(),
            }),
        }))
    };
    let end = Ok(ChatEvent::Done { finish: FinishReason::Stop, usage: script.usage });
    stream::iter(0..EVENTS).map(delta).chain(stream::iter([end])).boxed()
}

#[derive(Debug)]
struct Scripted(Script);

impl Adapter for Scripted {
    fn complete(&self, _: Call) -> BoxFuture<'static, Result<ChatReply, Fault>> {
        async { Err(Fault::unsupported("stream", "streams only")) }.boxed()
    }

    fn stream(&self, _: Call) -> BoxFuture<'static, Result<ChatStream, Fault>> {
        let script = self.0;
        async move { Ok(events(script)) }.boxed()
    }
}

/// One token per four bytes: the call path to the counter is measured, not a tokenizer.
#[derive(Debug)]
struct Bytes;

impl TokenCounter for Bytes {
    fn prompt(&self, _: &str, _: &ChatRequest) -> u32 {
        10
    }

    fn text(&self, _: &str, text: &str) -> u32 {
        u32::try_from(text.len() / 4).unwrap_or(u32::MAX)
    }
}

fn main() -> Outcome<()> {
    actix_rt::System::new().block_on(async {
        let tree = Tree::new(Arbiter::current(), Clock::system());
        println!("{:<44} {:>14} {:>14}", "", "floor ns/event", "chain ns/event");
        let scripts = [
            ("text, with figures", Script { kind: AnswerKind::Text, usage: FIGURES }),
            ("text, to be counted", Script { kind: AnswerKind::Text, usage: None }),
            ("verbatim, with figures", Script { kind: AnswerKind::Verbatim, usage: FIGURES }),
            ("verbatim, to be counted", Script { kind: AnswerKind::Verbatim, usage: None }),
        ];
        for (place, (name, script)) in scripts.into_iter().enumerate() {
            let chain = chain(&tree, place, script)?;
            until_running(&tree).await;
            let (mut floor, mut through) = (Vec::new(), Vec::new());
            // Alternating, so that a disturbance affects both.
            for _ in 0..RUNS {
                floor.push(drained(events(script)).await);
                through.push(drained(until_open(&chain).await?).await);
            }
            println!("{name:<44} {:>14.1} {:>14.1}", median(floor), median(through));
        }
        tree.stop().await;
        Ok(())
    })
}

fn chain(tree: &Tree, place: usize, script: Script) -> Outcome<Chain> {
    let settings = ProviderSettings {
        id: "one".to_owned(),
        kind: "openai".to_owned(),
        base_url: Some("http://127.0.0.1:9/v1".to_owned()),
        models: vec!["m".to_owned()],
        ..ProviderSettings::default()
    };
    let registry = Registry::new(Arc::new(Catalogue::embedded()?), &[settings], None)?;
    let provider = Provider {
        id: "one".to_owned(),
        kind: ProviderKind::OpenAi,
        models: vec!["m".to_owned()],
        adapter: Arc::new(Scripted(script)),
        timeouts: ProviderTimeouts::default(),
        weight: 1,
    };
    let (group, arbiters) = (tree.group(&format!("chain-{place}")), [Arbiter::current()]);
    let (options, clock) = (ChainOptions::default(), Clock::system());
    Ok(Chain::start(&group, &arbiters, Arc::new(registry), vec![provider], Arc::new(Bytes), options, &clock, None))
}

/// Waits until the breakers' actors run.
async fn until_running(tree: &Tree) {
    while tree.snapshot().iter().any(|actor| actor.state != ActorState::Running) {
        tokio::task::yield_now().await;
    }
}

async fn until_open(chain: &Chain) -> Outcome<muster_gateway::AnswerStream> {
    let message = Message::text(Role::User, "say some words".to_owned());
    let request = GatewayChatRequest {
        models: vec!["m".to_owned()],
        request: Arc::new(ChatRequest { messages: vec![message], ..ChatRequest::default() }),
        request_id: "req_1".to_owned(),
        ..GatewayChatRequest::default()
    };
    Ok(chain.stream(request, |_| ()).await?)
}

/// Returns nanoseconds per event.
async fn drained<S: Stream + Unpin>(mut stream: S) -> f64 {
    let start = Instant::now();
    let mut seen = 0_u32;
    while let Some(event) = stream.next().await {
        std::hint::black_box(&event);
        seen += 1;
    }
    start.elapsed().as_nanos() as f64 / f64::from(seen)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
